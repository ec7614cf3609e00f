// SPDX-License-Identifier: Apache-2.0
#include "cli/options/prefill_options.h"

#include <fmt/core.h>

namespace cachalot {

void add_prefill_flag(Command& command, PrefillFlags& flags) {
  command.group("Speed")
      .choice("--prefill", flags.prefill, {"exact", "replay"},
              "exact: every layer runs the whole prompt; replay: layers from the last KV source on run its end only, a "
              "window of tokens: faster, and an approximation (spec 11)")
      .with_default();
}

Option& add_chunk_flag(Command& command, std::int64_t& rows) {
  return command.group("Speed")
      .whole("--chunk", rows, 1, std::uint64_t{1} << 24,
             "prompt rows run at once; changes speed and memory, never the result")
      .with_default();
}

std::string prefill_text(const Model& model, Prefill prefill, const LayerTokens& work) {
  if (prefill == Prefill::exact) return {};
  if (!model.has_tail()) return "replay: this model has no KV source, all layers ran all tokens";
  return fmt::format("replay: layers {} to {} on a prompt's last {} tokens only: {} of {} layer-tokens",
                     model.tail_layer(), model.config().n_layers - 1, model.tail_rows(), work.run, work.exact);
}

Json prefill_json(Prefill prefill, const LayerTokens& work) {
  return Json::object({{"mode", name(prefill)}, {"layer_tokens", work.run}, {"layer_tokens_exact", work.exact}});
}

}  // namespace cachalot
