// SPDX-License-Identifier: Apache-2.0
#include "base/byte_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace cachalot::byte_text_test {
namespace {

TEST(ByteText, WholeBytesBelowAKibibyteAndOneDecimalAbove) {
  EXPECT_EQ(byte_text(0), "0 B");
  EXPECT_EQ(byte_text(1023), "1023 B");
  EXPECT_EQ(byte_text(1024), "1.0 KiB");
  EXPECT_EQ(byte_text(16462643), "15.7 MiB");
  EXPECT_EQ(byte_text(std::numeric_limits<std::int64_t>::max()), "8.0 EiB");
}

TEST(ByteText, WhatPeopleWriteIsRead) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("17 B"), 17);
  EXPECT_EQ(parse_bytes("16G"), std::int64_t{16} << 30);
  EXPECT_EQ(parse_bytes("16GiB"), std::int64_t{16} << 30);
  EXPECT_EQ(parse_bytes("16 GB"), 16'000'000'000);
  EXPECT_EQ(parse_bytes("1.5K"), 1536);
  EXPECT_EQ(parse_bytes("7EiB"), std::int64_t{7} << 60);
}

TEST(ByteText, WhatIsNoNumberOfBytesIsNotRead) {
  for (const char* text : {"", "G", "-1", "16g", "16GB ", "16 GiB/s", "1e3", "nan", "inf", "16X", "8EiB", "16  G",
                           "0x10", " 1", "99999999999999999999999"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cachalot::byte_text_test
