// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "cli/command_line/command.h"
#include "engine/perplexity.h"

namespace cachalot {

// cachalot perplexity: how well a model predicts a text, in bits per byte.
void add_perplexity_command(Command& program);

// A score in two lines, behind one that says so where it is incomplete; and as JSON. `options`: what was asked for.
std::string shown_score(const TextScore& score, const PerplexityOptions& options);
Json score_json(const TextScore& score, const PerplexityOptions& options);

}  // namespace cachalot
