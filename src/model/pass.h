// SPDX-License-Identifier: Apache-2.0
// One run of rows through blocks: what the sublayers share. Each method orders operators and computes nothing itself.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace cachalot {

// The rows of one sequence in a pass.
struct SequenceRows {
  Sequence* sequence;
  std::int64_t first;  // row of the pass
  std::int64_t count;
  std::int64_t committed;        // position of the first row
  std::int64_t global_only = 0;  // rows, the first ones, that drop_global_only() drops
};

class Pass {
 public:
  // `sequences` stand without gaps, each with at least one row. Scratch is taken from the context and stays taken.
  Pass(const Model& model, Context& context, std::vector<SequenceRows> sequences, Observer* observer);

  // The streams of all copies, and the mix that folds them next.
  struct Stream {
    Values<3> h;         // [rows, hc, dim]
    View<float, 2> mix;  // [rows, hc]
  };

  Stream start(ConstValues<2> embedding);
  // Adds the n-gram memory to the copies. classes: [rows, max_ngram], see engram_rows.
  void engram(std::int64_t layer, const EngramWeights& weights, const EngramColumns& columns,
              View<const std::int32_t, 2> classes, Values<3> h);
  // A layer: attention and FFN around the hyper-connections (spec 2). A draft stage attends to its block (spec 6).
  enum class Kind { layer, draft_stage };
  void block(std::int64_t layer, const BlockWeights& weights, Kind kind, Stream& stream);
  Values<2> fold(ConstValues<3> h, View<const float, 2> mix);

  // Replay (spec 11). Of a KV source's layer what all later positions read: new groups and their index keys.
  void global_state(std::int64_t layer, const BlockWeights& weights, const Stream& stream);
  bool has_global_only() const;
  // From here on only the other rows run. What belongs to rows has to be made kept(): moved up, in place, it is what
  // belongs to those left.
  void drop_global_only(Stream& stream);
  template <class Rows>
  Rows kept(Rows all) const {
    std::int64_t to = 0;
    for (const SequenceRows& s : whole_) {
      const std::int64_t n = s.count - s.global_only;
      // Of what a model does not have there is nothing, at no place.
      if (const auto bytes = static_cast<std::size_t>(n * row_bytes(all)); bytes > 0)
        std::memmove(all.part(to, n).data(), all.part(s.first + s.global_only, n).data(), bytes);
      to += n;
    }
    return all.part(0, to);
  }

  // The mean of the copies, into columns first_column … of `out` [rows, …].
  void mean_copies(ConstValues<3> h, Values<2> out, std::int64_t first_column);

  // Keeps the window KV of x at the pass's positions (spec 3.1).
  void window_kv(std::int64_t layer, const AttentionWeights& weights, ConstValues<2> x);

  Values<2> norm(ConstValues<2> x, ConstValues<1> weight);
  Values<2> linear(ConstValues<2> x, const Weight& weight);
  View<float, 2> linear_f32(ConstValues<2> x, const Weight& weight);
  Values<2> lookup(const PackedRows& table, View<const std::int64_t, 2> id);

  // Shows a tensor to the observer; the name is layers.<layer>.<name>, or the name alone for layer -1.
  template <int N>
  void show(std::int64_t layer, std::string_view name, Values<N> v) {
    if (observer_ != nullptr) show_flat(layer, name, 0, v.template reshape<2>({v.extent(0), per_row(v.shape())}));
  }
  template <int N>
  void show(std::int64_t layer, std::string_view name, View<float, N> v) {
    show(layer, name, Values<N>(v));
  }

  // Makes all rows part of their sequences. token_class and dead, as StepState: [rows], those dropped included.
  void commit(std::span<const std::int32_t> token_class, std::span<const std::uint8_t> dead);

  std::span<const SequenceRows> sequences() const { return sequences_; }
  std::int64_t rows() const { return rows_; }
  DType type() const { return model_.activation_type(); }
  const Backend& ops() const { return model_.backend(); }
  View<std::uint8_t, 1> image() const { return image_; }

