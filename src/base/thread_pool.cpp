// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/check.h"
#include "base/signals.h"
#include "base/usable_cores.h"

namespace cachalot {

namespace {

// How long a worker waits awake: longer than what lies between two calls in a step, and between two tokens.
constexpr auto awake = std::chrono::microseconds(200);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `come` is true within the time that a thread waits awake.
template <class Come>
bool comes_soon(Come come) {
  const auto until = std::chrono::steady_clock::now() + awake;
  do {
    for (int i = 0; i < 32; ++i) {
      if (come()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  check(threads >= 1 && threads <= static_cast<int>(inside), "a pool has at least the caller's thread");
  spins_ = threads > 1 && threads <= usable_cores();
  const SignalsBlocked blocked;
  try {
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
  } catch (const std::system_error& e) {
    const std::size_t started = workers_.size() + 1;
    stop();
    throw std::system_error(e.code(), fmt::format("{} of {} threads could be started", started, threads));
  } catch (...) {
    stop();
    throw;
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
  check(piece_ == nullptr, "parallel is not reentrant");
  piece_ = &piece;
  count_ = count;
  grain_ = grain;
  next_ = 0;
  // Either a worker that goes to sleep sees the round, or the load below sees the worker: both are sequentially
  // consistent, and so are the worker's two.
  state_ += next_round | open;
  if (sleepers_ > 0) {
    { const std::lock_guard lock(mutex_); }  // a worker between looking and sleeping sleeps first
    start_.notify_all();
  }
  take_pieces(0);
  state_ &= ~open;
  const auto left = [this] { return (state_.load(std::memory_order_acquire) & inside) == 0; };
  if (!spins_ || !comes_soon(left)) {
    while (!left()) std::this_thread::yield();
  }
  piece_ = nullptr;
}

void ThreadPool::take_pieces(int thread) {
  for (std::int64_t begin; (begin = next_.fetch_add(grain_, std::memory_order_relaxed)) < count_;) {
    (*piece_)(begin, std::min(begin + grain_, count_), thread);
  }
}

// Whether the worker is now inside an open round that it has not `seen`.
bool ThreadPool::enter(std::uint64_t& seen) {
  std::uint64_t state = state_.load();
  while ((state & open) != 0 && state / next_round != seen) {
    if (state_.compare_exchange_weak(state, state + 1)) {
      seen = state / next_round;
      return true;
    }
  }
  return false;
}

// Until there is a round that the worker has not seen, or the pool ends.
void ThreadPool::sleep(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  ++sleepers_;
  start_.wait(lock, [&] {
    const std::uint64_t state = state_;
    return stop_ || ((state & open) != 0 && state / next_round != seen);
  });
  --sleepers_;
}

void ThreadPool::work(int thread) {
  std::uint64_t seen = 0;
  while (!stop_) {
    bool entered = enter(seen);
    if (!entered && spins_) comes_soon([&] { return (entered = enter(seen)) || stop_; });
    if (entered) {
      take_pieces(thread);
      state_.fetch_sub(1, std::memory_order_release);
    } else {
      sleep(seen);
    }
  }
}

}  // namespace cachalot
