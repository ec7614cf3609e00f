// SPDX-License-Identifier: Apache-2.0
#include "base/process_memory.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>

#include "base/signals.h"

namespace cachalot {

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");  // "RssAnon:     1234 kB"
  for (std::string key; status >> key; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::int64_t kib = 0;
    if (key == "RssAnon:" && status >> kib) memory.anonymous = kib * 1024;
    if (key == "RssFile:" && status >> kib) memory.file = kib * 1024;
  }
  return memory;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

MemoryPeak::MemoryPeak() {
  look();
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, std::chrono::milliseconds(5), [this] { return stop_; })) {
      lock.unlock();
      look();
      lock.lock();
    }
  });
}

MemoryPeak::~MemoryPeak() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void MemoryPeak::look() {
  const ProcessMemory now = process_memory();
  const std::lock_guard lock(mutex_);
  peak_.anonymous = std::max(peak_.anonymous, now.anonymous);
  peak_.file = std::max(peak_.file, now.file);
}

ProcessMemory MemoryPeak::so_far() {
  look();
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace cachalot
