// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "cli/chat/chat_file.h"
#include "cli/chat/chat_loop.h"
#include "cli/chat/chat_session.h"
#include "cli/command_line/option_checks.h"
#include "cli/options/cache_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "cli/options/prefill_options.h"
#include "cli/options/sampling_options.h"
#include "cli/output/terminal.h"
#include "tokenizer/chat/request_edges.h"

namespace cachalot {
namespace {

struct ChatFlags {
  ModelFlags model;
  SamplingFlags sampling;
  DraftFlags drafts;
  PrefillFlags prefill;
  CacheFlags cache;
  GenerateOptions generate{.max_tokens = 2048};
  std::string system, tools;
  std::string thinking = "on", effort = "high";
  bool keep_thinking = false, show_thinking = false, sanitize = false;
};

// Scratch and state that no answer before has asked for are asked for before the answer begins.
class Answering {
 public:
  Answering(const LoadedModel& loaded, const ChatFlags& flags)
      : loaded_(loaded), flags_(flags), context_(flags.model.threads, loaded.model.memory()) {}

  Expected<Generation> operator()(Sequence& sequence, std::span<const TokenId> prompt, const GenerateOptions& options,
                                  const GenerateEvents& events) {
    const std::int64_t positions =
        std::min(sequence.length() + static_cast<std::int64_t>(prompt.size()) + options.max_tokens,
                 loaded_.model.config().max_seq_len);
    const MemoryRequest request{.context = positions,
                                .chunk = std::min(options.chunk, positions),
                                .sequences = 2,  // one of them is the end of the prompt, to come back to
                                .drafts = flags_.drafts.wanted()};
    if (positions > set_aside_) {
      if (Status fits = set_aside(loaded_, context_, request, machine_of(flags_.model.memory)); !fits)
        return tl::unexpected(fits.error());
      set_aside_ = positions;
    }
    return generate(loaded_, context_, sequence, prompt, options, events);
  }

