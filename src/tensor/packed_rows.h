// SPDX-License-Identifier: Apache-2.0
// Rows in a packed format (numerics/row_format.h), addressed by number: side by side, or in the pages of a pool.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "base/check.h"
#include "numerics/row_format.h"
#include "tensor/view.h"

namespace cachalot {

// Where a row's codes and scales lie. What is read a few rows at a time lies as records, so that a row is one stretch
// of memory (window and compressed KV); what is scanned (index keys), and tables of checkpoints, as planes.
enum class RowLayout : std::uint8_t {
  planes,   // the codes of all rows (of a page), then all scales
  records,  // each row's codes, then its scales
};
// From the first code of `rows` rows to their first scale.
constexpr std::int64_t scales_at(RowFormat f, std::int64_t width, RowLayout l, std::int64_t rows) {
  return l == RowLayout::records ? code_bytes(f, width) : rows * code_bytes(f, width);
}

template <class Byte>
struct BasicPackedRows {
  RowFormat format = RowFormat::bf16;
  std::int64_t width = 0;  // values of a row
  std::int64_t rows = 0;   // that can be named
  Byte* codes = nullptr;   // of row 0
  Byte* scales = nullptr;  // of row 0; unused where the format has none
  RowLayout layout = RowLayout::planes;
  std::int64_t page_rows = 0;  // rows come in pages of so many, row r in page r / page_rows; 0: all in one
  std::int64_t page_step = 0;  // bytes from a page to the next

  struct Place {
    Byte* codes;
    Byte* scales;
  };
  Place operator[](std::int64_t row) const {
    check(row >= 0 && row < rows, "a packed row that exists");
    std::int64_t before = 0;
    if (page_rows > 0) {
      before = row / page_rows * page_step;
      row %= page_rows;
    }
    const bool together = layout == RowLayout::records;
    const std::int64_t step = row_bytes(format, width);
    return {codes + before + row * (together ? step : code_bytes(format, width)),
            scales + before + row * (together ? step : scale_bytes(format, width))};
  }
  // Neighbours, of rows that are all in one page.
  BasicPackedRows part(std::int64_t first, std::int64_t count) const {
    check(page_rows == 0 && first >= 0 && count >= 0 && first + count <= rows, "neighbouring rows");
    BasicPackedRows some = *this;
    some.rows = count;
    if (count > 0) some.codes = (*this)[first].codes, some.scales = (*this)[first].scales;
    return some;
  }
  void decode(std::int64_t row, std::span<float> out) const {
    const Place at = (*this)[row];
    decode_row(format, at.codes, at.scales, out);
  }
  operator BasicPackedRows<const Byte>() const requires(!std::is_const_v<Byte>) {
    return {format, width, rows, codes, scales, layout, page_rows, page_step};
  }
};
using PackedRows = BasicPackedRows<const std::uint8_t>;
using PackedRowsOut = BasicPackedRows<std::uint8_t>;

// Rows side by side from `at` on; no memory is no rows.
template <class Byte>
constexpr BasicPackedRows<Byte> packed_rows(RowFormat f, std::int64_t width, std::int64_t rows, Byte* at,
                                            RowLayout layout) {
  return {f, width, rows, at, at == nullptr ? nullptr : at + scales_at(f, width, layout, rows), layout};
}

// Rows of several sequences, each in pages of one pool, in the order in which the sequence's table names them.
struct PagedRows {
  PackedRows pool;                       // its page p has rows p · page_rows …
  View<const std::int32_t, 2> page;      // [sequences, pages]
  View<const std::int64_t, 1> readable;  // [sequences]: rows; the last page may hold fewer than page_rows

  // The number in the pool of a sequence's row.
  std::int64_t row_of(std::int64_t sequence, std::int64_t row) const {
    check(row >= 0 && row < readable[sequence], "a paged row that exists");
    return page[sequence][row / pool.page_rows] * pool.page_rows + row % pool.page_rows;
  }
};

}  // namespace cachalot
