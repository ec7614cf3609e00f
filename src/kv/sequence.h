// SPDX-License-Identifier: Apache-2.0
// Everything one sequence remembers, addressed by position. A step reads it, writes new groups behind what is
// committed, and commits at its end; a step that fails has left no trace that anybody reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "kv/paged_store.h"
#include "kv/state_shape.h"
#include "kv/window_ring.h"

namespace cachalot {

// What a finished step hands over for one sequence; row 0 is position length().
struct StepState {
  std::int64_t rows = 0;
  std::span<const PackedRows> window;         // per ring, of the newest rows that it gets: [at most rows, head_dim]
  std::span<const float* const> group_kv;     // per source: [rows, head_dim]; null where the ratio is 1
  std::span<const float* const> group_score;  // likewise
  std::span<const std::int32_t> token_class;  // [rows]
  std::span<const std::uint8_t> dead;         // [rows], 1 = takes no part in n-grams
  int published = -1;                         // source that published index keys last, -1 = none in this step (spec 10)
  std::int64_t global_only = 0;               // rows, before all others, that no layer's window behind the last KV
                                              // source gets (spec 11)
};

// What a sequence holds besides bytes.
struct StateNumbers {
  std::int64_t length = 0;
  std::int64_t reachable = 0;
  int published = -1;
};

class Sequence {
 public:
  static constexpr RowFormat compressed_format = RowFormat::e2m1_e4m3_16;
  static constexpr RowLayout compressed_layout = RowLayout::records;
  static constexpr RowFormat index_key_format = RowFormat::e2m1_e8m0_32;
  static constexpr RowLayout index_key_layout = RowLayout::planes;

  explicit Sequence(const StateShape& shape);
  Sequence(Sequence&&) = default;
  Sequence& operator=(Sequence&&) = default;

  // A sequence that remembers the same. Rings are copied; pages are shared until one side writes to them.
  Sequence share() const;

  const StateShape& shape() const { return shape_; }
  std::int64_t length() const { return length_; }  // committed positions

  // Replay (spec 11) keeps no window KV of a prompt's positions before its tail, in the layers from the last KV source
  // on and in the draft stages. From this position on there is all; 0 where nothing was left out.
  std::int64_t tail_start() const { return tail_start_; }
  // Whether any prompt was replayed. Then what those layers computed is an approximation, and nothing that continues
  // this sequence may pass for exact.
  bool replayed() const { return tail_start_ > 0; }
  // Whether all positions of a later position's window are kept, or will be, once it is reached step by step.
  bool whole_window_at(std::int64_t position) const {
    return !replayed() || position >= whole_window_from(tail_start_);
  }

  // Forgets the positions from `length` on. Errc::range, and nothing is forgotten, when that is further back than the
  // slack: the window is gone. The slack is counted from the greatest length the sequence has had. After a replay, also
  // when the next position's window would begin before tail_start(): it was never there.
  Status truncate(std::int64_t length);
  std::int64_t reachable() const { return std::min(length_, reachable_); }  // the least length truncate() goes back to

  // Whether every position there has been is one of text. Token ids do not tell one image from another.
  bool text_only() const { return text_only_; }

  PackedRows ring(std::int64_t layer) const { return rings_[static_cast<std::size_t>(layer)].view(); }

  // Groups below `groups` of a source (numbered as in shape().sources).
  PagedRows compressed(std::int64_t source, std::int64_t groups) const { return at(source).compressed.view(groups); }
  PagedRows index_keys(std::int64_t source, std::int64_t groups) const { return at(source).index_keys.view(groups); }

  // Where a step writes a group that it completes; nobody sees it before the commit makes its positions part of the
  // sequence.
  RowSlot compressed_slot(std::int64_t source, std::int64_t group) { return at(source).compressed.slot(group); }
  RowSlot index_key_slot(std::int64_t source, std::int64_t group) { return at(source).index_keys.slot(group); }

  // Compressor inputs of a committed position of an unfinished group (or one that a truncation may reopen): [head_dim]
  // each.
  const float* group_kv(std::int64_t source, std::int64_t position) const { return input(source, position); }
  const float* group_score(std::int64_t source, std::int64_t position) const {
    return input(source, position) + shape_.head_dim;
  }

  // Class and dead flag of a committed position, at most history + slack back.
  std::int32_t token_class(std::int64_t position) const { return class_[history_slot(position)]; }
  std::uint8_t dead(std::int64_t position) const { return dead_[history_slot(position)]; }

  int published_source() const { return published_; }

  void commit(const StepState& step);

  // Bytes that grow with the sequence, and those that do not.
  std::int64_t page_bytes() const;
  std::int64_t fixed_bytes() const;
  // Each page: what is given twice, by this sequence or by another, is one page that they share.
  void each_page(const std::function<void(const void* page, std::int64_t bytes)>& see) const;

  // All that it holds for its committed positions, as bytes in an order that its shape fixes: rings, history, then of
  // each source inputs and pages. As many bytes as state_bytes() says. Only for sequences of text, and
  // none that was replayed: it would be restored as exact.
  StateNumbers numbers() const { return {length_, reachable_, published_}; }
  void each_part(const std::function<void(std::span<const std::byte>)>& see) const;
  // One that holds `numbers`, and what `fill` puts into each part. Errors: those of `fill`; Errc::format for numbers or
  // a history that no sequence of this shape has.
  static Expected<Sequence> restore(const StateShape& shape, const StateNumbers& numbers,
                                    const std::function<Status(std::span<std::byte>)>& fill);

 private:
  struct Source {
    PagedStore compressed;
    PagedStore index_keys;
    std::vector<float> inputs;  // [ratio + slack, 2, head_dim]: kv, then score; empty where the ratio is 1

    Source share() const { return {compressed.share(), index_keys.share(), inputs}; }
  };

  // The first position whose window has no gap where nothing before `start` is kept.
  std::int64_t whole_window_from(std::int64_t start) const { return start + shape_.window - 1; }
  const Source& at(std::int64_t source) const { return sources_[static_cast<std::size_t>(source)]; }
  Source& at(std::int64_t source) { return sources_[static_cast<std::size_t>(source)]; }
  std::int64_t input_slots(std::int64_t source) const {
    return shape_.sources[static_cast<std::size_t>(source)].ratio + shape_.slack;
  }
  const float* input(std::int64_t source, std::int64_t position) const {
    return at(source).inputs.data() + position % input_slots(source) * 2 * shape_.head_dim;
  }
  std::size_t history_slot(std::int64_t position) const {
    return static_cast<std::size_t>(position % static_cast<std::int64_t>(class_.size()));
  }

  StateShape shape_;
  std::int64_t length_ = 0;
  std::int64_t reachable_ = 0;  // what truncate can go back to: the rings have lost what an earlier length would read
  std::int64_t tail_start_ = 0;
  int published_ = -1;
  bool text_only_ = true;
  std::vector<WindowRing> rings_;
  std::vector<Source> sources_;
  std::vector<std::int32_t> class_;  // ring of history + slack positions
  std::vector<std::uint8_t> dead_;
};

}  // namespace cachalot
