// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_table.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace cachalot {
namespace {

using Entry = void (*)();
using Entries = std::array<Entry, operator_names.size()>;

// After its name a backend is a row of function pointers, in the order of operator_names.
Entries entries_of(const Backend& backend) {
  static_assert(sizeof(Backend) == sizeof(const char*) + sizeof(Entries));
  Entries entries;
  std::memcpy(&entries, reinterpret_cast<const std::byte*>(&backend) + sizeof(const char*), sizeof entries);
  return entries;
}

// Row by operator, column by backend.
std::array<std::vector<std::string>, operator_names.size()> cells(std::span<const Backend* const> backends) {
  std::array<std::vector<std::string>, operator_names.size()> table;
  for (std::size_t b = 0; b < backends.size(); ++b) {
    const Entries entries = entries_of(*backends[b]);
    for (std::size_t op = 0; op < entries.size(); ++op) {
      std::string cell = entries[op] ? "own" : "none";
      for (std::size_t earlier = 0; entries[op] && earlier < b; ++earlier) {
        if (entries_of(*backends[earlier])[op] == entries[op]) cell = fmt::format("= {}", backends[earlier]->name);
      }
      table[op].push_back(std::move(cell));
    }
  }
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
