// SPDX-License-Identifier: Apache-2.0
// Any JSON is a conversation with a prompt or an error, and the same one twice. The prompt is UTF-8, has one image
// record for each trusted image token, and its last turn, where the strict reader takes it, comes back. The input is
// {"messages": [...], "options": {...}}, as a line of `cachalot render --jsonl`.
#include <cstdint>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/chat/completion.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_text.h"

namespace {

using namespace cachalot;

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

void expect_round_trip(const std::string& completion, ChatMode mode) {
  const auto message = parse_strict(completion, mode);
  if (!message) return;
  const Json question = Json::object({{"role", "user"}, {"content", "q"}});
  const auto before = encode_chat(std::vector{question}, {.mode = mode}),
             after = encode_chat(std::vector{question, message_json(*message)}, {.mode = mode});
  // Text that may not stand in a message is refused when it comes back: an image token, a name with two ::.
  if (!before || !after) return;
  const std::string again = after->joined().substr(before->joined().size());
  const auto reread = parse_strict(again, mode);
  if (!reread) return;  // a value or a name that imitates a tag
  check(reread->content == message->content && reread->reasoning == message->reasoning, "text comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto row = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz", chat_json_rules);
  const Json* messages = row ? row->find("messages") : nullptr;
  const Json* given = row ? row->find("options") : nullptr;
  if (!messages || !given) return 0;
  const auto options = read_chat_options(*given);
  if (!options) return 0;
  const auto prompt = encode_chat(messages->items(), *options);
  if (!prompt) {
    check(prompt.error().index.has_value() && !prompt.error().message.empty(), "an error has a place and a reason");
    check(expect_utf8(prompt.error().message, "").has_value(), "an error is text");
    return 0;
  }
  const std::string text = prompt->joined();
  check(expect_utf8(text, "").has_value(), "a prompt is UTF-8");
  check(encode_chat(messages->items(), *options)->joined() == text, "the same conversation has the same prompt");
  std::size_t images = 0;
  for (const Segment& segment : prompt->segments()) {
    if (segment.trusted) images += count(segment.text, image_token);
  }
  check(images == prompt->images().size(), "each trusted image token has its record");
  const std::string_view header = options->mode == ChatMode::chat ? end_think_token : think_token;
  const std::size_t at = text.rfind(fmt::format("{}{}", assistant_token, header));
  if (at != std::string::npos)
    expect_round_trip(text.substr(at + assistant_token.size() + header.size()), options->mode);
  return 0;
}
