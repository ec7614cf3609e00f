// SPDX-License-Identifier: Apache-2.0
#include "kv/state_bytes.h"

#include <algorithm>

#include "base/ids.h"
#include "kv/sequence.h"

namespace cachalot {

StateBytes state_bytes(const StateShape& shape, std::int64_t positions) {
  StateBytes bytes;
  bytes.rings = shape.rings * shape.ring_slots() * row_bytes(WindowRing::format, shape.head_dim);
  bytes.history = std::max<std::int64_t>(1, shape.history + shape.slack) *
                  static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(std::uint8_t));
  for (const SourceShape& s : shape.sources) {
    if (s.ratio > 1) {
      bytes.compressor_inputs +=
          (s.ratio + shape.slack) * 2 * shape.head_dim * static_cast<std::int64_t>(sizeof(float));
    }
    const std::int64_t page_groups = shape.page_tokens / s.ratio;
    const std::int64_t rows = ceil_div(positions / s.ratio, page_groups) * page_groups;
    bytes.compressed += rows * row_bytes(Sequence::compressed_format, shape.head_dim);
    bytes.index_keys += rows * row_bytes(Sequence::index_key_format, shape.index_head_dim);
  }
  return bytes;
}

TokenBytes token_bytes(const StateShape& shape) {
  TokenBytes bytes;
  for (const SourceShape& s : shape.sources) {
    const auto ratio = static_cast<double>(s.ratio);
    bytes.compressed += static_cast<double>(row_bytes(Sequence::compressed_format, shape.head_dim)) / ratio;
    bytes.index_keys += static_cast<double>(row_bytes(Sequence::index_key_format, shape.index_head_dim)) / ratio;
  }
  return bytes;
}

}  // namespace cachalot
