// SPDX-License-Identifier: Apache-2.0
#include "tensor/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cachalot {
namespace {

constexpr std::int64_t width = 32;

std::vector<float> row_of(int r) {
  std::vector<float> v(width);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((r + 1) * (static_cast<int>(i % 7) - 3));
  v[0] = static_cast<float>(r + 1) * 4;  // the rows' scales differ
  return v;
}

std::vector<float> round_trip(RowFormat f, const std::vector<float>& row) {
  std::vector<std::uint8_t> codes(4 * width);
  std::vector<std::uint8_t> scales(width);
  std::vector<float> out(row.size());
  encode_row(f, row, codes.data(), scales.data());
  decode_row(f, codes.data(), scales.data(), out);
  return out;
}

constexpr RowFormat every_format[] = {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16,
                                      RowFormat::e2m1_e8m0_32};

TEST(PackedRows, EachRowHasItsOwnCodesAndScales) {
  for (const RowFormat f : every_format) {
    const auto cb = static_cast<std::size_t>(code_bytes(f, width));
    const auto sb = static_cast<std::size_t>(scale_bytes(f, width));
    std::vector<std::uint8_t> codes(5 * cb);
    std::vector<std::uint8_t> scales(5 * sb);
    for (std::size_t r = 0; r < 5; ++r)
      encode_row(f, row_of(static_cast<int>(r)), &codes[r * cb], scales.data() + r * sb);
    const PackedRows rows{f, width, 5, codes.data(), scales.data()};
    for (int r = 0; r < 5; ++r) {
      std::vector<float> got(width);
      rows.decode(r, got);
      EXPECT_EQ(got, round_trip(f, row_of(r))) << name(f) << " row " << r;
    }
  }
}

TEST(PackedRows, ARecordHasARowsCodesThenItsScales) {
  for (const RowFormat f : every_format) {
    std::vector<std::uint8_t> records(static_cast<std::size_t>(5 * row_bytes(f, width)));
    for (int r = 0; r < 5; ++r) {
      std::uint8_t* at = records.data() + r * row_bytes(f, width);
      encode_row(f, row_of(r), at, at + code_bytes(f, width));
    }
    const PackedRows rows = packed_rows(f, width, 5, records.data(), RowLayout::records);
    for (int r = 0; r < 5; ++r) {
      std::vector<float> got(width);
      rows.decode(r, got);
      EXPECT_EQ(got, round_trip(f, row_of(r))) << name(f) << " row " << r;
    }
  }
}

// The last page is not full; pages lie in no order, and where they are planes, a page's codes come before its scales.
TEST(PagedRows, RowsAreFoundInTheirPage) {
  for (const RowFormat f : every_format) {
    for (const std::int64_t page_rows : {1, 2, 3, 7, 16}) {
      const std::int64_t cb = code_bytes(f, width);
      const std::int64_t sb = scale_bytes(f, width);
      const auto pages = static_cast<std::size_t>((7 + page_rows - 1) / page_rows);
      std::vector<std::vector<std::uint8_t>> memory(pages);
      for (auto& m : memory) m.resize(static_cast<std::size_t>(page_rows * (cb + sb)));
      for (int r = 0; r < 7; ++r) {
        std::uint8_t* page = memory[pages - 1 - static_cast<std::size_t>(r / page_rows)].data();
        const std::int64_t at = r % page_rows;
        encode_row(f, row_of(r), page + at * cb, page + page_rows * cb + at * sb);
      }
      std::vector<const std::uint8_t*> table;
      for (auto m = memory.rbegin(); m != memory.rend(); ++m) table.push_back(m->data());
      const PagedRows rows{f, width, 7, page_rows, table};
      for (int r = 0; r < 7; ++r) {
        std::vector<float> got(width);
        rows.decode(r, got);
        EXPECT_EQ(got, round_trip(f, row_of(r))) << name(f) << " row " << r << " of pages of " << page_rows;
      }
    }
  }
}

TEST(PackedRowsDeathTest, RowsThatAreNotThereAreRefused) {
  const std::vector<std::uint8_t> codes(2 * width);
  const std::uint8_t* page = codes.data();
  std::vector<float> out(width);
  const PackedRows packed{RowFormat::bf16, width, 1, codes.data(), nullptr};
  const PagedRows paged{RowFormat::bf16, width, 1, 4, std::span(&page, 1)};
  EXPECT_DEATH(packed.decode(1, out), "exists");
  EXPECT_DEATH(packed.decode(-1, out), "exists");
  EXPECT_DEATH(paged.decode(1, out), "exists");  // in the page, but not written
}

}  // namespace
}  // namespace cachalot
