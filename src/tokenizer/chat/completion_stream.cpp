// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat/completion_stream.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/utf8.h"
#include "tokenizer/chat/format_text.h"
#include "tokenizer/chat/json_text.h"
#include "tokenizer/chat/tag_syntax.h"
#include "tokenizer/chat/tool_name.h"

namespace cachalot {
namespace {

constexpr std::size_t separator_size = 2;  // newlines before the block of calls

}  // namespace

std::string_view completion_flag_name(CompletionFlag flag) {
  constexpr std::array<std::string_view, completion_flags> names = {"bad_invoke",
                                                                    "bad_json",
                                                                    "bad_name",
                                                                    "bad_parameter",
                                                                    "calls_in_reasoning",
                                                                    "duplicate_parameter",
                                                                    "extra_think_end",
                                                                    "gap",
                                                                    "separator",
                                                                    "trailing_text",
                                                                    "unclosed_invoke",
                                                                    "unterminated_calls",
                                                                    "unterminated_reasoning"};
  return names[static_cast<std::size_t>(flag)];
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::tool_calls:
      return "tool_calls";
    case FinishReason::length:
      return "length";
  }
  return "";
}

CompletionStream::CompletionStream(ChatMode mode, CompletionEvents events, std::string call_ids)
    : events_(std::move(events)),
      call_ids_(std::move(call_ids)),
      state_(mode == ChatMode::thinking ? State::reasoning : State::content) {}

void CompletionStream::push(std::string_view text) {
  check(!finished_, "a completion does not go on after its end");
  buffer_ += text;
  while (read_on()) {
  }
  forget_what_was_read();
}

FinishReason CompletionStream::finish(CompletionEnd end) {
  check(!finished_, "a completion ends once");
  finished_ = true;
  const bool by_itself = end == CompletionEnd::eos;
  switch (state_) {
    case State::reasoning:
      flag(CompletionFlag::unterminated_reasoning);
      emit(held_text(by_itself));
      break;
    case State::content:
      emit(held_text(by_itself));
      break;
    case State::done:
      if (at_ < buffer_.size()) flag(CompletionFlag::trailing_text);  // the beginning of a character is no white space
      if (by_itself && (has(CompletionFlag::gap) || has(CompletionFlag::bad_invoke))) emit_raw_block();
      break;
    default:
      flag(CompletionFlag::unterminated_calls);
      if (by_itself) emit_raw_block();
  }
  buffer_.clear();
  if (!by_itself) return FinishReason::length;
  return message_.calls.empty() ? FinishReason::stop : FinishReason::tool_calls;
}

std::vector<std::string_view> CompletionStream::flag_names() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < completion_flags; ++i) {
    if (flags_[i]) names.push_back(completion_flag_name(static_cast<CompletionFlag>(i)));
  }
  return names;
}

// The first of `markers`, which all begin with <, from scan_ on. Where there is none, scan_ moves to the place where
// one may have begun, or to the end.
std::optional<CompletionStream::Found> CompletionStream::find(std::span<const std::string_view> markers) {
  for (scan_ = buffer_.find('<', scan_); scan_ < buffer_.size(); scan_ = buffer_.find('<', scan_ + 1)) {
    const std::string_view rest = between(scan_, buffer_.size());
    bool may_begin = false;
    for (std::size_t which = 0; which < markers.size(); ++which) {
      if (rest.starts_with(markers[which])) return Found{which, scan_};
      may_begin = may_begin || markers[which].starts_with(rest);
    }
    if (may_begin) return std::nullopt;
  }
  scan_ = buffer_.size();
  return std::nullopt;
}

bool CompletionStream::read_on() {
  switch (state_) {
    case State::reasoning:
    case State::content:
      return read_text();
    case State::gap:
      return read_gap();
    case State::head:
      return read_head();
    case State::skip:
      return read_skip();
    case State::parameters:
      return read_parameters();
    case State::key:
      return read_key();
    case State::value:
      return read_value();
    case State::done:
      return read_done();
  }
  return false;
}

