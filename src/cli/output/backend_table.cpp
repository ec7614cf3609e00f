// SPDX-License-Identifier: Apache-2.0
#include "cli/output/backend_table.h"

#include <fmt/core.h>

#include <array>

namespace cachalot {
namespace {

// Row by operator, column by backend.
std::array<std::vector<std::string>, operator_count> cells(std::span<const Backend* const> backends) {
  std::array<std::vector<std::string>, operator_count> table;
  std::size_t op = 0;
  each_operator([&]<class E>(std::string_view, E) {
    for (std::size_t b = 0; b < backends.size(); ++b) {
      const auto entry = E::of(*backends[b]);
      std::string cell = entry ? "own" : "none";
      for (std::size_t earlier = 0; entry && earlier < b; ++earlier) {
        if (E::of(*backends[earlier]) == entry) cell = fmt::format("= {}", backends[earlier]->name);
      }
      table[op].push_back(std::move(cell));
    }
    ++op;
  });
  return table;
}

}  // namespace

std::string backend_table_text(std::span<const Backend* const> backends) {
  std::string out = fmt::format("{:<20}", "operator");
  for (const Backend* backend : backends) out += fmt::format(" {:<12}", backend->name);
  out += '\n';
  const auto table = cells(backends);
  for (std::size_t op = 0; op < table.size(); ++op) {
    out += fmt::format("{:<20}", operator_names[op]);
    for (const std::string& cell : table[op]) out += fmt::format(" {:<12}", cell);
    out += '\n';
  }
  return out;
}

Json backend_table_json(std::span<const Backend* const> backends) {
  const auto table = cells(backends);
  std::vector<Json> list;
  for (std::size_t b = 0; b < backends.size(); ++b) {
    Json operators = Json::object();
    for (std::size_t op = 0; op < table.size(); ++op) operators.set(operator_names[op], table[op][b]);
    list.push_back(Json::object({{"name", backends[b]->name}, {"operators", std::move(operators)}}));
  }
  return Json::object({{"backends", Json::array(std::move(list))}});
}

}  // namespace cachalot
