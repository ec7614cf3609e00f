// SPDX-License-Identifier: Apache-2.0
// Everything whole-numbered that is known before a step: which row is of what, what its window lists, where groups come
// from and go to, what is committed where. Built on the host once, uploaded in one copy; from then on nobody but
// operators looks at it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/tables.h"

namespace cachalot {

// The rows of one sequence that run together.
struct SequenceRows {
  Sequence* sequence;
  std::int64_t first;  // row
  std::int64_t count;
  std::int64_t committed;        // position of the first row
  std::int64_t global_only = 0;  // rows, the first ones, that do not go on behind the tail layer (spec 11)

  std::int64_t end() const { return committed + count; }
};

// Rows that run together: all of a step, or those that go on behind the tail layer.
struct RowTables {
  std::vector<SequenceRows> sequences;
  std::int64_t rows = 0;
  Table<std::int64_t, 1> position;  // [rows]
  Table<std::int32_t, 1> sequence;  // [rows], number in `sequences`
  Table<std::uint8_t, 1> image;     // [rows]
  Table<std::int32_t, 2> window;    // [rows, listed], as SparseAttentionArgs::window, for layers before the tail layer
  Table<std::int32_t, 2> tail_window;             // the same for the others
  std::vector<Table<std::int64_t, 1>> visible;    // [rows], groups of each source
  std::vector<Table<std::int64_t, 2>> engram_id;  // [rows, columns] of each Engram layer that these rows run
  Table<std::int32_t, 2> shared_expert;           // [rows, 1], 0: the only one there is,
  Table<float, 2> shared_weight;                  // [rows, 1], 1: unweighted
  Table<float, 2> equal_mix;                      // [rows, hc]
};

// Of one KV source.
struct SourceTables {
  Table<std::int32_t, 2> token;     // [new groups, ratio], as CompressorArgs::token
  Table<std::int64_t, 1> position;  // [new groups], of the group's first token
  Table<std::int32_t, 1> row;       // [new groups], of the source's pool
  Table<std::int32_t, 2> page;      // [sequences, pages]
  Table<std::int64_t, 1> before;    // [sequences], groups before the step,
  Table<std::int64_t, 1> after;     // and with those it completes
};

// Which rows of a step go where for good.
struct Moves {
  Table<std::int32_t, 1> row, place;  // [moved]
};

class StepTables : public Tables {
 public:
  enum class Kind { step, draft_block };  // a draft position sees its whole block, and leaves nothing (spec 6)

  // `sequences` stand without gaps, each with at least one row. Makes pages for the groups that the rows complete.
  StepTables(const Model& model, Context& context, std::vector<SequenceRows> sequences, std::span<const Row> rows,
             Kind kind);

  // An entry of a window list. own: rows that SparseAttentionArgs::own has.
  static std::int32_t window_entry(const SequenceRows& s, std::int64_t position, std::int64_t own);

  RowTables all, tail;                // tail: only where rows are dropped
  bool drops = false;                 // some rows are for the global state only
  Table<std::int32_t, 1> kept;        // [tail rows], which of all rows each is
  Table<std::int64_t, 2> id;          // [rows, 1], tokens
  Table<float, 2> given;              // [given, dim], embeddings instead of a token's,
  Table<std::int64_t, 2> given_id;    // [given, 1], 0, 1, …
  Table<std::int32_t, 1> with_given;  // [rows], of the tokens' embeddings and, behind them, those given
  Table<std::int32_t, 1> copies;      // [rows · hc], each row hc times
  Table<float, 2> first_mix;          // [rows, hc]: of the copies the first is the one that is read
  Table<std::int32_t, 1> wanted;      // of the rows that run all layers, those that want logits
  std::vector<SourceTables> source;
  Table<std::int64_t, 1> no_groups;  // [sequences], 0
  Moves ring, tail_ring;             // window KV of layers before the tail layer, and of the others
  std::vector<Moves> inputs;         // compressor inputs of each source

  // For the host: of each row what later n-grams read.
  std::vector<std::int32_t> token_class;
  std::vector<std::uint8_t> dead;

 private:
  void add_rows(RowTables& to, std::span<const Row> rows, Kind kind, bool tail_only);
  Table<std::int32_t, 2> add_window(const RowTables& of, Kind kind, bool tail_layers);
  void add_ids(std::span<const Row> rows);
  void add_engram(RowTables& to);
  void add_source(std::int64_t number);
  Moves add_moves(const std::vector<SequenceRows>& of, std::int64_t slots, std::int64_t source);

  const Model& model_;
  const Config& c_;
};

}  // namespace cachalot
