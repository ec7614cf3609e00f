// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/blocks.h"

#include <algorithm>
#include <utility>

#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_fields.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

constexpr std::string_view blank_line = "\n\n";

struct BlockRules {
  bool check_string_results;
};

Expected<std::vector<Block>> read_blocks(const Json& list, const BlockRules& rules);

Status expect_no_image(std::string_view text, std::string_view what) {
  if (text.find(image_token) == std::string_view::npos) return {};
  return fail(Errc::format, "{} contains the image token {}; give images as blocks of type image_url", what,
              image_token);
}

Expected<Block> image_block(Json record) { return text_block(PromptText().image(std::move(record))); }

// {"type": "image_url", "image_url": url or {url}}
Expected<Block> read_image_url(const Json& block) {
  const Json* url = find_value(block, "image_url");
  if (url && url->is_object()) url = find_value(*url, "url");
  if (!url || is_empty_value(*url)) return fail(Errc::format, "the image has no url");
  if (!url->is_string()) return fail(Errc::format, "the image's url is {}, expected a string", described(*url));
  return image_block(Json::object({{"type", "image"}, {"url", *url}}));
}

// {"type": "image"} with source, url or data
Expected<Block> read_image(const Json& block) {
  std::vector<Json::Member> record = {{"type", "image"}};
  bool any = false;
  for (const char* key : {"source", "url", "data"}) {
    const Json* value = block.find(key);
    if (!value) continue;
    any = any || !is_empty_value(*value);
    record.push_back({key, *value});
  }
  if (!any) return fail(Errc::format, "the image has no source, url or data");
  return image_block(Json::object(std::move(record)));
}

Expected<Block> read_tool_result(const Json& block, const BlockRules& rules) {
  const auto id = read_string_or_empty(block, "tool_use_id");
  if (!id) return tl::unexpected(id.error());
  PromptText content;
  const Json* given = find_value(block, "content");
  if (given && given->is_array()) {
    auto items = read_blocks(*given, rules);
    if (!items) return tl::unexpected(items.error());
    // A result holds text; another result inside it is printed as unsupported, like anything else.
    for (Block& item : *items) {
      if (item.kind == Block::Kind::tool_result) item.body = PromptText().trusted("[Unsupported tool_result]");
    }
    content = join_blocks(*items);
  } else {
    const auto text = read_string_or_empty(block, "content");
    if (!text) return fail(Errc::format, "the tool result's {}, or a list", text.error().message);
    if (rules.check_string_results) {
      if (auto s = expect_no_image(*text, "the tool result"); !s) return tl::unexpected(s.error());
    }
    content.text(*text);
  }
  return tool_result_block(std::string(*id), content);
}

Expected<Block> read_block(const Json& block, const BlockRules& rules) {
  if (!block.is_object()) return fail(Errc::format, "it is {}, expected an object", described(block));
  const Json* type = find_value(block, "type");
  const std::string name = !type ? "None" : type->is_string() ? *type->as_string() : json_text(*type);
  if (name == "image_url") return read_image_url(block);
  if (name == "image") return read_image(block);
  if (name == "tool_result") return read_tool_result(block, rules);
  if (name != "text") {
    Block other{.kind = Block::Kind::other};
    other.body.trusted("[Unsupported ").text(name).trusted("]");
    return other;
  }
  const auto text = read_string_or_empty(block, "text");
  if (!text) return tl::unexpected(text.error());
  if (auto s = expect_no_image(*text, "the text"); !s) return tl::unexpected(s.error());
  return text_block(PromptText().text(*text));
}

Expected<std::vector<Block>> read_blocks(const Json& list, const BlockRules& rules) {
  std::vector<Block> blocks;
  for (const Json& item : list.items()) {
    auto block = read_block(item, rules);
    if (!block) return fail(Errc::format, "block {}: {}", blocks.size(), block.error().message);
    blocks.push_back(std::move(*block));
  }
  return blocks;
}

PromptText joined_texts(std::span<const Block> blocks) {
  std::vector<Block> texts;
  std::ranges::copy_if(blocks, std::back_inserter(texts), [](const Block& b) { return b.kind == Block::Kind::text; });
  return join_blocks(texts);
}

}  // namespace

Block text_block(PromptText text) { return {.kind = Block::Kind::text, .body = std::move(text)}; }

Block tool_result_block(std::string tool_use_id, const PromptText& content) {
  Block block{.kind = Block::Kind::tool_result, .tool_use_id = std::move(tool_use_id)};
  block.body.trusted("<tool_result>").append(content).trusted("</tool_result>");
  return block;
}

PromptText join_blocks(std::span<const Block> blocks) {
  PromptText joined;
  bool first = true;
  for (const Block& block : blocks) {
    if (!std::exchange(first, false)) joined.trusted(blank_line);
    joined.append(block.body);
  }
  return joined;
}

Expected<Content> read_content(const Json& message, bool check_string_results) {
  const Json* content = find_value(message, "content");
  const Json* list = find_value(message, "content_blocks");
  if (list && !list->is_array()) return fail(Errc::format, "content_blocks is {}, expected a list", described(*list));
  if (content && !content->is_string() && !content->is_array())
    return fail(Errc::format, "content is {}, expected a string, null or a list of blocks", described(*content));
  for (const char* key : {"content", "reasoning_content"}) {
    const Json* value = find_value(message, key);
    if (!value || !value->is_string()) continue;
    if (auto s = expect_no_image(*value->as_string(), key); !s) return tl::unexpected(s.error());
  }
  if (content && content->is_array() && (!list || list->items().empty())) list = content;

  Content result;
  if (list) {
    auto blocks = read_blocks(*list, {check_string_results});
    if (!blocks) return tl::unexpected(blocks.error());
    result.blocks = std::move(*blocks);
  }
  if (content && content->is_string()) {
    result.text.text(*content->as_string());
  } else {
    result.text = joined_texts(result.blocks);
  }
  return result;
}

}  // namespace cachalot
