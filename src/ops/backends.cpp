// SPDX-License-Identifier: Apache-2.0
// Choosing a backend by name, and entries of it.
#include <fmt/ranges.h>

#include <charconv>
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
  if (name == guarded_backend().name) return &guarded_backend();
  return fail(Errc::usage, "backend {}: this build has {}", name, shown_list(names, names.size()));
}

Expected<MemorySpace*> open_host(const char* backend, MemorySpace& memory, int device) {
  if (device != 0)
    return fail(Errc::usage, "backend {}: there is no device {}, it runs on the host alone", backend, device);
  return &memory;
}

Expected<OpenBackend> open_backend(std::string_view name) {
  const std::size_t colon = name.find(':');
  const auto backend = find_backend(name.substr(0, colon));
  if (!backend) return tl::unexpected(backend.error());
  int device = 0;
  if (colon != name.npos) {
    const std::string_view number = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device);
    if (error != std::errc() || end != number.data() + number.size() || device < 0)
      return fail(Errc::usage, "backend {}: expected the number of a device behind the colon", name);
  }
  const auto memory = (*backend)->open(device);
  if (!memory) return tl::unexpected(memory.error());
  return OpenBackend{*backend, *memory};
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
