// SPDX-License-Identifier: Apache-2.0
// Packs rows into a stored format: window KV, compressed KV, index keys and queries. Source: spec 3.1, 3.3, 3.4, 7.
#pragma once

#include <span>

#include "ops/context.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"

namespace cachalot {

struct EncodeRowsArgs {
  ConstValues<2> x;  // [rows, width], width in whole groups of the format
  RowFormat format;
  std::span<const RowSlot> out;  // [rows], where each row goes; they do not overlap
};

// Numerics: spec 7's scale and code of each group; discrete, so every backend gives the same bytes.
void encode_rows_ref(Context& context, const EncodeRowsArgs& args);
// The same bytes.
void encode_rows_cpu(Context& context, const EncodeRowsArgs& args);

}  // namespace cachalot
