// SPDX-License-Identifier: Apache-2.0
#include "verify/lab/code_witness.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

namespace cachalot {
namespace {

constexpr std::string_view after_rounding = "_new";  // how golden taps name what they show decoded

// What a row before rounding decodes to.
std::vector<float> round_trip(RowFormat format, std::span<const float> row) {
  const auto width = static_cast<std::int64_t>(row.size());
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(code_bytes(format, width)));
  std::vector<std::uint8_t> scales(static_cast<std::size_t>(scale_bytes(format, width)));
  std::vector<float> decoded(row.size());
  encode_row(format, row, codes.data(), scales.data());
  decode_row(format, codes.data(), scales.data(), decoded);
  return decoded;
}

CodeDifference describe(std::string_view tensor, RowPlace place, RowFormat format, std::span<const float> row,
                        float own, float golden, std::size_t at) {
  const auto width = static_cast<std::size_t>(group_size(format));
  const std::size_t first = at / width * width;
  const CodeGroup group(format, row.subspan(first, width));
  CodeDifference d{{std::string(tensor), place, static_cast<std::int64_t>(at), 0}, {}, false};
  d.what = fmt::format("{}: {}, golden {}", d.at.words(), own, golden);
  const auto up = group.one_step_up(at - first, golden);
  if (!up) {
    d.what += ", more than one code step";
    return d;
  }
  d.at.distance = group.distance(at - first, *group.tie(at - first, *up));
  d.flip = d.at.distance <= next_to;
  d.what += fmt::format(", rounded from {:.9g}, {:.1e} of the group's largest value beside the tie{}", row[at],
                        d.at.distance, d.flip ? "" : ": too far for a flip");
  return d;
}

}  // namespace

CodeRows codes_of(const TapObserver::Taps& taps, const Config& config, const ReferenceCall& call, std::int64_t sequence,
                  std::int64_t batch) {
  CodeRows codes;
  for (const auto& [name, tap] : taps) {
    if (!name.ends_with(after_rounding)) continue;
    const std::string before = name.substr(0, name.size() - after_rounding.size());
    const auto to = rounded_to(before, config);
    if (!to) continue;
    const std::int64_t each = tap.rows / batch;
    for (std::int64_t g = 0; g < each; ++g) {
      const float* from = tap.tensor.values.data() + (sequence * each + g) * tap.width;
      codes[{before, call.start / to->ratio + g}].assign(from, from + tap.width);
    }
  }
  return codes;
}

std::optional<CodeDifference> CodeWitness::first_difference(std::span<const std::int64_t> ids, std::int64_t sequence,
                                                            const CodeRows& own, const Config& config) const {
  std::optional<CodeDifference> first;
  std::tuple<std::int64_t, std::int64_t> earliest;  // position from which rows read it, layer
  for (const Known& known : known_) {
    const auto same = std::ranges::mismatch(known.ids, ids).in1 - known.ids.begin();
    for (const auto& [place, golden] : known.rows) {
      const auto& [tensor, group] = place;
      const auto to = rounded_to(tensor, config);
      const std::tuple when{(group + 1) * to->ratio - 1, tap_layer(tensor)};
      const auto mine = own.find(place);
      if (std::get<0>(when) >= same || mine == own.end() || (first && earliest <= when)) continue;
      const std::vector<float> decoded = round_trip(to->format, mine->second);
      const auto at = static_cast<std::size_t>(std::ranges::mismatch(decoded, golden).in1 - decoded.begin());
      if (at == decoded.size()) continue;
      first = describe(tensor, {sequence, group}, to->format, mine->second, decoded[at], golden[at], at);
      earliest = when;
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
