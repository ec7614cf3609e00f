# SPDX-License-Identifier: Apache-2.0
"""Train the demo model, in stages that go on from local files.

    train.py DATA OUT --steps N --seconds S            run until S seconds have passed, then save OUT/state.pt
    train.py DATA OUT --steps N --seconds S --finish   the same, with the rest of the schedule fitted into S seconds

Progress u goes from 0 to 1 for the backbone, then from 1 to 2 for the draft stages on the frozen backbone; the schedule is a
function of u alone. What a phase computes is captured once as a CUDA graph. A batch is read once by the frozen backbone and then
used for several updates of the draft stages, each at other anchors. See README.md for whole runs.
"""
import argparse
import os
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import drafts
import evaluate
import export
import pieces
import shape as shapes
import tokenizer as tokenizers
import weights as W
from model import Backbone
from optimizer import Optimizer

RATE, WARM, FLAT = 3e-3, 0.02, 0.45
DECAY = 0.2
DRAFT_RATE, DRAFT_WARM, DRAFT_FLAT = 1.5e-2, 0.1, 0.4
SELECT_FROM, YARN_FROM = 0.5, 0.75
CLIP = 1.0                                               # of the gradient's norm, which is 0.3 as a rule
SAMPLES, ANCHORS = 64, 256                               # a sequence: queries that train the indexer, anchors of drafts
TURNS = 4                                                # updates of the draft stages a batch
BALANCE, DRAFT_BALANCE = 1e-3, 1e-2                      # what a step may move the routers' biases by
DRAFT_HC = 5.0                                           # of optimizer.RATE, for the draft stages' hyper-connections


def rate(u):
    warm, flat, full, u = (WARM, FLAT, RATE, u) if u < 1 else (DRAFT_WARM, DRAFT_FLAT, DRAFT_RATE, u - 1)
    return full * min(1.0, u / warm + 1e-3) * min(1.0, (1 - u) / (1 - flat))


