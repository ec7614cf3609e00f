// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "base/process_memory.h"
#include "base/thread_pool.h"

namespace cachalot::signals_threads_test {
namespace {

std::atomic<pthread_t> taken_by;
void note_thread(int) { taken_by = ::pthread_self(); }

// The signals that a thread lets through.
std::set<int> open_signals() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  std::set<int> open;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH,
                           SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    if (sigismember(&blocked, number) == 0) open.insert(number);
  }
  return open;
}

TEST(Signals, WorkersOfAPoolLetNoneThroughButThoseOfTheirOwnFaults) {
  const auto before = open_signals();
  ThreadPool pool(4);
  EXPECT_EQ(open_signals(), before) << "the caller's stay as they were";
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 100 && seen.size() < 3; ++round) {
    pool.parallel(64, 1, [&](std::int64_t, std::int64_t, int) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (std::this_thread::get_id() == caller) return;
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
      EXPECT_EQ(open_signals(), (std::set<int>{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}));
    });
  }
  EXPECT_FALSE(seen.empty());
}

TEST(Signals, WhoeverWatchesTheMemoryLetsNoneThrough) {
  handle_signal(SIGUSR1, note_thread);
  const MemoryPeak peak;
  for (int i = 0; i < 50; ++i) {
    taken_by = {};
    ::kill(::getpid(), SIGUSR1);
    while (taken_by == pthread_t{}) std::this_thread::yield();
    EXPECT_TRUE(pthread_equal(taken_by, ::pthread_self()));
  }
  std::signal(SIGUSR1, SIG_DFL);
}

TEST(Signals, AReadGoesOnAfterAHandler) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  taken_by = {};
  handle_signal(SIGUSR1, note_thread);
  const pthread_t reader = ::pthread_self();
  std::thread other([&] {
    const SignalsBlocked blocked;
    for (int i = 0; i < 20; ++i) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    while (taken_by == pthread_t{}) std::this_thread::yield();
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
  });
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  other.join();
  std::signal(SIGUSR1, SIG_DFL);
  for (const int end : ends) ::close(end);
}

TEST(Signals, ACallThatWasBrokenOffIsMadeAgain) {
  int calls = 0;
  EXPECT_EQ(through_signals([&] {
              errno = EINTR;
              return ++calls < 3 ? -1 : 7;
            }),
            7);
  errno = 0;
  EXPECT_EQ(through_signals([&] {
              errno = EIO;
              return -1;
            }),
            -1);
  EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace cachalot::signals_threads_test
