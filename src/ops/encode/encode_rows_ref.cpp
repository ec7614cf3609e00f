// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/check.h"
#include "ops/encode/encode_rows.h"

namespace cachalot {

void encode_rows_ref(Context&, const EncodeRowsArgs& a) {
  check(static_cast<std::int64_t>(a.out.size()) == a.x.extent(0), "encode_rows: one place for each row");
  std::vector<float> values(static_cast<std::size_t>(a.x.extent(1)));
  for (std::size_t row = 0; row < a.out.size(); ++row) {
    const auto x = a.x[static_cast<std::int64_t>(row)];
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = x.load(static_cast<std::int64_t>(i));
    encode_row(a.format, values, a.out[row].codes, a.out[row].scales);
  }
}

}  // namespace cachalot
