// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "engine/choice.h"
#include "engine/draft_pause.h"
#include "engine/prompt_snapshots.h"
#include "kv/prefix_cache.h"

namespace cachalot {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status check_options(const GenerateOptions& options, const Model& model) {
  if (options.prefixes.cache != nullptr && model.options().index_keys == IndexKeys::published_slot) {
    return fail(
        Errc::usage,
        "index keys as published are defined for one whole prompt (spec 10): it can't go on from a prefix cache");
  }
  if (const Prefixes& p = options.prefixes; p.cache != nullptr) {
    const bool replay = options.prefill == Prefill::replay;
    if (replay != p.cache->options().replays || (replay && p.store != nullptr)) {
      return fail(Errc::usage,
                  "prefill {}: exact and replayed states are not mixed, and the prefix cache that was given is for {} "
                  "ones",
                  name(options.prefill), p.cache->options().replays && p.store == nullptr ? "replayed" : "exact");
    }
  }
  if (options.choices < 1) return fail(Errc::usage, "{} choices: expected 1 or more", options.choices);
  if (Status good = check_sampling(options.sampling, model.config().vocab_size); !good) return good;
  return check_stop_strings(options.stop_strings);
}

std::int64_t tokens_made(const Generation& generation) {
  std::int64_t n = 0;
  for (const Completion& c : generation.choices) n += static_cast<std::int64_t>(c.tokens.size());
  return n;
}

// One request while it runs: its prompt, then rounds until every choice has ended. Errc::stopped is the interrupt.
class Request {
 public:
  Request(const LoadedModel& loaded, Context& context, Sequence& sequence, std::span<const TokenId> prompt,
          const GenerateOptions& options, const GenerateEvents& events)
      : loaded_(loaded),
        model_(loaded.model),
        context_(context),
        sequence_(sequence),
        prompt_(prompt),
        options_(options),
        events_(events),
        snapshots_(model_, options, prompt) {}

  Expected<Generation> run();

 private:
  Status run_prompt();
  Status begin_choices();
  Status run_round();
  Status ask_for_drafts();
  Status forward(std::span<Sequence* const> sequences);
  Status stop_if_interrupted() const {
    if (events_.interrupted && events_.interrupted()) return fail(Errc::stopped, "interrupted");
    return {};
  }
  void drop_ended() {
    std::erase_if(running_, [](const auto& choice) { return choice->ended(); });
  }

