// SPDX-License-Identifier: Apache-2.0
// A completion taken apart while it is made (spec: chat-format.md 11): whatever the model writes has a result, and no
// cut into pieces changes it. Where parse_strict() accepts a text and no flag is raised, the message is the same.
//
// A call is shown when it is complete; its markup is never shown as well. Markup without one complete call is shown as
// content after all, unless the completion was cut off: what the model ended itself is not lost. Nor is the beginning
// of such markup shown where the cut fell into it.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"
#include "tokenizer/chat/completion.h"

namespace cachalot {

// What was odd about a completion. In the order of their names, which completion_flag_name() gives.
enum class CompletionFlag : std::uint8_t {
  bad_invoke,             // text behind an invoke's name, or no name, which loses the call
  bad_json,               // a value that should be JSON is not; it has become a string
  bad_name,               // a tool name with more than one ::, kept whole
  bad_parameter,          // a parameter without the form it should have; lost, unless only its white space is odd
  calls_in_reasoning,     // a block of calls before </think>
  duplicate_parameter,    // a parameter given again; the first value stands
  extra_think_end,        // a </think> in the content; dropped
  gap,                    // text where only a tag's end should be; dropped
  separator,              // fewer than two newlines before the block of calls
  trailing_text,          // text behind the block of calls; dropped
  unclosed_invoke,        // the block ends inside a call, which counts all the same
  unterminated_calls,     // the completion ends inside the block of calls
  unterminated_reasoning  // the completion ends before </think>
};
inline constexpr std::size_t completion_flags = 13;
std::string_view completion_flag_name(CompletionFlag flag);

// Why a completion ended, and what a client is told about it.
enum class CompletionEnd { eos, length };
enum class FinishReason { stop, tool_calls, length };
std::string_view finish_reason_name(FinishReason reason);

// Told as soon as the text says so. Pieces are never empty; they do not cut a character where the pushed ones do not.
struct CompletionEvents {
  std::function<void(std::string_view)> reasoning{};
  std::function<void(std::string_view)> content{};
  std::function<void(const ToolCall&, std::size_t index)> call{};
};

// For one completion. Memory and time are proportional to its text, however it is cut.
class CompletionStream {
 public:
  // Call i gets the id `call_ids` + i, or none where that is empty.
  explicit CompletionStream(ChatMode mode, CompletionEvents events = {}, std::string call_ids = {});

  // More of the text, EOS not included: what TextStream gives with SpecialTokens::keep. Not after finish().
  void push(std::string_view text);

  // The text is over. Once only.
  FinishReason finish(CompletionEnd end);

  // What the events told so far.
  const AssistantMessage& message() const { return message_; }
  bool has(CompletionFlag flag) const { return flags_[static_cast<std::size_t>(flag)]; }
  std::vector<std::string_view> flag_names() const;  // ascending

 private:
  enum class State { reasoning, content, gap, head, skip, parameters, key, value, done };

  struct Found {
    std::size_t which, at;
  };
  std::optional<Found> find(std::span<const std::string_view> markers);

  // Each reads on in its state; false if it needs more text.
  bool read_text();
  bool read_gap();
  bool read_head();
  bool read_skip();
  bool read_parameters();
  bool read_key();
  bool read_value();
  bool read_done();
  bool read_on();

  void flag(CompletionFlag flag) { flags_.set(static_cast<std::size_t>(flag)); }
  std::string_view held_text(bool by_itself) const;
  void emit(std::string_view text);
  void emit_raw_block();
  void open_block(std::size_t at);
  void enter(State state, std::size_t at);
  void complete_call();
  void add_parameter(std::string_view value);
  void forget_what_was_read();
  std::string_view between(std::size_t begin, std::size_t end) const {
    return std::string_view(buffer_).substr(begin, end - begin);
  }

  CompletionEvents events_;
  std::string call_ids_;
  AssistantMessage message_;
  std::bitset<completion_flags> flags_;
  State state_;
  bool finished_ = false;

  // Text that is not told yet. From the separator of the block of calls on it stays here until a call is complete.
  std::string buffer_;
  std::size_t at_ = 0;    // before this, all is read
  std::size_t scan_ = 0;  // between at_ and this, no marker begins

  // The call being read.
  std::string name_, members_, key_;
  HashSet<std::string> keys_;
  bool after_parameter_ = false;          // whether >\n should come before the next tag
  std::optional<std::size_t> key_start_;  // in buffer_; its end where the tag has no key
  bool value_is_string_ = false;
};

}  // namespace cachalot
