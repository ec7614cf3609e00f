// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "tokenizer/chat/completion.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/tag_syntax.h"
#include "tokenizer/chat/tool_name.h"

namespace cachalot {
namespace {

constexpr std::string_view block_opener = "\n\n<｜DSML｜ calls";
constexpr std::string_view raw_parameter_closer = "/｜DSML｜ parameter";  // its < may be a newline away

class StrictReader {
 public:
  explicit StrictReader(std::string_view text) : text_(text) {}

  Expected<AssistantMessage> message(ChatMode mode) {
    AssistantMessage message;
    if (mode == ChatMode::thinking) {
      const auto reasoning = up_to({end_think_token, block_opener});
      if (!reasoning || reasoning->stop != end_think_token) return error("the reasoning has no </think>");
      message.reasoning = reasoning->before;
    }
    const auto content = up_to({eos_token, block_opener});
    if (!content) return error("there is neither an end token nor a block of calls");
    message.content = content->before;
    if (content->stop == block_opener) {
      auto calls = block();
      if (!calls) return tl::unexpected(calls.error());
      message.calls = std::move(*calls);
      if (rest() == eos_token) at_ = text_.size();
    }
    if (!rest().empty()) return error("there is text after the end");
    for (const std::string_view token : {bos_token, eos_token, think_token, end_think_token, dsml_token}) {
      if (message.reasoning.find(token) != std::string::npos || message.content.find(token) != std::string::npos)
        return error(fmt::format("{} stands in the text", token));
    }
    return message;
  }

 private:
  struct Piece {
    std::string_view before, stop;
  };

  std::string_view rest() const { return text_.substr(at_); }

  tl::unexpected<Error> error(std::string_view problem) const {
    return fail(Errc::format, "completion, byte {}: {}", at_, problem);
  }

  // Moves behind the first of `stops`. Both are looked for in what is left, so that the price of a block of n tags
  // could be n times its length; a stop that is not found is remembered, and each is found at most once.
  std::optional<Piece> up_to(std::initializer_list<std::string_view> stops) {
    std::size_t first = std::string_view::npos;
    std::string_view stop;
    for (const std::string_view candidate : stops) {
      const std::size_t found = next_place(candidate);
      if (found < first) {
        first = found;
        stop = candidate;
      }
    }
    if (first == std::string_view::npos) return std::nullopt;
    const std::string_view before = text_.substr(at_, first - at_);
    at_ = first + stop.size();
    return Piece{before, stop};
  }

  // find(), with the last answer for each stop kept as long as it lies ahead.
  std::size_t next_place(std::string_view stop) {
    auto known = std::ranges::find(places_, stop, &Place::stop);
    if (known == places_.end()) known = std::ranges::find(places_, std::string_view(), &Place::stop);
    if (known->stop.empty() || known->at < at_) *known = {stop, text_.find(stop, at_)};
    return known->at;
  }

  Expected<std::vector<ToolCall>> block() {
    std::vector<ToolCall> calls;
    while (!rest().empty()) {
      const auto gap = up_to({invoke_opener, calls_closer});
      if (!gap) return error("the block of calls does not end");
      if (gap->before != tag_end) return error("before an invoke or the end of the block, only >\\n may stand");
      if (gap->stop == calls_closer) break;
      auto call = invoke();
      if (!call) return tl::unexpected(call.error());
      calls.push_back(std::move(*call));
    }
    return calls;
  }

  Expected<ToolCall> invoke() {
    auto next = up_to({parameter_opener, invoke_closer});
    const auto name = next ? invoke_name(next->before) : std::nullopt;
    if (!name) return error("an invoke has no name=\"NAME\"> and newline, or does not end");
    auto split = split_tool_name(*name);
    if (!split) return error(split.error().message);
    std::string members;
    std::set<std::string, std::less<>> keys;
    while (next->stop == parameter_opener) {
      if (auto s = parameter(members, keys); !s) return tl::unexpected(s.error());
      next = up_to({parameter_opener, invoke_closer});
      if (!next || next->before != tag_end) return error("after a parameter, only >\\n may stand");
    }
    return ToolCall{{}, std::move(split->space), std::move(split->name), "{" + members + "}"};
  }

  // ` name="KEY" string="true">VALUE<` or false, up to the closer; a newline after < is tolerated.
  Status parameter(std::string& members, std::set<std::string, std::less<>>& keys) {
    const auto piece = up_to({raw_parameter_closer});
    if (!piece) return error("a parameter does not end");
    std::string_view inside = piece->before;
    if (inside.ends_with('\n')) inside.remove_suffix(1);
    const auto start = parameter_key_start(inside);
    if (!inside.ends_with('<') || !inside.starts_with(" name=") || !start)
      return error("a parameter is not name=\"KEY\" string=\"true|false\">VALUE");
    inside.remove_suffix(1);
    const std::size_t string_end = inside.find(key_end_string, *start), json_end = inside.find(key_end_json, *start);
    const std::size_t end = std::min(string_end, json_end);
    if (end == std::string_view::npos) return error("a parameter has no string=\"true\" or string=\"false\"");
    const bool is_string = end == string_end;
    const std::string_view key = inside.substr(*start, end - *start);
    if (!keys.emplace(key).second) return error("a parameter comes twice");
    append_argument(members, key, inside.substr(end + (is_string ? key_end_string : key_end_json).size()), is_string);
    return {};
  }

  struct Place {
    std::string_view stop{};
    std::size_t at = 0;
  };

  std::string_view text_;
  std::size_t at_ = 0;
  std::array<Place, 8> places_{};
};

}  // namespace

Json message_json(const AssistantMessage& message) {
  Json calls = Json::array();
  for (const ToolCall& call : message.calls) {
    Json one = Json::object();
    if (!call.id.empty()) one.set("id", call.id);
    one.set("type", "function");
    one.set("function", Json::object({{"name", call.name}, {"arguments", call.arguments}}));
    if (!call.space.empty()) one.set("namespace", call.space);
    calls.push_back(std::move(one));
  }
  return Json::object({{"role", "assistant"},
                       {"content", message.content},
                       {"reasoning_content", message.reasoning},
                       {"tool_calls", std::move(calls)}});
}

Expected<AssistantMessage> parse_strict(std::string_view text, ChatMode mode) {
  return StrictReader(text).message(mode);
}

}  // namespace cachalot
