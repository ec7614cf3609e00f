// SPDX-License-Identifier: Apache-2.0
#include "kv/state_bytes.h"

#include <algorithm>

#include "base/ids.h"

namespace cachalot {

StateBytes state_bytes(const StateShape& shape, std::int64_t positions) {
  StateBytes bytes;
  bytes.rings = shape.rings * shape.ring_bytes();
  bytes.history = std::max<std::int64_t>(1, shape.history + shape.slack) *
                  static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(std::uint8_t));
  for (std::int64_t s = 0; s < std::ssize(shape.sources); ++s) {
    const std::int64_t groups = positions / shape.sources[static_cast<std::size_t>(s)].ratio;
    const std::int64_t pages = ceil_div(groups, shape.page_groups(s));
    bytes.compressor_inputs += shape.input_bytes(s);
    bytes.compressed += pages * shape.compressed_page_bytes(s);
    bytes.index_keys += pages * shape.key_page_bytes(s);
  }
  return bytes;
}

TokenBytes token_bytes(const StateShape& shape) {
  TokenBytes bytes;
  for (const SourceShape& s : shape.sources) {
    const auto ratio = static_cast<double>(s.ratio);
    bytes.compressed += static_cast<double>(row_bytes(compressed_format, shape.head_dim)) / ratio;
    bytes.index_keys += static_cast<double>(row_bytes(index_key_format, shape.index_head_dim)) / ratio;
  }
  return bytes;
}

}  // namespace cachalot