bool CompletionStream::read_text() {
  const auto found = find(std::array{end_think_token, calls_opener});
  if (found && found->which == 0) {
    emit(between(at_, found->at));
    if (state_ == State::content) flag(CompletionFlag::extra_think_end);
    enter(State::content, found->at + end_think_token.size());
    return true;
  }
  // Newlines before a block of calls, or before what may become one, are not text yet.
  std::size_t end = found ? found->at : scan_;
  if (found || calls_opener.starts_with(between(end, buffer_.size()))) {
    for (std::size_t i = 0; i < separator_size && end > at_ && buffer_[end - 1] == '\n'; ++i) --end;
  }
  emit(between(at_, end));
  at_ = end;
  if (found) open_block(found->at);
  return found.has_value();
}

// at_ is at the separator, `at` at the opener.
void CompletionStream::open_block(std::size_t at) {
  if (state_ == State::reasoning) flag(CompletionFlag::calls_in_reasoning);
  if (at - at_ < separator_size) flag(CompletionFlag::separator);
  const std::size_t behind = at - at_ + calls_opener.size();
  buffer_.erase(0, at_);  // what stays is what becomes content if no call comes of it
  enter(State::gap, behind);
}

bool CompletionStream::read_gap() {
  const auto found = find(std::array{invoke_opener, calls_closer});
  if (!found) return false;
  if (between(at_, found->at) != tag_end) flag(CompletionFlag::gap);
  if (found->which == 0) {
    enter(State::head, found->at + invoke_opener.size());
  } else {
    enter(State::done, found->at + calls_closer.size());
  }
  return true;
}

bool CompletionStream::read_head() {
  const auto found = find(std::array{parameter_opener, invoke_closer, calls_closer});
  if (!found) return false;
  const std::string_view head = between(at_, found->at);
  auto name = invoke_name(head);
  if (!name) {
    flag(CompletionFlag::bad_invoke);
    name = invoke_name_at_start(head);
  }
  if (name) {
    name_ = *name;
    members_.clear();
    keys_.clear();
    after_parameter_ = false;
  }
  enter(name ? State::parameters : State::skip, found->at);
  return true;
}

bool CompletionStream::read_skip() {
  const auto found = find(std::array{invoke_closer, calls_closer});
  if (!found) return false;
  if (found->which == 0) {
    enter(State::gap, found->at + invoke_closer.size());
  } else {
    enter(State::done, found->at + calls_closer.size());
  }
  return true;
}

bool CompletionStream::read_parameters() {
  const auto found = find(std::array{parameter_opener, invoke_closer, calls_closer});
  if (!found) return false;
  if (between(at_, found->at) != (after_parameter_ ? tag_end : std::string_view())) flag(CompletionFlag::gap);
  switch (found->which) {
    case 0:
      enter(State::key, found->at + parameter_opener.size());
      break;
    case 1:
      complete_call();
      enter(State::gap, found->at + invoke_closer.size());
      break;
    default:
      flag(CompletionFlag::unclosed_invoke);
      complete_call();
      enter(State::done, found->at + calls_closer.size());
  }
  return true;
}

