// SPDX-License-Identifier: Apache-2.0
#include "cli/output/inspect_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_text.h"
#include "base/seeded_hash.h"
#include "base/shown_text.h"
#include "cli/command_line/help_text.h"
#include "cli/output/text_table.h"

namespace cachalot {
namespace {

constexpr int widest = 120;  // of lines that are read as text

std::vector<std::string> roles_of(const Config& config, std::int64_t layer) {
  std::vector<std::string> roles;
  if (layer >= config.n_layers) roles.push_back("draft stage");
  if (config.ratio(layer) == 0) roles.push_back("window only");
  if (config.is_kv_source(layer)) roles.push_back("KV source");
  if (config.is_index_source(layer)) roles.push_back("index source");
  if (layer == config.candidate_source_layer) roles.push_back("candidate source");
  if (config.engram_index(layer) >= 0) roles.push_back("Engram");
  return roles;
}

std::string layer_name(const Config& config, std::int64_t layer) {
  return layer < config.n_layers ? fmt::format("layers.{}", layer) : fmt::format("mtp.{}", layer - config.n_layers);
}

// "layers.3.attn.wq_a.weight" -> "layers.*.attn.wq_a.weight"
std::string kind_name(std::string_view name) {
  std::string kind;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string_view piece = name.substr(0, dot);
    const bool number = !piece.empty() && piece.find_first_not_of("0123456789") == piece.npos;
    kind += number ? "*" : piece;
    if (dot == name.npos) return kind;
    kind += '.';
    name.remove_prefix(dot + 1);
  }
}

void count(Inspection::PartRow& part, const TensorInfo& tensor) {
  ++part.tensors;
  part.bytes += tensor.bytes;
  part.bytes_by_type[tensor.dtype_text] += tensor.bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return message("[{}]", shown_list(shape)); }

// "I8 89%, F8_E8M0 11%", the largest first; what rounds to nothing is left out.
std::string formats_text(const Inspection::PartRow& part) {
  std::vector<std::pair<std::int64_t, std::string>> types;
  for (const auto& [type, bytes] : part.bytes_by_type) types.emplace_back(bytes, type);
  std::ranges::sort(types, std::greater());
  std::string text;
  for (const auto& [bytes, type] : types) {
    const double percent =
        100.0 * static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(part.bytes, 1));
    if (percent >= 0.5)
      text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", std::string_view(shown_name(type)), percent);
  }
  return text;
}

std::string summary_text(const Checkpoint& checkpoint, int columns) {
  const Config& c = checkpoint.config();
  const char* spelling = checkpoint.loaded_config().flat ? "flat" : "nested";
  std::string out = fmt::format("{}: {} tensors, {}, in {} file{} ({} config)\n",
                                std::string_view(shown_text(checkpoint.directory().string())),
                                checkpoint.tensors().size(), byte_text(checkpoint.bytes()), checkpoint.shards().size(),
                                checkpoint.shards().size() == 1 ? "" : "s", spelling);
  out = wrapped(out, std::min(columns, widest), 0);
  const auto line = [&](std::string_view what, const std::string& text) {
    constexpr int indent = 15;
    std::string lines = wrapped(text, std::min(columns, widest), indent);
    out += lines.replace(0, indent, fmt::format("  {:<{}}", what, indent - 2));
  };
  line("model", fmt::format("dim {}, vocabulary {}, {} layers, up to {} positions, {} residual copies", c.dim,
                            c.vocab_size, c.n_layers, c.max_seq_len, c.hc_mult));
  line("attention", fmt::format("{} heads x {} (rope {}), q_lora {}, o_lora {} in {} groups, window {}", c.n_heads,
                                c.head_dim, c.rope_head_dim, c.q_lora_rank, c.o_lora_rank, c.o_groups, c.window_size));
  line("index",
       fmt::format("{} heads x {}, top {}{}", c.index_n_heads, c.index_head_dim, c.index_topk,
                   c.candidate_source_layer < 0 ? ""
                                                : fmt::format(", candidates: top {} blocks of {}",
                                                              c.candidate_topk_blocks, c.candidate_block_size)));
  line("experts",
       fmt::format("{} of {} and one shared, inter {}", c.n_activated_experts, c.n_routed_experts, c.moe_inter_dim));
  if (!c.engram_layer_ids.empty()) {
    line("engram", fmt::format("{} columns x {}, rows {}", c.engram_columns(), c.engram_head_dim,
                               fmt::join(c.engram_num_embeddings, " and ")));
  }
  if (c.n_mtp_layers > 0) {
    line("drafts",
         fmt::format("{} stages, blocks of {}, {} of {} experts, Markov rank {}", c.n_mtp_layers, c.dspark_block_size,
                     c.dspark_n_activated_experts, c.dspark_n_routed_experts, c.dspark_markov_rank));
  }
  if (checkpoint.copied_bytes() > 0)
    line("not aligned", fmt::format("{} of tensors, copied into memory", byte_text(checkpoint.copied_bytes())));
  if (c.vision) {
    line("vision", fmt::format("{} blocks, dim {}, {} heads, inter {}, patch {}", c.vision->n_layers, c.vision->dim,
                               c.vision->n_heads, c.vision->inter_dim, c.vision->patch_size));
  }
  return out;
}

