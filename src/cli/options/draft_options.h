// SPDX-License-Identifier: Apache-2.0
// --draft: how a command that generates drafts.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "cli/command_line/command.h"
#include "engine/draft_pause.h"
#include "engine/draft_source.h"
#include "engine/generate.h"

namespace cachalot {

struct DraftFlags {
  std::string draft = "auto";  // off, auto, or a number of drafts a round

  bool wanted() const { return draft != "off"; }  // whether the model is to be loaded with its draft stages
};

// Errors: Errc::usage for a number above the model's block.
Status check_draft_count(const DraftFlags& flags, const Config& config);

// Adds --draft.
void add_draft_flag(Command& command, DraftFlags& flags);

// What to generate with; `place` is where the source will live, and what is measured of it. A model without draft
// stages, or one that runs with published-slot index keys (spec 10), does not draft. Errors: Errc::usage for a number
// that such a model was given, or that is above the model's block.
struct DraftPlace {
  std::optional<DraftStages> stages;
  DraftPause pause;
};
Expected<Drafting> drafting_of(const DraftFlags& flags, const LoadedModel& loaded, DraftPlace& place);

// What --stats tells: empty where no round was drafted.
std::string draft_text(const DraftCounts& counts);
Json draft_json(const DraftCounts& counts);

}  // namespace cachalot
