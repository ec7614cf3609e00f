// SPDX-License-Identifier: Apache-2.0
// Puts rows of a step into the rings that outlive it: window KV of several layers at once, compressor inputs. Source:
// spec 3.1, 3.3.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "ops/operands.h"
#include "tensor/packed_rows.h"
#include "tensor/view.h"

namespace cachalot {

struct CommitRowsArgs {
  PackedRows from;                    // records, of the first of `sets` sets of rows
  PackedRowsOut to;                   // records of the same format and width, likewise
  View<const std::int32_t, 1> row;    // [moved], rows of from; the same in every set
  View<const std::int32_t, 1> place;  // [moved], which of to's each becomes, all different
  std::int64_t sets = 1;              // layers, say
  std::int64_t from_step = 0;         // bytes from a set to the next
  std::int64_t to_step = 0;

  template <class S>
  void each(S&& s) {
    s.in(RowSets{from, sets, from_step}, row, place);
    s.in_out(RowSets{to, sets, to_step});  // rows that are not named stay
  }

  bool fits() const {
    const auto records = [](const auto& r) { return r.layout == RowLayout::records; };
    return row.extent(0) == place.extent(0) && from.format == to.format && from.width == to.width &&
           (row.empty() || (records(from) && records(to)));
  }
};

// Numerics: copies.
void commit_rows_ref(Context& context, const CommitRowsArgs& args);
// The same bytes.
void commit_rows_cpu(Context& context, const CommitRowsArgs& args);

}  // namespace cachalot