Json part_json(const char* name, const Inspection::PartRow& part) {
  Json types = Json::object();
  for (const auto& [type, bytes] : part.bytes_by_type) types.set(type, bytes);
  return Json::object(
      {{"name", name}, {"tensors", part.tensors}, {"bytes", part.bytes}, {"bytes_by_type", std::move(types)}});
}

Json list_json(const std::vector<std::int64_t>& list) { return Json::array({list.begin(), list.end()}); }

}  // namespace

Inspection inspect(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config();
  Inspection result{.checkpoint = checkpoint, .layers = {}, .parts = {}, .unused = {}, .kinds = {}};
  for (std::int64_t layer = 0; layer < config.all_layers(); ++layer) {
    result.layers.push_back({layer_name(config, layer), config.ratio(layer), roles_of(config, layer),
                             config.kv_source(layer), config.index_source(layer), 0});
  }
  const std::vector<ExpectedTensor> expected = expected_tensors(config);
  HashMap<std::string_view, const ExpectedTensor*> by_name;
  for (const ExpectedTensor& tensor : expected) by_name.emplace(tensor.name, &tensor);
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    const auto known = by_name.find(tensor.name);
    if (known == by_name.end()) {
      count(result.unused, tensor);
      continue;
    }
    count(result.parts[static_cast<std::size_t>(known->second->part)], tensor);
    if (known->second->layer >= 0) result.layers[static_cast<std::size_t>(known->second->layer)].bytes += tensor.bytes;
  }
  // In the model's order, which the table has and a file has not.
  std::map<std::tuple<std::string, std::string, std::vector<std::int64_t>>, std::size_t> place;
  for (const ExpectedTensor& want : expected) {
    const TensorInfo* tensor = checkpoint.find(want.name);
    if (!tensor) continue;
    const auto [at, fresh] =
        place.try_emplace({kind_name(want.name), tensor->dtype_text, tensor->shape}, result.kinds.size());
    if (fresh) result.kinds.push_back({kind_name(want.name), tensor->dtype_text, tensor->shape, 0, 0});
    ++result.kinds[at->second].count;
    result.kinds[at->second].bytes += tensor->bytes;
  }
  return result;
}

