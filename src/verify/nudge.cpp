// SPDX-License-Identifier: Apache-2.0
#include "verify/nudge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/e2m1.h"
#include "numerics/e8m0.h"
#include "numerics/row_format.h"

namespace cachalot {
namespace {

// What sums in f32 may be off by, a few layers down.
constexpr float near = 5e-6f;
constexpr std::int64_t group = 32;  // values under one scale (spec 3.4)

}  // namespace

void Nudge::values(std::string_view name, std::int64_t, Values<2> rows) {
  if (name.find(".hc_") == std::string_view::npos) return;
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    for (std::int64_t i = 0; i < rows.extent(1); ++i) {
      state_ = state_ * 1664525u + 1013904223u;
      const float v = rows[r].load(i);
      rows[r].store(i, std::nextafter(v, state_ >> 31 != 0 ? 2 * v : 0.0f));
    }
  }
}

void AcrossTies::values(std::string_view name, std::int64_t first_row, Values<2> rows) {
  if (!name.ends_with("attn.indexer.q")) return;
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    for (std::int64_t i = 0; i < rows.extent(1); i += group) look(name, first_row + r, rows[r], i);
  }
}

std::vector<std::string> AcrossTies::places() const {
  auto sorted = places_;
  std::ranges::stable_sort(sorted, {}, [](const auto& place) { return place.first; });
  std::vector<std::string> names;
  for (auto& [distance, place] : sorted) names.push_back(std::move(place));
  return names;
}

void AcrossTies::look(std::string_view name, std::int64_t row, Values<1> x, std::int64_t first) {
  std::array<float, group> values;
  std::array<std::uint8_t, group / 2> codes;
  for (std::int64_t i = 0; i < group; ++i) values[static_cast<std::size_t>(i)] = x.load(first + i);
  const float scale = to_float(e8m0{quantize_e2m1_e8m0(values, codes.data())});
  for (std::int64_t i = 0; i < group; ++i) {
    const float v = std::abs(values[static_cast<std::size_t>(i)]);
    for (std::size_t code = 0; code < 7; ++code) {  // the tie between a code and the next one
      const float tie = (e2m1_value[code] + e2m1_value[code + 1]) / 2 * scale;
      const float distance = std::abs(v - tie) / tie;
      if (distance > near) continue;
      places_.emplace_back(distance, fmt::format("{} position {} value {}", name, row, first + i));
      if (moved_ != places_.back().second) continue;
      const bool taken_below = to_e2m1(v / scale) == code;
      const float moved = tie * (taken_below ? 1 + near : 1 - near);
      x.store(first + i, std::copysign(moved, values[static_cast<std::size_t>(i)]));
    }
  }
}

}  // namespace cachalot
