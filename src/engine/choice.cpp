// SPDX-License-Identifier: Apache-2.0
#include "engine/choice.h"

#include <algorithm>
#include <cmath>

namespace cachalot {
namespace {

SamplingOptions sampling_of(const GenerateOptions& options, std::int64_t number) {
  SamplingOptions sampling = options.sampling;
  sampling.choice += static_cast<std::uint32_t>(number);
  return sampling;
}

}  // namespace

Choice::Choice(const LoadedModel& loaded, const GenerateOptions& options, const GenerateEvents& events,
               std::int64_t number, Sequence& sequence, Completion& completion, std::span<const TokenId> before,
               SamplerScratch& scratch)
    : options_(options),
      events_(events),
      number_(number),
      limit_(loaded.model.config().max_seq_len),
      sequence_(&sequence),
      completion_(&completion),
      scratch_(scratch),
      sampler_(sampling_of(options, number), loaded.reserved, options.stop_tokens),
      stream_(loaded.tokenizer, options.special),
      stops_(options.stop_strings) {
  sampler_.start(before);
}

void Choice::end(EndReason reason) {
  give(stops_.push(stream_.finish()));
  give(stops_.finish());
  ended_ = true;
  completion_->end = stops_.found() ? EndReason::stop_string : reason;
  if (stops_.found()) completion_->stop_string = options_.stop_strings[*stops_.found()];
}

Status Choice::draw(std::span<const float> logits, Position position) {
  if (std::ranges::any_of(logits, [](float l) { return std::isnan(l); })) {
    return fail(Errc::range,
                "the logits at position {} are not numbers: the weights are damaged (`cachalot verify MODEL --values` "
                "finds such) or a computation is wrong",
                raw(position) - 1);
  }
  const auto id = sampler_.sample(logits, position, scratch_);
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

DraftRequest Choice::ask(std::int64_t most) {
  const std::int64_t at = sequence_->length();  // where the newest token will stand
  most = std::min({most, options_.max_tokens - sampler_.made() - 1, limit_ - at - 1});
  const auto draw = [this, at](std::int64_t i, std::span<const float> logits) -> std::optional<TokenId> {
    const auto id = sampler_.sample(logits, Position{at + 1 + i}, scratch_);
    if (!id) return std::nullopt;
    sampler_.push(*id);
    ++guessed_;
    return *id;
  };
  return {.sequence = sequence_, .next = newest(), .count = std::max<std::int64_t>(0, most), .draw = draw};
}

void Choice::answered(DraftRequest& request) {
  for (; guessed_ > 0; --guessed_) sampler_.pop();
  auto& drafts = request.drafts;
  const auto stop = std::ranges::find_if(drafts, [this](TokenId id) { return is_stop(id); });
  if (stop != drafts.end()) drafts.erase(stop + 1, drafts.end());
}

Status Choice::take_round(std::span<const TokenId> drafts, std::span<const float> logits, DraftCounts& counts) {
  const std::size_t vocab = logits.size() / (1 + drafts.size());
  const std::int64_t at = sequence_->length() - static_cast<std::int64_t>(1 + drafts.size());
  counts.add_proposed(drafts.size());
  Status drawn;
  std::size_t i = 0;
  while (true) {
    drawn = draw(logits.subspan(i * vocab, vocab), Position{at + 1 + static_cast<std::int64_t>(i)});
    if (!drawn || ended_ || i == drafts.size() || newest() != drafts[i]) break;
    ++counts.accepted[i++];
  }
  const Status back = sequence_->truncate(at + 1 + static_cast<std::int64_t>(i));
  check(back.has_value(), "a draft block can be taken back");
  return drawn;
}

bool Choice::is_stop(TokenId id) const {
  return std::ranges::find(options_.stop_tokens, id) != options_.stop_tokens.end();
}

Status Choice::take(const GeneratedToken& token) {
  if (events_.token) events_.token(token);
  const bool stop = is_stop(token.id);
  if (!stop) {
    auto piece = stream_.push(token.id);
    if (!piece) return tl::unexpected(piece.error());
    give(stops_.push(*piece, sampler_.made() > options_.sampling.min_tokens));
  }
  if (stop || stops_.found()) {
    end(EndReason::stop);
  } else if (events_.enough && events_.enough(token)) {
    end(EndReason::enough);
  } else if (raw(token.position) == limit_) {
    end(EndReason::context);
  } else if (sampler_.made() >= options_.max_tokens) {
    end(EndReason::length);
  }
  return {};
}

void Choice::give(const std::string& text) {
  if (text.empty()) return;
  completion_->text += text;
  if (events_.text) events_.text(number_, text);
}

}  // namespace cachalot
