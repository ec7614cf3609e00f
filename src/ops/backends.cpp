// SPDX-License-Identifier: Apache-2.0
// Choosing a backend by name, and entries of it.
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "ops/backend.h"

namespace cachalot {
namespace {

template <auto entry>
void copy(Backend& to, const Backend& from) {
  to.*entry = from.*entry;
}

// How to set one entry, in the order of operator_names.
constexpr std::array<void (*)(Backend&, const Backend&), operator_names.size()> copy_entry = {
    copy<&Backend::linear>,
    copy<&Backend::rms_norm>,
    copy<&Backend::rope>,
    copy<&Backend::lookup>,
    copy<&Backend::encode_rows>,
    copy<&Backend::take_rows>,
    copy<&Backend::commit_rows>,
    copy<&Backend::argmax>,
    copy<&Backend::compressor>,
    copy<&Backend::indexer>,
    copy<&Backend::candidates>,
    copy<&Backend::selection>,
    copy<&Backend::sparse_attention>,
    copy<&Backend::output_projection>,
    copy<&Backend::router>,
    copy<&Backend::expert_ffn>,
    copy<&Backend::combine>,
    copy<&Backend::mix>,
    copy<&Backend::sinkhorn>,
    copy<&Backend::fold>,
    copy<&Backend::unfold>,
    copy<&Backend::engram_gate>,
    copy<&Backend::markov_head>,
    copy<&Backend::confidence_head>};

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
  for (const std::string& name : operators) {
    const auto at = std::ranges::find(operator_names, name);
    if (at == operator_names.end()) {
      return fail(Errc::usage, "operator {}: the backends' operators are {}", name,
                  shown_list(operator_names, operator_names.size()));
    }
    copy_entry[static_cast<std::size_t>(at - operator_names.begin())](table, reference_backend());
  }
  return table;
}

}  // namespace cachalot
