// SPDX-License-Identifier: Apache-2.0
// Rows of a table by number, side by side: token embedding (one column), Engram (24 columns), Markov embedding. Source:
// spec 1, 5, 6.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"

namespace cachalot {

struct LookupArgs {
  PackedRows table;                // [table rows, width]
  View<const std::int64_t, 2> id;  // [rows, columns], each inside the table: whoever made the ids has checked them
  Values<2> out;                   // [rows, columns · width]

  template <class S>
  void each(S&& s) {
    s.in(table, id);
    s.out(out);
  }
};

// Numerics: decoded exactly (a code times a power of two fits bf16).
void lookup_ref(Context& context, const LookupArgs& args);
// The same numbers; a table's rows are decoded a register at a time, rows and columns in parallel.
void lookup_cpu(Context& context, const LookupArgs& args);

}  // namespace cachalot
