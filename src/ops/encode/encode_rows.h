// SPDX-License-Identifier: Apache-2.0
// Packs rows into a stored format: window KV, compressed KV, index keys and queries. Source: spec 3.1, 3.3, 3.4, 7.
#pragma once

#include <cstdint>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct EncodeRowsArgs {
  ConstValues<2> x;                 // [rows, width], width in whole groups of the format
  PackedRowsOut out;                // in its format
  View<const std::int32_t, 1> row;  // [rows], which of out's each becomes, all different; empty: row r becomes row r

  template <class S>
  void each(S&& s) {
    s.in(x, row);
    s.in_out(out);  // rows that are not named stay
  }

  std::int64_t target(std::int64_t r) const { return row.empty() ? r : row[r]; }
};

// Numerics: spec 7's scale and code of each group; discrete, so every backend gives the same bytes.
void encode_rows_ref(Context& context, const EncodeRowsArgs& args);
// The same bytes.
void encode_rows_cpu(Context& context, const EncodeRowsArgs& args);

}  // namespace cachalot
