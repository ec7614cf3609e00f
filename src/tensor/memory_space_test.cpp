// SPDX-License-Identifier: Apache-2.0
#include "tensor/memory_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <vector>

namespace cachalot::memory_space_test {
namespace {

std::vector<std::byte> downloaded(const std::byte* at, std::int64_t bytes) {
  std::vector<std::byte> all(static_cast<std::size_t>(bytes), std::byte{9});
  host_memory().download(all, at);
  return all;
}
std::int64_t zeros(const std::vector<std::byte>& bytes) { return std::ranges::count(bytes, std::byte{0}); }

TEST(HostMemory, IsZeroWhenItIsTakenAndBehindWhatGrew) {
  MemorySpace& m = host_memory();
  std::byte* at = m.take(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0u);
  EXPECT_EQ(zeros(downloaded(at, 100)), 100);
  const std::vector<std::byte> seven(100, std::byte{7});
  m.upload(at, seven);
  at = m.grow(at, 100, 1 << 20);
  const auto all = downloaded(at, 1 << 20);
  EXPECT_TRUE(std::ranges::equal(std::span(all).first(100), seven));
  EXPECT_EQ(zeros(all), (1 << 20) - 100);
  m.copy(at + 200, at + 50, 60);
  m.clear(at, 40);
  EXPECT_EQ(zeros(downloaded(at, 300)), 40 + 100 + 50 + 0);
  m.give(at, 1 << 20);
}

TEST(HostMemory, NoBytesAreNoMemory) {
  MemorySpace& m = host_memory();
  EXPECT_EQ(m.take(0), nullptr);
  m.upload(nullptr, {});
  m.give(nullptr, 0);
  std::byte* at = m.grow(nullptr, 0, 10);
  EXPECT_NE(at, nullptr);
  m.give(at, 10);
}

TEST(HostMemory, MoreThanThereIsIsAnError) {
  EXPECT_THROW(host_memory().take(std::int64_t{1} << 60), std::bad_alloc);
  std::byte* at = host_memory().take(10);
  EXPECT_THROW(host_memory().grow(at, 10, std::int64_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(zeros(downloaded(at, 10)), 10);
  host_memory().give(at, 10);
}

}  // namespace
}  // namespace cachalot::memory_space_test
