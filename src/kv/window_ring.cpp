// SPDX-License-Identifier: Apache-2.0
#include "kv/window_ring.h"

#include <algorithm>
#include <cstring>

namespace cachalot {

void WindowRing::write(std::int64_t first, const PackedRows& own) {
  check(own.format == format && own.width == head_dim_, "a ring takes rows of its own format and width");
  const std::int64_t codes = code_bytes(format, head_dim_);
  const std::int64_t scales = scale_bytes(format, head_dim_);
  for (std::int64_t row = std::max<std::int64_t>(0, own.rows - slots_); row < own.rows; ++row) {
    const std::int64_t slot = (first + row) % slots_;
    std::memcpy(bytes_.data() + slot * codes, own.codes + row * codes, static_cast<std::size_t>(codes));
    std::memcpy(bytes_.data() + scales_at() + slot * scales, own.scales + row * scales,
                static_cast<std::size_t>(scales));
  }
}

}  // namespace cachalot
