// SPDX-License-Identifier: Apache-2.0
#include "ops/backend.h"
#include "ops/operands.h"
#include "tensor/guarded_memory.h"

namespace cachalot {
namespace {

// The context that the cpu's operators get: they take their own scratch where they can use it.
Context& host_side(Context& context) {
  if (!context.backend_state) context.backend_state = std::make_shared<Context>(context.pool.threads());
  return *static_cast<Context*>(context.backend_state.get());
}

// An entry of the cpu's table, given the bytes behind the addresses that the model knows.
template <auto member>
void guarded(Context& context, const typename Entry<member>::Args& args) {
  check(&context.memory == &guarded_memory(), "operators of the backend guarded run in its memory");
  const auto here =
      relocated(args, [](const std::byte* first, std::int64_t bytes) { return guarded_memory().behind(first, bytes); });
  (cpu_backend().*member)(host_side(context), here.args);
}

constexpr Backend guarded_table() {
  Backend table{};
  table.name = "guarded";
  table.open = [](int device) { return open_host("guarded", guarded_memory(), device); };
  each_operator([&]<class E>(std::string_view, E) { E::of(table) = guarded<E::pointer>; });
  return table;
}

}  // namespace

const Backend& guarded_backend() {
  static constexpr Backend table = guarded_table();
  return table;
}

}  // namespace cachalot