class Run:
    def __init__(self, a):
        self.a, self.device = a, "cuda" if torch.cuda.is_available() else "cpu"
        self.began = time.time()
        self.tokenizer = tokenizers.load(os.path.join(a.data, "tokenizer.json"))
        self.text, classes = shapes.complete(self.tokenizer.file)
        self.s = shapes.Shape(self.text)
        self.plan_file = os.path.join(a.out, f"plan-{a.steps + a.draft_steps}-{a.seed}.npz")
        self.planner = None                              # a process of its own, while the first phase is captured
        if not os.path.exists(self.plan_file):
            self.planner = subprocess.Popen([sys.executable, corpus.__file__, a.data, self.plan_file, str(a.steps + a.draft_steps), str(a.seed),
                                             str(a.processes)])
        state = os.path.join(a.out, "state.pt")
        saved = torch.load(state, map_location=self.device) if os.path.exists(state) and not a.fresh else None
        P = saved["P"] if saved else W.draw(self.s, a.seed)
        self.P = {k: v.to(self.device).requires_grad_("gate.bias" not in k) for k, v in P.items()}
        self.opt = Optimizer(self.P, DECAY)
        self.step, self.u = 0, 0.0
        if saved:
            self.opt.state, self.opt.count, self.step, self.u = saved["opt"], saved["count"], saved["step"], saved["u"]
        self.model = Backbone(self.s, self.P, classes, max(8192, corpus.LENGTH), self.device, "train")
        self.yarn = False
        self.rows = sum(corpus.ROWS.values())
        L = corpus.LENGTH
        self.ids = torch.zeros(self.rows, L + 1, dtype=torch.long, device=self.device)
        self.weight = torch.ones(self.rows, L, device=self.device)
        self.sample = torch.zeros(self.rows, SAMPLES, dtype=torch.long, device=self.device)
        self.anchors = torch.zeros(self.rows, ANCHORS, dtype=torch.long, device=self.device)
        self.skipped = torch.zeros((), device=self.device)
        self.good, self.usual, self.cool = None, None, 1.0    # what to go back to, the loss to expect, share of the rate
        self.phase, self.lost = None, 0.0
        self.log_file = open(os.path.join(a.out, "log.txt"), "a", encoding="utf-8")
        self.enter(self.phase_at(self.u))
        self.read_plan()

    def log(self, *words):
        line = f"{time.time() - self.began:7.1f}s step {self.step:5} u {self.u:.4f}  " + " ".join(str(w) for w in words)
        print(line, flush=True)
        self.log_file.write(line + "\n")
        self.log_file.flush()

    # -------------------------------------------------------------- data

    def read_plan(self):
        if self.planner and self.planner.wait():
            raise SystemExit("the plan failed")
        plan = dict(np.load(self.plan_file))
        self.held = {k: v for k, v in plan.items() if k.endswith(".held")}
        self.plan = {k: torch.from_numpy(v.astype(np.int32) if v.dtype == np.uint16 else v).to(self.device)
                     for k, v in plan.items() if k not in self.held}

    def next_batch(self):
        n, L = corpus.ROWS, corpus.LENGTH
        i = self.step % (len(self.plan["text"]) // n["text"])
        at = self.plan["text"][i * n["text"]:(i + 1) * n["text"]].unsqueeze(1) + torch.arange(L, device=self.device)
        self.ids[:n["text"], 0] = 0
        self.ids[:n["text"], 1:] = self.plan["stream"][at].long()
        row = n["text"]
        for kind in ("recall", "chat"):
            part = slice(i * n[kind], (i + 1) * n[kind])
            self.ids[row:row + n[kind]] = self.plan[kind][part].long()
            self.weight[row:row + n[kind]] = self.plan[kind + "_weight"][part, 1:].float()
            row += n[kind]

    def draw(self, into, turn=0):
        """positions in the sequences: of the queries that train the indexer, or of the anchors of drafts"""
        gen = torch.Generator(device=self.device).manual_seed((self.a.seed * 1_000_003 + self.step) * 64 + turn)
        into.copy_(torch.randint(0, corpus.LENGTH - 8, into.shape, generator=gen, device=self.device))

    # -------------------------------------------------------------- one step

    def trained(self, name):
        return W.is_draft(name) == (self.phase == "drafts")

    def backward(self, loss):
        """gradients, clipped -> their norm; whether the step is fine (gradients are zero if not)"""
        P = [p for k, p in self.P.items() if p.requires_grad and self.trained(k)]
        torch._foreach_zero_([p.grad for p in P])
        loss.backward()
        with torch.no_grad():
            norm = torch.stack(torch._foreach_norm([p.grad for p in P])).norm()
            fine = torch.isfinite(norm).float()
            scale = torch.where(fine > 0, torch.clamp(CLIP / norm, max=1.0), 0.0)
            for p in P:
                p.grad.copy_(torch.where(fine > 0, p.grad * scale, 0.0))
            self.skipped += 1 - fine
        return norm, fine

    def main_pass(self):
        """forward and backward of the batch -> numbers to look at (the loss first), loads of the experts, whether the step is fine"""
        out = self.model.forward(self.ids[:, :-1], "top", self.sample)
        ce = F.cross_entropy(self.model.logits(out).float(), self.ids[:, 1:].flatten(), reduction="none")
        w = self.weight.flatten()
        loss = (ce * w).sum() / w.sum()
        norm, fine = self.backward(loss + out["index_loss"])
        with torch.no_grad():
            answer = (w > 10).float()
            numbers = {"loss": loss, "text": ce.reshape(self.rows, -1)[:corpus.ROWS["text"]].mean(),
                       "answers": (ce * answer).sum() / answer.sum().clamp(min=1), "index": out["index_loss"], "norm": norm}
            return self.looked_at(numbers, out["chosen"]) + (fine,)

    @torch.no_grad()
    def read_frozen(self):
        """what the draft stages see of the batch"""
        out = self.model.forward(self.ids[:, :-1], "top")
        self.frozen = {"main_hidden": out["main_hidden"], "logits": self.model.logits(out)}

    def drafts_pass(self):
        """the same as main_pass for the draft stages, at the anchors"""
        loss, expected, chosen = drafts.draft_loss(self.model, self.ids[:, :-1], self.frozen, self.anchors)
        norm, fine = self.backward(loss)
        with torch.no_grad():
            return self.looked_at({"loss": loss, "accepted": expected, "norm": norm}, chosen) + (fine,)

    def looked_at(self, numbers, chosen):
        numbers["skipped"] = self.skipped
        self.names = list(numbers)
        return torch.stack([n.detach() for n in numbers.values()]), torch.stack([c.detach().mean(0) for c in chosen])

    def capture(self, compute):
        """-> a function that computes again, as a CUDA graph on a GPU, and gives the same tensors"""
        if self.device == "cpu" or self.a.no_graph:
            return compute
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                compute()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = compute()
        self.log(f"captured {compute.__name__}; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")

        def again():
            graph.replay()
            return result
        again.graph = graph
        return again

    def enter(self, phase):
        start = time.time()
        self.phase, self.passes = phase, None
        for p in self.P.values():
            if p.requires_grad and p.grad is None:
                p.grad = torch.zeros_like(p)
        if self.device != "cpu":
            torch.cuda.empty_cache()
        if phase == "main":
            self.passes = [self.capture(self.main_pass)]
        else:
            read = self.capture(self.read_frozen)
            read()
            self.passes = [read, self.capture(self.drafts_pass)]
        self.lost += time.time() - start

    def phase_at(self, u):
        return "main" if u < 1 else "drafts"

    def train_step(self):
        u = self.u
        if u >= YARN_FROM and not self.yarn:
            self.model.use_yarn()
            self.yarn = True
        self.model.dense.fill_(u < SELECT_FROM)
        self.next_batch()
        if self.phase_at(u) != self.phase:
            self.save_state()
            self.enter(self.phase_at(u))
        if self.phase == "main":
            self.draw(self.sample)
            self.result = self.passes[0]()
            self.update(u, BALANCE)
        else:
            self.passes[0]()
            for turn in range(TURNS):
                self.draw(self.anchors, turn)
                self.result = self.passes[1]()
                self.update(u, DRAFT_BALANCE)
        self.step += 1

    def update(self, u, balance):
        _, load, fine = self.result
        now = rate(u) * self.cool
        self.opt.step(lambda k: now * (DRAFT_HC if k.startswith("draft.hc_") else 1.0), self.trained, fine)
        with torch.no_grad():                            # only of the part that runs: other loads would drift without end
            turn = balance * min(1.0, 4 * now / RATE)
            bias = self.P[("main" if self.phase == "main" else "draft") + ".gate.bias"]
            bias.sub_(torch.sign(load - load.mean(-1, keepdim=True)), alpha=turn)

    # -------------------------------------------------------------- the whole

    def save_state(self):
        torch.save({"P": {k: v.detach() for k, v in self.P.items()}, "opt": self.opt.state, "count": self.opt.count,
                    "step": self.step, "u": self.u}, os.path.join(self.a.out, "state.pt"))

    @torch.no_grad()
    def guard(self, loss):
        """keep a copy of a healthy state; go back to it, with a lower rate, when the loss leaps"""
        live = {**{"P " + k: v for k, v in self.P.items()}, **self.opt.state}
        if self.good and not loss < self.usual + 0.7:
            for k, v in self.good.items():
                live[k].copy_(v)
            self.cool *= 0.6
            self.log("loss leapt to", loss, "from about", round(self.usual, 3), ": went back; rate now times", round(self.cool, 3))
            return
        self.usual = loss if self.usual is None else 0.7 * self.usual + 0.3 * loss
        if loss < self.usual + 0.2 and self.step % (4 * self.a.every) == 0:
            self.good = {k: v.detach().clone() for k, v in live.items()}

    def train(self):
        a = self.a
        self.log("start:", sum(p.numel() for p in self.P.values()), "parameters; compiled pieces:", pieces.COMPILE)
        start, seen, at, each = self.began, self.step, time.time(), None
        self.lost = 0.0
        next_look = (int(self.u / a.look) + 1) * a.look
        while self.u < 2 - 1e-9:
            main = self.u < 1
            left = (a.seconds if main else a.draft_seconds) - (time.time() - start)
            if left <= 0 and not a.finish:
                break
            self.train_step()
            du = 1 / (a.steps if main else a.draft_steps)
            if a.finish and each:
                du = max(du, ((1 if main else 2) - self.u) / max(1.0, left / each))
            self.u = min(1.0 if main else 2.0, self.u + du)
            if main and self.u == 1:
                W.start_drafts(self.s, self.P)
                self.save()
                self.log("backbone done")
                if a.backbone:
                    return
                start, each, self.good, self.usual = time.time(), None, None, None
            if self.step % a.every == 0:
                n = dict(zip(self.names, self.result[0].tolist()))     # waits for the GPU
                now = time.time()
                each = (now - at - self.lost) / (self.step - seen)
                self.lost = 0.0
                self.log(*(f"{k} {v:.4g}" for k, v in n.items()), f"busiest {float(self.result[1].max()):.3f}",
                         f"{self.rows * corpus.LENGTH / each / 1e3:.0f}k tokens/s")
                if self.step > 400 or not main:
                    self.guard(n["loss"])
                seen, at = self.step, time.time()
            if self.u >= next_look and self.u < 1:
                next_look += a.look
                pause, pieces.USE["compiled"] = time.time(), False   # other shapes: not worth compiling
                self.log("look", evaluate.glance(self.model, self.tokenizer, corpus.load_facts(a.data), self.held, "top"))
                at, pieces.USE["compiled"] = at + time.time() - pause, True
        self.save()
        self.log("saved")

    def save(self):
        self.save_state()
        export.export(self.text, self.P, self.tokenizer.file, os.path.join(self.a.out, "export"))


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("out")
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--seconds", type=float, default=1e9, help="for the backbone")
    p.add_argument("--draft-steps", type=int, default=800)
    p.add_argument("--draft-seconds", type=float, default=1e9)
    p.add_argument("--backbone", action="store_true", help="stop when the backbone is done")
    p.add_argument("--finish", action="store_true")
    p.add_argument("--fresh", action="store_true", help="do not go on from OUT/state.pt")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=50)
    p.add_argument("--look", type=float, default=0.1, help="how often, in u, to look at held-out text")
    p.add_argument("--processes", type=int, default=os.cpu_count())
    p.add_argument("--no-graph", action="store_true")
    return p.parse_args()


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    Run(a).train()


if __name__ == "__main__":
    main()
