// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "ops/attention/window_slots/window_slots.h"
#include "verify/cases/ops_cases.h"

namespace cachalot {
namespace {

// The three numbers of a name like 128_1_1000: window, rows, start.
struct WindowName {
  std::int64_t window, rows, start;
};
std::optional<WindowName> parse_window_name(std::string_view name) {
  std::array<std::int64_t, 3> n{};
  const char* at = name.data();
  const char* const end = at + name.size();
  for (std::size_t i = 0; i < n.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '_')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, n[i]);
    if (error != std::errc() || n[i] < 0) return std::nullopt;
    at = next;
  }
  if (at != end || n[0] < 1 || n[1] < 1 || (n[2] > 0 && n[1] != 1)) return std::nullopt;
  return WindowName{n[0], n[1], n[2]};
}

// The reference's two forms of spec 3.2, from the engine's positions. A prefill numbers the step's own rows and has its
// -1 behind; a step numbers the ring's slots and has its -1 where the ring was not written yet, in front.
std::vector<std::int64_t> window_lists(const WindowName& n) {
  std::vector<std::int64_t> lists, positions(static_cast<std::size_t>(n.window));
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const std::int64_t position = n.start + row;
    window_positions(position, n.window, 0, positions);
    if (n.start > 0) {
      // With every position committed and a ring of exactly the window, a slot is the reference's.
      const WindowPlace place{.ring_slots = n.window, .committed = position + 1};
      for (const std::int64_t p : positions) lists.push_back(p < 0 ? -1 : place.slot_of(p));
      continue;
    }
    const auto width = static_cast<std::size_t>(std::min(n.rows, n.window));
    std::vector<std::int64_t> list;
    std::ranges::copy_if(positions, std::back_inserter(list), [](std::int64_t p) { return p >= 0; });
    list.resize(width, -1);
    lists.insert(lists.end(), list.begin(), list.end());
  }
  return lists;
}

// Runs the attention of every row over kv as a ring, as the file lists it.
template <class T>
std::vector<float> attend(OpsCase& c, const GoldenTensor& q, const GoldenTensor& kv, const GoldenTensor& slots,
                          const GoldenTensor& sink, float scale, bool round_probabilities) {
  const std::int64_t batch = q.extent(0), rows = batch * q.extent(1), heads = q.extent(2), head_dim = q.extent(3);
  // The window of every batch, one behind the other.
  const PackedRows ring{RowFormat::bf16, head_dim, batch * kv.extent(1), static_cast<const std::uint8_t*>(kv.data),
                        nullptr};
  const std::int64_t slots_of_batch = q.extent(1) * slots.extent(2);
  std::vector<std::int32_t> listed;
  for (std::size_t i = 0; i < slots.numbers.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) / slots_of_batch * kv.extent(1);
    listed.push_back(static_cast<std::int32_t>(slots.numbers[i] < 0 ? -1 : first + slots.numbers[i]));
  }
  std::vector<T> out(q.values.size());
  Context context;
  c.backend.sparse_attention(context, {.q = ConstValues<3>(q.data, DType::bf16, {rows, heads, head_dim}),
                                       .own = {},
                                       .ring = ring,
                                       .window = {listed.data(), {rows, slots.extent(2)}},
                                       .groups = {},
                                       .group = {nullptr, {rows, 0}},
                                       .sequence = {},
                                       .sink = {sink.values.data(), {heads}},
                                       .scale = scale,
                                       .round_probabilities = round_probabilities,
                                       .out = View<T, 3>(out.data(), {rows, heads, head_dim})});
  std::vector<float> values;
  for (const T v : out) {
    if constexpr (std::is_same_v<T, bf16>) {
      values.push_back(to_float(v));
    } else {
      values.push_back(v);
    }
  }
  return values;
}

}  // namespace

