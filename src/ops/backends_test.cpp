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

TEST(Backends, OpenADeviceAsItsMemory) {
  const auto cpu = open_backend("cpu"), first = open_backend("reference:0"), guarded = open_backend("guarded");
  ASSERT_TRUE(cpu && first && guarded);
  EXPECT_EQ(cpu->backend, &cpu_backend());
  EXPECT_EQ(cpu->memory, &host_memory());
  EXPECT_EQ(first->memory, &host_memory());
  EXPECT_FALSE(guarded->memory->on_host());
  for (const auto& [name, error] :
       {std::pair("cpu:1", "no device 1"), std::pair("cpu:", "expected the number of a device"),
        std::pair("cpu:x", "expected the number of a device"), std::pair("cpu:0x", "expected the number of a device"),
        std::pair("cpu:-1", "expected the number of a device"), std::pair("abacus:0", "this build has")}) {
    const auto none = open_backend(name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().code, Errc::usage);
    EXPECT_NE(none.error().message.find(error), std::string::npos) << none.error().message;
  }
}

}  // namespace
}  // namespace cachalot::backends_test
