// SPDX-License-Identifier: Apache-2.0
// What this process has in memory, by where it came from. The system's own peak counts mapped files too, which is most
// of what running a mapped model shows and nothing that it needs to keep.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace cachalot {

struct ProcessMemory {
  std::int64_t anonymous = 0;  // bytes of heap, stacks and other memory that no file stands behind
  std::int64_t file = 0;       // bytes of mapped files that are in memory now
};

// 0 where the system does not say.
ProcessMemory process_memory();

// Hands memory that was freed, and that the allocator keeps for later, back to the system: worth it after something
// large and short-lived, such as the text of a header with 100,000 tensors.
void give_back_freed_memory();

// Looks every few milliseconds while it lives, from a thread of its own, and keeps the largest numbers.
class MemoryPeak {
 public:
  MemoryPeak();
  ~MemoryPeak();
  MemoryPeak(const MemoryPeak&) = delete;
  MemoryPeak& operator=(const MemoryPeak&) = delete;

  ProcessMemory so_far();

 private:
  void look();

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  ProcessMemory peak_;
  std::thread thread_;
};

}  // namespace cachalot
