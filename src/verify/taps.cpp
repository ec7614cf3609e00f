// SPDX-License-Identifier: Apache-2.0
#include "verify/taps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace cachalot {
namespace {

// Without layers.N.
std::string_view part_of(std::string_view name) {
  if (tap_layer(name) < 0) return name;
  return name.substr(name.find('.', std::string_view("layers.").size()) + 1);
}

bool is_list(std::string_view part) {
  return part == "attn.topk_idxs" || part == "attn.indexer.topk_idxs" || part == "attn.indexer.candidates";
}

Expected<std::vector<std::int64_t>> engine_list(const GoldenFile& golden, const GoldenTap& tap, std::int64_t row,
                                                const Config& config, const ReferenceCall& call) {
  const std::string& name = tap.tensor.name;
  const std::string_view part = part_of(name);
  const std::span<const std::int64_t> stored =
      std::span(tap.tensor.numbers)
          .subspan(static_cast<std::size_t>(row * tap.width), static_cast<std::size_t>(tap.width));
  const std::int64_t layer = tap_layer(name);
  const auto wrong = [&](std::string_view what) {
    return fail(Errc::range, "{}: {} row {}: {}", golden.path(), name, row, what);
  };
  if (part == "attn.indexer.candidates") {
    if (config.candidate_block_size < 1) return wrong("candidates, but the model has no candidate source");
    auto blocks = blocks_of_mask(stored, config.candidate_block_size);
    if (!blocks) return wrong("a block of candidates is kept in part");
    return std::move(*blocks);
  }
  std::vector<std::int64_t> list(stored.begin(), stored.end());
  if (is_list(part)) {
    const std::int64_t ratio = config.ratio(layer);
    for (std::int64_t& slot : list) {
      const auto entry =
          part == "attn.topk_idxs" ? call.entry_of(slot, row, ratio) : call.group_of_slot(slot, row, ratio);
      if (!entry) return wrong(fmt::format("slot {} is none that position {} sees", slot, call.position(row)));
      slot = *entry;
    }
  } else if (part == "ffn.gate_indices") {
    const auto bad = std::ranges::find_if(list, [&](std::int64_t e) { return e < 0 || e >= config.experts(layer); });
    if (bad != list.end()) return wrong(fmt::format("expert {} of {}", *bad, config.experts(layer)));
  }
  return list;
}

const Tolerance& tolerance_of(std::string_view part, DType stored, Numerics numerics, TapRules rules) {
  using namespace tolerances;
  if (part == "embed" || part == "engram.embed") return exact;
  if (part == "attn.compress_kv_new" || part == "attn.indexer.k_new") return layer_fp4;
  if (numerics == Numerics::released) return stored == DType::bf16 ? layer_bf16 : layer_released_f32;
  if (part.starts_with("hc_") || part == "ffn.gate_weights" || part == "engram.gate") return layer_gates_f32;
  return rules == TapRules::step ? step_f32 : layer_f32;
}

bool is_judged(Numerics numerics, TapRules rules) { return rules == TapRules::prompt || numerics == Numerics::f32; }

}  // namespace

std::int64_t tap_layer(std::string_view name) {
  constexpr std::string_view prefix = "layers.";
  std::int64_t layer = -1;
  if (name.starts_with(prefix)) std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
  return layer;
}

bool is_layer_input(std::string_view name) {
  const std::string_view part = part_of(name);
  if (tap_layer(name) < 0) return name == "main_hidden";
  return part == "in" || part == "engram.in" || part == "hc_ffn.pre" || part == "ffn.gate_indices" || is_list(part);
}

