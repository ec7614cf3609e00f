// SPDX-License-Identifier: Apache-2.0
// What the model wrote and what the next prompt says of it are the same bytes: that is what lets a prefix cache hit.
#include <algorithm>
#include <random>
#include <set>

#include "tokenizer/chat/conversations.h"
#include "tokenizer/chat/stream_goldens.h"

namespace cachalot::round_trip_test {
namespace {

// What the encoder writes for a message after the header of its turn, or "error: ...".
std::string completion_of(const Json& message, ChatMode mode) {
  const Json question = parse_or_fail(R"({"role": "user", "content": "q"})");
  const auto before = encode_chat(std::vector{question}, {.mode = mode}),
             after = encode_chat(std::vector{question, message}, {.mode = mode});
  if (!before || !after) return "error: " + after.error().message;
  EXPECT_TRUE(after->joined().starts_with(before->joined()));
  return after->joined().substr(before->joined().size());
}

TEST(ChatRoundTrip, EveryWellFormedGoldenCompletionComesBackByteForByte) {
  // Odd white space, no end token, a value that is no JSON, and JSON in another spelling than ours come back mended.
  const std::set<std::string> mended = {"ws-01",    "ws-02",   "quirk-01", "quirk-03", "quirk-04", "quirk-06",
                                        "quirk-07", "args-01", "args-04",  "args-13",  "tool-06"};
  int same = 0;
  for (const Json& one : chat_goldens("parse.jsonl")) {
    const std::string id = string_at(one, "id"), text = string_at(one, "text");
    const auto message = parse_strict(text, mode_of(one));
    if (!message) continue;
    const std::string again = completion_of(message_json(*message), mode_of(one));
    EXPECT_EQ(again == text, !mended.contains(id)) << id << '\n' << again << '\n' << text;
    same += again == text;
    // What was mended is well-formed, and says the same.
    const auto reread = parse_strict(again, mode_of(one));
    ASSERT_TRUE(reread.has_value()) << id << ": " << reread.error().message;
    EXPECT_EQ(completion_of(message_json(*reread), mode_of(one)), again) << id;
  }
  EXPECT_GE(same, 26);
}

class RandomMessages {
 public:
  explicit RandomMessages(unsigned seed) : random_(seed) {}

  AssistantMessage message(ChatMode mode) {
    AssistantMessage made;
    if (mode == ChatMode::thinking) made.reasoning = text();
    made.content = text();
    for (std::size_t i = below(3); i > 0; --i) {
      ToolCall call{.space = below(3) == 0 ? "ns" : "", .name = fmt::format("f{}", i)};
      Json arguments = Json::object();
      for (std::size_t k = below(4); k > 0; --k)
        arguments.set(fmt::format("k{}{}", k, below(2) ? "é \"" : ""), value(3));
      call.arguments = json_text(arguments);
      made.calls.push_back(std::move(call));
    }
    return made;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  // Anything but what the format itself would be: newlines, brackets, and halves of markers.
  std::string text() {
    constexpr std::string_view pieces[] = {"a",  " ",  "\n", "\n\n", "<",          ">",  "</thin", "<｜DSM", "\"",
                                           "\\", "中", "😀",  "｜",   "<｜User｜>", "</", "invoke", "\t",     "{}"};
    std::string made;
    for (std::size_t i = below(8); i > 0; --i) made += pieces[below(std::size(pieces))];
    const auto clean = [&](std::string_view token) { return made.find(token) == std::string::npos; };
    return std::ranges::all_of(format_tokens, clean) ? made : "x";
  }

  Json value(int depth) {
    switch (below(depth > 0 ? 7 : 5)) {
      case 0:
        return text();
      case 1:
        return Json::number("-12345678901234567890");
      case 2:
        return Json::number("2.5e+20");
      case 3:
        return below(2) == 0;
      case 4:
        return nullptr;
      case 5: {
        Json list = Json::array();
        for (std::size_t i = below(3); i > 0; --i) list.push_back(value(depth - 1));
        return list;
      }
      default: {
        Json object = Json::object();
        for (std::size_t i = below(3); i > 0; --i) object.set(fmt::format("m{}", i), value(depth - 1));
        return object;
      }
    }
  }

  std::mt19937 random_;
};

TEST(ChatRoundTrip, RandomMessagesComeBackFromBothReaders) {
  RandomMessages messages(5);
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    const ChatMode mode = i % 2 == 0 ? ChatMode::chat : ChatMode::thinking;
    const AssistantMessage message = messages.message(mode);
    std::string completion = completion_of(message_json(message), mode);
    const auto strict = parse_strict(completion, mode);
    ASSERT_TRUE(strict.has_value()) << completion << strict.error().message;
    ASSERT_EQ(*strict, message) << completion;
    ASSERT_TRUE(completion.ends_with(eos_token));
    completion.resize(completion.size() - eos_token.size());
    const StreamResult stream = read_in_pieces(mode, random_pieces(completion, random), CompletionEnd::eos);
    ASSERT_EQ(stream.message, message) << completion;
    ASSERT_TRUE(stream.flags.empty()) << completion;
  }
}

}  // namespace
}  // namespace cachalot::round_trip_test
