// SPDX-License-Identifier: Apache-2.0
// Rows in a packed format (numerics/row_format.h): codes in one plane, scales in another.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "numerics/row_format.h"

namespace cachalot {

// Where one row is to be written.
struct RowSlot {
  std::uint8_t* codes;
  std::uint8_t* scales;  // unused where the format has none
};

// Neighbouring rows: a ring, a step's own rows, a table of a checkpoint.
struct PackedRows {
  RowFormat format = RowFormat::bf16;
  std::int64_t width = 0;  // values of a row
  std::int64_t rows = 0;
  const std::uint8_t* codes = nullptr;   // [rows, code_bytes(format, width)]
  const std::uint8_t* scales = nullptr;  // [rows, scale_bytes(format, width)]

  void decode(std::int64_t row, std::span<float> out) const {
    check(row >= 0 && row < rows, "a packed row that exists");
    decode_row(format, codes + row * code_bytes(format, width), scales + row * scale_bytes(format, width), out);
  }
};

// Rows cut into pages of equal size; the pages stand anywhere. In a page the codes of all its rows come before the
// scales.
struct PagedRows {
  RowFormat format = RowFormat::bf16;
  std::int64_t width = 0;
  std::int64_t rows = 0;  // readable ones; the last page may hold fewer than page_rows
  std::int64_t page_rows = 1;
  std::span<const std::uint8_t* const> pages;

  void decode(std::int64_t row, std::span<float> out) const {
    check(row >= 0 && row < rows, "a paged row that exists");
    const std::uint8_t* page = pages[static_cast<std::size_t>(row / page_rows)];
    const std::int64_t in_page = row % page_rows;
    decode_row(format, page + in_page * code_bytes(format, width),
               page + page_rows * code_bytes(format, width) + in_page * scale_bytes(format, width), out);
  }
};

}  // namespace cachalot
