# SPDX-License-Identifier: Apache-2.0
"""A minute on the GPU before the long run: every phase captured, a few steps of each timed, numbers finite.

    smoke.py DATA OUT --steps 60 [--profile]        (DEMO_COMPILE=1: with compiled pieces)
"""
import sys
import time

import torch

import train


def kernels(run, count=22):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for again in run.passes:
            again()
        torch.cuda.synchronize()
    rows = sorted(p.key_averages(), key=lambda e: -e.self_device_time_total)
    total = sum(e.self_device_time_total for e in rows)
    print(f"{total / 1e3:.1f} ms in {sum(e.count for e in rows)} kernels")
    for e in rows[:count]:
        print(f"{e.self_device_time_total / 1e3:8.2f} ms {e.count:5} x {e.key[:110]}")


def main():
    profile = "--profile" in sys.argv
    sys.argv = [x for x in sys.argv if x != "--profile"]
    a = train.arguments()
    torch.backends.cuda.matmul.allow_tf32 = True
    train.os.makedirs(a.out, exist_ok=True)
    run = train.Run(a)
    run.log("ready; torch", torch.__version__)
    for u in (0.05, 0.6, 0.8, 1.2):
        run.u = u
        run.train_step()
        torch.cuda.synchronize()
        start, n = time.time(), 6
        for _ in range(n):
            run.train_step()
        torch.cuda.synchronize()
        each = (time.time() - start) / n
        start = time.time()
        for again in run.passes:
            again()
        torch.cuda.synchronize()
        alone = time.time() - start
        numbers = run.result[0]
        run.log(f"{each * 1e3:.0f} ms a step ({alone * 1e3:.0f} the graphs, once each), {run.rows * 2.048 / each:.0f}k tokens/s,",
                [round(float(x), 3) for x in numbers], "finite" if bool(torch.isfinite(numbers).all()) else "NOT FINITE")
        if profile and u in (0.05, 1.2):
            kernels(run)
    run.save()
    run.log("saved")


if __name__ == "__main__":
    main()
