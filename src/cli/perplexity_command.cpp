// SPDX-License-Identifier: Apache-2.0
#include "cli/perplexity_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text_input.h"
#include "cli/options/model_options.h"
#include "cli/options/prefill_options.h"
#include "cli/output/terminal.h"
#include "engine/perplexity.h"

namespace cachalot {
namespace {

struct PerplexityFlags {
  ModelFlags model;
  std::string first, second;  // arguments as they stand: the file alone, or the model before it
  std::optional<std::int64_t> context, limit;
  std::int64_t chunk = PerplexityOptions{}.chunk, prompt = PerplexityOptions{}.prompt;
  PrefillFlags prefill;
  bool json = false;
};

// Which of the arguments is the file; the other one, if there is one, is the model.
Expected<std::string> file_of(PerplexityFlags& flags) {
  if (flags.first.empty()) return fail(Errc::usage, "give a file with the text to score, or - for standard input");
  if (flags.second.empty()) return flags.first;
  if (!flags.model.model.empty()) {
    return fail(Errc::usage, "the model is named twice: {} before the file, and {} by --model", flags.first,
                flags.model.model);
  }
  flags.model.model = flags.first;
  return flags.second;
}

// Weeks of work for any model, and a bound for what never ends.
constexpr std::size_t most_text_bytes = std::size_t{256} << 20;

// Read as soon as the file is named, so that a wrong name is told before a model is loaded.
struct Text {
  std::string name, text;
};

Expected<Text> read_text(const std::string& file) {
  std::error_code none;
  if (file == "-") {
    auto input = read_input(most_text_bytes);
    if (!input) return tl::unexpected(input.error());
    return Text{"standard input", std::move(*input)};
  }
  if (std::filesystem::is_directory(file, none)) {
    return fail(Errc::io,
                "{} is a folder, expected a file of text; where a model is named, its folder comes first: cachalot "
                "perplexity MODEL FILE",
                file);
  }
  auto text = read_text_file(file, most_text_bytes, Pipes::allowed);
  if (!text) return tl::unexpected(text.error());
  return Text{file, std::move(*text)};
}

// "1,234,567"
std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::int64_t per_second(const TextScore& score) {
  return score.seconds > 0 ? static_cast<std::int64_t>(static_cast<double>(score.tokens) / score.seconds) : 0;
}

Expected<int> run(PerplexityFlags& flags) {
  const auto file = file_of(flags);
  if (!file) return tl::unexpected(file.error());
  std::optional<Text> text;
  if (auto read = read_text(*file); read) {
    text = std::move(*read);
  } else {
    return tl::unexpected(read.error());
  }
  auto loaded = load_model(flags.model, {.all_logits = true});
  if (!loaded) return tl::unexpected(loaded.error());
  const Model& model = loaded->model;
  PerplexityOptions options{.context = flags.context.value_or(default_window(model.config())),
                            .chunk = flags.chunk,
                            .prompt = flags.prompt,
                            .prefill = flags.prefill.value()};
  if (options.prefill == Prefill::replay && options.prompt == 1) {
    return fail(
        Errc::usage,
        "--prefill replay: there is no prompt to replay; say with --prompt N how long it is, and what follows is "
        "scored");
  }
  if (Status good = check_perplexity(options, model.config()); !good)
    return fail(good.error().code, "{}: {}", options.prompt < options.context ? "--context" : "--prompt",
                good.error().message);

  const auto ids = tokens_to_score(loaded->tokenizer, text->text);
  if (!ids) return fail(ids.error().code, "{}: {}", text->name, ids.error().message);
  text.reset();
  std::span<const TokenId> tokens(*ids);
  if (flags.limit && static_cast<std::uint64_t>(*flags.limit) < tokens.size())
    tokens = tokens.first(static_cast<std::size_t>(*flags.limit));
  catch_interrupts();  // not before: while standard input is waited for, Ctrl-C ends the program at once

  Context context(flags.model.threads, loaded->model.memory());
  const MemoryRequest request = memory_to_score(options, static_cast<std::int64_t>(tokens.size()));
  if (Status fits = set_aside(*loaded, context, request, machine_of(flags.model.memory)); !fits)
    return tl::unexpected(fits.error());
  Progress progress;
  PerplexityEvents events;
  events.scored = [&](const TextScore& so_far) {
    progress.show(fmt::format("bits per byte {:.4f}", so_far.bits_per_byte()), so_far.tokens, so_far.all_tokens);
  };
  events.interrupted = interrupted;
  const auto score = score_tokens(*loaded, context, tokens, options, events);
  progress.clear();
  if (!score) return tl::unexpected(score.error());
  if (score->tokens == 0) return fail(Errc::stopped, "interrupted before anything was scored");
  print_out(flags.json ? score_json(*score, options).dump() + "\n" : shown_score(*score, options));
  std::fflush(stdout);
  if (score->complete()) return 0;
  return fail(Errc::stopped, "interrupted after {} of {} tokens", grouped(score->tokens), grouped(score->all_tokens));
}

}  // namespace

std::string shown_score(const TextScore& score, const PerplexityOptions& options) {
  return fmt::format(
      "{}bits per byte {:.4f}   perplexity {:.2f} per token, {:.4f} nats per token\n"
      "{} tokens of {} bytes ({:.2f} bytes a token) in {:.1f} s ({} tokens/s), windows of {} tokens{}\n",
      score.complete() ? ""
                       : fmt::format("incomplete: interrupted after {} of {} tokens\n", grouped(score.tokens),
                                     grouped(score.all_tokens)),
      score.bits_per_byte(), score.perplexity(), score.nats_per_token(), grouped(score.tokens), grouped(score.bytes),
      score.bytes_per_token(), score.seconds, grouped(per_second(score)), grouped(options.context),
      options.prompt == 1
          ? ""
          : fmt::format(", the first {} a prompt ({} prefill)", grouped(options.prompt), name(options.prefill)));
}

Json score_json(const TextScore& score, const PerplexityOptions& options) {
  return Json::object({{"complete", score.complete()},
                       {"bits_per_byte", score.bits_per_byte()},
                       {"perplexity", score.perplexity()},
                       {"nats_per_token", score.nats_per_token()},
                       {"nats", score.nats},
                       {"tokens", score.tokens},
                       {"bytes", score.bytes},
                       {"tokens_to_score", score.all_tokens},
                       {"context", options.context},
                       {"prompt", options.prompt},
                       {"prefill", name(options.prefill)},
                       {"seconds", score.seconds},
                       {"tokens_per_second", per_second(score)}});
}

void add_perplexity_command(Command& program) {
  Command& command = program.add_command("perplexity", "Tell how well a model predicts a text, in bits per byte");
  auto flags = std::make_shared<PerplexityFlags>();
  command
      .argument("model", flags->first,
                "folder of the checkpoint; may be left out, a single argument is the file and the model then that of "
                "--model")
      .not_empty();
  command.argument("file", flags->second, "the text, in UTF-8; - is standard input").not_empty();
  OptionGroup& text = command.group("Text");
  text.whole("-c,--context", flags->context, 2, std::uint64_t{1} << 40,
             "tokens of a window, the one it starts with included (default: 2048, or the model's context where that is "
             "less)");
  text.whole("--limit", flags->limit, 1, std::uint64_t{1} << 40,
             "score the first tokens of the text only; bytes are then those of these");
  text.whole("--prompt", flags->prompt, 1, std::uint64_t{1} << 40,
             "tokens at each window's start that are run as a prompt; only what follows them is scored")
      .with_default();
  command.group("Output").flag(
      "--json", flags->json,
      "write one JSON object: complete, bits_per_byte, perplexity, nats_per_token, nats, tokens, bytes, "
      "tokens_to_score, context, prompt, prefill, seconds, tokens_per_second");
  add_model_flags(command, flags->model);
  add_prefill_flag(command, flags->prefill);
  add_chunk_flag(command, flags->chunk);
  command.notes(
      "The text is tokenized as a whole, and nothing in it becomes a special token. Its tokens are cut into windows; "
      "each is run by itself behind a begin-of-sentence token, so every token is scored once, by what stands before it "
      "in its window. (Where the config names no such token, a window starts with the token before it, and the first "
      "token of the text is neither scored nor counted.) Bits per byte can be compared between models of different "
      "tokenizers, perplexity per token and nats can't.\n"
      "Ctrl-C ends it with the score of what was done so far, marked as incomplete, and exit code 130.");
  command.examples({"cachalot perplexity models/demo README.md",
                    "cachalot perplexity README.md --context 512 --limit 1000 --json",
                    "cachalot perplexity README.md --context 1064 --prompt 1000 --prefill replay",
                    "zcat text.gz | cachalot perplexity models/demo -"});
  command.runs([flags] { return run(*flags); });
}

}  // namespace cachalot
