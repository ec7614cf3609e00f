// SPDX-License-Identifier: Apache-2.0
// How well a model predicts a text: bits per byte, which models of any tokenizer can be compared by, and perplexity per
// token, which only those of one tokenizer can.
//
// The text is tokenized as a whole; what looks like a special token in it is plain text. The tokens are cut into
// windows of `context` - 1. Each window is a fresh sequence that starts with the begin-of-sentence token, so every
// token of the text is scored exactly once, by what stands before it in its window. A config without such a token gives
// each window the token before it to start with instead; then nothing stands before the first token of the text, and
// that one is neither scored nor counted.
//
// Where a prompt of more than the first token is asked for, only what follows it in its window is scored and counted:
// so the cost of running prompts in another way (engine/prefill.h) shows.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "engine/load_model.h"
#include "engine/prefill.h"

namespace cachalot {

struct PerplexityOptions {
  std::int64_t context = 0;          // tokens of a window with the one it starts with, at least 2; default_window()
  std::int64_t chunk = 256;          // rows a step; changes speed and memory, not a bit of the result
  std::int64_t prompt = 1;           // tokens at a window's start, the one it starts with included, that are its prompt
  Prefill prefill = Prefill::exact;  // of the prompt; each later token runs all layers
};

// 2048, or the model's context where that is less.
std::int64_t default_window(const Config& config);

// What was scored, and how well it was predicted.
struct TextScore {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;  // of these tokens; of all of them together, the text's
  double nats = 0;         // the sum of -ln p(token)
  double seconds = 0;
  std::int64_t all_tokens = 0;  // how many there are to score
  bool complete() const { return tokens == all_tokens; }

  // These four are NaN where no token was scored.
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
  double nats_per_token() const { return nats / static_cast<double>(tokens); }
  double perplexity() const { return std::exp(nats_per_token()); }  // per token
  double bytes_per_token() const { return static_cast<double>(bytes) / static_cast<double>(tokens); }
};

// Both may be empty.
struct PerplexityEvents {
  std::function<void(const TextScore& so_far)> scored{};  // after each step
  std::function<bool()> interrupted{};                    // asked before each layer
};

// Errors: Errc::usage where a window is too short, or longer than the model's context; where a prompt leaves nothing of
// a window.
Status check_perplexity(const PerplexityOptions& options, const Config& config);

// The tokens of a text, none of them an added one. Errors: Errc::format for text that is empty or not UTF-8,
// Errc::range for text of 2^31 bytes or more.
Expected<std::vector<TokenId>> tokens_to_score(const Tokenizer& tokenizer, std::string_view text);

// What scoring so many tokens takes, for load_model() and set_aside(). It does not grow with the text beyond a window.
MemoryRequest memory_to_score(const PerplexityOptions& options, std::int64_t tokens);

// Scores the tokens of a text. After an interrupt the score is that of the tokens done by then. Numerics: of each row
// log-sum-exp in double by ascending id, then a sum over tokens in double, in the order of the text: the same bits
// whatever the chunk and the threads. Errors: those of check_perplexity(); Errc::format where there is nothing to
// score; Errc::range for an id outside the vocabulary, and where a token's probability is no number or 0; those of
// Model::forward.
Expected<TextScore> score_tokens(const LoadedModel& loaded, Context& context, std::span<const TokenId> text,
                                 const PerplexityOptions& options, const PerplexityEvents& events = {});

}  // namespace cachalot
