// SPDX-License-Identifier: Apache-2.0
// Rows in a packed format (numerics/row_format.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "numerics/row_format.h"

namespace cachalot {

// Where a row's codes and scales lie. What is read a few rows at a time lies as records, so that a row is one stretch
// of memory (window and compressed KV); what is scanned (index keys), and tables of checkpoints, as planes.
enum class RowLayout : std::uint8_t {
  planes,   // the codes of all rows (of a page), then all scales
  records,  // each row's codes, then its scales
};
constexpr std::int64_t code_step(RowFormat f, std::int64_t width, RowLayout l) {
  return l == RowLayout::records ? row_bytes(f, width) : code_bytes(f, width);
}
constexpr std::int64_t scale_step(RowFormat f, std::int64_t width, RowLayout l) {
  return l == RowLayout::records ? row_bytes(f, width) : scale_bytes(f, width);
}
// From the first code of `rows` rows to their first scale.
constexpr std::int64_t scales_at(RowFormat f, std::int64_t width, RowLayout l, std::int64_t rows) {
  return l == RowLayout::records ? code_bytes(f, width) : rows * code_bytes(f, width);
}

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
  const std::uint8_t* codes = nullptr;   // of row 0; those of the others code_step apart
  const std::uint8_t* scales = nullptr;  // of row 0; those of the others scale_step apart
  RowLayout layout = RowLayout::planes;

  void decode(std::int64_t row, std::span<float> out) const {
    check(row >= 0 && row < rows, "a packed row that exists");
    decode_row(format, codes + row * code_step(format, width, layout), scales + row * scale_step(format, width, layout),
               out);
  }
};

// Rows side by side from `at` on.
constexpr PackedRows packed_rows(RowFormat f, std::int64_t width, std::int64_t rows, const std::uint8_t* at,
                                 RowLayout layout) {
  return {f, width, rows, at, at + scales_at(f, width, layout, rows), layout};
}

// Rows cut into pages of equal size; the pages stand anywhere.
struct PagedRows {
  RowFormat format = RowFormat::bf16;
  std::int64_t width = 0;
  std::int64_t rows = 0;  // readable ones; the last page may hold fewer than page_rows
  std::int64_t page_rows = 1;
  std::span<const std::uint8_t* const> pages;
  RowLayout layout = RowLayout::planes;

  PackedRows page(std::int64_t number) const {
    return packed_rows(format, width, page_rows, pages[static_cast<std::size_t>(number)], layout);
  }
  void decode(std::int64_t row, std::span<float> out) const {
    check(row >= 0 && row < rows, "a paged row that exists");
    page(row / page_rows).decode(row % page_rows, out);
  }
};

}  // namespace cachalot
