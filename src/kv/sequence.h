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
#include "kv/state_pools.h"

namespace cachalot {

// What a finished step tells of one sequence; row 0 is position length(). Its window rows, compressor inputs, groups
// and keys are in the pools by then, where ring_row, input_row and group_row said.
struct StepState {
  std::int64_t rows = 0;
  std::span<const std::int32_t> token_class;  // [rows]
  std::span<const std::uint8_t> dead;         // [rows], 1 = takes no part in n-grams
  int published = -1;                         // source that published index keys last, -1 = none in this step (spec 10)
  std::int64_t global_only = 0;               // rows, before all others, that no layer's window behind the last KV
                                              // source gets (spec 11)
};

// Rows of a sequence's state, copied to where the host can read them.
struct HostRows {
  std::vector<std::uint8_t> bytes;
  PackedRows rows;
};

// What a sequence holds besides bytes.
struct StateNumbers {
  std::int64_t length = 0;
  std::int64_t reachable = 0;
  int published = -1;
};

class Sequence {
 public:
  explicit Sequence(const StatePools& pools);  // a shape will do: then it has pools of its own
  Sequence(Sequence&&) = default;
  Sequence& operator=(Sequence&&) = default;

  // A sequence that remembers the same. Rings are copied; pages are shared until one side writes to them.
  Sequence share() const;

  const StatePools& pools() const { return pools_; }
  const StateShape& shape() const { return pools_.shape(); }
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

  // Rows of StatePools::rings, inputs, and compressed or index_keys.
  std::int64_t ring_row(std::int64_t position) const {
    return ring_.number() * shape().ring_slots() + position % shape().ring_slots();
  }
  std::int64_t input_row(std::int64_t source, std::int64_t position) const {
    return ring_.number() * shape().input_slots(source) + position % shape().input_slots(source);
  }
  std::int64_t group_row(std::int64_t source, std::int64_t group) const {
    const std::int64_t in_page = shape().page_groups(source);
    return page(source, group / in_page) * in_page + group % in_page;
  }
  std::int32_t page(std::int64_t source, std::int64_t index) const {
    return pages_[static_cast<std::size_t>(source)][static_cast<std::size_t>(index)].number();
  }

  // Makes pages for the groups first … end - 1 of a source, or of shared ones its own: a step writes them before they
  // are part of the sequence, which its commit makes them. Throws std::bad_alloc.
  void make_groups(std::int64_t source, std::int64_t first, std::int64_t end);

  // Class and dead flag of a committed position, at most history + slack back.
  std::int32_t token_class(std::int64_t position) const { return class_[history_slot(position)]; }
  std::uint8_t dead(std::int64_t position) const { return dead_[history_slot(position)]; }

  int published_source() const { return published_; }

  void commit(const StepState& step);

  // Bytes that grow with the sequence, and those that do not.
  std::int64_t page_bytes() const;
  std::int64_t fixed_bytes() const;
  // Each page: a number that is given twice, by this sequence or by another, is one page that they share.
  void each_page(const std::function<void(std::uint64_t page, std::int64_t bytes)>& see) const;

  // Copies, for who looks into a state: a layer's ring, the groups below `groups` and their keys, and the inputs of a
  // position that is still kept, [2 · head_dim].
  HostRows ring(std::int64_t layer) const;
  HostRows compressed(std::int64_t source, std::int64_t groups) const;
  HostRows index_keys(std::int64_t source, std::int64_t groups) const;
  std::vector<float> inputs(std::int64_t source, std::int64_t position) const;

  // All that it holds for its committed positions, as bytes in an order that its shape fixes: rings, history, then of
  // each source inputs and pages. As many bytes as state_bytes() says. Only for sequences of text, and
  // none that was replayed: it would be restored as exact.
  StateNumbers numbers() const { return {length_, reachable_, published_}; }
  void each_part(const std::function<void(std::span<const std::byte>)>& see) const;
  // One in `pools` that holds `numbers`, and what `fill` puts into each part. Errors: those of `fill`; Errc::format for
  // numbers or a history that no sequence of this shape has.
  static Expected<Sequence> restore(const StatePools& pools, const StateNumbers& numbers,
                                    const std::function<Status(std::span<std::byte>)>& fill);

 private:
  // The first position whose window has no gap where nothing before `start` is kept.
  std::int64_t whole_window_from(std::int64_t start) const { return start + shape().window - 1; }
  // The stretches of state that each_part and restore go over: ring layer by layer, and of each source inputs and
  // pages.
  struct Part {
    std::byte* at;
    std::int64_t bytes;
  };
  std::vector<Part> ring_parts() const;
  std::vector<Part> source_parts(std::int64_t source) const;
  HostRows group_rows(const PackedRows& pool, std::int64_t source, std::int64_t groups) const;
  std::size_t history_slot(std::int64_t position) const {
    return static_cast<std::size_t>(position % static_cast<std::int64_t>(class_.size()));
  }

  StatePools pools_;
  std::int64_t length_ = 0;
  std::int64_t reachable_ = 0;  // what truncate can go back to: the rings have lost what an earlier length would read
  std::int64_t tail_start_ = 0;
  int published_ = -1;
  bool text_only_ = true;
  HeldBlock ring_;
  std::vector<std::vector<HeldBlock>> pages_;  // of each source
  std::vector<std::int32_t> class_;            // ring of history + slack positions
  std::vector<std::uint8_t> dead_;
};

}  // namespace cachalot
