// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/byte_text.h"
#include "cli/options/draft_options.h"

namespace cachalot {
namespace {

constexpr std::size_t most_columns = 60;

// `label` in a column of its own, and the text beside it, broken at spaces. All of it is ASCII.
std::string beside(std::string_view label, std::size_t label_columns, std::string_view text) {
  const std::size_t width = most_columns - 2 - label_columns;
  std::string all;
  while (!text.empty() || all.empty()) {
    std::size_t end = text.size();
    if (end > width) {
      const std::size_t space = text.rfind(' ', width);
      end = space == std::string_view::npos ? std::min(text.find(' '), text.size()) : space;
    }
    all += fmt::format("  {:<{}}{}\n", all.empty() ? label : "", label_columns, text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return all;
}

std::string speed(std::int64_t tokens, double seconds) {
  if (seconds <= 0) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.2f} s ({:.1f} tokens/s)", seconds, static_cast<double>(tokens) / seconds);
}

std::string line(std::string_view label, std::string_view text) { return beside(label, 11, text); }

std::string of_answers(std::string_view heading, const AnswerTotals& t) {
  const std::int64_t run = t.prompt - t.cached;
  return fmt::format("{}\n", heading) +
         line("prompt", fmt::format("{} tokens: {} cached, {} run", t.prompt, t.cached, run)) +
         line("", fmt::format("in {}", speed(run, t.prompt_seconds))) +
         line("answer", fmt::format("{} tokens in {}", t.tokens, speed(t.tokens, t.decode_seconds)));
}

}  // namespace

void AnswerTotals::add(const Answer& answer) {
  ++answers;
  prompt += answer.prompt_tokens;
  cached += answer.cached_tokens;
  tokens += answer.tokens;
  prompt_seconds += answer.prompt_seconds;
  decode_seconds += answer.decode_seconds;
  drafts.add(answer.drafts);
  layer_tokens.add(answer.layer_tokens);
}

std::string thinking_text(const ChatOptions& options) {
  return options.mode == ChatMode::chat ? "off" : fmt::format("on, effort {}", options.effort);
}

std::string chat_help(std::span<const CommandHelp> commands) {
  constexpr std::size_t usage_columns = 16;
  std::string text = "Commands\n";
  for (const CommandHelp& c : commands) text += beside(c.usage, usage_columns, c.help);
  text += "What you type\n";
  for (const auto& [what, help] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"\\ at the end", "the text goes on in the next line"},
           {"\"\"\"", "begins and ends a text of several lines; several lines that are pasted are one text as well"},
           {"//", "begins a text with a slash"},
           {"Tab", "completes commands and names of files"},
           {"Ctrl-C", "stops an answer, and what there is of it stays; on an empty line, twice: ends"},
           {"Ctrl-D", "ends"}})
    text += beside(what, usage_columns, help);
  return text;
}

std::string chat_stats(const Conversation& conversation, const AnswerTotals& last, const AnswerTotals& all) {
  std::string text;
  if (last.answers > 0) text += of_answers("Last answer", last);
  if (all.answers > 1) text += of_answers(fmt::format("All {} answers", all.answers), all);
  text += "Conversation\n";
  text += line("messages", fmt::format("{}", conversation.messages().size()));
  text +=
      line("context", fmt::format("{} of {} tokens used", last.prompt + last.tokens, conversation.context_tokens()));
  text += line("thinking", thinking_text(conversation.options().chat));
  if (const std::string drafts = draft_text(all.drafts); !drafts.empty()) text += line("drafts", drafts);
  if (const LayerTokens& work = all.layer_tokens; work.run < work.exact)
    text += line("prefill", fmt::format("replay: {} of {} layer-tokens", work.run, work.exact));
  const PrefixCacheStats& kept = conversation.cache_stats();
  text += line("states", fmt::format("{} in {} snapshots to go on from", byte_text(kept.bytes), kept.entries));
  return text;
}

}  // namespace cachalot