Expected<TapObserver::Taps> read_taps(GoldenFile& golden, const Config& config, const ReferenceCall& call,
                                      std::int64_t batch, std::initializer_list<std::string_view> not_taps) {
  TapObserver::Taps taps;
  for (const TensorInfo& info : golden.tensors()) {
    if (std::ranges::find(not_taps, info.name) != not_taps.end()) continue;
    const std::int64_t layer = tap_layer(info.name);
    if (layer >= config.all_layers()) {
      return fail(Errc::range, "{}: {}: the model has {} layers and draft stages", golden.path(), info.name,
                  config.all_layers());
    }
    const bool whole = info.dtype.has_value() && *info.dtype >= DType::i64;
    auto tensor = golden.read({info.name, whole ? 'n' : 'r', -1});
    if (!tensor) return tl::unexpected(tensor.error());
    GoldenTap tap{.tensor = std::move(*tensor), .rows = 0, .width = 0, .lists = {}};
    const std::string_view part = part_of(info.name);
    const bool flat = part == "ffn.gate_weights" || part == "ffn.gate_indices";  // [batch · rows, …]
    const std::size_t outer = flat ? 1 : 2;                                      // [batch, rows, …]
    if (tap.tensor.shape.size() <= outer || (!flat && tap.tensor.extent(0) != batch)) {
      return fail(Errc::format, "{}: {} has shape [{}], expected {} sequences and what each row has", golden.path(),
                  info.name, shown_list(tap.tensor.shape), batch);
    }
    const auto inner = static_cast<int>(tap.tensor.shape.size() - outer);
    tap.rows = tap.tensor.rows(inner);
    tap.width = tap.tensor.width(inner);
    const bool by_group = part == "attn.latent" || part == "attn.compress_kv_new" || part == "attn.indexer.k_new";
    if (!by_group && tap.rows != batch * call.rows) {
      return fail(Errc::format, "{}: {} has {} rows, expected {}", golden.path(), info.name, tap.rows,
                  batch * call.rows);
    }
    for (std::int64_t row = 0; whole && row < tap.rows; ++row) {
      auto list = engine_list(golden, tap, row, config, call);
      if (!list) return tl::unexpected(list.error());
      tap.lists.push_back(std::move(*list));
    }
    taps.emplace(info.name, std::move(tap));
  }
  return taps;
}

void TapObserver::values(std::string_view name, std::int64_t first_row, Values<2> rows) {
  const auto at = golden_.find(name);
  if (at == golden_.end()) return;
  const GoldenTap& tap = at->second;
  Own& own = own_[at->first];
  own.values.resize(std::max(own.values.size(), static_cast<std::size_t>(first_row + rows.extent(0))));
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    auto& kept = own.values[static_cast<std::size_t>(first_row + r)];
    for (std::int64_t i = 0; i < rows.extent(1); ++i) kept.push_back(rows[r].load(i));
  }
  if (!feeds(name)) return;
  const bool scores = name.ends_with("indexer.score");  // pass by only as far as some row sees groups
  if ((scores ? tap.width < rows.extent(1) : tap.width != rows.extent(1)) || first_row + rows.extent(0) > tap.rows ||
      tap.tensor.values.empty()) {
    problems_[at->first] = fmt::format("the golden has {} rows of {}, the engine asks for rows of {}", tap.rows,
                                       tap.width, rows.extent(1));
    return;
  }
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    const float* from = tap.tensor.values.data() + (first_row + r) * tap.width;
    for (std::int64_t i = 0; i < rows.extent(1); ++i) rows[r].store(i, from[i]);
  }
}

void TapObserver::numbers(std::string_view name, std::int64_t first_row, View<std::int64_t, 2> rows) {
  const auto at = golden_.find(name);
  if (at == golden_.end()) return;
  const GoldenTap& tap = at->second;
  Own& own = own_[at->first];
  own.lists.resize(std::max(own.lists.size(), static_cast<std::size_t>(first_row + rows.extent(0))));
  for (std::int64_t r = 0; r < rows.extent(0); ++r) {
    const auto row = static_cast<std::size_t>(first_row + r);
    const auto entries = rows[r].span();
    own.lists[row].assign(entries.begin(), entries.end());
    if (!feeds(name)) continue;
    if (row >= tap.lists.size()) {
      problems_[at->first] = fmt::format("the golden has {} rows, the engine more", tap.rows);
      return;
    }
    const std::vector<std::int64_t>& golden = tap.lists[row];
    const bool experts = name.ends_with("ffn.gate_indices");
    // The experts' weights stand in the order of the engine's own list, unless they are replaced too.
    if (experts && feed_ == Feed::layer_inputs && as_set(golden) == as_set(entries)) continue;
    const auto used = static_cast<std::size_t>(
        golden.rend() - std::ranges::find_if(golden.rbegin(), golden.rend(), [](std::int64_t e) { return e != -1; }));
    if (used > entries.size() || (experts && golden.size() != entries.size())) {
      problems_[at->first] = fmt::format("the golden lists {} entries, the engine holds {}", used, entries.size());
      return;
    }
    std::ranges::fill(entries, -1);
    std::ranges::copy(golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(used), entries.begin());
  }
}

