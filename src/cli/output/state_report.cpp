// SPDX-License-Identifier: Apache-2.0
#include "cli/output/state_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/byte_text.h"
#include "cli/command_line/help_text.h"
#include "cli/output/text_table.h"
#include "kv/state_bytes.h"
#include "model/model.h"

namespace cachalot {
namespace {

struct PartOfState {
  const char* name;
  std::int64_t owners;  // layers, or sources
  double per_token;
  std::int64_t bytes;
};

std::vector<PartOfState> parts_of(const StateShape& shape, const StateBytes& bytes, const TokenBytes& token) {
  const auto sources = static_cast<std::int64_t>(shape.sources.size());
  const std::int64_t pooled = std::ranges::count_if(shape.sources, [](const SourceShape& s) { return s.ratio > 1; });
  return {{"window rings", shape.rings, 0, bytes.rings},
          {"compressor inputs", pooled, 0, bytes.compressor_inputs},
          {"n-gram history", shape.history > 0 ? 1 : 0, 0, bytes.history},
          {"compressed KV", sources, token.compressed, bytes.compressed},
          {"index keys", sources, token.index_keys, bytes.index_keys}};
}

}  // namespace

std::string state_text(const Config& config, std::int64_t positions, int columns) {
  const StateShape shape = state_shape_of(config);
  const StateBytes bytes = state_bytes(shape, positions);
  const TokenBytes token = token_bytes(shape);
  TextTable table({{"state"}, {"owners", true}, {"bytes a token", true}, {"size", true}});
  for (const PartOfState& part : parts_of(shape, bytes, token)) {
    table.row({part.name, std::to_string(part.owners),
               part.per_token > 0 ? fmt::format("{:.6g}", part.per_token) : "fixed", byte_text(part.bytes)});
  }
  table.row({"fixed", "", "", byte_text(bytes.fixed())});
  table.row({"in pages", "", fmt::format("{:.6g}", token.all()), byte_text(bytes.pages())});
  table.row({"all", "", "", byte_text(bytes.all())});
  return fmt::format("one sequence at {} of {} positions: {}\n\n{}\n{}", positions, config.max_seq_len,
                     byte_text(bytes.all()), table.text(columns),
                     wrapped(fmt::format("a ring has {} positions, window {} + slack {}; a page has {} tokens",
                                         shape.ring_slots(), shape.window, shape.slack, shape.page_tokens),
                             std::min(columns, 120), 0));
}

Json state_json(const Config& config, std::int64_t positions) {
  const StateShape shape = state_shape_of(config);
  const StateBytes bytes = state_bytes(shape, positions);
  const TokenBytes token = token_bytes(shape);
  std::vector<Json> parts;
  for (const PartOfState& part : parts_of(shape, bytes, token)) {
    parts.push_back(Json::object(
        {{"name", part.name}, {"owners", part.owners}, {"bytes_per_token", part.per_token}, {"bytes", part.bytes}}));
  }
  return Json::object({{"positions", positions},
                       {"context", config.max_seq_len},
                       {"bytes", bytes.all()},
                       {"fixed_bytes", bytes.fixed()},
                       {"page_bytes", bytes.pages()},
                       {"bytes_per_token", token.all()},
                       {"window", shape.window},
                       {"slack", shape.slack},
                       {"page_tokens", shape.page_tokens},
                       {"parts", Json::array(std::move(parts))}});
}

}  // namespace cachalot
