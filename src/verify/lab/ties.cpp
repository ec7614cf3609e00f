// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/ties.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "verify/taps.h"

namespace cachalot {
namespace {

std::vector<float> row_values(Values<1> row) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < row.extent(0); ++i) values.push_back(row.load(i));
  return values;
}

// The nearer of the two ties around value i that is next to it: its distance, and whether it lies above the value.
struct Nearest {
  double distance;
  double tie;
  bool up;
};
std::optional<Nearest> nearest_tie(const CodeGroup& group, std::size_t i) {
  std::optional<Nearest> nearest;
  for (const bool up : {false, true}) {
    const auto tie = group.tie(i, up);
    if (!tie) continue;
    const double distance = group.distance(i, *tie);
    if (distance <= next_to && (!nearest || distance < nearest->distance)) nearest = {distance, *tie, up};
  }
  return nearest;
}

}  // namespace

std::optional<RoundedTo> rounded_to(std::string_view tensor, const Config& config) {
  const std::int64_t layer = tap_layer(tensor);
  if (layer < 0 || layer >= config.n_layers || config.ratio(layer) == 0) return std::nullopt;
  if (tensor.ends_with(".attn.indexer.q")) return RoundedTo{RowFormat::e2m1_e8m0_32, 0};
  if (tensor.ends_with(".attn.indexer.k")) return RoundedTo{RowFormat::e2m1_e8m0_32, config.ratio(layer)};
  if (tensor.ends_with(".attn.compress_kv")) return RoundedTo{RowFormat::e2m1_e4m3_16, config.ratio(layer)};
  return std::nullopt;
}

CodeGroup::CodeGroup(RowFormat format, std::span<const float> group) : values(group), packed(group.size() / 2) {
  scale = format == RowFormat::e2m1_e4m3_16 ? to_float(e4m3{quantize_e2m1_e4m3(group, packed.data())})
                                            : to_float(e8m0{quantize_e2m1_e8m0(group, packed.data())});
  for (const float v : group) largest = std::max(largest, std::abs(static_cast<double>(v)));
}

unsigned CodeGroup::magnitude(std::size_t i) const {
  return e2m1_code(packed.data(), static_cast<std::int64_t>(i)) & 7u;
}

std::optional<double> CodeGroup::tie(std::size_t i, bool up) const {
  const unsigned code = magnitude(i);
  if (code == (up ? 7u : 0u)) return std::nullopt;
  return (e2m1_value[code] + e2m1_value[up ? code + 1 : code - 1]) / 2 * scale;
}

double CodeGroup::distance(std::size_t i, double tie) const {
  return largest > 0 ? std::abs(std::abs(static_cast<double>(values[i])) - tie) / largest : 1;
}

std::optional<bool> CodeGroup::one_step_up(std::size_t i, float golden) const {
  const unsigned code = magnitude(i);
  const auto is = [&](unsigned other) { return std::abs(golden) == static_cast<float>(e2m1_value[other] * scale); };
  if (golden != 0 && code != 0 && std::signbit(golden) != std::signbit(values[i])) return std::nullopt;
  if (code < 7 && is(code + 1)) return true;
  if (code > 0 && is(code - 1)) return false;
  return std::nullopt;
}

std::string NearTie::words() const {
  return fmt::format("{} sequence {} {} {} value {}", tensor, place.sequence,
                     tensor.ends_with(".q") ? "position" : "group", place.at, value);
}

void TieFinder::values(std::string_view name, std::int64_t first_row, Values<2> rows) {
  const auto to = rounded_to(name, config_);
  if (!to) return;
  const auto width = static_cast<std::size_t>(group_size(to->format));
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    const std::vector<float> row = row_values(rows[r]);
    const RowPlace place = to->ratio > 0 ? place_of_group(first_row + r, to->ratio) : place_of_row(first_row + r);
    for (std::size_t first = 0; first < row.size(); first += width) {
      const CodeGroup group(to->format, std::span(row).subspan(first, width));
      for (std::size_t i = 0; i < width; ++i) {
        const auto nearest = nearest_tie(group, i);
        if (nearest) {
          ties_.push_back({std::string(name), place, static_cast<std::int64_t>(first + i), nearest->distance});
        }
      }
    }
    if (to->ratio > 0) stored_[place.sequence][{std::string(name), place.at}] = row;
  }
}

std::vector<NearTie> TieFinder::ties() const {
  auto sorted = ties_;
  std::ranges::stable_sort(sorted, {}, &NearTie::distance);
  return sorted;
}

const CodeRows& TieFinder::stored(std::int64_t sequence) const {
  static const CodeRows none;
  const auto at = stored_.find(sequence);
  return at == stored_.end() ? none : at->second;
}

void MoveAcross::values(std::string_view name, std::int64_t first_row, Values<2> rows) {
  const auto to = rounded_to(name, config_);
  if (!to) return;
  const std::int64_t width = group_size(to->format);
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    const RowPlace place = to->ratio > 0 ? place_of_group(first_row + r, to->ratio) : place_of_row(first_row + r);
    for (const NearTie& tie : ties_) {
      if (tie.tensor != name || tie.place != place) continue;
      const std::vector<float> row = row_values(rows[r]);
      const std::int64_t first = tie.value / width * width;
      const CodeGroup group(to->format,
                            std::span(row).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(width)));
      const auto nearest = nearest_tie(group, static_cast<std::size_t>(tie.value - first));
      if (!nearest) continue;
      constexpr double beyond = 1e-6;
      const auto moved = static_cast<float>(nearest->tie * (nearest->up ? 1 + beyond : 1 - beyond));
      rows[r].store(tie.value, std::copysign(moved, row[static_cast<std::size_t>(tie.value)]));
    }
  }
}

}  // namespace cachalot
