// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>

namespace cachalot::thread_pool_test {
namespace {

TEST(ThreadPool, CoversEveryNumberOnceWhateverTheThreadsAndTheGrain) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 7, 100}) {
      for (const std::int64_t grain : {1, 2, 3, 100, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        pool.parallel(count, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end - begin, std::max(grain, std::int64_t{1}));
          EXPECT_LT(thread, threads);
          for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (const auto& s : seen) EXPECT_EQ(s, 1);
      }
    }
  }
}

// In a child, whose memory is bounded: a thread wants megabytes for its stack.
TEST(ThreadPoolDeathTest, MoreThreadsThanTheSystemHasIsAnExceptionAndNoneIsLeftRunning) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  const auto start_many = [] {
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = rlim_t{1} << 30;
    setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(1000);
    } catch (const std::system_error& e) {
      std::fputs(e.what(), stderr);
      std::exit(3);
    }
    std::exit(0);
  };
  EXPECT_EXIT(start_many(), testing::ExitedWithCode(3), "of 1000 threads could be started");
}

TEST(ThreadPool, TwoPiecesAtTheSameTimeHaveDifferentThreads) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  for (int round = 0; round < 200; ++round) {
    pool.parallel(64, 1, [&](std::int64_t, std::int64_t, int thread) {
      auto& b = busy[static_cast<std::size_t>(thread)];
      EXPECT_EQ(b.fetch_add(1), 0);
      b.fetch_sub(1);
    });
  }
}

TEST(ThreadPool, WhatAPieceWroteIsSeenWhenParallelReturns) {
  ThreadPool pool(3);
  std::vector<std::int64_t> squares(1000);
  for (int round = 1; round <= 100; ++round) {
    pool.parallel(1000, 17, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
    });
    ASSERT_EQ(std::accumulate(squares.begin(), squares.end(), std::int64_t{0}), 332833500 + 1000 * round);
  }
}

// Rounds that come at once, that come while the workers fall asleep, and that come after; with more threads than cores
// too.
TEST(ThreadPool, NoRoundIsLostHoweverLongTheWorkersHadToWait) {
  for (const int threads : {2, 3, 9}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 600; ++round) {
      std::atomic<std::int64_t> sum{0};
      pool.parallel(round % 5 + 2, 1, [&](std::int64_t begin, std::int64_t, int) { sum += begin + 1; });
      const std::int64_t n = round % 5 + 2;
      ASSERT_EQ(sum, n * (n + 1) / 2) << threads << " threads, round " << round;
      if (round % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(round % 7 * 60));
    }
  }
}

// Or a machine with two cores would compute with one.
TEST(ThreadPool, SleepingWorkersWakeAndTakePieces) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> workers{0};
    pool.parallel(2, 1, [&](std::int64_t, std::int64_t, int thread) {
      if (thread != 0) ++workers;
      // The caller's piece, if it gets one, lasts until the worker came: for ever, if it never did.
      while (workers == 0) std::this_thread::yield();
    });
    EXPECT_GE(workers, 1);  // it may take both
  }
}

TEST(ThreadPool, EndsWhetherItsWorkersAreAwakeAsleepOrJustStarted) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3);
    if (i % 3 == 1) pool.parallel(3, 1, [](std::int64_t, std::int64_t, int) {});
    if (i % 3 == 2) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

}  // namespace
}  // namespace cachalot::thread_pool_test
