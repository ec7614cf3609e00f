// SPDX-License-Identifier: Apache-2.0
#include "cli/make_checkpoint_command.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "checkpoint/make_checkpoint.h"
#include "cli/byte_text.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"

namespace cachalot {
namespace {

int make(MakeCheckpointOptions& options) {
  catch_interrupts();
  Progress progress;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show("writing MiB", done >> 20, total >> 20);
    return !interrupted();
  };
  const auto made = make_checkpoint(options);
  progress.clear();
  if (!made) return report(made.error());
  print_out(fmt::format("{}: {} tensors, {}, in {} shard{}\n", options.out.string(), made->tensors,
                        byte_text(made->bytes), made->shards, made->shards == 1 ? "" : "s"));
  return 0;
}

}  // namespace

void add_make_checkpoint_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("make-checkpoint", "Write a checkpoint with random weights, of any shape");
  const auto options = std::make_shared<MakeCheckpointOptions>();
  command->add_option("--config", options->config, "the shape: a config.json in either spelling")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder to write into, made if need be")->required()->type_name("DIR");
  command->add_option("--seed", options->seed, "the same seed gives the same weights")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  command->add_option("--shards", options->shards, "number of files (default: as many as keep each under 4 GiB)")
      ->transform(whole_number(1, 99'999));
  command->add_option("--tokenizer", options->tokenizer, "a tokenizer.json to copy beside the weights")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "write into a folder that has files; a model in it is replaced");
  command->footer(
      "Example: cachalot make-checkpoint --config models/prototype/config.json --out /tmp/random --seed 7 \\\n"
      "             --tokenizer models/prototype/tokenizer.json");
  command->callback([options, &exit_code] { exit_code = make(*options); });
}

}  // namespace cachalot
