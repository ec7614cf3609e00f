// SPDX-License-Identifier: Apache-2.0
#include "engine/perplexity.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "engine/logprobs.h"

namespace cachalot {
namespace {

constexpr std::int64_t usual_window = 2048;

// -ln p(target) of a row of logits; NaN where one of them is.
double nats_of(std::span<const float> logits, TokenId target) {
  if (std::ranges::any_of(logits, [](float l) { return std::isnan(l); }))
    return std::numeric_limits<double>::quiet_NaN();
  return -logprobs(logits, target, 0).chosen;
}

Status expect_ids(std::span<const TokenId> text, std::int64_t vocab) {
  const auto outside = std::ranges::find_if(text, [&](TokenId t) { return raw(t) < 0 || raw(t) >= vocab; });
  if (outside == text.end()) return {};
  return fail(Errc::range, "token {} of the text has the id {}; expected 0 to {}", outside - text.begin(),
              raw(*outside), vocab - 1);
}

}  // namespace

std::int64_t default_window(const Config& config) { return std::min(usual_window, config.max_seq_len); }

Status check_perplexity(const PerplexityOptions& options, const Config& config) {
  if (options.context < 2 || options.context > config.max_seq_len) {
    return fail(Errc::usage, "windows of {} tokens: expected 2 to {}, which is the model's context", options.context,
                config.max_seq_len);
  }
  if (options.prompt >= 1 && options.prompt < options.context) return {};
  return fail(Errc::usage, "a prompt of {} tokens: expected 1 to {}, so that something of a window of {} can be scored",
              options.prompt, options.context - 1, options.context);
}

Expected<std::vector<TokenId>> tokens_to_score(const Tokenizer& tokenizer, std::string_view text) {
  if (text.empty()) return fail(Errc::format, "there is nothing to score: the text is empty");
  return tokenizer.encode_plain(text);
}

MemoryRequest memory_to_score(const PerplexityOptions& options, std::int64_t tokens) {
  const std::int64_t rows = std::max<std::int64_t>(1, std::min(options.context - 1, tokens));
  return {.context = rows, .chunk = std::clamp<std::int64_t>(options.chunk, 1, rows), .all_logits = true};
}

Expected<TextScore> score_tokens(const LoadedModel& loaded, Context& context, std::span<const TokenId> text,
                                 const PerplexityOptions& options, const PerplexityEvents& events) {
  const Model& model = loaded.model;
  const Config& c = model.config();
  if (Status good = check_perplexity(options, c); !good) return tl::unexpected(good.error());
  const bool has_bos = c.bos_token_id >= 0;
  const std::size_t unscored = has_bos ? 0 : 1;
  if (text.size() <= unscored) {
    return fail(Errc::format, "there is nothing to score: the text has {} tokens{}", text.size(),
                has_bos ? "" : ", and the config names no token to stand before the first one");
  }
  if (Status good = expect_ids(text, std::min(c.vocab_size, loaded.tokenizer.vocab_size())); !good)
    return tl::unexpected(good.error());

  const auto window = static_cast<std::size_t>(options.context - 1), vocab = static_cast<std::size_t>(c.vocab_size);
  const auto prompt = static_cast<std::size_t>(options.prompt);  // its last row gives the first target that counts
  const auto counted = [&](std::size_t targets) { return targets < prompt ? 0 : targets - prompt + 1; };
  const auto tail = static_cast<std::size_t>(tail_start(model, options.prefill, 0, options.prompt));
  TextScore score;
  for (std::size_t first = unscored; first < text.size(); first += window)
    score.all_tokens += static_cast<std::int64_t>(counted(std::min(window, text.size() - first)));
  if (score.all_tokens == 0) {
    return fail(Errc::format, "there is nothing to score: the text has {} tokens, and a prompt takes {}", text.size(),
                prompt);
  }
  const auto chunk = static_cast<std::size_t>(std::max<std::int64_t>(1, options.chunk));
  const std::function<bool()>* stopped = events.interrupted ? &events.interrupted : nullptr;
  std::vector<Row> rows;
  std::vector<float> logits;  // [rows, vocab]
  std::vector<double> nats;   // [rows]
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t first = unscored; first < text.size(); first += window) {
    // Row i of a window is the token before its target i; the last target is run by no row.
    const auto targets = text.subspan(first, std::min(window, text.size() - first));
    if (counted(targets.size()) == 0) break;  // the last window, too short for its prompt
    TokenId before = has_bos ? TokenId{static_cast<std::int32_t>(c.bos_token_id)} : text[first - 1];
    Sequence sequence = model.new_sequence();
    Sequence* const sequences[] = {&sequence};
    for (std::size_t done = 0; done < targets.size();) {
      const auto part = targets.subspan(done, std::min(chunk, targets.size() - done));
      rows.clear();
      for (const TokenId target : part) {
        const std::size_t row = done + rows.size();
        rows.push_back({.token = before, .wants_logits = row + 1 >= prompt, .global_only = row < tail});
        before = target;
      }
      if (Status ran = model.forward(context, {sequences, rows, nullptr, stopped}, logits); !ran) {
        if (ran.error().code == Errc::stopped) return score;
        return tl::unexpected(ran.error());
      }
      const auto scored = part.last(static_cast<std::size_t>(std::ranges::count_if(rows, &Row::wants_logits)));
      nats.resize(scored.size());
      const auto count = static_cast<std::int64_t>(scored.size());
      context.pool.parallel(count, 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r)
          nats[r] = nats_of(std::span<const float>(logits).subspan(r * vocab, vocab), scored[r]);
      });
      for (std::size_t r = 0; r < scored.size(); ++r) {
        if (!std::isfinite(nats[r])) {
          return fail(Errc::range,
                      "token {} of the text: its probability is no number or 0: the weights are damaged (`cachalot "
                      "verify MODEL --values` finds such) or a computation is wrong",
                      first + done + part.size() - scored.size() + r);
        }
        score.nats += nats[r];
        score.bytes += static_cast<std::int64_t>(loaded.tokenizer.token_bytes(scored[r]).size());
      }
      done += part.size();
      score.tokens += count;
      score.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (events.scored) events.scored(score);
    }
  }
  return score;
}

}  // namespace cachalot
