// SPDX-License-Identifier: Apache-2.0
#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

namespace cachalot::process_memory_test {
namespace {

constexpr std::size_t some = std::size_t{64} << 20;

void* touched_pages() {
  void* pages = ::mmap(nullptr, some, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(pages, 1, some);
  return pages;
}

TEST(ProcessMemory, PagesThatWereTouchedAreAnonymousUntilTheyAreGivenBack) {
  const ProcessMemory before = process_memory();
  EXPECT_GT(before.anonymous, 0);
  EXPECT_GT(before.file, 0);  // this program
  void* pages = touched_pages();
  const ProcessMemory with = process_memory();
  EXPECT_GE(with.anonymous, before.anonymous + static_cast<std::int64_t>(some) * 9 / 10);
  EXPECT_LT(with.file, before.file + static_cast<std::int64_t>(some) / 2);
  ::munmap(pages, some);
  EXPECT_LT(process_memory().anonymous, with.anonymous - static_cast<std::int64_t>(some) * 9 / 10);
}

TEST(ProcessMemory, WhatWasFreedInTheMiddleOfTheHeapIsGivenBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep what was freed";
#endif
  const std::int64_t before = process_memory().anonymous;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 20000; ++i) {
    blocks.push_back(std::make_unique<char[]>(4000));
    std::memset(blocks.back().get(), 1, 4000);
  }
  const auto last = std::make_unique<char[]>(4000);  // keeps the heap from shrinking by itself
  blocks.clear();
  give_back_freed_memory();
  EXPECT_LT(process_memory().anonymous, before + 20'000'000);
}

TEST(MemoryPeak, RemembersWhatWasGivenBack) {
  MemoryPeak peak;
  const std::int64_t before = peak.so_far().anonymous;
  void* pages = touched_pages();
  EXPECT_GE(peak.so_far().anonymous, before + static_cast<std::int64_t>(some) * 9 / 10);
  ::munmap(pages, some);
  EXPECT_GE(peak.so_far().anonymous, before + static_cast<std::int64_t>(some) * 9 / 10);
}

}  // namespace
}  // namespace cachalot::process_memory_test
