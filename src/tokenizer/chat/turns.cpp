// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/turns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tokenizer/chat/json_fields.h"

namespace cachalot {
namespace {

constexpr std::array<std::pair<std::string_view, ChatRole>, 5> roles = {
    {{"system", ChatRole::system},
     {"user", ChatRole::user},
     {"assistant", ChatRole::assistant},
     {"tool", ChatRole::tool},
     {"latest_reminder", ChatRole::latest_reminder}}};

Expected<ChatRole> read_role(const Json& message) {
  constexpr const char* expected = "expected system, user, assistant, tool or latest_reminder";
  if (!message.is_object()) return fail(Errc::format, "it is {}, expected an object", described(message));
  const Json* value = message.find("role");
  if (!value) return fail(Errc::format, "there is no role, {}", expected);
  const std::string* text = value->as_string();
  const auto found =
      text ? std::ranges::find(roles, *text, &std::pair<std::string_view, ChatRole>::first) : roles.end();
  if (found == roles.end()) return fail(Errc::format, "role is {}, {}", described(*value), expected);
  return found->second;
}

// `id`, else function.id; empty for none.
Expected<std::string_view> call_id(const Json& call) {
  const auto id = read_string_or_empty(call, "id");
  if (!id || !id->empty()) return id;
  const Json* function = find_value(call, "function");
  return function ? read_string_or_empty(*function, "id") : std::string_view();
}

// Of an assistant message. Without calls the ranks stay those of an earlier one.
Status update_ranks(const Json& message, CallRanks& ranks) {
  const Json* calls = find_value(message, "tool_calls");
  if (!calls || is_empty_value(*calls)) return {};
  if (!calls->is_array()) return fail(Errc::format, "tool_calls is {}, expected a list", described(*calls));
  ranks.clear();
  std::size_t rank = 0;
  for (const Json& call : calls->items()) {
    const auto id = call_id(call);
    if (!id) return fail(Errc::format, "tool_calls[{}]: {}", rank, id.error().message);
    if (!id->empty()) ranks.insert_or_assign(std::string(*id), rank);
    ++rank;
  }
  return {};
}

void order_results(std::vector<Block>& blocks, const CallRanks& ranks) {
  if (ranks.empty()) return;
  std::vector<std::size_t> places;
  std::vector<std::pair<std::size_t, Block>> results;  // rank and block
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].kind != Block::Kind::tool_result) continue;
    const auto found = ranks.find(blocks[i].tool_use_id);
    places.push_back(i);
    results.emplace_back(found == ranks.end() ? 0 : found->second, std::move(blocks[i]));
  }
  std::ranges::stable_sort(results, {}, &std::pair<std::size_t, Block>::first);
  for (std::size_t i = 0; i < places.size(); ++i) blocks[places[i]] = std::move(results[i].second);
}

// Adds a message to the turns, or to the last one.
Status fold(const Json& message, std::size_t index, ChatRole role, Content content, std::vector<Turn>& turns) {
  Turn* last = !turns.empty() && turns.back().role == ChatRole::user ? &turns.back() : nullptr;
  if (role == ChatRole::tool) {
    const auto id = read_string_or_empty(message, "tool_call_id");
    if (!id) return tl::unexpected(id.error());
    if (!last) last = &turns.emplace_back(Turn{.role = ChatRole::user, .index = index});
    last->blocks.push_back(tool_result_block(std::string(*id), content.text));
    return {};
  }
  if (role != ChatRole::user) {
    turns.push_back({.role = role, .source = &message, .index = index, .content = std::move(content.text)});
    return {};
  }
  if (content.blocks.empty()) content.blocks.push_back(text_block(std::move(content.text)));
  if (last && !last->field("task")) {
    std::ranges::move(content.blocks, std::back_inserter(last->blocks));
  } else {
    turns.push_back({.role = role, .source = &message, .index = index, .blocks = std::move(content.blocks)});
  }
  return {};
}

}  // namespace

const Json* Turn::field(std::string_view key) const { return source ? find_value(*source, key) : nullptr; }

ChatError chat_error(std::size_t index, bool in_context, std::string_view problem) {
  return {fmt::format("{}[{}]: {}", in_context ? "context" : "messages", index, problem), index, in_context};
}

tl::expected<std::vector<Turn>, ChatError> make_turns(std::span<const Json> messages, bool in_context,
                                                      bool check_string_results, CallRanks& ranks) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto failed = [&](const Error& e) { return tl::unexpected(chat_error(i, in_context, e.message)); };
    const auto role = read_role(messages[i]);
    if (!role) return failed(role.error());
    auto content = read_content(messages[i], check_string_results);
    if (!content) return failed(content.error());
    if (auto s = fold(messages[i], i, *role, std::move(*content), turns); !s) return failed(s.error());
  }
  for (Turn& turn : turns) {
    if (turn.role == ChatRole::user) order_results(turn.blocks, ranks);
    if (turn.role != ChatRole::assistant) continue;
    if (auto s = update_ranks(*turn.source, ranks); !s)
      return tl::unexpected(chat_error(turn.index, in_context, s.error().message));
  }
  return turns;
}

}  // namespace cachalot
