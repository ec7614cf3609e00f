// SPDX-License-Identifier: Apache-2.0
// What the machine can do at the moment: the roofs that an operator's speed is a share of.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/arena.h"

namespace cachalot {

struct Roofs {
  double read = 0;   // bytes/s of a read stream
  double copy = 0;   // bytes/s read + written by a copy with streaming stores
  double flops = 0;  // f32 operations/s of independent fused multiply-adds; one is two operations
};

class RoofMeter {
 public:
  // Streams run over `bytes`, which should be several times the last cache.
  explicit RoofMeter(std::int64_t bytes);

  // Each the best of `trials` short ones: a roof is what the machine can, not what others leave of it. At the SIMD
  // level in use, with the threads of `pool`.
  Roofs measure(ThreadPool& pool, int trials = 5);

 private:
  Arena arena_;
  View<float, 1> from_, to_;
};

}  // namespace cachalot
