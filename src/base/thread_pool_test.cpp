// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <system_error>

namespace cachalot {
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

TEST(UsableCores, IsAtLeastOne) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace cachalot
