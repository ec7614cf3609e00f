// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/tool_name.h"

#include "tokenizer/chat/json_fields.h"

namespace cachalot {
namespace {

constexpr std::string_view separator = "::";

struct Namespace {
  std::string name, description;
};

// A string, or {name, description?}.
Expected<Namespace> read_namespace(const Json& value) {
  const Json* name = value.is_object() ? find_value(value, "name") : &value;
  const std::string* text = name ? name->as_string() : nullptr;
  if (!text || text->empty())
    return fail(Errc::format, "namespace is {}, expected a name or {{name, description}}", described(value));
  const auto description = read_string_or_empty(value, "description");
  if (!description) return fail(Errc::format, "the namespace's {}", description.error().message);
  return Namespace{*text, std::string(*description)};
}

}  // namespace

Expected<ToolName> split_tool_name(std::string_view name) {
  const std::size_t at = name.find(separator);
  if (at == std::string_view::npos) return ToolName{{}, std::string(name), {}};
  const std::string_view rest = name.substr(at + separator.size());
  if (rest.find(separator) != std::string_view::npos)
    return fail(Errc::format, "the tool name {} has more than one ::, expected namespace::name", described(Json(name)));
  if (at == 0) return ToolName{{}, std::string(name), {}};
  return ToolName{std::string(name.substr(0, at)), std::string(rest), {}};
}

Expected<ToolName> read_tool_name(const Json& entry) {
  const Json* function = find_value(entry, "function");
  if (!function || !function->is_object()) return fail(Errc::format, "there is no object \"function\"");
  const Json* given = find_value(*function, "name");
  if (!given || !given->is_string()) return fail(Errc::format, "its function has no name");
  auto tool = split_tool_name(*given->as_string());
  if (!tool) return tool;

  const Json* space = find_value(entry, "namespace");
  if (!space || is_empty_value(*space)) space = find_value(*function, "namespace");
  if (!space || is_empty_value(*space)) return tool;
  auto explicit_space = read_namespace(*space);
  if (!explicit_space) return tl::unexpected(explicit_space.error());
  const bool has_own = given->as_string()->find(separator) != std::string::npos;
  if (explicit_space->name.find(separator) != std::string::npos)
    return fail(Errc::format, "the namespace {} has :: in it", described(Json(explicit_space->name)));
  if (has_own && tool->space != explicit_space->name) {
    return fail(Errc::format, "the tool name {} contradicts its namespace {}", described(*given),
                described(Json(explicit_space->name)));
  }
  tool->space = std::move(explicit_space->name);
  tool->description = std::move(explicit_space->description);
  return tool;
}

}  // namespace cachalot
