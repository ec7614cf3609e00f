// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/layer_list.h"

#include <gtest/gtest.h>

namespace cachalot::layer_list_test {
namespace {

TEST(LayerList, NumbersAndRangesAreTakenAsWritten) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(parse_layer_list("0", "--x").value(), List{0});
  EXPECT_EQ(parse_layer_list("1,2,20", "--x").value(), (List{1, 2, 20}));
  EXPECT_EQ(parse_layer_list("20,1-3,7-7", "--x").value(), (List{20, 1, 2, 3, 7}));
}

TEST(LayerList, WhatNamesNoLayerIsAUsageError) {
  for (const char* list : {"", ",", "1,", "a", "-1", "-", "3-", "-3-4", "3-1", "1-2-3", "1--2", "1 2", "0-1048576",
                           "99999999999999999999"}) {
    const auto layers = parse_layer_list(list, "--x");
    ASSERT_FALSE(layers.has_value()) << list;
    EXPECT_EQ(layers.error().code, Errc::usage);
    EXPECT_EQ(layers.error().message,
              fmt::format("--x: \"{}\" names no layers; a list is written 1,2,20 or 1-3,20", list));
  }
}

}  // namespace
}  // namespace cachalot::layer_list_test
