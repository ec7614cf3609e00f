// SPDX-License-Identifier: Apache-2.0
#include "cli/options/sampling_options.h"

#include <cstdint>
#include <limits>

#include "cli/command_line/option_checks.h"
#include "engine/stop_strings.h"

namespace cachalot {
namespace {

constexpr double most_bias = 100;

}  // namespace

void add_sampling_flags(Command& command, SamplingFlags& flags) {
  SamplingOptions& s = flags.sampling;
  OptionGroup& group = command.group("Sampling");
  group.number("--temperature", s.temperature, 0, 100, "0: always the most likely token").with_default();
  group.whole("--top-k", s.top_k, 0, std::uint64_t{1} << 31, "draw from the N most likely tokens; 0: from all")
      .with_default();
  group
      .number("--top-p", s.top_p, 0, 1,
              "draw from the fewest tokens that have this share of the probability; 1: from all", Least::excluded)
      .with_default();
  group.number("--min-p", s.min_p, 0, 1, "leave out tokens less likely than this times the most likely one; 0: none")
      .with_default();
  group
      .number("--repetition-penalty", s.repetition_penalty, 0, 2,
              "divide the logit of a token that the prompt or the output has (multiply one below 0); 1: off",
              Least::excluded)
      .with_default();
  group
      .number("--presence-penalty", s.presence_penalty, -2, 2,
              "take this from the logit of a token that the output has")
      .with_default();
  group
      .number("--frequency-penalty", s.frequency_penalty, -2, 2,
              "take this from it once for each time the output has the token")
      .with_default();
  group
      .texts("--logit-bias", flags.logit_bias,
             "add VALUE, -100 to 100, to the logit of token ID; -100: never draw it; may be repeated")
      .placeholder("ID=VALUE")
      .check([](const std::string& text) {
        const auto pair = parse_id_and_value(text, -most_bias, most_bias);
        return pair ? std::string() : std::string(pair.error().message);
      });
  group.whole("--min-tokens", s.min_tokens, 0, std::uint64_t{1} << 40, "make so many tokens before the end may come")
      .with_default();
  group.texts("--stop", flags.stop, "end before this text; may be repeated").check([](const std::string& text) {
    const Status good = check_stop_strings({&text, 1});
    return good ? std::string() : std::string(good.error().message);
  });
  group.whole("-s,--seed", s.seed, 0, std::numeric_limits<std::uint64_t>::max(), "the same seed gives the same text")
      .with_default();
}

Status set_sampling(const SamplingFlags& flags, std::int64_t vocab, GenerateOptions& options) {
  options.sampling = flags.sampling;
  options.sampling.logit_bias.clear();
  for (const std::string& text : flags.logit_bias) {
    const auto pair = parse_id_and_value(text, -most_bias, most_bias);
    if (!pair) return fail(Errc::usage, "--logit-bias: {}", pair.error().message);
    if (pair->id >= vocab) {
      return fail(Errc::usage, "--logit-bias: {} is no token id; the model has ids 0 to {}", pair->id, vocab - 1);
    }
    options.sampling.logit_bias.push_back({TokenId{static_cast<std::int32_t>(pair->id)}, pair->value});
  }
  options.stop_strings = flags.stop;
  if (Status good = check_stop_strings(flags.stop); !good) return fail(Errc::usage, "--stop: {}", good.error().message);
  return {};
}

}  // namespace cachalot
