// SPDX-License-Identifier: Apache-2.0
// Rows of anything by number, one behind the other: the copies of the stream, rows that go on after others were
// dropped, rows that want logits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/context.h"
#include "tensor/values.h"
#include "tensor/view.h"

namespace cachalot {

struct TakeRowsArgs {
  View<const std::byte, 2> from;    // [rows, bytes of a row]
  View<const std::int32_t, 1> row;  // [taken], rows of from, as often as they like
  View<std::byte, 2> out;           // [taken, bytes of a row], apart from `from`

  template <class S>
  void each(S&& s) {
    s.in(from, row);
    s.out(out);
  }
};

// Everything behind the first axis as the bytes of a row.
template <int N, bool writable>
auto bytes_of_rows(BasicValues<N, writable> v) {
  using Byte = std::conditional_t<writable, std::byte, const std::byte>;
  check(v.dense(), "rows that stand side by side");
  const std::int64_t width = v.extent(0) == 0 ? 0 : v.size() / v.extent(0) * bytes_of(v.type());
  return View<Byte, 2>(static_cast<Byte*>(v.data()), {v.extent(0), width});
}
template <class T, int N>
auto bytes_of_rows(View<T, N> v) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  const std::int64_t width = v.extent(0) == 0 ? 0 : v.size() / v.extent(0) * static_cast<std::int64_t>(sizeof(T));
  return View<Byte, 2>(reinterpret_cast<Byte*>(v.data()), {v.extent(0), width});
}

// Numerics: copies.
void take_rows_ref(Context& context, const TakeRowsArgs& args);
// The same bytes.
void take_rows_cpu(Context& context, const TakeRowsArgs& args);

}  // namespace cachalot
