// SPDX-License-Identifier: Apache-2.0
// --prefill: how a command that generates runs its prompt.
#pragma once

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "base/json.h"
#include "cli/command_line/command.h"
#include "engine/prefill.h"

namespace cachalot {

struct PrefillFlags {
  std::string prefill = "exact";

  Prefill value() const { return prefill == "replay" ? Prefill::replay : Prefill::exact; }
};

// Adds --prefill.
void add_prefill_flag(Command& command, PrefillFlags& flags);

// Adds --chunk.
Option& add_chunk_flag(Command& command, std::int64_t& rows);

// What --stats tells of what a replay saved: empty for an exact prefill.
std::string prefill_text(const Model& model, Prefill prefill, const LayerTokens& work);
// mode, layer_tokens, layer_tokens_exact.
Json prefill_json(Prefill prefill, const LayerTokens& work);

}  // namespace cachalot
