// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cachalot {
namespace {

constexpr std::uint64_t bytes_of_word(std::uint64_t byte) { return byte * 0x0101010101010101u; }
constexpr std::uint64_t halves_of_word(std::uint64_t half) { return half * 0x0001000100010001u; }
constexpr std::uint64_t words_of_word(std::uint64_t word) { return word * 0x0000000100000001u; }

constexpr std::int32_t no_result = static_cast<std::int32_t>(0x80808080u);  // neither an index nor "nothing here"

template <class T>
std::span<const T> as(const void* data, std::int64_t bytes) {
  return {static_cast<const T*>(data), static_cast<std::size_t>(bytes) / sizeof(T)};
}

}  // namespace

// Random bits, of which those of `keep` stay and those of `set` become 1.
void Memory::fill(void* to, std::int64_t bytes, std::uint64_t keep, std::uint64_t set) {
  auto* at = static_cast<std::uint8_t*>(to);
  for (std::int64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = (random_.bits() & keep) | set;
    std::memcpy(at + i, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

void Memory::fill_bf16(void* to, std::int64_t count) {
  fill(to, 2 * count, halves_of_word(0x807F), halves_of_word(0x3F00));
}
void Memory::fill_f32(void* to, std::int64_t count) {
  fill(to, 4 * count, words_of_word(0x807FFFFF), words_of_word(0x3F000000));
}

void Memory::fill_codes(RowFormat format, std::uint8_t* codes, std::int64_t bytes) {
  switch (format) {
    case RowFormat::f32:
      return fill_f32(codes, bytes / 4);
    case RowFormat::bf16:
      return fill_bf16(codes, bytes / 2);
    case RowFormat::e4m3_e8m0_32:
      return fill(codes, bytes, bytes_of_word(0xBF), 0);  // below 2, and no NaN
    case RowFormat::e2m1_e4m3_16:
    case RowFormat::e2m1_e8m0_32:
      return fill(codes, bytes, ~std::uint64_t{0}, 0);
  }
}

void Memory::fill_scales(RowFormat format, std::uint8_t* scales, std::int64_t bytes) {
  const std::uint64_t set = format == RowFormat::e2m1_e4m3_16 ? 0x38 : 0x78;  // e4m3 1 to 1.875, ue8m0 2^-7 to 1
  fill(scales, bytes, bytes_of_word(7), bytes_of_word(set));
}

Weight Memory::weight(WeightFormat format, std::int64_t out, std::int64_t in) {
  const auto filled_with = [&](RowFormat like, std::int64_t bytes) {
    auto* to = static_cast<std::uint8_t*>(arena_.take_bytes(bytes));
    fill_codes(like, to, bytes);
    return to;
  };
  const auto scales = [&](std::int64_t bytes) {
    auto* to = static_cast<std::uint8_t*>(arena_.take_bytes(bytes));
    fill_scales(RowFormat::e2m1_e8m0_32, to, bytes);
    return to;
  };
  Weight w{format, out, in, nullptr, nullptr};
  switch (format) {
    case WeightFormat::f32:
      w.data = filled_with(RowFormat::f32, 4 * out * in);
      break;
    case WeightFormat::bf16:
      w.data = filled_with(RowFormat::bf16, 2 * out * in);
      break;
    case WeightFormat::f16: {
      void* to = arena_.take_bytes(2 * out * in);
      fill(to, 2 * out * in, halves_of_word(0x83FF), halves_of_word(0x3800));
      w.data = to;
      break;
    }
    case WeightFormat::e4m3_block32:
      w.data = filled_with(RowFormat::e4m3_e8m0_32, out * in);
      w.scale = scales((out + 31) / 32 * w.scale_columns());
      break;
    case WeightFormat::e2m1_row32:
      w.data = filled_with(RowFormat::e2m1_e8m0_32, out * (in / 2));
      w.scale = scales(out * w.scale_columns());
      break;
  }
  return w;
}

PackedRows Memory::packed(RowFormat format, std::int64_t width, std::int64_t rows, RowLayout layout) {
  auto* at = static_cast<std::uint8_t*>(arena_.take_bytes(rows * row_bytes(format, width)));
  const PackedRowsOut to = packed_rows(format, width, rows, at, layout);
  const std::int64_t stretches = layout == RowLayout::records ? rows : 1,
                     each = rows / std::max<std::int64_t>(1, stretches);
  for (std::int64_t i = 0; i < stretches && rows > 0; ++i) {
    fill_codes(format, to[i].codes, each * code_bytes(format, width));
    fill_scales(format, to[i].scales, each * scale_bytes(format, width));
  }
  return to;
}

PagedRows Memory::paged(RowFormat format, RowLayout layout, std::int64_t width, std::int64_t rows,
                        std::int64_t page_rows) {
  const std::int64_t pages = (rows + page_rows - 1) / page_rows, bytes = page_rows * row_bytes(format, width);
  auto* at = static_cast<std::uint8_t*>(arena_.take_bytes(pages * bytes));
  PackedRowsOut pool = packed_rows(format, width, page_rows, at, layout);
  pool.rows = pages * page_rows;
  pool.page_rows = page_rows;
  pool.page_step = bytes;
  const auto table = all<std::int32_t, 2>({1, pages}, 0);
  for (std::int64_t p = 0; p < pages; ++p) {
    table[0][p] = static_cast<std::int32_t>(p);
    const std::int64_t stretches = layout == RowLayout::records ? page_rows : 1, each = page_rows / stretches;
    for (std::int64_t i = 0; i < stretches; ++i) {
      fill_codes(format, pool[p * page_rows + i].codes, each * code_bytes(format, width));
      fill_scales(format, pool[p * page_rows + i].scales, each * scale_bytes(format, width));
    }
  }
  return {pool, table, all<std::int64_t, 1>({1}, rows)};
}

PackedRowsOut Memory::packed_out(RowFormat format, std::int64_t width, std::int64_t rows) {
  const std::int64_t codes = rows * code_bytes(format, width), scales = rows * scale_bytes(format, width);
  auto* code = static_cast<std::uint8_t*>(arena_.take_bytes(codes));
  auto* scale = static_cast<std::uint8_t*>(arena_.take_bytes(scales));
  // 0xFF is NaN as an e4m3 code and as a scale of either kind; two e2m1 codes may well be 0xFF.
  if (format == RowFormat::e4m3_e8m0_32) outputs_.push_back({Kind::codes, code, codes});
  outputs_.push_back({Kind::codes, scale, scales});
  return {format, width, rows, code, scale};
}

PackedRowsOut Memory::records_out(RowFormat format, std::int64_t width, std::int64_t rows) {
  const std::int64_t bytes = rows * row_bytes(format, width);
  auto* at = static_cast<std::uint8_t*>(arena_.take_bytes(bytes));
  outputs_.push_back({Kind::codes, at, bytes});
  return packed_rows(format, width, rows, at, RowLayout::records);
}

void Memory::poison(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    const Output& o = outputs_[i];
    if (o.kind == Kind::bf16_in_place) {
      fill_bf16(o.data, o.bytes / 2);
    } else if (o.kind == Kind::f32_in_place) {
      fill_f32(o.data, o.bytes / 4);
    } else {
      std::memset(o.data, o.kind == Kind::whole ? 0x80 : 0xFF, static_cast<std::size_t>(o.bytes));
    }
  }
}

bool Memory::filled(std::size_t first, std::size_t last) const {
  for (std::size_t i = first; i < last; ++i) {
    const Output& o = outputs_[i];
    bool good = true;
    switch (o.kind) {
      case Kind::bf16:
      case Kind::bf16_in_place:
        good = std::ranges::all_of(as<bf16>(o.data, o.bytes), [](bf16 v) { return (v.bits & 0x7F80) != 0x7F80; });
        break;
      case Kind::f32:
      case Kind::f32_in_place:
        good = std::ranges::all_of(as<float>(o.data, o.bytes), [](float v) { return std::isfinite(v); });
        break;
      case Kind::whole:
        good =
            std::ranges::find(as<std::int32_t>(o.data, o.bytes), no_result) == as<std::int32_t>(o.data, o.bytes).end();
        break;
      case Kind::codes:
        good = std::memchr(o.data, 0xFF, static_cast<std::size_t>(o.bytes)) == nullptr;
        break;
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace cachalot
