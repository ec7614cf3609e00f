// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <system_error>

#include "base/check.h"

namespace cachalot {

ThreadPool::ThreadPool(int threads) {
  check(threads >= 1, "a pool has at least the caller's thread");
  try {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
  } catch (const std::system_error& e) {
    const std::size_t started = workers_.size() + 1;
    stop();
    throw std::system_error(e.code(), fmt::format("{} of {} threads could be started", started, threads));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& w : workers_) w.join();
}

void ThreadPool::parallel(std::int64_t count, std::int64_t grain, const Piece& piece) {
  check(grain >= 1, "pieces of at least one");
  if (count <= 0) return;
  if (workers_.empty() || count <= grain) {
    for (std::int64_t begin = 0; begin < count; begin += grain) piece(begin, std::min(begin + grain, count), 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    check(piece_ == nullptr, "parallel is not reentrant");
    piece_ = &piece;
    count_ = count;
    grain_ = grain;
    next_ = 0;
    running_ = static_cast<int>(workers_.size());
    ++round_;
  }
  start_.notify_all();
  take_pieces(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return running_ == 0; });
  piece_ = nullptr;
}

void ThreadPool::take_pieces(int thread) {
  for (std::int64_t begin; (begin = next_.fetch_add(grain_)) < count_;) {
    (*piece_)(begin, std::min(begin + grain_, count_), thread);
  }
}

void ThreadPool::work(int thread) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    take_pieces(thread);
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      last = --running_ == 0;
    }
    if (last) done_.notify_one();
  }
}

int usable_cores() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                          : static_cast<int>(std::thread::hardware_concurrency());
  std::string quota;
  double period = 0;
  std::ifstream limit("/sys/fs/cgroup/cpu.max");  // "max 100000" or "200000 100000"
  if (limit >> quota >> period && quota != "max" && period > 0) {
    cores = std::min(cores, static_cast<int>(std::ceil(std::atof(quota.c_str()) / period)));
  }
  return std::max(1, cores);
}

}  // namespace cachalot
