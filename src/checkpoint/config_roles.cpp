// SPDX-License-Identifier: Apache-2.0
// What a layer is, from the lists of the config (spec 1).
#include <algorithm>
#include <span>

#include "checkpoint/config.h"

namespace cachalot {
namespace {

bool contains(std::span<const std::int64_t> list, std::int64_t layer) {
  return std::ranges::binary_search(list, layer);
}

std::int64_t nearest_at_or_below(std::span<const std::int64_t> list, std::int64_t layer) {
  const auto above = std::ranges::upper_bound(list, layer);
  return above == list.begin() ? -1 : *(above - 1);
}

}  // namespace

bool Config::is_kv_source(std::int64_t layer) const { return contains(kv_source_layers, layer); }
bool Config::is_index_source(std::int64_t layer) const { return contains(index_source_layers, layer); }

std::int64_t Config::kv_source(std::int64_t layer) const {
  return ratio(layer) == 0 ? -1 : nearest_at_or_below(kv_source_layers, layer);
}

std::int64_t Config::index_source(std::int64_t layer) const {
  return ratio(layer) == 0 ? -1 : nearest_at_or_below(index_source_layers, layer);
}

std::int64_t Config::engram_index(std::int64_t layer) const {
  const auto at = std::ranges::find(engram_layer_ids, layer);
  return at == engram_layer_ids.end() ? -1 : at - engram_layer_ids.begin();
}

}  // namespace cachalot
