// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "engine/stop_strings.h"

namespace cachalot {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status check_options(const GenerateOptions& options, std::int64_t vocab) {
  if (options.choices < 1) return fail(Errc::usage, "{} choices: expected 1 or more", options.choices);
  if (Status good = check_sampling(options.sampling, vocab); !good) return good;
  return check_stop_strings(options.stop_strings);
}

// One completion while it grows.
class Choice {
 public:
  Choice(const LoadedModel& loaded, const GenerateOptions& options, const GenerateEvents& events, std::int64_t number,
         Sequence& sequence, Completion& completion)
      : options_(options),
        events_(events),
        number_(number),
        limit_(loaded.model.config().max_seq_len),
        sequence_(&sequence),
        completion_(&completion),
        sampler_(sampling_of(options, number), loaded.reserved, options.stop_tokens),
        stream_(loaded.tokenizer, options.special),
        stops_(options.stop_strings) {}

  Sampler& sampler() { return sampler_; }
  Sequence* sequence() const { return sequence_; }
  TokenId newest() const { return completion_->tokens.back().id; }
  bool ended() const { return ended_; }

  void end(EndReason reason) {
    give(stops_.push(stream_.finish()));
    give(stops_.finish());
    ended_ = true;
    completion_->end = stops_.found() ? EndReason::stop_string : reason;
    if (stops_.found()) completion_->stop_string = options_.stop_strings[*stops_.found()];
  }

  // Draws the token behind the sequence from its row of logits.
  Status draw(std::span<const float> logits, SamplerScratch& scratch) {
    if (std::ranges::any_of(logits, [](float l) { return std::isnan(l); })) {
      return fail(
          Errc::range,
          "the logits at position {} are not numbers: the weights are damaged (`cachalot verify MODEL --values` "
          "finds such) or a computation is wrong",
          sequence_->length() - 1);
    }
    const Position position{sequence_->length()};
    const auto id = sampler_.sample(logits, position, scratch);
    if (!id) return fail(id.error().code, "position {}: {}", raw(position), id.error().message);
    sampler_.push(*id);
    GeneratedToken token{.id = *id, .position = position, .choice = number_, .top = {}};
    if (options_.logprobs > 0) {
      Logprobs found = logprobs(logits, *id, options_.logprobs);
      token.logprob = found.chosen;
      token.top = std::move(found.top);
    }
    completion_->tokens.push_back(std::move(token));
    return take(completion_->tokens.back());
  }

 private:
  static SamplingOptions sampling_of(const GenerateOptions& options, std::int64_t number) {
    SamplingOptions sampling = options.sampling;
    sampling.choice += static_cast<std::uint32_t>(number);
    return sampling;
  }

  Status take(const GeneratedToken& token) {
    if (events_.token) events_.token(token);
    const bool stop = std::ranges::find(options_.stop_tokens, token.id) != options_.stop_tokens.end();
    if (!stop) {
      auto piece = stream_.push(token.id);
      if (!piece) return tl::unexpected(piece.error());
      give(stops_.push(*piece, sampler_.made() > options_.sampling.min_tokens));
    }
    if (stop || stops_.found()) {
      end(EndReason::stop);
    } else if (events_.enough && events_.enough(token)) {
      end(EndReason::enough);
    } else if (sequence_->length() == limit_) {
      end(EndReason::context);
    } else if (sampler_.made() >= options_.max_tokens) {
      end(EndReason::length);
    }
    return {};
  }

  void give(const std::string& text) {
    if (text.empty()) return;
    completion_->text += text;
    if (events_.text) events_.text(number_, text);
  }

  const GenerateOptions& options_;
  const GenerateEvents& events_;
  std::int64_t number_;
  std::int64_t limit_;
  Sequence* sequence_;
  Completion* completion_;
  Sampler sampler_;
  TextStream stream_;
  StopStrings stops_;
  bool ended_ = false;
};

}  // namespace

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
  if (Status good = check_options(options, model.config().vocab_size); !good) return tl::unexpected(good.error());

  Generation result;
  result.choices.resize(static_cast<std::size_t>(options.choices));
  std::vector<Sequence*> sequences = {&sequence};
  std::vector<Row> rows;
  std::vector<float> logits;
  const auto interrupted = [&] { return events.interrupted && events.interrupted(); };
  const std::function<bool()>* stopped = events.interrupted ? &events.interrupted : nullptr;  // within a step

  auto start = std::chrono::steady_clock::now();
  for (std::int64_t done = 0; done < total;) {
    const std::int64_t n = std::min(std::max<std::int64_t>(1, options.chunk), total - done);
    rows.clear();
    for (const TokenId t : prompt.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(n)))
      rows.push_back({.token = t});
    rows.back().wants_logits = done + n == total;
    if (Status ran = model.forward(context, {sequences, rows, nullptr, stopped}, logits); !ran) {
      if (ran.error().code != Errc::stopped) return tl::unexpected(ran.error());
      for (Completion& c : result.choices) c.end = EndReason::interrupted;
      return result;
    }
    done += n;
    if (events.prompt) events.prompt(done, total);
  }
  result.prompt_seconds = seconds_since(start);
  if (options.max_tokens <= 0) return result;

  start = std::chrono::steady_clock::now();
  std::vector<Sequence> others;  // of choices 1 on
  for (std::int64_t c = 1; c < options.choices; ++c) others.push_back(sequence.share());
  std::vector<TokenId> before = options.before;
  before.insert(before.end(), prompt.begin(), prompt.end());
  std::vector<std::unique_ptr<Choice>> running;
  for (std::size_t c = 0; c < result.choices.size(); ++c) {
    running.push_back(std::make_unique<Choice>(loaded, options, events, static_cast<std::int64_t>(c),
                                               c == 0 ? sequence : others[c - 1], result.choices[c]));
    running.back()->sampler().start(before);
  }
  SamplerScratch scratch;
  const auto vocab = static_cast<std::size_t>(model.config().vocab_size);
  for (bool behind_prompt = true; !running.empty(); behind_prompt = false) {
    bool stop = interrupted();  // also where no step comes first
    if (!stop && !behind_prompt) {
      sequences.clear();
      rows.clear();
      for (std::size_t r = 0; r < running.size(); ++r) {
        sequences.push_back(running[r]->sequence());
        rows.push_back({.sequence = static_cast<std::int32_t>(r), .token = running[r]->newest(), .wants_logits = true});
      }
      const Status ran = model.forward(context, {sequences, rows, nullptr, stopped}, logits);
      stop = !ran && ran.error().code == Errc::stopped;
      if (!ran && !stop) return tl::unexpected(ran.error());
    }
    if (stop) {
      for (auto& choice : running) choice->end(EndReason::interrupted);
      break;
    }
    for (std::size_t r = 0; r < running.size(); ++r) {  // all choices begin with the one row behind the prompt
      const auto row = std::span<const float>(logits).subspan(behind_prompt ? 0 : r * vocab, vocab);
      if (Status drawn = running[r]->draw(row, scratch); !drawn) return tl::unexpected(drawn.error());
    }
    std::erase_if(running, [](const auto& choice) { return choice->ended(); });
  }
  result.decode_seconds = seconds_since(start);
  return result;
}

}  // namespace cachalot