Status verify_sparse_attn(OpsCase& c) {
  auto read = c.golden.read_all({{"q", 'b', 4},
                                 {"kv", 'b', 3},
                                 {"topk_idxs", 'n', 3},
                                 {"attn_sink", 'f', 1},
                                 {"softmax_scale", 'f', 1},
                                 {"out", 'b', 4},
                                 {"out_f32", 'f', 4}});
  if (!read) return tl::unexpected(read.error());
  const auto& [q, kv, slots, sink, scale, out, out_f32] = *read;
  const std::int64_t batch = q.extent(0), length = q.extent(1), heads = q.extent(2), head_dim = q.extent(3);
  for (const Status& fit :
       {c.golden.expect_shape(kv, {batch, kv.extent(1), head_dim}),
        c.golden.expect_shape(slots, {batch, length, slots.extent(2)}), c.golden.expect_shape(sink, {heads}),
        c.golden.expect_shape(scale, {1}), c.golden.expect_shape(out, {batch, length, heads, head_dim}),
        c.golden.expect_shape(out_f32, {batch, length, heads, head_dim}),
        c.golden.expect_range(slots, -1, kv.extent(1))}) {
    if (!fit) return fit;
  }
  c.report.compare("out", attend<bf16>(c, q, kv, slots, sink, scale.values[0], true), out.values,
                   tolerances::attention_bf16);
  c.report.compare("out_f32", attend<float>(c, q, kv, slots, sink, scale.values[0], false), out_f32.values,
                   tolerances::attention_f32);
  return {};
}

Status verify_candidates(OpsCase& c) {
  auto read = c.golden.read_all({{"logits", 'f', 2}, {"compress_lens", 'n', 2}, {"params", 'n', 1}, {"keep", 'n', 2}});
  if (!read) return tl::unexpected(read.error());
  const auto& [score, visible, params, keep] = *read;
  const std::int64_t rows = score.extent(0), groups = score.extent(1);
  for (const Status& fit : {c.golden.expect_shape(visible, {rows, 1}), c.golden.expect_shape(params, {2}),
                            c.golden.expect_shape(keep, {rows, groups}), c.golden.expect_range(visible, 0, groups + 1),
                            c.golden.expect_range(params, 1, 1 << 30)}) {
    if (!fit) return fit;
  }
  const std::int64_t top_k = params.numbers[0], block_size = params.numbers[1];
  std::vector<std::int32_t> block(static_cast<std::size_t>(rows * top_k));
  Context context;
  c.backend.candidates(context, {.score = {score.values.data(), {rows, groups}},
                                 .visible = {visible.numbers.data(), {rows}},
                                 .block_size = block_size,
                                 .block = {block.data(), {rows, top_k}}});
  std::vector<std::int64_t> got(keep.numbers.size(), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < top_k; ++k) {
      const std::int64_t b = block[static_cast<std::size_t>(row * top_k + k)];
      if (b < 0) continue;
      for (std::int64_t g = b * block_size; g < std::min((b + 1) * block_size, groups); ++g) {
        got[static_cast<std::size_t>(row * groups + g)] = 1;
      }
    }
  }
  c.report.compare_numbers("keep", got, keep.numbers, groups);
  return {};
}

Status verify_window_idxs(OpsCase& c) {
  for (const TensorInfo& info : c.golden.tensors()) {
    const auto n = parse_window_name(info.name);
    if (!n) {
      return fail(Errc::format, "{}: tensor {} is not named window_rows_start of a prefill or a single step",
                  c.golden.path(), info.name);
    }
    auto want = c.golden.read({info.name, 'n', 3});
    if (!want) return tl::unexpected(want.error());
    const std::int64_t width = n->start > 0 ? n->window : std::min(n->rows, n->window);
    if (Status fit = c.golden.expect_shape(*want, {want->extent(0), n->rows, width}); !fit) return fit;
    const std::vector<std::int64_t> lists = window_lists(*n);
    std::vector<std::int64_t> got;
    for (std::int64_t b = 0; b < want->extent(0); ++b) got.insert(got.end(), lists.begin(), lists.end());
    c.report.compare_numbers(info.name, got, want->numbers, width);
  }
  return {};
}

}  // namespace cachalot
