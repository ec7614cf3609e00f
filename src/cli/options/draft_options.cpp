// SPDX-License-Identifier: Apache-2.0
#include "cli/options/draft_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "cli/command_line/option_checks.h"

namespace cachalot {

void add_draft_flag(Command& command, DraftFlags& flags) {
  command.group("Speed")
      .text("--draft", flags.draft,
            "guess tokens ahead with the model's draft stages and check them all at once: off, auto (pauses while that "
            "is measured to be slower), or so many every time, up to the model's block; changes speed, never the text")
      .check([](const std::string& text) {
        return text == "off" || text == "auto" || parse_whole_number(text, 1, 1024)
                   ? std::string()
                   : fmt::format(
                         "expected off, auto, or a number from 1 to the model's block (at most 1024), found {:?}",
                         text);
      })
      .placeholder("off|auto|N")
      .with_default();
}

Status check_draft_count(const DraftFlags& flags, const Config& config) {
  const std::int64_t block = config.n_mtp_layers > 0 ? config.dspark_block_size : 0;
  if (flags.draft == "off" || flags.draft == "auto" || std::atoll(flags.draft.c_str()) <= block) return {};
  if (block == 0) return fail(Errc::usage, "--draft {}: this model has no draft stages; use --draft off", flags.draft);
  return fail(Errc::usage, "--draft {}: the model was trained to draft {} tokens; more are refused", flags.draft,
              block);
}

Expected<Drafting> drafting_of(const DraftFlags& flags, const LoadedModel& loaded, DraftPlace& place) {
  if (!flags.wanted()) return Drafting{};
  if (Status good = check_draft_count(flags, loaded.model.config()); !good) return tl::unexpected(good.error());
  const bool automatic = flags.draft == "auto";
  if (!loaded.model.weights().draft) return Drafting{};
  if (loaded.model.options().index_keys == IndexKeys::published_slot) {
    if (automatic) return Drafting{};
    return fail(Errc::usage, "--draft {}: with --index-keys published-slot a run goes token by token (spec 10)",
                flags.draft);
  }
  place.stages.emplace(loaded.model);
  if (automatic) {
    const std::int64_t block = loaded.model.config().dspark_block_size;
    return Drafting{.source = &*place.stages, .count = block, .pause = &place.pause};
  }
  return Drafting{.source = &*place.stages, .count = std::atoll(flags.draft.c_str())};
}

std::string draft_text(const DraftCounts& counts) {
  if (counts.drafted_rounds == 0) return {};
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < counts.proposed.size(); ++i) {
    shares.push_back(
        fmt::format("{:.2f}", static_cast<double>(counts.accepted[i]) / static_cast<double>(counts.proposed[i])));
  }
  return fmt::format("{:.2f} drafts accepted a round, in {} rounds with drafts and {} without; by place {}",
                     counts.accepted_per_round(), counts.drafted_rounds, counts.plain_rounds, fmt::join(shares, " "));
}

Json draft_json(const DraftCounts& counts) {
  Json proposed = Json::array(), accepted = Json::array();
  for (const std::int64_t n : counts.proposed) proposed.push_back(n);
  for (const std::int64_t n : counts.accepted) accepted.push_back(n);
  return Json::object({{"drafted_rounds", counts.drafted_rounds},
                       {"plain_rounds", counts.plain_rounds},
                       {"proposed", std::move(proposed)},
                       {"accepted", std::move(accepted)}});
}

}  // namespace cachalot
