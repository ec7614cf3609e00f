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

  Generation result;
  result.choices.resize(static_cast<std::size_t>(options.choices));
  std::vector<Sequence*> sequences = {&sequence};
  std::vector<Row> rows;
  std::vector<float> logits;
  const auto interrupted = [&] { return events.interrupted && events.interrupted(); };
  const std::function<bool()>* stopped = events.interrupted ? &events.interrupted : nullptr;  // within a step

  auto start = std::chrono::steady_clock::now();
  PromptSnapshots snapshots(model, options, prompt);
  const auto finish = [&]() -> Expected<Generation> {
    snapshots.end(sequence, result.choices[0].tokens);
    return std::move(result);
  };
  result.cached_tokens = snapshots.resume(sequence);
  const std::int64_t tail =
      tail_start(model, options.prefill, sequence.length(), sequence.length() + total - result.cached_tokens);
  for (std::int64_t done = result.cached_tokens; done < total;) {
    const std::int64_t n =
        snapshots.chunk(sequence.length(), std::min(std::max<std::int64_t>(1, options.chunk), total - done));
    rows.clear();
    const std::int64_t global_only = std::clamp<std::int64_t>(tail - sequence.length(), 0, n);
    for (std::int64_t i = 0; i < n; ++i)
      rows.push_back({.token = prompt[static_cast<std::size_t>(done + i)], .global_only = i < global_only});
    rows.back().wants_logits = done + n == total;
    if (Status ran = model.forward(context, {sequences, rows, nullptr, stopped}, logits); !ran) {
      if (ran.error().code != Errc::stopped) return tl::unexpected(ran.error());
      for (Completion& c : result.choices) c.end = EndReason::interrupted;
      return finish();
    }
    result.layer_tokens.add(model, n, global_only);
    snapshots.committed(sequence);
    done += n;
    if (events.prompt) events.prompt(done - result.cached_tokens, total - result.cached_tokens);
  }
  result.prompt_seconds = seconds_since(start);
  if (options.max_tokens <= 0) return finish();

  const auto vocab = static_cast<std::size_t>(model.config().vocab_size);
  start = std::chrono::steady_clock::now();
  std::vector<Sequence> others;  // of choices 1 on
  for (std::int64_t c = 1; c < options.choices; ++c) others.push_back(sequence.share());
  std::vector<TokenId> before = options.before;
  before.insert(before.end(), prompt.begin(), prompt.end());
  SamplerScratch scratch;
  std::vector<std::unique_ptr<Choice>> running;
  for (std::size_t c = 0; c < result.choices.size(); ++c) {
    running.push_back(std::make_unique<Choice>(loaded, options, events, static_cast<std::int64_t>(c),
                                               c == 0 ? sequence : others[c - 1], result.choices[c], before, scratch));
  }
  const auto end_all = [&]() -> Expected<Generation> {
    for (auto& choice : running) choice->end(EndReason::interrupted);
    result.decode_seconds = seconds_since(start);
    return finish();
  };
  if (interrupted()) return end_all();
  for (auto& choice : running) {  // all choices begin with the one row behind the prompt
    if (Status drawn = choice->draw(logits, Position{sequence.length()}); !drawn) return tl::unexpected(drawn.error());
  }
  std::erase_if(running, [](const auto& choice) { return choice->ended(); });

  const Drafting& drafting = options.drafting;
  const std::int64_t most = drafting.source == nullptr ? 0 : std::min(drafting.count, drafting.source->block());
  DraftPause pause;
  std::vector<DraftRequest> requests;
  while (!running.empty()) {
    if (interrupted()) return end_all();
    const auto round_start = std::chrono::steady_clock::now();
    requests.clear();
    const bool may_draft = !drafting.pauses || pause.draft_next();
    for (auto& choice : running) requests.push_back(choice->ask(may_draft ? most : 0));
    const bool drafts = std::ranges::any_of(requests, [](const DraftRequest& r) { return r.count > 0; });
    if (drafts) {
      const Status drafted = drafting.source->draft(context, requests);
      for (std::size_t r = 0; r < running.size(); ++r) running[r]->answered(requests[r]);
      if (!drafted) return tl::unexpected(drafted.error());
    }
    sequences.clear();
    rows.clear();
    for (std::size_t r = 0; r < running.size(); ++r) {
      sequences.push_back(running[r]->sequence());
      const auto add = [&](TokenId id) {
        rows.push_back({.sequence = static_cast<std::int32_t>(r), .token = id, .wants_logits = true});
      };
      add(requests[r].next);
      std::ranges::for_each(requests[r].drafts, add);
    }
    if (Status ran = model.forward(context, {sequences, rows, nullptr, stopped}, logits); !ran) {
      if (ran.error().code == Errc::stopped) return end_all();
      return tl::unexpected(ran.error());
    }
    const std::int64_t made_before = tokens_made(result);
    std::span<const float> left = logits;
    for (std::size_t r = 0; r < running.size(); ++r) {
      const std::size_t own = (1 + requests[r].drafts.size()) * vocab;
      if (Status taken = running[r]->take_round(requests[r].drafts, left.first(own), result.drafts); !taken)
        return tl::unexpected(taken.error());
      left = left.subspan(own);
    }
    ++(drafts ? result.drafts.drafted_rounds : result.drafts.plain_rounds);
    pause.note(drafts, tokens_made(result) - made_before, seconds_since(round_start));
    std::erase_if(running, [](const auto& choice) { return choice->ended(); });
  }
  result.decode_seconds = seconds_since(start);
  return finish();
}

}  // namespace cachalot
