// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_command.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <system_error>

#include "cli/command_line/help_text.h"
#include "cli/options/default_model.h"
#include "cli/options/model_options.h"
#include "cli/output/backend_table.h"
#include "cli/output/inspect_report.h"
#include "cli/output/state_report.h"
#include "cli/output/terminal.h"

namespace cachalot {
namespace {

struct InspectFlags {
  std::string model;
  bool tensors = false, json = false, backends = false, state = false;
  std::int64_t context = 0;  // 0: the model's
};

int print_backends(bool json) {
  print_out(json ? backend_table_json(all_backends()).dump() + "\n" : backend_table_text(all_backends()));
  return 0;
}

// Of a folder, only its config.json is read; a config.json by itself will do.
int print_state(const InspectFlags& flags) {
  auto path = resolve_model(flags.model);
  if (!path) return report(path.error());
  std::error_code wrong;  // told by who opens it
  if (std::filesystem::is_directory(*path, wrong)) *path /= "config.json";
  const auto loaded = load_config(*path);
  if (!loaded) return report(loaded.error());
  const Config& config = loaded->config;
  if (flags.context > config.max_seq_len) {
    return report({Errc::usage, fmt::format("--context {}: the model's context has {} positions", flags.context,
                                            config.max_seq_len)});
  }
  const std::int64_t positions = flags.context > 0 ? flags.context : config.max_seq_len;
  print_out(flags.json ? state_json(config, positions).dump() + "\n" : state_text(config, positions, table_columns()));
  return 0;
}

int inspect_model(const InspectFlags& flags) {
  const auto path = resolve_model(flags.model);
  if (!path) return report(path.error());
  const auto checkpoint = Checkpoint::open(*path);
  if (!checkpoint) return report(checkpoint.error());
  for (const ShownText& warning : checkpoint->warnings()) spdlog::warn("{}", warning);
  if (flags.json) {
    print_out(inspection_json(inspect(*checkpoint), flags.tensors).dump() + "\n");
  } else {
    print_out(flags.tensors ? tensor_list_text(*checkpoint, table_columns())
                            : inspection_text(inspect(*checkpoint), table_columns()));
  }
  std::fflush(stdout);
  // Told last: what is there was shown all the same.
  const auto unused = check_tensors(*checkpoint);
  if (!unused) return report(unused.error());
  if (!unused->empty()) spdlog::warn("{}", message("{} tensors are not used: {}", unused->size(), shown_list(*unused)));
  return 0;
}

}  // namespace

void add_inspect_command(Command& program) {
  Command& command =
      program.add_command("inspect", "Show what a checkpoint is made of: layers, roles, shapes, types, bytes");
  const auto flags = std::make_shared<InspectFlags>();
  add_model_argument(command, flags->model, "folder of the checkpoint (default: the bundled model)");
  OptionGroup& what = command.group("What to show");
  const Option& tensors = what.flag("--tensors", flags->tensors, "list every tensor: name, type, shape, bytes, file");
  const Option& state =
      what.flag("--state", flags->state, "show what one sequence takes in memory; a config.json is enough")
          .excludes(tensors);
  what.whole("-c,--context", flags->context, 1, std::uint64_t{1} << 40,
             "with --state: at this many positions (default: all the model has)")
      .needs(state);
  what.flag("--backends", flags->backends, "show which operators each backend of this build has instead")
      .excludes(*command.find("model"))
      .excludes(*command.find("--model"))
      .excludes(state)
      .excludes(tensors);
  what.flag("--json", flags->json, "one JSON document; with --tensors it has every tensor too");
  command.examples({"cachalot inspect models/demo", "cachalot inspect models/demo --tensors | grep indexer",
                    "cachalot inspect models/demo/config.json --state --context 4096", "cachalot inspect --backends"});
  command.runs([flags]() -> Expected<int> {
    return flags->backends ? print_backends(flags->json) : flags->state ? print_state(*flags) : inspect_model(*flags);
  });
}

}  // namespace cachalot
