// SPDX-License-Identifier: Apache-2.0
// How the CPU's indexer cuts its work.
#pragma once

#include <cstdint>

#include "tensor/view.h"

namespace cachalot {

constexpr std::int64_t tile_keys = 32;  // decoded together, one key a lane
constexpr std::int64_t band_rows = 16;  // that meet a decoded tile: their queries stay in the second cache

// What a band's rows bring, as f32.
struct IndexQueries {
  View<float, 2> q;       // [rows, heads · index_head_dim]
  View<float, 2> weight;  // [rows, heads]
};

}  // namespace cachalot
