// SPDX-License-Identifier: Apache-2.0
#include "kv/state_shape.h"

#include <numeric>

namespace cachalot {

std::int64_t page_tokens_for(const std::vector<SourceShape>& sources, std::int64_t candidate_block_size) {
  std::int64_t tokens = 1;
  for (const SourceShape& s : sources) tokens = std::lcm(tokens, s.ratio * candidate_block_size);
  return (256 + tokens - 1) / tokens * tokens;
}

}  // namespace cachalot
