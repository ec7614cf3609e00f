// SPDX-License-Identifier: Apache-2.0
// One pool for everything a step computes in parallel. Which thread does what never changes a result: work is cut so
// that each piece writes places of its own and sums in an order of its own.
//
// A step of a small model is some hundred calls of a few microseconds each, and waking a thread takes longer than that:
// so workers wait awake between calls, and go to sleep only when none has come for a while.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace cachalot {

class ThreadPool {
 public:
  // `threads` counts the caller's own: 1 starts none. Throws std::system_error where the system has no more of them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // What runs a piece: borrowed from the caller for as long as parallel() takes, so that handing work over allocates
  // nothing, whatever it captures.
  class Piece {
   public:
    template <class Work>
    requires(!std::is_same_v<std::remove_cvref_t<Work>, Piece>) Piece(const Work& work)
        : work_(&work), call_([](const void* w, std::int64_t begin, std::int64_t end, int thread) {
            (*static_cast<const Work*>(w))(begin, end, thread);
          }) {}
    void operator()(std::int64_t begin, std::int64_t end, int thread) const { call_(work_, begin, end, thread); }

   private:
    const void* work_;
    void (*call_)(const void* work, std::int64_t begin, std::int64_t end, int thread);
  };

  // Calls piece(begin, end, thread) until [0, count) is covered, each number once, in pieces of at most `grain`, and
  // returns when all are done. `thread` is 0 … threads() - 1 and unique among pieces that run at the same time: an
  // index into scratch per thread. One thread at a time may call it; a piece must neither call it nor throw.
  void parallel(std::int64_t count, std::int64_t grain, const Piece& piece);

 private:
  void stop();
  void work(int thread);
  bool enter(std::uint64_t& seen);
  void sleep(std::uint64_t seen);
  void take_pieces(int thread);

  // The round that is open or was last: its number, whether workers may enter it, and how many are in it. A worker that
  // comes late finds the round closed and is not waited for.
  static constexpr std::uint64_t inside = (1 << 16) - 1;
  static constexpr std::uint64_t open = 1 << 16;
  static constexpr std::uint64_t next_round = 1 << 17;
  alignas(64) std::atomic<std::uint64_t> state_{0};
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) const Piece* piece_ = nullptr;  // this and the two below: written while no worker is inside
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;

  bool spins_ = false;  // waits awake for a while: only where each thread has a core of its own
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable start_;
  std::vector<std::thread> workers_;
};

}  // namespace cachalot
