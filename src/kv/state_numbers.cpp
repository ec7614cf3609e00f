// SPDX-License-Identifier: Apache-2.0
#include "kv/state_numbers.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace cachalot {
namespace {

bool is_e4m3(std::uint8_t code) { return (code & 0x7F) != 0x7F; }

// The codes and scales of the formats that a state has.
bool hold_numbers(RowFormat format, std::span<const std::uint8_t> codes, std::span<const std::uint8_t> scales) {
  // Of a ue8m0 scale 2^(code - 127), the largest that f32 has times the largest code: 1.75 * 2^8, and 1.5 * 2^2.
  constexpr std::uint8_t most_of_e4m3 = 127 + 119, most_of_e2m1 = 127 + 125;
  const auto up_to = [&](std::uint8_t most) {
    return std::ranges::all_of(scales, [most](std::uint8_t scale) { return scale <= most; });
  };
  switch (format) {
    case RowFormat::e4m3_e8m0_32:
      return std::ranges::all_of(codes, is_e4m3) && up_to(most_of_e4m3);
    case RowFormat::e2m1_e4m3_16:
      return std::ranges::all_of(scales, is_e4m3);
    case RowFormat::e2m1_e8m0_32:
      return up_to(most_of_e2m1);
    default:
      return false;
  }
}

bool hold_numbers(const HostRows& host) {
  const PackedRows& rows = host.rows;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const auto [codes, scales] = rows[r];
    if (!hold_numbers(rows.format, {codes, static_cast<std::size_t>(code_bytes(rows.format, rows.width))},
                      {scales, static_cast<std::size_t>(scale_bytes(rows.format, rows.width))})) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool holds_numbers(const Sequence& sequence) {
  const StateShape& shape = sequence.shape();
  for (std::int64_t r = 0; r < shape.rings; ++r) {
    if (!hold_numbers(sequence.ring(r))) return false;
  }
  for (std::int64_t s = 0; s < std::ssize(shape.sources); ++s) {
    const std::int64_t ratio = shape.sources[static_cast<std::size_t>(s)].ratio, length = sequence.length();
    if (!hold_numbers(sequence.compressed(s, length / ratio)) || !hold_numbers(sequence.index_keys(s, length / ratio)))
      return false;
    if (ratio == 1) continue;  // no inputs wait
    for (std::int64_t p = std::max<std::int64_t>(0, length - ratio - shape.slack); p < length; ++p) {
      if (std::ranges::any_of(sequence.inputs(s, p), [](float v) { return !std::isfinite(v); })) return false;
    }
  }
  return true;
}

}  // namespace cachalot
