// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/arena.h"
#include "tensor/memory_space.h"

namespace cachalot {

// What an operator may use besides its arguments.
struct Context {
  explicit Context(int threads = 1, MemorySpace& space = host_memory())
      : memory(space), scratch(space), pool(threads) {}

  MemorySpace& memory;  // where operators read and write
  Arena scratch;
  ThreadPool pool;
  std::shared_ptr<void> backend_state;  // what a backend keeps for this context: a device's stream, say
  std::vector<std::byte> staging;       // for the host: what is put together before it is uploaded
};

}  // namespace cachalot
