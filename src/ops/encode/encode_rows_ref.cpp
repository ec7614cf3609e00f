// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/check.h"
#include "ops/encode/encode_rows.h"

namespace cachalot {

void encode_rows_ref(Context&, const EncodeRowsArgs& a) {
  check(a.row.empty() || a.row.extent(0) == a.x.extent(0), "encode_rows: one place for each row");
  check(a.out.width == a.x.extent(1), "encode_rows: rows as wide as their places");
  std::vector<float> values(static_cast<std::size_t>(a.x.extent(1)));
  for (std::int64_t row = 0; row < a.x.extent(0); ++row) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = a.x[row].load(static_cast<std::int64_t>(i));
    const auto [codes, scales] = a.out[a.target(row)];
    encode_row(a.out.format, values, codes, scales);
  }
}

}  // namespace cachalot
