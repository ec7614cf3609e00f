// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/thread_pool.h"
#include "tensor/arena.h"

namespace cachalot {

// What an operator may use besides its arguments.
struct Context {
  explicit Context(int threads = 1) : pool(threads) {}

  Arena scratch;
  ThreadPool pool;
};

}  // namespace cachalot
