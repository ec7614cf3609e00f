// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "ops/backend.h"

namespace cachalot {
namespace {

using Entry = void (*)();
using Entries = std::array<Entry, operator_names.size()>;

Entries entries_of(const Backend& b) {
  static_assert(sizeof(Backend) == sizeof(const char*) + sizeof(Entries), "a name, then one pointer per operator");
  Entries e;
  std::memcpy(&e, reinterpret_cast<const std::byte*>(&b) + sizeof(const char*), sizeof e);
  return e;
}

TEST(Backends, EveryEntryIsFilledAndNoneIsAnothersOrTwice) {
  std::set<Entry> seen;
  for (const Backend* b : all_backends()) {
    for (const Entry e : entries_of(*b)) {
      EXPECT_NE(e, nullptr) << b->name;
      EXPECT_TRUE(seen.insert(e).second) << b->name;
    }
  }
}

TEST(Backends, OneEntryCanBeSetBackToTheReference) {
  for (std::size_t i = 0; i < operator_names.size(); ++i) {
    const std::string name(operator_names[i]);
    const auto mixed = with_reference(cpu_backend(), std::span(&name, 1));
    ASSERT_TRUE(mixed);
    for (std::size_t j = 0; j < operator_names.size(); ++j) {
      EXPECT_EQ(entries_of(*mixed)[j], entries_of(j == i ? reference_backend() : cpu_backend())[j]) << name;
    }
  }
}

TEST(Backends, UnknownNamesAreRefusedWithTheOnesThereAre) {
  const auto backend = find_backend("abacus");
  ASSERT_FALSE(backend);
  EXPECT_NE(backend.error().message.find("reference, cpu"), std::string::npos) << backend.error().message;
  const std::string name = "softmax";
  const auto mixed = with_reference(cpu_backend(), std::span(&name, 1));
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message.find("sparse_attention"), std::string::npos);
  EXPECT_STREQ((*find_backend("cpu"))->name, "cpu");
}

}  // namespace
}  // namespace cachalot
