// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_options.h"

#include <cstdint>
#include <limits>

#include "cli/option_checks.h"
#include "engine/stop_strings.h"

namespace cachalot {
namespace {

constexpr double most_bias = 100;

// Each use of the option adds one text, whatever it holds: CLI11's own lists would split "[a,b]" and drop "{}".
CLI::Option* add_texts(CLI::App& command, const char* name, std::vector<std::string>& texts, const char* help) {
  return command
      .add_option(
          name,
          [&texts](const CLI::results_t& given) {
            texts = given;
            return true;
          },
          help)
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  SamplingOptions& s = flags.sampling;
  const auto number = [&](const char* name, double& value, const CLI::Validator& check, const char* help) {
    command.add_option(name, value, help)->check(check)->capture_default_str();
  };
  const auto whole = [&](const char* name, auto& value, std::uint64_t most, const char* help) {
    command.add_option(name, value, help)->transform(whole_number(0, most))->capture_default_str();
  };
  number("--temperature", s.temperature, real_number(0, 100), "0: always the most likely token");
  whole("--top-k", s.top_k, std::uint64_t{1} << 31, "draw from the K most likely tokens; 0: from all");
  number("--top-p", s.top_p, real_number(0, 1, Least::excluded),
         "draw from the fewest tokens that have this share of the probability; 1: from all");
  number("--min-p", s.min_p, real_number(0, 1),
         "leave out tokens less likely than this times the most likely one; 0: none");
  number("--repetition-penalty", s.repetition_penalty, real_number(0, 2, Least::excluded),
         "divide the logit of a token that the prompt or the output has (multiply one below 0); 1: off");
  number("--presence-penalty", s.presence_penalty, real_number(-2, 2),
         "take this from the logit of a token that the output has");
  number("--frequency-penalty", s.frequency_penalty, real_number(-2, 2),
         "take this from it once for each time the output has the token");
  add_texts(command, "--logit-bias", flags.logit_bias,
            "add VALUE, -100 to 100, to the logit of token ID; -100: never draw it; may be repeated")
      ->type_name("ID=VALUE")
      ->check([](const std::string& text) {
        const auto pair = parse_id_and_value(text, -most_bias, most_bias);
        return pair ? std::string() : pair.error().message;
      });
  whole("--min-tokens", s.min_tokens, std::uint64_t{1} << 40, "make so many tokens before the end may come");
  add_texts(command, "--stop", flags.stop, "end before this text; may be repeated")
      ->type_name("TEXT")
      ->check([](const std::string& text) {
        const Status good = check_stop_strings({&text, 1});
        return good ? std::string() : good.error().message;
      });
  whole("--seed", s.seed, std::numeric_limits<std::uint64_t>::max(), "the same seed gives the same text");
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
