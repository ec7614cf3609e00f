// SPDX-License-Identifier: Apache-2.0
// One run of rows through blocks: what the sublayers share. Each method orders operators and computes nothing itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "model/step_tables.h"
#include "ops/rows/take_rows/take_rows.h"

namespace cachalot {

class Pass {
 public:
  // Scratch is taken from the context and stays taken.
  Pass(const Model& model, Context& context, const StepTables& tables, Observer* observer);

  // The streams of all copies, and the mix that folds them next.
  struct Stream {
    Values<3> h;               // [rows, hc, dim]
    View<const float, 2> mix;  // [rows, hc]
    View<float, 2> next_mix;   // where a block leaves the one after it
  };

  Values<2> embed(const PackedRows& table);  // the tokens', or what rows give instead
  Stream start(ConstValues<2> embedding);
  // Tells the weights' places which rows of Engram tables the step will read.
  void expect_engram_rows();
  // Adds the n-gram memory to the copies. Errors, as of a block: those of the weights' places.
  Status engram(std::int64_t layer, const EngramWeights& weights, Values<3> h);
  // A layer: attention and FFN around the hyper-connections (spec 2). A draft stage attends to its block (spec 6).
  enum class Kind { layer, draft_stage };
  Status block(std::int64_t layer, const BlockWeights& weights, Kind kind, Stream& stream);
  Values<2> fold(ConstValues<3> h, View<const float, 2> mix);

  // Replay (spec 11). Of a KV source's layer what all later positions read: new groups and their index keys.
  void global_state(std::int64_t layer, const BlockWeights& weights, const Stream& stream);
  // From here on only the other rows run. What belongs to rows has to be made kept(): moved up, in place, it is what
  // belongs to those left.
  void drop_global_only(Stream& stream);
  template <class Rows>
  Rows kept(Rows all) {
    const Arena::Frame frame(context_.scratch);
    const auto from = bytes_of_rows(all);
    const auto some = context_.scratch.take<std::byte, 2>({tables_.tail.rows, from.extent(1)});
    ops().take_rows(context_, {from, tables_[tables_.kept], some});
    context_.memory.copy(from.data(), some.data(), some.size());
    return all.part(0, tables_.tail.rows);
  }

  // The mean of the copies, into columns first_column … of `out` [rows, …].
  void mean_copies(ConstValues<3> h, Values<2> out, std::int64_t first_column);

  // Keeps the window KV of x at the pass's positions (spec 3.1).
  void window_kv(std::int64_t layer, const AttentionWeights& weights, ConstValues<2> x);

  Values<2> norm(ConstValues<2> x, ConstValues<1> weight);
  Values<2> linear(ConstValues<2> x, const Weight& weight);
  View<float, 2> linear_f32(ConstValues<2> x, const Weight& weight);
  Values<2> lookup(const PackedRows& table, View<const std::int64_t, 2> id);

  // Shows a tensor to the observer, which may overwrite it; the name is layers.<layer>.<name>, or the name alone for
  // layer -1.
  template <int N>
  void show(std::int64_t layer, std::string_view name, Values<N> v) {
    if (observer_ != nullptr) show_values(layer, name, 0, v.template reshape<2>({v.extent(0), per_row(v.shape())}));
  }
  template <int N>
  void show(std::int64_t layer, std::string_view name, View<float, N> v) {
    show(layer, name, Values<N>(v));
  }

  // Makes all rows part of their sequences, those dropped included.
  void commit();

  std::int64_t rows() const { return now_->rows; }
  DType type() const { return model_.activation_type(); }
  const Backend& ops() const { return model_.backend(); }
  const StepTables& tables() const { return tables_; }

 private:
  // What a KV source's compressor got from this pass, kept for the commit.
  struct SourceInputs {
    View<float, 2> rows;  // [rows, 2 · head_dim], kv then score; none where the ratio is 1
    bool ran;
  };
  // What a row attends to: its window's list, and its groups.
  struct Lists {
    View<const std::int32_t, 2> window, group;
  };

  Values<2> attention(std::int64_t layer, const AttentionWeights& weights, Kind kind, ConstValues<2> x);
  void compress(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x);
  void store_groups(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, Values<2> pooled);
  void select(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x,
              ConstValues<2> qr);
  // The same, after an observer has seen them and perhaps put others in their place.
  Lists show_lists(std::int64_t layer, const Table<std::int32_t, 2>& window, View<const std::int32_t, 2> group);
  PackedRowsOut encode(ConstValues<2> x, RowFormat format);
  PackedRowsOut own_rows(std::int64_t layer) const;
  PackedRows own_inputs(std::int64_t source) const;
  PagedRows index_keys(std::int64_t source) const;
  std::int64_t key_source(std::int64_t source, std::size_t sequence) const;
  Expected<Values<2>> moe(std::int64_t layer, const MoeWeights& weights, ConstValues<2> x);
  Expected<ExpertLease> lease_experts(std::int64_t layer, const MoeWeights& weights,
                                      View<const std::int32_t, 2> expert);
  // id: of the table, or what an observer put in its place.
  Expected<RowLease> lease_rows(std::int64_t layer, const EngramWeights& weights, const Table<std::int64_t, 2>& table,
                                View<const std::int64_t, 2> id);
  void hyper_connection(ConstValues<3> h, const HyperConnectionWeights& weights, View<float, 2> pre,
                        View<float, 2> post, View<float, 3> comb);
  void rope(std::int64_t layer, Values<3> x, View<const std::int64_t, 1> position, bool inverse = false);

  float eps() const { return static_cast<float>(c_.norm_eps); }
  std::int64_t ratio_of(std::int64_t source) const {
    return model_.state_shape().sources[static_cast<std::size_t>(source)].ratio;
  }
  template <std::size_t N>
  static std::int64_t per_row(const std::array<std::int64_t, N>& shape) {
    std::int64_t n = 1;
    for (std::size_t i = 1; i < N; ++i) n *= shape[i];
    return n;
  }
  void show_values(std::int64_t layer, std::string_view name, std::int64_t first_row, Values<2> v);
  void show_numbers(std::int64_t layer, std::string_view name, std::int64_t first_row, View<std::int32_t, 2> v);
  View<const std::int64_t, 2> show_ids(std::int64_t layer, const Table<std::int64_t, 2>& id);
  void show_encoded(std::int64_t layer, std::string_view name, const PackedRows& pool,
                    const Table<std::int32_t, 1>& rows);
  std::string full_name(std::int64_t layer, std::string_view name) const;

  const Model& model_;
  const Config& c_;
  Context& context_;
  Observer* observer_;
  const StepTables& tables_;
  const RowTables* now_;                  // the rows that run: all, or those left
  std::uint8_t* window_;                  // [rings, all rows, bytes of a row]: own window KV as a ring keeps it
  std::vector<std::uint8_t> window_ran_;  // per ring
  std::vector<SourceInputs> inputs_;      // per source
  View<std::int32_t, 2> group_;           // [rows, index_topk], of the nearest index source
  View<std::int32_t, 2>
      candidate_;  // [rows, candidate_topk_blocks] once the candidate source has run; [rows, 0] before
  View<std::int32_t, 2> candidate_rows_;  // where it will be
  std::vector<std::int32_t> chosen_;      // experts, and rows of an Engram table, where leases are by number
  std::vector<std::int64_t> chosen_rows_;
  std::vector<int> published_;  // per sequence, the source whose index keys were published last (spec 10)
};

}  // namespace cachalot
