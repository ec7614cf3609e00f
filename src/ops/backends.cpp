// SPDX-License-Identifier: Apache-2.0
// Choosing a backend by name, and entries of it.
#include <fmt/ranges.h>

#include <vector>

#include "ops/backend.h"
#include "ops/mirror.h"

namespace cachalot {
namespace {

template <auto member>
void reference_anywhere(Context& context, const typename Entry<member>::Args& args) {
  run_on_host(context, args, reference_backend().*member);
}

}  // namespace

std::span<const Backend* const> all_backends() {
  static const Backend* const backends[] = {&reference_backend(), &cpu_backend()};
  return backends;
}

Expected<const Backend*> find_backend(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Backend* b : all_backends()) {
    if (name == b->name) return b;
    names.emplace_back(b->name);
  }
  return fail(Errc::usage, "backend {}: this build has {}", name, shown_list(names, names.size()));
}

Expected<Backend> with_reference(const Backend& backend, std::span<const std::string> operators) {
  Backend table = backend;
  for (const std::string& wanted : operators) {
    bool found = false;
    each_operator([&]<class E>(std::string_view name, E) {
      if (name != wanted) return;
      E::of(table) = reference_anywhere<E::pointer>;
      found = true;
    });
    if (!found) {
      return fail(Errc::usage, "operator {}: the backends' operators are {}", wanted,
                  shown_list(operator_names, operator_names.size()));
    }
  }
  return table;
}

}  // namespace cachalot