 private:
  // The rows' window KV in one layer, packed as a ring keeps it.
  struct WindowRows {
    View<std::uint8_t, 2> records;  // [rows, bytes of a row]
    bool ran;
  };
  // What a KV source's compressor got from this pass, kept for the commit.
  struct SourceInputs {
    View<float, 2> kv;  // [rows, head_dim]; no rows where the ratio is 1
    View<float, 2> score;
    bool ran;
  };

  Values<2> attention(std::int64_t layer, const AttentionWeights& weights, Kind kind, ConstValues<2> x);
  void compress(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x);
  void store_groups(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, Values<2> pooled);
  void select(std::int64_t layer, std::int64_t source, const AttentionWeights& weights, ConstValues<2> x,
              ConstValues<2> qr);
  void list_slots(std::int64_t layer, Kind kind, bool with_groups, View<std::int32_t, 2> slot) const;
  // The first position that a layer's window may go back to.
  std::int64_t window_start(std::int64_t layer, const SequenceRows& s) const {
    if (layer < model_.tail_layer()) return 0;
    return s.global_only > 0 ? s.committed : s.sequence->tail_start();
  }
  PackedRows encode(ConstValues<2> x, RowFormat format);
  PackedRows own_rows(std::int64_t layer, const SequenceRows& s) const;
  AttentionSource source_of(std::int64_t layer, std::int64_t source, const SequenceRows& s) const;
  PagedRows index_keys(std::int64_t source, std::size_t sequence) const;
  Values<2> moe(std::int64_t layer, const MoeWeights& weights, ConstValues<2> x);
  void hyper_connection(ConstValues<3> h, const HyperConnectionWeights& weights, View<float, 2> pre,
                        View<float, 2> post, View<float, 3> comb);
  void rope(std::int64_t layer, Values<3> x, View<const std::int64_t, 1> position, bool inverse = false);

  float eps() const { return static_cast<float>(c_.norm_eps); }
  std::int64_t ratio_of(std::int64_t source) const {
    return model_.state_shape().sources[static_cast<std::size_t>(source)].ratio;
  }
  std::int64_t groups_of(const SequenceRows& s, std::int64_t ratio) const { return (s.committed + s.count) / ratio; }
  std::int64_t new_groups(const SequenceRows& s, std::int64_t ratio) const {
    return groups_of(s, ratio) - s.committed / ratio;
  }

  template <std::size_t N>
  static std::int64_t per_row(const std::array<std::int64_t, N>& shape) {
    std::int64_t n = 1;
    for (std::size_t i = 1; i < N; ++i) n *= shape[i];
    return n;
  }
  template <int N>
  static std::int64_t row_bytes(Values<N> v) {
    return per_row(v.shape()) * bytes_of(v.type());
  }
  template <class T, int N>
  static std::int64_t row_bytes(View<T, N> v) {
    return per_row(v.shape()) * static_cast<std::int64_t>(sizeof(T));
  }
  void show_flat(std::int64_t layer, std::string_view name, std::int64_t first_row, Values<2> v);
  void show_numbers(std::int64_t layer, std::string_view name, std::int64_t first_row, View<std::int32_t, 2> v);
  void show_slots(std::int64_t layer, View<std::int32_t, 2> slot);
  void show_encoded(std::int64_t layer, std::string_view name, RowFormat format, std::span<const RowSlot> rows,
                    std::int64_t width);

  const Model& model_;
  const Config& c_;
  Context& context_;
  Observer* observer_;
  const std::vector<SequenceRows> whole_;  // as given; where rows were dropped, sequences_ has the others
  std::vector<SequenceRows> sequences_;
  std::int64_t rows_;
  View<std::int64_t, 1> position_;    // [rows]
  View<std::int32_t, 1> sequence_;    // [rows], index into sequences_
  View<std::uint8_t, 1> image_;       // [rows]
  std::vector<WindowRows> window_;    // per ring
  std::vector<SourceInputs> inputs_;  // per source
  View<std::int32_t, 2> group_;       // [rows, index_topk], of the nearest index source
  View<std::int32_t, 2>
      candidate_;  // [rows, candidate_topk_blocks] once the candidate source has run; [rows, 0] before
  View<std::int32_t, 2> candidate_rows_;  // where it will be
  std::vector<int> published_;            // per sequence, the source whose index keys were published last (spec 10)
};

}  // namespace cachalot
