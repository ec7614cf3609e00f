// SPDX-License-Identifier: Apache-2.0
#include "model/step_tables.h"

#include <algorithm>

#include "base/ids.h"
#include "ops/attention/indexer/indexer.h"
#include "ops/attention/window_slots/window_slots.h"

namespace cachalot {
namespace {

// Fills one number after another.
template <class T, int N>
auto in_order(View<T, N> to) {
  return [at = to.data()](auto v) mutable { *at++ = static_cast<T>(v); };
}
template <class T, int N>
void fill(View<T, N> to, T v) {
  std::fill_n(to.data(), to.size(), v);
}

// Those that run behind the tail layer, moved up.
std::vector<SequenceRows> kept_rows(const std::vector<SequenceRows>& all) {
  std::vector<SequenceRows> kept;
  std::int64_t first = 0;
  for (const SequenceRows& s : all) {
    kept.push_back({s.sequence, first, s.count - s.global_only, s.committed + s.global_only, s.global_only});
    first += kept.back().count;
  }
  return kept;
}

}  // namespace

StepTables::StepTables(const Model& model, Context& context, std::vector<SequenceRows> sequences,
                       std::span<const Row> rows, Kind kind)
    : Tables(context), model_(model), c_(model.config()) {
  all.sequences = std::move(sequences);
  all.rows = std::ssize(rows);
  drops = std::ranges::any_of(all.sequences, [](const SequenceRows& s) { return s.global_only > 0; });
  for (const Row& row : rows) {
    token_class.push_back(model.token_class(row.token));
    dead.push_back(row.image ? 1 : 0);
  }
  const StateShape& shape = model.state_shape();
  for (std::int64_t i = 0; kind == Kind::step && i < std::ssize(shape.sources); ++i) add_source(i);
  no_groups = add<std::int64_t, 1>({std::ssize(all.sequences)}, [](auto) {});
  add_ids(rows);
  add_rows(all, rows, kind, /*tail_only=*/false);
  if (drops) {
    tail.sequences = kept_rows(all.sequences);
    tail.rows = tail.sequences.back().first + tail.sequences.back().count;
    add_rows(tail, rows, kind, /*tail_only=*/true);
    kept = add<std::int32_t, 1>({tail.rows}, [&](auto to) {
      auto next = in_order(to);
      for (const SequenceRows& s : all.sequences) {
        for (std::int64_t r = s.first + s.global_only; r < s.first + s.count; ++r) next(r);
      }
    });
  }
  if (kind == Kind::step) {
    ring = add_moves(all.sequences, shape.ring_slots(), -1);
    tail_ring = drops ? add_moves(tail.sequences, shape.ring_slots(), -1) : ring;
    for (std::int64_t i = 0; i < std::ssize(shape.sources); ++i)
      inputs.push_back(shape.input_slots(i) > 0 ? add_moves(all.sequences, shape.input_slots(i), i) : Moves{});
  }
  upload();
}

void StepTables::add_ids(std::span<const Row> rows) {
  const auto each_row = [&](auto to, auto number) {
    for (auto next = in_order(to); const Row& row : rows) next(number(row));
  };
  id = add<std::int64_t, 2>({all.rows, 1}, [&](auto to) { each_row(to, [](const Row& r) { return raw(r.token); }); });
  const std::int64_t given_rows = std::ranges::count_if(rows, [](const Row& r) { return r.embedding != nullptr; });
  if (given_rows > 0) {
    given = add<float, 2>({given_rows, c_.dim}, [&](auto to) {
      float* at = to.data();
      for (const Row& row : rows) {
        if (row.embedding != nullptr) at = std::copy_n(row.embedding, c_.dim, at);
      }
    });
    given_id = add<std::int64_t, 2>({given_rows, 1}, [](auto to) {
      for (std::int64_t i = 0; i < to.extent(0); ++i) to[i][0] = i;
    });
    with_given = add<std::int32_t, 1>({all.rows}, [&](auto to) {
      std::int64_t r = 0, g = all.rows;
      each_row(to, [&](const Row& row) { return row.embedding == nullptr ? r++ : (++r, g++); });
    });
  }
  copies = add<std::int32_t, 1>({all.rows * c_.hc_mult}, [&](auto to) {
    for (std::int64_t i = 0; i < to.extent(0); ++i) to[i] = static_cast<std::int32_t>(i / c_.hc_mult);
  });
  first_mix = add<float, 2>({all.rows, c_.hc_mult}, [](auto to) {
    for (std::int64_t r = 0; r < to.extent(0); ++r) to[r][0] = 1;
  });
  std::vector<std::int64_t> wants;
  std::int64_t runs = 0;
  for (const Row& row : rows) {
    if (row.global_only && drops) continue;
    if (row.wants_logits) wants.push_back(runs);
    ++runs;
  }
  wanted = add<std::int32_t, 1>({std::ssize(wants)}, [&](auto to) {
    for (auto next = in_order(to); const std::int64_t r : wants) next(r);
  });
}

void StepTables::add_rows(RowTables& to, std::span<const Row> rows, Kind kind, bool tail_only) {
  const auto each_row = [&](auto table, auto number) {
    auto next = in_order(table);
    for (std::size_t s = 0; s < to.sequences.size(); ++s) {
      for (std::int64_t i = 0; i < to.sequences[s].count; ++i) next(number(s, i));
    }
  };
  const auto row_of = [&](std::size_t s, std::int64_t i) {  // of the whole step
    return static_cast<std::size_t>(all.sequences[s].first + (tail_only ? all.sequences[s].global_only : 0) + i);
  };
  const auto position = [&](std::size_t s, std::int64_t i) { return to.sequences[s].committed + i; };
  to.position = add<std::int64_t, 1>({to.rows}, [&](auto t) { each_row(t, position); });
  to.sequence = add<std::int32_t, 1>({to.rows}, [&](auto t) { each_row(t, [](std::size_t s, auto) { return s; }); });
  to.image = add<std::uint8_t, 1>({to.rows}, [&](auto t) {
    each_row(t, [&](std::size_t s, std::int64_t i) { return rows[row_of(s, i)].image ? 1 : 0; });
  });
  if (!tail_only && kind == Kind::step) to.window = add_window(to, kind, /*tail_layers=*/false);
  const bool same =
      std::ranges::all_of(to.sequences, [](const SequenceRows& s) { return s.sequence->tail_start() == 0; });
  if (kind == Kind::step && !drops && same) {
    to.tail_window = to.window;
  } else if (tail_only || !drops) {
    to.tail_window = add_window(to, kind, /*tail_layers=*/true);
  }
  for (const SourceShape& of : model_.state_shape().sources) {
    if (kind == Kind::draft_block) break;
    to.visible.push_back(add<std::int64_t, 1>({to.rows}, [&](auto t) {
      each_row(t, [&](std::size_t s, std::int64_t i) { return visible_groups(position(s, i), of.ratio); });
    }));
  }
  if (kind == Kind::step) add_engram(to);
  to.shared_expert = add<std::int32_t, 2>({to.rows, 1}, [](auto) {});
  to.shared_weight = add<float, 2>({to.rows, 1}, [](auto t) { fill(t, 1.0f); });
  to.equal_mix = add<float, 2>({to.rows, c_.hc_mult}, [&](auto t) { fill(t, 1.0f / static_cast<float>(c_.hc_mult)); });
}

std::int32_t StepTables::window_entry(const SequenceRows& s, std::int64_t position, std::int64_t own) {
  const std::int64_t entry =
      position < s.committed ? own + s.sequence->ring_row(position) : s.first + position - s.committed;
  return static_cast<std::int32_t>(entry);
}

Table<std::int32_t, 2> StepTables::add_window(const RowTables& of, Kind kind, bool tail_layers) {
  const bool draft = kind == Kind::draft_block;
  const std::int64_t listed = c_.window_size + (draft ? c_.dspark_block_size : 0);
  std::vector<std::int64_t> window(static_cast<std::size_t>(c_.window_size));
  return add<std::int32_t, 2>({of.rows, listed}, [&](View<std::int32_t, 2> to) {
    fill(to, std::int32_t{-1});
    for (const SequenceRows& s : of.sequences) {
      const std::int64_t start = !tail_layers ? 0 : s.global_only > 0 ? s.committed : s.sequence->tail_start();
      for (std::int64_t i = 0; i < s.count; ++i) {
        auto next = in_order(to[s.first + i]);
        // A draft position sees the ring as it was left, and the whole block, itself and later ones included (spec 6).
        window_positions(draft ? s.committed - 1 : s.committed + i, c_.window_size, start, window);
        for (const std::int64_t p : window) {
          if (p >= 0) next(window_entry(s, p, all.rows));
        }
        for (std::int64_t p = s.committed; draft && p < s.end(); ++p) next(window_entry(s, p, all.rows));
      }
    }
  });
}

// Rows of the Engram tables (engram.md 5).
void StepTables::add_engram(RowTables& to) {
  if (c_.engram_layer_ids.empty()) return;
  const std::int64_t ngram = c_.engram_max_ngram_size;
  const std::int32_t pad = model_.token_class(TokenId{static_cast<std::int32_t>(c_.engram_pad_id)});
  std::vector<std::int32_t> back, classes(static_cast<std::size_t>(to.rows * ngram));
  std::vector<std::uint8_t> dead_back;
  for (std::size_t s = 0; s < to.sequences.size(); ++s) {
    const SequenceRows& whole = all.sequences[s];
    for (std::int64_t i = 0; i < to.sequences[s].count; ++i) {
      back.clear();
      dead_back.clear();
      const std::int64_t at = to.sequences[s].committed + i;
      for (std::int64_t p = at; p > at - ngram && p >= 0; --p) {
        const auto row = static_cast<std::size_t>(whole.first + p - whole.committed);
        const bool own = p >= whole.committed;
        back.push_back(own ? token_class[row] : whole.sequence->token_class(p));
        dead_back.push_back(own ? dead[row] : whole.sequence->dead(p));
      }
      engram_history(back, dead_back, pad,
                     std::span(classes).subspan(static_cast<std::size_t>((to.sequences[s].first + i) * ngram),
                                                static_cast<std::size_t>(ngram)));
    }
  }
  for (std::size_t e = 0; e < c_.engram_layer_ids.size(); ++e) {
    const EngramColumns& columns = model_.engram_columns(static_cast<std::int64_t>(e));
    to.engram_id.push_back(add<std::int64_t, 2>({to.rows, columns.columns()}, [&](auto ids) {
      for (std::int64_t r = 0; r < to.rows; ++r) {
        engram_rows(columns,
                    std::span(classes).subspan(static_cast<std::size_t>(r * ngram), static_cast<std::size_t>(ngram)),
                    ids[r].span());
      }
    }));
  }
}

void StepTables::add_source(std::int64_t number) {
  const std::int64_t ratio = model_.state_shape().sources[static_cast<std::size_t>(number)].ratio;
  const std::int64_t page_groups = model_.state_shape().page_groups(number);
  std::int64_t groups = 0, pages = 0;
  for (const SequenceRows& s : all.sequences) {
    s.sequence->make_groups(number, s.committed / ratio, s.end() / ratio);
    groups += s.end() / ratio - s.committed / ratio;
    pages = std::max(pages, ceil_div(s.end() / ratio, page_groups));
  }
  const auto each_group = [&](auto see) {
    for (const SequenceRows& s : all.sequences) {
      for (std::int64_t g = s.committed / ratio; g < s.end() / ratio; ++g) see(s, g);
    }
  };
  const auto each_sequence = [&](auto table, auto count) {
    for (auto next = in_order(table); const SequenceRows& s : all.sequences) next(count(s));
  };
  SourceTables t;
  t.token = add<std::int32_t, 2>({groups, ratio}, [&](auto to) {
    if (ratio == 1) return;  // nothing is pooled
    each_group([&, next = in_order(to)](const SequenceRows& s, std::int64_t g) mutable {
      for (std::int64_t p = g * ratio; p < (g + 1) * ratio; ++p) {
        next(p < s.committed ? all.rows + s.sequence->input_row(number, p) : s.first + p - s.committed);
      }
    });
  });
  t.position = add<std::int64_t, 1>({groups}, [&](auto to) {
    each_group([&, next = in_order(to)](const SequenceRows&, std::int64_t g) mutable { next(g * ratio); });
  });
  t.row = add<std::int32_t, 1>({groups}, [&](auto to) {
    each_group([&, next = in_order(to)](const SequenceRows& s, std::int64_t g) mutable {
      next(s.sequence->group_row(number, g));
    });
  });
  t.page = add<std::int32_t, 2>({std::ssize(all.sequences), pages}, [&](auto to) {
    for (std::int64_t i = 0; i < to.extent(0); ++i) {
      const SequenceRows& s = all.sequences[static_cast<std::size_t>(i)];
      for (std::int64_t p = 0; p < ceil_div(s.end() / ratio, page_groups); ++p) to[i][p] = s.sequence->page(number, p);
    }
  });
  const std::int64_t count = std::ssize(all.sequences);
  t.before = add<std::int64_t, 1>(
      {count}, [&](auto to) { each_sequence(to, [&](const SequenceRows& s) { return s.committed / ratio; }); });
  t.after = add<std::int64_t, 1>(
      {count}, [&](auto to) { each_sequence(to, [&](const SequenceRows& s) { return s.end() / ratio; }); });
  source.push_back(t);
}

// The newest rows of each sequence, as many as its ring of `slots` holds; of window KV, or of a source's inputs.
Moves StepTables::add_moves(const std::vector<SequenceRows>& of, std::int64_t slots, std::int64_t number) {
  std::int64_t moved = 0;
  for (const SequenceRows& s : of) moved += std::min(slots, s.count);
  const auto each = [&](auto see) {
    for (const SequenceRows& s : of) {
      for (std::int64_t i = std::max<std::int64_t>(0, s.count - slots); i < s.count; ++i) see(s, i);
    }
  };
  Moves m;
  m.row = add<std::int32_t, 1>({moved}, [&](auto to) {
    each([next = in_order(to)](const SequenceRows& s, std::int64_t i) mutable { next(s.first + i); });
  });
  m.place = add<std::int32_t, 1>({moved}, [&](auto to) {
    each([&, next = in_order(to)](const SequenceRows& s, std::int64_t i) mutable {
      const std::int64_t p = s.committed + i;
      next(number < 0 ? s.sequence->ring_row(p) : s.sequence->input_row(number, p));
    });
  });
  return m;
}

}  // namespace cachalot
