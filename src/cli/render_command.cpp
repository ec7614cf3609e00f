// SPDX-License-Identifier: Apache-2.0
#include "cli/render_command.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>

#include "base/utf8.h"
#include "cli/chat/chat_file.h"
#include "cli/options/default_model.h"
#include "cli/options/model_options.h"
#include "cli/output/json_lines.h"
#include "cli/output/render_lines.h"
#include "cli/output/terminal.h"
#include "cli/tokenize_command.h"
#include "tokenizer/chat/prompt_ids.h"
#include "tokenizer/chat/request_edges.h"

namespace cachalot {
namespace {

struct RenderFlags {
  std::string model;
  std::string input;  // a user's text, or the file of lines
  bool has_input = false;
  bool jsonl = false, parse = false, stream = false;
  std::string messages, tools, system;
  bool has_system = false;
  std::string mode = "thinking", effort;
  bool keep_thinking = false;
  bool says_what_lines_say = false;  // any of messages to keep_thinking was given
  RenderRules rules;

  bool lines() const { return jsonl || parse || stream; }
};

Status expect_consistent(const RenderFlags& flags) {
  if (flags.parse && flags.stream) return fail(Errc::usage, "--parse and --stream read different lines: give one");
  if ((flags.parse || flags.stream) && (flags.rules.ids || flags.rules.sanitize))
    return fail(Errc::usage, "--ids and --sanitize are about prompts, --parse and --stream about completions");
  if (flags.lines() && flags.says_what_lines_say) {
    return fail(Errc::usage,
                "each line holds its messages and options itself: --messages, --system, --tools, --mode, "
                "--effort and --keep-thinking can't be added");
  }
  if (!flags.messages.empty() && (flags.has_input || flags.has_system))
    return fail(Errc::usage, "--messages is the whole conversation: a text or --system can't be added");
  return {};
}

Expected<ChatOptions> options_of(const RenderFlags& flags) {
  int number = 0;
  const char* end = flags.effort.data() + flags.effort.size();
  const auto read = std::from_chars(flags.effort.data(), end, number);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  const Json given = flags.effort.empty() ? Json() : is_number ? Json(number) : Json(flags.effort);
  const auto effort = read_effort(&given);
  if (!effort) return fail(Errc::usage, "--effort: {}", effort.error().message);
  ChatOptions options;
  options.mode = flags.mode == "chat" ? ChatMode::chat : ChatMode::thinking;
  options.effort = *effort;
  options.drop_thinking = !flags.keep_thinking;
  return options;
}

Expected<std::vector<Json>> conversation_of(const RenderFlags& flags) {
  std::vector<Json> messages;
  if (!flags.messages.empty()) {
    const auto list = load_json_list(flags.messages);
    if (!list) return tl::unexpected(list.error());
    messages.assign(list->items().begin(), list->items().end());
  } else {
    if (!flags.has_input && isatty(STDIN_FILENO) != 0)
      return fail(Errc::usage, "nothing to render: give a text, --messages FILE, or a text on standard input");
    auto text = flags.has_input ? Expected<std::string>(flags.input) : read_input(most_chat_bytes);
    if (!text) return tl::unexpected(text.error());
    for (const std::string& given : {*text, flags.system}) {
      if (Status good = expect_utf8(given, "the text"); !good) return tl::unexpected(good.error());
    }
    if (flags.has_system) messages.push_back(Json::object({{"role", "system"}, {"content", flags.system}}));
    messages.push_back(Json::object({{"role", "user"}, {"content", std::move(*text)}}));
  }
  if (!flags.tools.empty()) {
    auto tools = load_json_list(flags.tools);
    if (!tools) return tl::unexpected(tools.error());
    put_tools(messages, std::move(*tools));
  }
  return messages;
}

// The prompt, or its ids one a line.
Expected<std::string> render_once(const Tokenizer& tokenizer, const RenderFlags& flags) {
  const auto options = options_of(flags);
  if (!options) return tl::unexpected(options.error());
  const auto messages = conversation_of(flags);
  if (!messages) return tl::unexpected(messages.error());
  const auto prompt = render_messages(tokenizer, flags.rules, *messages, *options);
  if (!prompt) return tl::unexpected(prompt.error());
  if (!flags.rules.ids) return prompt->joined() + '\n';
  const auto ids = render_ids(tokenizer, flags.rules, *prompt);
  if (!ids) return tl::unexpected(ids.error());
  return shown_tokens(tokenizer, *ids);
}

Status answer_all(const Tokenizer& tokenizer, const RenderFlags& flags) {
  const LineAnswer answer = [&](std::string_view line) -> Expected<Json> {
    if (flags.parse) return parse_line(line);
    if (flags.stream) return stream_line(line);
    return render_line(tokenizer, flags.rules, line);
  };
  if (flags.has_input && flags.input != "-") {
    auto file = LineFile::open(flags.input);
    if (!file) return tl::unexpected(file.error());
    std::istream lines(&*file);
    (void)answer_lines(answer, lines, out_stream());  // what could not be written, finish_output() tells
    return lines.bad() ? fail(Errc::io, "can't read {}", flags.input) : Status();
  }
  (void)answer_lines(answer, std::cin, out_stream());
  return input_was_read();
}

Expected<int> render(const RenderFlags& flags) {
  if (auto s = expect_consistent(flags); !s) return tl::unexpected(s.error());
  const auto model = resolve_model(flags.model);
  if (!model) return tl::unexpected(model.error());
  const auto tokenizer = Tokenizer::load(*model);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  if (auto s = expect_chat_tokens(*tokenizer); !s)
    return fail(s.error().code, "{}: {}", model->string(), s.error().message);
  if (flags.lines()) {
    if (auto s = answer_all(*tokenizer, flags); !s) return tl::unexpected(s.error());
    return 0;
  }
  const auto text = render_once(*tokenizer, flags);
  if (!text) return tl::unexpected(text.error());
  print_out(*text);
  return 0;
}

}  // namespace

void add_render_command(Command& program) {
  Command& command = program.add_command("render", "Conversations to prompts, completions back to messages");
  const auto flags = std::make_shared<RenderFlags>();
  const Option& input = command.argument(
      "input", flags->input,
      "what the user says (default: standard input); with --jsonl, --parse or --stream the file of lines");
  add_model_flag(command, flags->model,
                 "folder with a tokenizer.json, or such a file; only it is read, and must list the format's tokens "
                 "(default: $CACHALOT_MODEL, then the bundled model)");
  OptionGroup& conversation = command.group("Conversation");
  const Option& system = conversation.text("--system", flags->system, "a system message before the user's text");
  // A line of a file says these itself.
  const std::vector<const Option*> said_by_lines = {
      &system,
      &conversation.text("--messages", flags->messages, "a whole conversation: a JSON list of messages")
           .placeholder("FILE"),
      &conversation.text("--tools", flags->tools, "a JSON list of tools, put on the system message")
           .placeholder("FILE"),
      &conversation.choice("--mode", flags->mode, {"chat", "thinking"}, "whether the answer begins with reasoning")
           .with_default(),
      &conversation.text("--effort", flags->effort, "low (50), high (75, the default), max (100), or 1 to 100")
           .placeholder("LEVEL"),
      &conversation.flag("--keep-thinking", flags->keep_thinking, "keep the reasoning of earlier turns")};
  conversation.flag("--sanitize", flags->rules.sanitize,
                    "text of messages never becomes tokens, so that it can't forge a turn");
  conversation.flag("--ids", flags->rules.ids, "show token ids; with --jsonl add \"ids\": [...]");
  OptionGroup& lines = command.group("Lines of JSON");
  lines.flag("--jsonl", flags->jsonl,
             "answer each JSON line with one: {\"messages\": [...], \"options\": {\"mode\": \"chat\"}} gives "
             "{\"prompt\": \"...\"}. A line that can't be answered gives {\"error\": \"...\"}");
  lines.flag("--parse", flags->parse,
             "the same for whole completions, read strictly: {\"mode\": \"chat\", \"text\": \"...\"} gives "
             "{\"message\": {...}}");
  lines.flag("--stream", flags->stream,
             "the same for completions in pieces: {\"mode\": \"chat\", \"end\": \"eos\", \"chunks\": [...]} gives "
             "reasoning, content, tool_calls, finish_reason and flags");
  command.examples({"cachalot render \"What is a cachalot?\"",
                    "cachalot render --mode chat --system \"Be brief.\" --ids \"What is a cachalot?\"",
                    "cachalot render --messages conversation.json --tools tools.json --effort low",
                    "echo '{\"mode\": \"chat\", \"text\": \"Hi!<｜end▁of▁sentence｜>\"}' | cachalot render --parse"});
  command.runs([&input, &system, said_by_lines, flags] {
    flags->has_input = input.given();
    flags->has_system = system.given();
    flags->says_what_lines_say = std::ranges::any_of(said_by_lines, &Option::given);
    return render(*flags);
  });
}

}  // namespace cachalot