  const LoadedModel& loaded_;
  const Model& model_;
  Context& context_;
  Sequence& sequence_;  // choice 0's
  std::span<const TokenId> prompt_;
  const GenerateOptions& options_;
  const GenerateEvents& events_;
  PromptSnapshots snapshots_;
  Generation result_;
  std::vector<Sequence> others_;  // of choices 1 on
  std::vector<TokenId> before_;   // what stands before the completions
  SamplerScratch scratch_;
  std::vector<std::unique_ptr<Choice>> running_;
  std::vector<Row> rows_;  // of the step that comes next, this and the two below
  std::vector<float> logits_;
  std::vector<DraftRequest> drafts_;
};

Expected<Generation> Request::run() {
  result_.choices.resize(static_cast<std::size_t>(options_.choices));
  auto start = std::chrono::steady_clock::now();
  Status done = run_prompt();
  const bool prompt_done = done.has_value();
  result_.prompt_seconds = seconds_since(start);
  if (prompt_done && options_.max_tokens > 0) {
    start = std::chrono::steady_clock::now();
    done = begin_choices();
    while (done && !running_.empty()) done = run_round();
    result_.decode_seconds = seconds_since(start);
  }
  if (!done && done.error().code == Errc::range && !snapshots_.file().empty()) {
    const std::string file = snapshots_.file().string();
    snapshots_.distrust();
    return fail(Errc::range, "{}; or the state that it began with, in {}, which is dropped now: run it once more",
                done.error().message, file);
  }
  if (!done && done.error().code != Errc::stopped) return tl::unexpected(done.error());
  if (!prompt_done) {
    for (Completion& c : result_.choices) c.end = EndReason::interrupted;
  }
  for (auto& choice : running_) choice->end(EndReason::interrupted);
  if (events_.complete) events_.complete(result_);
  snapshots_.end(sequence_, result_.choices[0].tokens);
  return std::move(result_);
}

Status Request::forward(std::span<Sequence* const> sequences) {
  const std::function<bool()>* stopped = events_.interrupted ? &events_.interrupted : nullptr;  // within a step
  return model_.forward(context_, {sequences, rows_, nullptr, stopped}, logits_);
}

Status Request::run_prompt() {
  Sequence* const sequences[] = {&sequence_};
  const auto total = static_cast<std::int64_t>(prompt_.size());
  const std::int64_t cached = result_.cached_tokens = snapshots_.resume(sequence_);
  const std::int64_t tail =
      tail_start(model_, options_.prefill, sequence_.length(), sequence_.length() + total - cached);
  for (std::int64_t done = cached; done < total;) {
    const std::int64_t n =
        snapshots_.chunk(sequence_.length(), std::min(std::max<std::int64_t>(1, options_.chunk), total - done));
    rows_.clear();
    const std::int64_t global_only = std::clamp<std::int64_t>(tail - sequence_.length(), 0, n);
    for (std::int64_t i = 0; i < n; ++i)
      rows_.push_back({.token = prompt_[static_cast<std::size_t>(done + i)], .global_only = i < global_only});
    rows_.back().wants_logits = done + n == total;
    if (Status ran = forward(sequences); !ran) return ran;
    if (rows_.back().wants_logits && !snapshots_.file().empty() &&
        std::ranges::any_of(logits_, [](float l) { return std::isnan(l); })) {
      // Numbers that no model leaves can stand in a file too. Nothing was told of them yet: as if it were not there.
      snapshots_.distrust();
      sequence_ = model_.new_sequence();
      result_.run_tokens = 0;
      result_.layer_tokens = {};
      return run_prompt();
    }
    result_.layer_tokens.add(model_, n, global_only);
    result_.run_tokens += n;
    snapshots_.committed(sequence_);
    done += n;
    if (events_.prompt) events_.prompt(done - cached, total - cached);
  }
  return {};
}

// All choices begin with the one row behind the prompt.
Status Request::begin_choices() {
  for (std::int64_t c = 1; c < options_.choices; ++c) others_.push_back(sequence_.share());
  before_ = options_.before;
  before_.insert(before_.end(), prompt_.begin(), prompt_.end());
  for (std::size_t c = 0; c < result_.choices.size(); ++c) {
    running_.push_back(std::make_unique<Choice>(loaded_, options_, events_, static_cast<std::int64_t>(c),
                                                c == 0 ? sequence_ : others_[c - 1], result_.choices[c], before_,
                                                scratch_));
  }
  if (Status go = stop_if_interrupted(); !go) return go;
  for (auto& choice : running_) {
    if (Status drawn = choice->draw(logits_, Position{sequence_.length()}); !drawn) return drawn;
  }
  drop_ended();
  return {};
}

// Asks the source for drafts of every choice, none where drafting pauses.
Status Request::ask_for_drafts() {
  const Drafting& drafting = options_.drafting;
  const bool may_draft = drafting.source != nullptr && (drafting.pause == nullptr || drafting.pause->draft_next());
  const std::int64_t most = may_draft ? std::min(drafting.count, drafting.source->block()) : 0;
  drafts_.clear();
  for (auto& choice : running_) drafts_.push_back(choice->ask(most));
  if (std::ranges::none_of(drafts_, [](const DraftRequest& r) { return r.count > 0; })) return {};
  const Status drafted = drafting.source->draft(context_, drafts_);
  for (std::size_t r = 0; r < running_.size(); ++r) running_[r]->answered(drafts_[r]);
  return drafted;
}

// Each choice that is running runs its newest token and the drafts behind it, and takes what is right.
Status Request::run_round() {
  if (Status go = stop_if_interrupted(); !go) return go;
  const auto start = std::chrono::steady_clock::now();
  if (Status asked = ask_for_drafts(); !asked) return asked;
  const bool drafted = std::ranges::any_of(drafts_, [](const DraftRequest& r) { return r.count > 0; });

  std::vector<Sequence*> sequences;
  rows_.clear();
  for (std::size_t r = 0; r < running_.size(); ++r) {
    sequences.push_back(running_[r]->sequence());
    const auto add = [&](TokenId id) {
      rows_.push_back({.sequence = static_cast<std::int32_t>(r), .token = id, .wants_logits = true});
    };
    add(drafts_[r].next);
    std::ranges::for_each(drafts_[r].drafts, add);
  }
  if (Status ran = forward(sequences); !ran) return ran;

  const auto vocab = static_cast<std::size_t>(model_.config().vocab_size);
  const std::int64_t made_before = tokens_made(result_);
  std::span<const float> left = logits_;
  for (std::size_t r = 0; r < running_.size(); ++r) {
    const std::size_t own = (1 + drafts_[r].drafts.size()) * vocab;
    if (Status taken = running_[r]->take_round(drafts_[r].drafts, left.first(own), result_.drafts); !taken)
      return taken;
    left = left.subspan(own);
  }
  snapshots_.decoded(sequence_, result_.choices[0].tokens);
  ++(drafted ? result_.drafts.drafted_rounds : result_.drafts.plain_rounds);
  if (options_.drafting.pause != nullptr)
    options_.drafting.pause->note(drafted, tokens_made(result_) - made_before, seconds_since(start));
  drop_ended();
  return {};
}

}  // namespace

double DraftCounts::accepted_per_round() const {
  std::int64_t all = 0;
  for (const std::int64_t n : accepted) all += n;
  return drafted_rounds == 0 ? 0 : static_cast<double>(all) / static_cast<double>(drafted_rounds);
}

const char* name(EndReason reason) {
  switch (reason) {
    case EndReason::stop:
      return "stop";
    case EndReason::stop_string:
      return "stop_string";
    case EndReason::length:
      return "length";
    case EndReason::context:
      return "context";
    case EndReason::interrupted:
      return "interrupted";
    case EndReason::enough:
      return "enough";
  }
  return "?";
}

Expected<Generation> generate(const LoadedModel& loaded, Context& context, Sequence& sequence,
                              std::span<const TokenId> prompt, const GenerateOptions& options,
                              const GenerateEvents& events) {
  const Model& model = loaded.model;
  const std::int64_t room = model.config().max_seq_len - sequence.length();
  const auto total = static_cast<std::int64_t>(prompt.size());
  if (total == 0) return fail(Errc::usage, "the prompt is empty: there is nothing to continue");
  if (total > room) {
    return fail(Errc::range, "the prompt has {} tokens; the model's context has {} positions, {} of them free", total,
                model.config().max_seq_len, room);
  }
  if (Status good = check_options(options, model); !good) return tl::unexpected(good.error());
  if (Status good = check_prefill(options.prefill, sequence, total); !good) return tl::unexpected(good.error());
  return Request(loaded, context, sequence, prompt, options, events).run();
}

}  // namespace cachalot
