// SPDX-License-Identifier: Apache-2.0
#include "tensor/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cachalot::packed_rows_test {
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

// Two sequences in one pool: their pages lie in no order, the last ones are not full, and between pages is something
// else.
TEST(PagedRows, RowsAreFoundInTheirPage) {
  for (const RowFormat f : every_format) {
    for (const RowLayout layout : {RowLayout::planes, RowLayout::records}) {
      for (const std::int64_t page_rows : {1, 2, 3, 7, 16}) {
        const std::int64_t count[] = {7, 4};
        const std::int64_t pages[] = {(7 + page_rows - 1) / page_rows, (4 + page_rows - 1) / page_rows};
        const std::int64_t step = page_rows * row_bytes(f, width) + 16;
        std::vector<std::uint8_t> memory(static_cast<std::size_t>((pages[0] + pages[1]) * step), 0xEE);
        PackedRowsOut pool = packed_rows(f, width, page_rows, memory.data(), layout);
        pool.rows = (pages[0] + pages[1]) * page_rows;
        pool.page_rows = page_rows;
        pool.page_step = step;
        std::vector<std::int32_t> table(static_cast<std::size_t>(2 * pages[0]), -1);
        std::int32_t last = static_cast<std::int32_t>(pages[0] + pages[1]);
        for (std::int64_t s = 0; s < 2; ++s) {
          for (std::int64_t p = 0; p < pages[s]; ++p) table[static_cast<std::size_t>(s * pages[0] + p)] = --last;
        }
        const std::vector<std::int64_t> readable(count, count + 2);
        const PagedRows rows{pool, {table.data(), {2, pages[0]}}, {readable.data(), {2}}};
        for (std::int64_t s = 0; s < 2; ++s) {
          for (std::int64_t r = 0; r < count[s]; ++r) {
            const auto [codes, scales] = pool[rows.row_of(s, r)];
            encode_row(f, row_of(static_cast<int>(10 * s + r)), codes, scales);
          }
        }
        for (std::int64_t s = 0; s < 2; ++s) {
          for (std::int64_t r = 0; r < count[s]; ++r) {
            std::vector<float> got(width);
            rows.pool.decode(rows.row_of(s, r), got);
            EXPECT_EQ(got, round_trip(f, row_of(static_cast<int>(10 * s + r))))
                << name(f) << " row " << r << " of " << s;
          }
        }
        for (std::int64_t p = 0; p < pages[0] + pages[1]; ++p)
          EXPECT_EQ(memory[static_cast<std::size_t>((p + 1) * step - 1)], 0xEE);
      }
    }
  }
}

TEST(PackedRowsDeathTest, RowsThatAreNotThereAreRefused) {
  const std::vector<std::uint8_t> codes(4 * 2 * width);
  std::vector<float> out(width);
  const PackedRows packed{RowFormat::bf16, width, 1, codes.data(), nullptr};
  EXPECT_DEATH(packed.decode(1, out), "exists");
  EXPECT_DEATH(packed.decode(-1, out), "exists");
  const std::int32_t page = 0;
  const std::int64_t readable = 1;
  const PagedRows paged{
      {RowFormat::bf16, width, 4, codes.data(), nullptr, RowLayout::planes, 4, 0}, {&page, {1, 1}}, {&readable, {1}}};
  EXPECT_EQ(paged.row_of(0, 0), 0);
  EXPECT_DEATH(paged.row_of(0, 1), "exists");  // in the page, but not written
}

}  // namespace
}  // namespace cachalot::packed_rows_test