bool CompletionStream::read_key() {
  constexpr std::array markers = {parameter_closer, invoke_closer, calls_closer, key_end_string, key_end_json};
  for (scan_ = buffer_.find_first_of("<\"", scan_); scan_ < buffer_.size();
       scan_ = buffer_.find_first_of("<\"", scan_ + 1)) {
    const std::string_view rest = between(scan_, buffer_.size());
    std::size_t which = 0;
    while (which < markers.size() && !rest.starts_with(markers[which])) ++which;
    if (which == markers.size()) {
      if (std::ranges::any_of(markers, [&](std::string_view marker) { return marker.starts_with(rest); })) return false;
      continue;
    }
    if (which < 3) {  // a closer, before the tag is complete
      flag(CompletionFlag::bad_parameter);
      after_parameter_ = which == 0;
      enter(State::parameters, which == 0 ? scan_ + parameter_closer.size() : scan_);
      return true;
    }
    // All before the first end is there, so that a key that has not begun by now never will.
    if (!key_start_) {
      const auto start = parameter_key_start(between(at_, buffer_.size()));
      key_start_ = start ? at_ + *start : std::string::npos;
    }
    if (scan_ < *key_start_) continue;  // the quote that opens the name, or no name at all
    if (!between(at_, scan_).starts_with(" name=")) flag(CompletionFlag::bad_parameter);
    key_ = between(*key_start_, scan_);
    value_is_string_ = markers[which] == key_end_string;
    enter(State::value, scan_ + markers[which].size());
    return true;
  }
  scan_ = buffer_.size();
  return false;
}

bool CompletionStream::read_value() {
  const auto found = find(std::array{parameter_closer});
  if (!found) return false;
  add_parameter(between(at_, found->at));
  after_parameter_ = true;
  enter(State::parameters, found->at + parameter_closer.size());
  return true;
}

bool CompletionStream::read_done() {
  at_ += leading_white_space(between(at_, buffer_.size()));
  if (at_ < buffer_.size() && read_utf8(between(at_, buffer_.size())).kind != Utf8Kind::cut) {
    flag(CompletionFlag::trailing_text);
    at_ = buffer_.size();
  }
  return false;
}

// What is text after all of what might have become a marker. Of a completion that was cut off within the marker of its
// calls, nothing is: the separator goes with it.
std::string_view CompletionStream::held_text(bool by_itself) const {
  const std::string_view held = between(at_, buffer_.size());
  return by_itself || held.find(dsml_token) == std::string_view::npos ? held : std::string_view();
}

void CompletionStream::emit(std::string_view text) {
  if (text.empty()) return;
  const bool reasoning = state_ == State::reasoning;
  (reasoning ? message_.reasoning : message_.content) += text;
  const auto& event = reasoning ? events_.reasoning : events_.content;
  if (event) event(text);
}

// What became of the block of calls if no call did.
void CompletionStream::emit_raw_block() {
  if (message_.calls.empty()) emit(buffer_);
}

void CompletionStream::enter(State state, std::size_t at) {
  state_ = state;
  at_ = scan_ = at;
  key_start_.reset();
}

void CompletionStream::add_parameter(std::string_view value) {
  if (!keys_.insert(key_).second) {
    flag(CompletionFlag::duplicate_parameter);
    return;
  }
  const bool broken = !value_is_string_ && !is_json(value);
  if (broken) flag(CompletionFlag::bad_json);
  append_argument(members_, key_, value, value_is_string_ || broken);
}

void CompletionStream::complete_call() {
  const std::size_t index = message_.calls.size();
  ToolCall call{.name = name_, .arguments = "{" + members_ + "}"};
  if (!call_ids_.empty()) call.id = call_ids_ + std::to_string(index);
  if (auto split = split_tool_name(name_)) {
    call.space = std::move(split->space);
    call.name = std::move(split->name);
  } else {
    flag(CompletionFlag::bad_name);
  }
  message_.calls.push_back(std::move(call));
  if (events_.call) events_.call(message_.calls.back(), index);
}

// Outside the block of calls, and once a call is complete, text is not needed twice. Erasing only when that halves the
// buffer keeps the price of long texts in small pieces proportional.
void CompletionStream::forget_what_was_read() {
  const bool kept = state_ != State::reasoning && state_ != State::content && message_.calls.empty();
  if (kept || at_ < buffer_.size() / 2) return;
  buffer_.erase(0, at_);
  scan_ -= at_;
  if (key_start_ && *key_start_ != std::string::npos) *key_start_ -= at_;
  at_ = 0;
}

}  // namespace cachalot
