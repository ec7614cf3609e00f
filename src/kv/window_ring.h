// SPDX-License-Identifier: Apache-2.0
// The window KV of one layer: position p in slot p mod slots. Source: spec 3.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/packed_rows.h"

namespace cachalot {

class WindowRing {
 public:
  static constexpr RowFormat format = RowFormat::e4m3_e8m0_32;
  static constexpr RowLayout layout = RowLayout::records;

  WindowRing(std::int64_t slots, std::int64_t head_dim)
      : slots_(slots), head_dim_(head_dim), bytes_(static_cast<std::size_t>(slots * row_bytes(format, head_dim))) {}

  PackedRows view() const { return packed_rows(format, head_dim_, slots_, bytes_.data(), layout); }

  // Copies the newest rows of `own`, whose row 0 is position `first`; older ones than the ring holds are skipped.
  void write(std::int64_t first, const PackedRows& own);

  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_.size()); }
  std::span<const std::uint8_t> packed() const { return bytes_; }  // as they lie: for who keeps or restores them
  std::span<std::uint8_t> packed() { return bytes_; }

 private:
  std::int64_t slots_;
  std::int64_t head_dim_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace cachalot