std::string inspection_text(const Inspection& inspection, int columns) {
  const auto source = [](std::int64_t layer) { return layer < 0 ? std::string("-") : fmt::format("{}", layer); };
  std::string out = summary_text(inspection.checkpoint, columns);
  TextTable kinds({{"tensors"}, {"type"}, {"shape"}, {"count", true}, {"size", true}});
  for (const auto& kind : inspection.kinds)
    kinds.row({kind.name, kind.dtype, shape_text(kind.shape), std::to_string(kind.count), byte_text(kind.bytes)});
  TextTable layers({{"layer"}, {"ratio", true}, {"KV from", true}, {"index from", true}, {"size", true}, {"roles"}});
  for (const auto& layer : inspection.layers) {
    layers.row({layer.name, std::to_string(layer.ratio), source(layer.kv_source), source(layer.index_source),
                byte_text(layer.bytes), layer.roles.empty() ? "-" : fmt::format("{}", fmt::join(layer.roles, ", "))});
  }
  TextTable parts({{"part"}, {"tensors", true}, {"size", true}, {"share", true}, {"types"}});
  const auto row = [&](const char* name, const Inspection::PartRow& part) {
    if (part.tensors == 0) return;
    const double share = 100.0 * static_cast<double>(part.bytes) /
                         static_cast<double>(std::max<std::int64_t>(inspection.checkpoint.bytes(), 1));
    parts.row(
        {name, std::to_string(part.tensors), byte_text(part.bytes), fmt::format("{:.1f}%", share), formats_text(part)});
  };
  for (std::size_t i = 0; i < part_count; ++i) row(name(static_cast<Part>(i)), inspection.parts[i]);
  row("not used", inspection.unused);
  parts.row({"total", std::to_string(inspection.checkpoint.tensors().size()), byte_text(inspection.checkpoint.bytes()),
             "", ""});
  return fmt::format("{}\n{}\n{}\n{}", out, kinds.text(columns), layers.text(columns), parts.text(columns));
}

std::string tensor_list_text(const Checkpoint& checkpoint, int columns) {
  TextTable table({{"tensor"}, {"type"}, {"shape"}, {"bytes", true}, {"file"}});
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    table.row({tensor.name, tensor.dtype_text, shape_text(tensor.shape), std::to_string(tensor.bytes),
               std::filesystem::path(tensor.file).filename().string()});
  }
  return table.text(columns);
}

Json inspection_json(const Inspection& inspection, bool tensors) {
  const Checkpoint& checkpoint = inspection.checkpoint;
  Json out = Json::object({{"model", checkpoint.directory().string()},
                           {"config", checkpoint.loaded_config().flat ? "flat" : "nested"},
                           {"tensor_count", checkpoint.tensors().size()},
                           {"bytes", checkpoint.bytes()},
                           {"copied_bytes", checkpoint.copied_bytes()}});
  std::vector<Json> shards, layers, parts, kinds;
  for (const std::string& shard : checkpoint.shards()) shards.push_back(shard);
  for (const auto& layer : inspection.layers) {
    const auto source = [](std::int64_t from) { return from < 0 ? Json() : Json(from); };
    layers.push_back(Json::object({{"name", layer.name},
                                   {"ratio", layer.ratio},
                                   {"roles", Json::array({layer.roles.begin(), layer.roles.end()})},
                                   {"kv_source", source(layer.kv_source)},
                                   {"index_source", source(layer.index_source)},
                                   {"bytes", layer.bytes}}));
  }
  for (std::size_t i = 0; i < part_count; ++i)
    parts.push_back(part_json(name(static_cast<Part>(i)), inspection.parts[i]));
  parts.push_back(part_json("not used", inspection.unused));
  for (const auto& kind : inspection.kinds) {
    kinds.push_back(Json::object({{"name", kind.name},
                                  {"dtype", kind.dtype},
                                  {"shape", list_json(kind.shape)},
                                  {"count", kind.count},
                                  {"bytes", kind.bytes}}));
  }
  out.set("files", Json::array(std::move(shards))).set("layers", Json::array(std::move(layers)));
  out.set("parts", Json::array(std::move(parts))).set("kinds", Json::array(std::move(kinds)));
  if (tensors) {
    std::vector<Json> list;
    for (const TensorInfo& tensor : checkpoint.tensors()) {
      list.push_back(Json::object({{"name", tensor.name},
                                   {"dtype", tensor.dtype_text},
                                   {"shape", list_json(tensor.shape)},
                                   {"bytes", tensor.bytes},
                                   {"file", std::filesystem::path(tensor.file).filename().string()}}));
    }
    out.set("tensors", Json::array(std::move(list)));
  }
  return out;
}

}  // namespace cachalot
