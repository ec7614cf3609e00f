// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_text.h"
#include "base/json.h"
#include "base/process_memory.h"
#include "cli/command_line/option_checks.h"
#include "cli/options/cache_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "cli/options/prefill_options.h"
#include "cli/options/sampling_options.h"
#include "cli/output/terminal.h"
#include "engine/generate.h"

namespace cachalot {
namespace {

struct RunFlags {
  ModelFlags model;
  std::optional<std::string> text, ids;
  bool no_bos = false;
  bool plain = false;
  bool json = false;
  bool stats = false;
  bool ignore_eos = false;
  bool has_choices = false;
  SamplingFlags sampling;
  DraftFlags drafts;
  PrefillFlags prefill;
  CacheFlags cache;
  GenerateOptions generate;
  const Option* chunk = nullptr;  // --chunk, whether it was given
};

bool from_input(const RunFlags& flags) { return !flags.ids && (!flags.text || *flags.text == "-"); }

// A prompt that is shown before what follows it: a long one by its end alone.
std::string shown_prompt(const RunFlags& flags) {
  constexpr std::size_t most = 400;
  if (!flags.text || from_input(flags)) return {};
  std::string_view text = *flags.text;
  const std::size_t line = text.size() < 2 ? text.npos : text.rfind('\n', text.size() - 2);
  if (line != text.npos) text.remove_prefix(line + 1);
  if (text.size() > most) text.remove_prefix(text.size() - most);
  while (!text.empty() && (text[0] & 0xC0) == 0x80) text.remove_prefix(1);  // begin with a whole character
  return (text.size() < flags.text->size() ? "… " : "") + std::string(text);
}

// The model's context bounds what a prompt can be, so nobody reads on for ever.
Expected<std::string> read_prompt(const LoadedModel& loaded) {
  auto text = read_input(most_prompt_bytes(loaded));
  if (text || text.error().code != Errc::range) return text;
  return fail(Errc::range, "{}: the model's context has {} positions, and can't hold more; give less of it (head -c)",
              text.error().message, loaded.model.config().max_seq_len);
}

// The prompt: ids as they are given; or BOS and the text, which comes from standard input where no argument gives it.
Expected<std::vector<TokenId>> prompt_of(const RunFlags& flags, const LoadedModel& loaded) {
  std::vector<TokenId> prompt;
  if (flags.ids) {
    const auto ids = parse_whole_numbers(*flags.ids, "--ids");
    if (!ids) return tl::unexpected(ids.error());
    for (const std::int64_t id : *ids) {
      if (id < 0 || id >= loaded.model.config().vocab_size) {
        return fail(Errc::usage, "--ids: {} is no token id; the model has ids 0 to {}", id,
                    loaded.model.config().vocab_size - 1);
      }
      prompt.push_back(TokenId{static_cast<std::int32_t>(id)});
    }
    return prompt;
  }
  std::string text = flags.text.value_or("");
  if (from_input(flags)) {
    if (!flags.text && isatty(STDIN_FILENO) != 0)
      return fail(Errc::usage, "nothing to continue: give a text, --ids, or a text on standard input");
    auto input = read_prompt(loaded);
    if (!input) return tl::unexpected(input.error());
    text = std::move(*input);
  }
  if (text.empty()) {
    return fail(Errc::usage, "the prompt is empty: {}",
                from_input(flags) ? "nothing came from standard input" : "give a text to continue, or --ids");
  }
  const std::int64_t bos = loaded.model.config().bos_token_id;
  if (!flags.no_bos && bos >= 0) prompt.push_back(TokenId{static_cast<std::int32_t>(bos)});
  auto ids = flags.plain ? loaded.tokenizer.encode_plain(text) : loaded.tokenizer.encode(text);
  if (!ids) return tl::unexpected(ids.error());
  prompt.insert(prompt.end(), ids->begin(), ids->end());
  return prompt;
}

// What can be done about a prompt that the model's context can't hold, and about a context that memory can't.
Status expect_room(std::int64_t prompt, const Model& model) {
  const std::int64_t context = model.config().max_seq_len;
  if (prompt <= context) return {};
  return fail(Errc::range,
              "the prompt has {} tokens, the model's context {} positions: shorten the text by about {} tokens "
              "(`cachalot tokenize` counts them), or take a model with a longer context",
              prompt, context, prompt - context + 1);
}

Json ids_json(std::span<const TokenId> ids) {
  Json list = Json::array();
  for (const TokenId id : ids) list.push_back(raw(id));
  return list;
}

// What --stats tells besides times.
struct MemoryUse {
  std::int64_t state_fixed, state_pages;  // of the sequence
  std::int64_t scratch;                   // at most taken from the arena
  ProcessMemory peak;                     // of the process, loading included
};

std::int64_t tokens_of(const Generation& result) {
  std::int64_t n = 0;
  for (const Completion& c : result.choices) n += static_cast<std::int64_t>(c.tokens.size());
  return n;
}

// Adds ids, text, end and what else was asked of one completion.
void add_completion(const Completion& completion, bool logprobs, Json& out) {
  Json ids = Json::array();
  Json steps = Json::array();
  for (const GeneratedToken& t : completion.tokens) {
    ids.push_back(raw(t.id));
    Json top = Json::array();
    for (const TokenLogprob& l : t.top) top.push_back(Json::object({{"id", raw(l.id)}, {"logprob", l.logprob}}));
    steps.push_back(Json::object({{"id", raw(t.id)}, {"logprob", t.logprob}, {"top", std::move(top)}}));
  }
  out.set("ids", std::move(ids));
  out.set("text", completion.text);
  out.set("end", name(completion.end));
  if (completion.end == EndReason::stop_string) out.set("stop_string", completion.stop_string);
  if (logprobs) out.set("logprobs", std::move(steps));
}

Json result_json(const RunFlags& flags, std::span<const TokenId> prompt, const Generation& result,
                 const MemoryUse& memory) {
  const bool logprobs = flags.generate.logprobs > 0;
  Json out = Json::object({{"prompt_ids", ids_json(prompt)}});
  if (flags.has_choices) {
    Json list = Json::array();
    for (const Completion& c : result.choices) {
      Json one = Json::object({});
      add_completion(c, logprobs, one);
      list.push_back(std::move(one));
    }
    out.set("choices", std::move(list));
  } else {
    add_completion(result.choices[0], logprobs, out);
  }
  if (flags.generate.prefixes.cache != nullptr) out.set("cached_tokens", result.cached_tokens);
  if (flags.stats) {
    out.set("stats", Json::object({{"prompt_tokens", static_cast<std::int64_t>(prompt.size())},
                                   {"cached_tokens", result.cached_tokens},
                                   {"run_tokens", result.run_tokens},
                                   {"tokens", tokens_of(result)},
                                   {"prompt_seconds", result.prompt_seconds},
                                   {"decode_seconds", result.decode_seconds},
                                   {"drafts", draft_json(result.drafts)},
                                   {"prefill", prefill_json(flags.generate.prefill, result.layer_tokens)},
                                   {"state_fixed_bytes", memory.state_fixed},
                                   {"state_page_bytes", memory.state_pages},
                                   {"scratch_bytes", memory.scratch},
                                   {"peak_anonymous_bytes", memory.peak.anonymous},
                                   {"peak_file_bytes", memory.peak.file}}));
  }
  return out;
}

void print_stats(std::span<const TokenId> prompt, const Generation& result, const std::string& prefill,
                 const MemoryUse& memory) {
  const auto rate = [](std::int64_t n, double s) { return s > 0 ? static_cast<double>(n) / s : 0.0; };
  const auto prompt_tokens = static_cast<std::int64_t>(prompt.size());
  std::string cached = result.cached_tokens > 0 ? fmt::format(", {} of them cached,", result.cached_tokens) : "";
  if (result.cached_tokens + result.run_tokens < prompt_tokens)
    cached += fmt::format(", {} of them run before the interrupt,", result.run_tokens);
  std::vector<std::string> ends;
  for (const Completion& c : result.choices) ends.emplace_back(name(c.end));
  print_error(fmt::format("prompt  {} tokens{} in {:.2f} s ({:.1f} tokens/s)\n", prompt_tokens, cached,
                          result.prompt_seconds, rate(result.run_tokens, result.prompt_seconds)));
  if (!prefill.empty()) print_error(fmt::format("prefill {}\n", prefill));
  print_error(fmt::format("decode  {} tokens in {:.2f} s ({:.1f} tokens/s), ended by {}\n", tokens_of(result),
                          result.decode_seconds, rate(tokens_of(result), result.decode_seconds),
                          fmt::join(ends, ", ")));
  if (const std::string drafts = draft_text(result.drafts); !drafts.empty())
    print_error(fmt::format("drafts  {}\n", drafts));
  print_error(fmt::format("state   {} bytes fixed, {} in pages; scratch at most {} bytes\n", memory.state_fixed,
                          memory.state_pages, memory.scratch));
  print_error(fmt::format("memory  at most {} of its own, {} of mapped files\n", byte_text(memory.peak.anonymous),
                          byte_text(memory.peak.file)));
}

// Several choices grow at once, so they are printed when all have ended, one after the other.
void print_choices(const RunFlags& flags, const Generation& result) {
  for (std::size_t c = 0; c < result.choices.size(); ++c) {
    const Completion& completion = result.choices[c];
    print_out(fmt::format("{}--- choice {}, ended by {} ---\n{}{}\n", c == 0 ? "" : "\n", c, name(completion.end),
                          shown_prompt(flags), completion.text));
  }
}

Expected<int> run(RunFlags& flags) {
  std::optional<MemoryPeak> peak;
  if (flags.stats) peak.emplace();
  if (flags.chunk->given() && flags.model.index_keys == "published-slot") {
    return fail(
        Errc::usage,
        "--chunk {} does not go with --index-keys published-slot: it is defined for one whole prompt (spec 10), "
        "which is never cut",
        flags.generate.chunk);
  }
  if (Status good = settle_cache_folder(flags.cache, flags.model, flags.prefill.value()); !good)
    return tl::unexpected(good.error());
  if (flags.cache.folder.empty() && !flags.cache.budget.empty())
    return fail(Errc::usage, "--cache-budget works with --cache only: a run keeps states in a folder or not at all");
  // What is known before the tokenizer has seen the prompt; the rest is asked below.
  MemoryRequest request{.context = flags.generate.max_tokens + 1,
                        .sequences = flags.generate.choices + (flags.cache.folder.empty() ? 0 : 1),  // the snapshot
                        .drafts = flags.drafts.wanted()};
  auto loaded = load_model(flags.model, request);
  if (!loaded) return tl::unexpected(loaded.error());
  const Model& model = loaded->model;
  if (flags.generate.logprobs > model.config().vocab_size) {
    return fail(Errc::usage, "--logprobs {}: the model has {} tokens to tell of", flags.generate.logprobs,
                model.config().vocab_size);
  }
  if (Status set = set_sampling(flags.sampling, model.config().vocab_size, flags.generate); !set)
    return tl::unexpected(set.error());
  DraftPlace drafts;
  const auto drafting = drafting_of(flags.drafts, *loaded, drafts);
  if (!drafting) return tl::unexpected(drafting.error());
  flags.generate.drafting = *drafting;
  flags.generate.prefill = flags.prefill.value();
  PrefixPlaces places;
  if (!flags.cache.folder.empty()) {  // one request: nothing need stay in memory
    if (Status opened = open_prefix_places(flags.cache, *loaded, 0, places); !opened)
      return tl::unexpected(opened.error());
    flags.generate.prefixes = places.prefixes();
  }
  auto prompt = prompt_of(flags, *loaded);
  if (!prompt) return tl::unexpected(prompt.error());
  if (Status room = expect_room(std::ssize(*prompt), model); !room) return tl::unexpected(room.error());
  catch_interrupts();  // not before: while standard input is waited for, Ctrl-C ends the program at once
  if (const std::int64_t eos = model.config().eos_token_id; eos >= 0 && !flags.ignore_eos) {
    flags.generate.stop_tokens.push_back(TokenId{static_cast<std::int32_t>(eos)});
  }
  // The released quirk is defined for one whole prompt and then single steps (spec 10).
  if (model.options().index_keys == IndexKeys::published_slot)
    flags.generate.chunk = std::numeric_limits<std::int64_t>::max();

  Context context(flags.model.threads, loaded->model.memory());
  request.context = static_cast<std::int64_t>(prompt->size()) + flags.generate.max_tokens;
  request.chunk = std::min(flags.generate.chunk, static_cast<std::int64_t>(prompt->size()));
  if (Status fits = set_aside(*loaded, context, request, machine_of(flags.model.memory)); !fits)
    return tl::unexpected(fits.error());
  Sequence sequence = model.new_sequence();
  const bool stream = !flags.json && !flags.has_choices;
  Progress progress;
  GenerateEvents events;
  events.prompt = [&](std::int64_t done, std::int64_t total) {
    progress.show("prompt", done, total);
    if (done < total) return;
    progress.clear();
    if (stream) print_out(shown_prompt(flags));
  };
  std::int64_t choices_made = 0;
  events.token = [&](const GeneratedToken&) {
    if (flags.has_choices) progress.show("choices", ++choices_made, flags.generate.choices * flags.generate.max_tokens);
  };
  events.text = [&](std::int64_t, std::string_view piece) {
    if (!stream) return;
    print_out(piece);
    std::fflush(stdout);
  };
  events.interrupted = [&] { return interrupted() || !output_is_good(); };

  events.complete = [&](const Generation& all) {  // before states are kept in a folder
    progress.clear();
    const MemoryUse memory{sequence.fixed_bytes(), sequence.page_bytes(), context.scratch.peak_bytes(),
                           peak ? peak->so_far() : ProcessMemory{}};
    if (flags.json) {
      print_out(result_json(flags, *prompt, all, memory).dump() + "\n");
    } else if (flags.has_choices) {
      print_choices(flags, all);
    } else {
      print_out("\n");
    }
    std::fflush(stdout);  // before what goes to standard error, which may be the same file
    if (flags.stats && !flags.json)
      print_stats(*prompt, all, prefill_text(model, flags.generate.prefill, all.layer_tokens), memory);
  };

  const auto result = generate(*loaded, context, sequence, *prompt, flags.generate, events);
  progress.clear();
  if (!result) return tl::unexpected(result.error());
  const bool stopped =
      std::ranges::any_of(result->choices, [](const Completion& c) { return c.end == EndReason::interrupted; });
  if (!stopped || !interrupted()) return stopped ? 1 : 0;  // else nobody takes the output: finish_output() tells
  const std::int64_t made = tokens_of(*result);
  return fail(Errc::stopped, "{}",
              made > 0 ? fmt::format("interrupted after {} of at most {} tokens", made,
                                     flags.generate.choices * flags.generate.max_tokens)
                       : fmt::format("interrupted after {} of the prompt's {} tokens",
                                     result->cached_tokens + result->run_tokens, prompt->size()));
}

}  // namespace

void add_run_command(Command& program) {
  Command& command = program.add_command("run", "Continue a text");
  auto flags = std::make_shared<RunFlags>();
  const Option& text = command.argument("text", flags->text, "what to continue; - or nothing: standard input");
  OptionGroup& prompt = command.group("Prompt");
  const Option& ids =
      prompt.text("--ids", flags->ids, "the prompt as token ids, 1,2,3, instead of a text; nothing is added to them")
          .placeholder("ID,ID,...")
          .excludes(text);
  prompt.flag("--no-bos", flags->no_bos, "do not put the begin-of-sentence token before the text").excludes(ids);
  prompt.flag("--plain", flags->plain, "take the text as it is: <think> and its like do not become special tokens")
      .excludes(ids);
  OptionGroup& output = command.group("Output");
  output
      .whole("-n,--max-tokens", flags->generate.max_tokens, 0, std::uint64_t{1} << 40, "make at most this many tokens")
      .with_default();
  output.flag("--ignore-eos", flags->ignore_eos, "go on after the end-of-sentence token");
  const Option& choices = output.whole("--choices", flags->generate.choices, 1, 128,
                                       "write so many texts, side by side; choice 0 is what a run without this gives");
  const Option& json = output.flag("--json", flags->json,
                                   "write one JSON object: prompt_ids, ids, text, end, logprobs; with --choices a list "
                                   "`choices` of these");
  output
      .whole("--logprobs", flags->generate.logprobs, 0, std::uint64_t{1} << 20,
             "with --json: the N most likely tokens of every step, as the model itself has them")
      .needs(json);
  output.flag("--stats", flags->stats, "tell times and memory at the end");
  add_sampling_flags(command, flags->sampling);
  add_model_flags(command, flags->model);
  add_index_keys_flag(command, flags->model.index_keys);
  add_draft_flag(command, flags->drafts);
  add_prefill_flag(command, flags->prefill);
  flags->chunk = &add_chunk_flag(command, flags->generate.chunk);
  add_cache_flags(command, flags->cache);
  command.examples({"cachalot run \"It was a dark night, and\" -n 60 --seed 7",
                    "cachalot run --ids 0,377,1950 --temperature 0 --json --logprobs 5",
                    "cachalot run \"He said\" --top-p 0.9 --repetition-penalty 1.1 --stop . --stop '!' --choices 3",
                    "cachalot run \"Once upon a time\" --draft 3 --stats",
                    "cachalot run --cache states --stats < long.txt",
                    "cachalot run --prefill replay --stats < long.txt"});
  command.runs([&choices, flags] {
    flags->has_choices = choices.given();
    return run(*flags);
  });
}

}  // namespace cachalot
