// SPDX-License-Identifier: Apache-2.0
// What one run of an operator must move and compute, counted from its arguments: each input once, each output once, in
// the formats they are stored in.
#pragma once

#include <cstdint>

#include "ops/operands.h"

namespace cachalot {

struct Work {
  std::int64_t read = 0;     // bytes
  std::int64_t written = 0;  // bytes
  std::int64_t flops = 0;    // additions and multiplications; a fused multiply-add is two, an exponential one
};

// Of an operator that reads and writes all that its arguments name.
template <class Args>
Work work_of_all(const Args& args, std::int64_t flops) {
  const MovedBytes moved = bytes_moved(args);
  return {.read = moved.read, .written = moved.written, .flops = flops};
}

}  // namespace cachalot
