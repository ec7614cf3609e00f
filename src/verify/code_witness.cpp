// SPDX-License-Identifier: Apache-2.0
#include "verify/code_witness.h"

#include <fmt/format.h>

#include <algorithm>

namespace cachalot {
namespace {

bool is_code(std::string_view name) {
  return name.ends_with(".attn.compress_kv_new") || name.ends_with(".attn.indexer.k_new");
}

// The ratio of the layer a code belongs to; 0 where the name has none.
std::int64_t ratio_of(std::string_view name, const Config& config) {
  const std::int64_t layer = tap_layer(name);
  return layer < 0 || layer >= config.n_layers ? 0 : config.ratio(layer);
}

}  // namespace

void CodeRecorder::values(std::string_view name, std::int64_t first_row, Values<2> rows) {
  const std::int64_t ratio = is_code(name) ? ratio_of(name, config_) : 0;
  if (ratio == 0) return;
  const std::int64_t first_group = start_ / ratio;
  const std::int64_t each = (start_ + count_) / ratio - first_group;  // groups of a sequence in this forward
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    const std::int64_t row = first_row + r;
    std::vector<float> decoded;
    for (std::int64_t i = 0; i < rows.extent(1); ++i) decoded.push_back(rows[r].load(i));
    rows_[static_cast<std::size_t>(row / each)][{std::string(name), first_group + row % each}] = std::move(decoded);
  }
}

CodeRows codes_of(const TapObserver::Taps& taps, const Config& config, const ReferenceCall& call, std::int64_t sequence,
                  std::int64_t batch) {
  CodeRows codes;
  for (const auto& [name, tap] : taps) {
    const std::int64_t ratio = is_code(name) ? ratio_of(name, config) : 0;
    if (ratio == 0) continue;
    const std::int64_t each = tap.rows / batch;
    for (std::int64_t g = 0; g < each; ++g) {
      const float* from = tap.tensor.values.data() + (sequence * each + g) * tap.width;
      codes[{name, call.start / ratio + g}].assign(from, from + tap.width);
    }
  }
  return codes;
}

std::optional<CodeFlip> CodeWitness::first_flip(std::span<const std::int64_t> ids, const CodeRows& own,
                                                const Config& config) const {
  std::optional<CodeFlip> first;
  for (const Known& known : known_) {
    const auto same = std::ranges::mismatch(known.ids, ids).in1 - known.ids.begin();
    for (const auto& [place, golden] : known.rows) {
      const auto& [name, group] = place;
      const std::int64_t last = (group + 1) * ratio_of(name, config) - 1;  // the group's last token
      const auto mine = own.find(place);
      if (last >= same || mine == own.end() || mine->second == golden) continue;
      if (first && first->position <= last) continue;
      const auto at = std::ranges::mismatch(mine->second, golden);
      first = CodeFlip{last, fmt::format("{} group {} value {}: {}, golden {}", name, group,
                                         at.in1 - mine->second.begin(), *at.in1, *at.in2)};
    }
  }
  return first;
}

bool CodeWitness::knows(std::span<const std::int64_t> ids) const {
  return std::ranges::any_of(known_, [&](const Known& known) {
    return !known.rows.empty() && std::ranges::mismatch(known.ids, ids).in1 != known.ids.begin();
  });
}

}  // namespace cachalot
