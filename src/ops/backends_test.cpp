// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "ops/backend.h"

namespace cachalot::backends_test {
namespace {

TEST(Backends, EveryEntryIsFilledAndNoneIsAnothersOrTwice) {
  std::set<void (*)()> seen;
  for (const Backend* b : all_backends()) {
    each_operator([&]<class E>(std::string_view name, E) {
      EXPECT_NE(E::of(*b), nullptr) << b->name << " " << name;
      EXPECT_TRUE(seen.insert(reinterpret_cast<void (*)()>(E::of(*b))).second) << b->name << " " << name;
    });
  }
}

TEST(Backends, OneEntryCanBeSetBackToTheReference) {
  for (const std::string_view op : operator_names) {
    const std::string wanted(op);
    const auto mixed = with_reference(cpu_backend(), std::span(&wanted, 1));
    ASSERT_TRUE(mixed);
    each_operator([&]<class E>(std::string_view name, E) {
      EXPECT_EQ(E::of(*mixed) == E::of(cpu_backend()), name != wanted) << wanted << " " << name;
    });
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
}  // namespace cachalot::backends_test
