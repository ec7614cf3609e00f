// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace cachalot {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const char* name(EndReason reason) {
  switch (reason) {
    case EndReason::stop:
      return "stop";
    case EndReason::length:
      return "length";
    case EndReason::context:
      return "context";
    case EndReason::interrupted:
      return "interrupted";
  }
  return "?";
}

Expected<Generation> generate(const Model& model, Context& context, Sequence& sequence, std::span<const TokenId> prompt,
                              const GenerateOptions& options, const GenerateEvents& events) {
  const std::int64_t room = model.config().max_seq_len - sequence.length();
  const auto total = static_cast<std::int64_t>(prompt.size());
  if (total == 0) return fail(Errc::usage, "the prompt is empty: there is nothing to continue");
  if (total > room) {
    return fail(Errc::range, "the prompt has {} tokens; the model's context has {} positions, {} of them free", total,
                model.config().max_seq_len, room);
  }
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  const auto interrupted = [&] { return events.interrupted && events.interrupted(); };
  const auto run = [&](std::span<const TokenId> tokens, bool last) {
    std::vector<Row> rows;
    for (const TokenId t : tokens) rows.push_back({.token = t});
    rows.back().wants_logits = last;
    return model.forward(context, {one, rows, nullptr}, logits);
  };

  Generation result;
  auto start = std::chrono::steady_clock::now();
  for (std::int64_t done = 0; done < total;) {
    if (interrupted()) {
      result.end = EndReason::interrupted;
      return result;
    }
    const std::int64_t n = std::min(std::max<std::int64_t>(1, options.chunk), total - done);
    const auto part = prompt.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(n));
    if (Status ran = run(part, done + n == total); !ran) return tl::unexpected(ran.error());
    done += n;
    if (events.prompt) events.prompt(done, total);
  }
  result.prompt_seconds = seconds_since(start);

  start = std::chrono::steady_clock::now();
  const auto end = [&](EndReason reason) {
    result.end = reason;
    result.decode_seconds = seconds_since(start);
    return result;
  };
  for (std::int64_t made = 0; made < options.max_tokens; ++made) {
    if (interrupted()) return end(EndReason::interrupted);
    if (made > 0) {
      const TokenId next[] = {result.tokens.back().id};
      if (Status ran = run(next, true); !ran) return tl::unexpected(ran.error());
    }
    if (std::ranges::any_of(logits, [](float l) { return std::isnan(l); })) {
      return fail(
          Errc::range,
          "the logits at position {} are not numbers: the weights are damaged (`cachalot verify MODEL --values` "
          "finds such) or a computation is wrong",
          sequence.length() - 1);
    }
    GeneratedToken token;
    token.position = Position{sequence.length()};
    token.id = sample(logits, options.sampling, token.position);
    if (options.logprobs > 0) {
      token.logprob = logprob_of(logits, token.id);
      token.top = top_logprobs(logits, options.logprobs);
    }
    result.tokens.push_back(token);
    if (events.token) events.token(token);
    if (std::ranges::find(options.stop_tokens, token.id) != options.stop_tokens.end()) return end(EndReason::stop);
    if (sequence.length() == model.config().max_seq_len) return end(EndReason::context);
  }
  return end(EndReason::length);
}

}  // namespace cachalot
