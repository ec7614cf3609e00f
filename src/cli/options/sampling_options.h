// SPDX-License-Identifier: Apache-2.0
// The options of every command that draws tokens.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line/command.h"
#include "engine/generate.h"

namespace cachalot {

struct SamplingFlags {
  SamplingOptions sampling{.temperature = 0.8};
  std::vector<std::string> stop;
  std::vector<std::string> logit_bias;  // each "ID=VALUE"
};

// Adds --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --presence-penalty, --frequency-penalty,
// --logit-bias, --min-tokens, --stop and --seed. Ranges are those of the OpenAI API where it has the field.
void add_sampling_flags(Command& command, SamplingFlags& flags);

// Puts what they say into `options`: sampling and stop_strings. Errc::usage, naming the option, for a token that a
// vocabulary of `vocab` ids lacks and for a stop string that no text can hold.
Status set_sampling(const SamplingFlags& flags, std::int64_t vocab, GenerateOptions& options);

}  // namespace cachalot
