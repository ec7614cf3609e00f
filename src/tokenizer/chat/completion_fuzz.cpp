// SPDX-License-Identifier: Apache-2.0
// Any bytes are a completion with one result, however they are cut; a call and its markup never show together; and
// where the strict reader accepts, the stream agrees. The first byte chooses mode and end, the second how the rest is
// cut.
#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/chat/stream_cases.h"

namespace {

using namespace cachalot;

// What the two readers understand differently on purpose: values that are no JSON, text that ends within the block of
// calls, and tags inside of names.
bool may_differ(const StreamResult& stream, const AssistantMessage& strict) {
  const bool tag_in_a_name = std::ranges::any_of(strict.calls, [](const ToolCall& call) {
    return call.space.find(dsml_token) != std::string::npos || call.name.find(dsml_token) != std::string::npos ||
           call.arguments.find(dsml_token) != std::string::npos;
  });
  return stream.has("bad_json") || stream.has("unterminated_calls") || tag_in_a_name;
}

void expect_agreement(std::string_view text, ChatMode mode) {
  const auto strict = parse_strict(text, mode);
  if (!strict) return;
  if (text.ends_with(eos_token)) text.remove_suffix(eos_token.size());
  const StreamResult stream = read_in_pieces(mode, {std::string(text)}, CompletionEnd::eos);
  if (stream.flags.empty()) {
    check(stream.message == *strict || may_differ(stream, *strict), "without a flag, both readers agree");
  } else {
    check(may_differ(stream, *strict), "what the strict reader accepts is flagged for known reasons only");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ChatMode mode = data[0] & 1 ? ChatMode::thinking : ChatMode::chat;
  const CompletionEnd end = data[0] & 2 ? CompletionEnd::length : CompletionEnd::eos;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);

  const StreamResult whole = read_in_pieces(mode, {std::string(text)}, end);
  std::mt19937 random(data[1]);
  check(read_in_pieces(mode, single_bytes(text), end) == whole, "single bytes give the same");
  check(read_in_pieces(mode, random_pieces(text, random), end) == whole, "pieces give the same");
  // Dropping a </think> may join what stood around it; that is text, whatever it looks like.
  const bool markup = !whole.has("extra_think_end") && whole.message.content.find(calls_opener) != std::string::npos;
  check(!shows_call_and_markup(whole, text), "a call and its markup never show together");
  check(!markup || end == CompletionEnd::eos, "markup of a completion that was cut off never shows");
  check(whole.message.reasoning.find(end_think_token) == std::string::npos, "no marker in the reasoning");
  for (const ToolCall& call : whole.message.calls) check(is_json(call.arguments), "arguments are JSON");

  for (const ChatMode strict_mode : {ChatMode::chat, ChatMode::thinking}) {
    expect_agreement(text, strict_mode);
    expect_agreement(std::string(text) + std::string(eos_token), strict_mode);
  }
  return 0;
}
