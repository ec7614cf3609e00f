// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace cachalot::dtype_test {
namespace {

TEST(DType, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(type)), type) << name(type);
  }
  for (const char* unknown : {"", "f32", "F8", "F8_E5M2", "F32 "}) EXPECT_EQ(parse_dtype(unknown), std::nullopt);
}

TEST(DType, BytesOfEachKind) {
  EXPECT_EQ(bytes_of(DType::f64), 8);
  EXPECT_EQ(bytes_of(DType::f32), 4);
  EXPECT_EQ(bytes_of(DType::bf16), 2);
  EXPECT_EQ(bytes_of(DType::f16), 2);
  EXPECT_EQ(bytes_of(DType::e4m3), 1);
  EXPECT_EQ(bytes_of(DType::e8m0), 1);
  EXPECT_EQ(bytes_of(DType::i64), 8);
  EXPECT_EQ(bytes_of(DType::i8), 1);
  EXPECT_EQ(bytes_of(DType::boolean), 1);
}

}  // namespace
}  // namespace cachalot::dtype_test
