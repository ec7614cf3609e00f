// SPDX-License-Identifier: Apache-2.0
#include "kv/window_ring.h"

#include <algorithm>
#include <cstring>

namespace cachalot {

void WindowRing::write(std::int64_t first, const PackedRows& own) {
  check(own.format == format && own.width == head_dim_ && own.layout == layout, "a ring takes rows such as its own");
  const std::int64_t bytes = row_bytes(format, head_dim_);
  for (std::int64_t row = std::max<std::int64_t>(0, own.rows - slots_); row < own.rows; ++row) {
    const std::int64_t slot = (first + row) % slots_;
    std::memcpy(bytes_.data() + slot * bytes, own.codes + row * bytes, static_cast<std::size_t>(bytes));
  }
}

}  // namespace cachalot