std::span<const std::vector<float>> TapObserver::own_values(std::string_view name) const {
  const auto at = own_.find(name);
  if (at == own_.end()) return {};
  return at->second.values;
}

void TapObserver::compare(Numerics numerics, CaseReport& report, TapRules rules) const {
  for (const auto& [name, tap] : golden_) {
    const auto problem = problems_.find(name);
    const auto own = own_.find(name);
    if (problem != problems_.end()) {
      report.fail(name, problem->second);
    } else if (own == own_.end()) {
      report.fail(name, "the engine showed no tensor of this name");
    } else if (tap.lists.empty()) {
      compare_values(name, tap, own->second, numerics, report, rules);
    } else {
      compare_lists(name, tap, own->second, report, is_judged(numerics, rules));
    }
  }
}

// The weights of a row's experts, put where the golden has the same experts.
std::vector<float> TapObserver::in_golden_order(const std::string& name, std::size_t row,
                                                std::vector<float> own) const {
  constexpr std::string_view weights = "gate_weights";
  if (!name.ends_with(weights)) return own;
  const std::string indices = name.substr(0, name.size() - weights.size()) + "gate_indices";
  const auto golden = golden_.find(indices);
  const auto mine = own_.find(indices);
  if (golden == golden_.end() || mine == own_.end() || row >= mine->second.lists.size()) return own;
  const auto& want = golden->second.lists[row];
  const auto& have = mine->second.lists[row];
  if (have.size() != own.size() || as_set(want) != as_set(have)) return own;
  std::vector<float> ordered;
  for (const std::int64_t expert : want) {
    ordered.push_back(own[static_cast<std::size_t>(std::ranges::find(have, expert) - have.begin())]);
  }
  return ordered;
}

void TapObserver::compare_values(const std::string& name, const GoldenTap& tap, const Own& own, Numerics numerics,
                                 CaseReport& report, TapRules rules) const {
  if (static_cast<std::int64_t>(own.values.size()) != tap.rows) {
    report.fail(name, fmt::format("{} rows, the golden has {}", own.values.size(), tap.rows));
    return;
  }
  const bool scores = name.ends_with("indexer.score");
  std::vector<float> got;
  for (std::size_t row = 0; row < own.values.size(); ++row) {
    std::vector<float> values = in_golden_order(name, row, own.values[row]);
    // Scores pass by only as far as some row of their part sees groups; behind that everything is -inf.
    if (scores && static_cast<std::int64_t>(values.size()) < tap.width) {
      values.resize(static_cast<std::size_t>(tap.width), -std::numeric_limits<float>::infinity());
    }
    if (static_cast<std::int64_t>(values.size()) != tap.width) {
      report.fail(name, fmt::format("rows of {}, the golden's have {}", values.size(), tap.width));
      return;
    }
    got.insert(got.end(), values.begin(), values.end());
  }
  report.compare(name, got, tap.tensor.values, tolerance_of(part_of(name), tap.tensor.dtype, numerics, rules),
                 is_judged(numerics, rules));
}

void TapObserver::compare_lists(const std::string& name, const GoldenTap& tap, const Own& own, CaseReport& report,
                                bool judged) const {
  if (own.lists.size() != tap.lists.size()) {
    report.fail(name, fmt::format("{} rows, the golden has {}", own.lists.size(), tap.lists.size()));
    return;
  }
  const bool ordered = name.ends_with("hash_ids");
  std::int64_t unequal = 0;
  std::string first;
  for (std::size_t row = 0; row < tap.lists.size(); ++row) {
    const auto got = ordered ? own.lists[row] : as_set(own.lists[row]);
    const auto want = ordered ? tap.lists[row] : as_set(tap.lists[row]);
    if (got == want || unequal++ > 0) continue;
    std::vector<std::int64_t> surplus, lacking;
    std::ranges::set_difference(got, want, std::back_inserter(surplus));
    std::ranges::set_difference(want, got, std::back_inserter(lacking));
    first = fmt::format(", first in row {}: {} where the golden has {}", row, fmt::join(ordered ? got : surplus, " "),
                        fmt::join(ordered ? want : lacking, " "));
  }
  const Verdict verdict = !judged ? Verdict::shown : unequal > 0 ? Verdict::fail : Verdict::pass;
  report.add({name, verdict, fmt::format("rows that differ: {} of {}{}", unequal, tap.lists.size(), first),
              ordered ? "exact" : "exact as sets", unequal > 0 ? Tolerance::any : 0});
}

}  // namespace cachalot