 private:
  const LoadedModel& loaded_;
  const ChatFlags& flags_;
  Context context_;
  std::int64_t set_aside_ = 0;
};

Expected<ConversationOptions> options_of(const ChatFlags& flags) {
  ConversationOptions options;
  if (flags.effort == "on" || flags.effort == "off")
    return fail(Errc::usage, "--effort {}: that is for --thinking", flags.effort);
  if (Status set = set_thinking(flags.effort, options.chat); !set)
    return fail(Errc::usage, "--effort: expected low, high, max, or 1 to 100, found {:?}", flags.effort);
  if (Status set = set_thinking(flags.thinking, options.chat); !set) return tl::unexpected(set.error());
  options.chat.drop_thinking = !flags.keep_thinking;
  options.tokens = flags.sanitize ? MessageTokens::never : MessageTokens::as_written;
  return options;
}

// The system message, with the tools.
Expected<std::vector<Json>> beginning_of(const ChatFlags& flags) {
  std::vector<Json> messages;
  if (!flags.system.empty()) {
    if (Status text = expect_utf8(flags.system, "--system"); !text) return tl::unexpected(text.error());
    messages.push_back(Json::object({{"role", "system"}, {"content", flags.system}}));
  }
  if (!flags.tools.empty()) {
    auto tools = load_json_list(flags.tools);
    if (!tools) return tl::unexpected(tools.error());
    put_tools(messages, std::move(*tools));
  }
  return messages;
}

Expected<int> chat(ChatFlags& flags) {
  const auto options = options_of(flags);
  if (!options) return tl::unexpected(options.error());
  if (Status good = settle_cache_folder(flags.cache, flags.model, flags.prefill.value()); !good)
    return tl::unexpected(good.error());
  auto beginning = beginning_of(flags);
  if (!beginning) return tl::unexpected(beginning.error());
  auto loaded = load_model(flags.model, {.context = flags.generate.max_tokens + 1,
                                         .sequences = 2,
                                         .drafts = flags.drafts.wanted(),
                                         .prefixes = asked_budget(flags.cache)});
  if (!loaded) return tl::unexpected(loaded.error());
  const Config& config = loaded->model.config();
  if (Status set = set_sampling(flags.sampling, config.vocab_size, flags.generate); !set)
    return tl::unexpected(set.error());
  if (config.eos_token_id >= 0)
    flags.generate.stop_tokens.push_back(TokenId{static_cast<std::int32_t>(config.eos_token_id)});

  DraftPlace drafts;
  const auto drafting = drafting_of(flags.drafts, *loaded, drafts);
  if (!drafting) return tl::unexpected(drafting.error());
  flags.generate.drafting = *drafting;
  flags.generate.prefill = flags.prefill.value();

  Answering answering(*loaded, flags);
  PrefixPlaces places;
  const std::int64_t in_memory = budget_of(flags.cache, machine_of(flags.model.memory));
  if (Status opened = open_prefix_places(flags.cache, *loaded, in_memory, places); !opened)
    return tl::unexpected(opened.error());
  auto conversation = Conversation::start(*loaded, std::ref(answering), *options, places.prefixes());
  if (!conversation) return tl::unexpected(conversation.error());
  if (Status begun = conversation->replace(std::move(*beginning), *options); !begun) {
    return fail(begun.error().code, "{}: {}", flags.tools.empty() ? "--system" : "--system and --tools",
                begun.error().message);
  }

  const bool terminal = isatty(STDOUT_FILENO) != 0;  // a dumb one as well
  const bool typed = isatty(STDIN_FILENO) != 0;
  const ChatStyle style{
      .terminal = terminal, .color = takes_escapes(STDOUT_FILENO), .show_thinking = terminal || flags.show_thinking};
  ChatView view(
      style,
      [](std::string_view text) {
        print_raw(text);  // the view made it fit for a terminal, and colors it
        std::fflush(stdout);
      },
      print_error);
  Progress progress;
  ChatSession::Hooks hooks;
  hooks.prompt_progress = [&](std::int64_t done, std::int64_t total) {
    if (done < total) progress.show("prompt", done, total);
  };
  hooks.progress_over = [&] { progress.clear(); };
  hooks.answer_over = [&] { places.tell(); };
  hooks.interrupted = [] { return interrupted() || !output_is_good(); };
  hooks.output_lost = [] { return !output_is_good(); };
  if (typed) hooks.answer_begins = await_interrupt;
  ChatSession session(*conversation, flags.generate, view, hooks);
  if (typed) {
    print_error("[/help tells the commands, Ctrl-C stops an answer, Ctrl-D ends]\n");
    return converse_on_terminal(session);
  }
  return converse_by_lines(session, most_prompt_bytes(*loaded));
}

}  // namespace

void add_chat_command(Command& program) {
  Command& command = program.add_command("chat", "Converse with the model");
  const auto flags = std::make_shared<ChatFlags>();
  OptionGroup& conversation = command.group("Conversation");
  conversation.text("--system", flags->system, "a system text");
  conversation
      .text("--tools", flags->tools,
            "a JSON list of tools; the model's calls are shown, and their results are asked for")
      .not_empty()
      .placeholder("FILE");
  conversation.choice("--thinking", flags->thinking, {"on", "off"}, "whether answers begin with reasoning")
      .with_default();
  conversation.text("--effort", flags->effort, "how much reasoning: low (50), high (75), max (100), or 1 to 100")
      .placeholder("LEVEL")
      .with_default();
  conversation.flag("--keep-thinking", flags->keep_thinking,
                    "keep the reasoning of earlier turns in the prompt, as tools do");
  conversation.flag("--show-thinking", flags->show_thinking,
                    "show reasoning also where standard output is no terminal");
  conversation.flag("--sanitize", flags->sanitize,
                    "text of messages never becomes tokens, so that it can't forge a turn");
  conversation
      .whole("-n,--max-tokens", flags->generate.max_tokens, 1, std::uint64_t{1} << 40,
             "make at most this many tokens per answer")
      .with_default();
  add_sampling_flags(command, flags->sampling);
  add_model_flags(command, flags->model);
  add_draft_flag(command, flags->drafts);
  add_prefill_flag(command, flags->prefill);
  add_chunk_flag(command, flags->generate.chunk);
  add_cache_flags(command, flags->cache);
  command.notes(
      "Where standard input is no terminal, each line of it is a turn (or a tool's result, or a command), and the "
      "answers go to standard output. A line that ends with \\ goes on in the next; \"\"\" begins and ends a text of "
      "several lines; /help lists the commands. On a terminal Ctrl-C stops an answer, and what there is of it stays; "
      "elsewhere it ends the program, with what the answer has come to.\n"
      "With --prefill replay an answer may also hang on which states of the conversation are still kept "
      "(--cache-budget; /load begins without any); with exact it never does.\n"
      "Lines typed are kept in $XDG_STATE_HOME/cachalot/history (~/.local/state/cachalot/history).");
  command.examples({"cachalot chat --system \"Be brief.\" --thinking off",
                    "cachalot chat --tools docs/examples/tools.json --thinking off",
                    "printf 'Hello.\\nAnd then?\\n' | cachalot chat --thinking off -n 40 --seed 7"});
  command.runs([flags] { return chat(*flags); });
}

}  // namespace cachalot
