// SPDX-License-Identifier: Apache-2.0
#include "cli/make_checkpoint_command.h"

#include <fmt/core.h>

#include <limits>
#include <memory>
#include <string>

#include "base/byte_text.h"
#include "checkpoint/make_checkpoint.h"
#include "cli/command_line/layer_list.h"
#include "cli/command_line/option_checks.h"
#include "cli/output/terminal.h"
#include "engine/engram_rows_of_text.h"
#include "engine/tokenizer_fit.h"

namespace cachalot {
namespace {

struct MakeFlags {
  MakeCheckpointOptions options;
  std::string shape;
  bool sparse = false;
  std::string fill_layers, engram_ids, plants;  // lists with commas
};

Status read_plants(std::string_view list, Plants& plants) {
  for (const std::string& name : split_at_commas(list)) {
    if (name == "ties") {
      plants.ties = true;
    } else if (name == "clamps") {
      plants.clamps = true;
    } else {
      return fail(Errc::usage, "--plant: \"{}\" can't be planted; a list is made of ties and clamps", name);
    }
  }
  return {};
}

// The rows that the text --engram-ids reads, with the classes of --tokenizer.
Status read_engram_rows(const MakeFlags& flags, const Config& shape, const Tokenizer& tokenizer, SparseFill& fill) {
  const auto ids = parse_whole_numbers(flags.engram_ids, "--engram-ids");
  if (!ids) return tl::unexpected(ids.error());
  std::vector<TokenId> tokens;
  for (const std::int64_t id : *ids) {
    if (id < 0 || id >= shape.vocab_size) {
      return fail(Errc::usage, "--engram-ids: {} is no token id; the shape has ids 0 to {}", id, shape.vocab_size - 1);
    }
    tokens.push_back(TokenId{static_cast<std::int32_t>(id)});
  }
  auto rows = engram_rows_of_text(shape, token_classes(tokenizer), tokens);
  if (!rows) return tl::unexpected(rows.error());
  fill.engram_rows = std::move(*rows);
  return {};
}

// A tokenizer of another model would make a checkpoint that no command can load.
Status read_tokenizer(const MakeFlags& flags, SparseFill* fill) {
  const auto text = shape_text(flags.options);
  if (!text) return tl::unexpected(text.error());
  const auto shape = parse_config(*text, flags.options.config.string());
  if (!shape) return tl::unexpected(shape.error());
  const auto tokenizer = Tokenizer::load(flags.options.tokenizer);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  if (Status fits = expect_tokenizer_fits(*tokenizer, shape->config); !fits) {
    return fail(Errc::usage, "--tokenizer {}: {}: they are not of the same model", flags.options.tokenizer.string(),
                fits.error().message);
  }
  if (fill == nullptr || flags.engram_ids.empty()) return {};
  return read_engram_rows(flags, shape->config, *tokenizer, *fill);
}

Status read_flags(MakeFlags& flags) {
  if (flags.shape.empty() == flags.options.config.empty())
    return fail(Errc::usage, "give a shape: either --shape released or --config FILE");
  if (!flags.plants.empty()) {
    if (Status good = read_plants(flags.plants, flags.options.plants); !good) return good;
  }
  if (flags.shape.empty() && !flags.sparse && flags.fill_layers.empty()) {
    if (flags.engram_ids.empty()) return flags.options.tokenizer.empty() ? Status() : read_tokenizer(flags, nullptr);
    return fail(Errc::usage, "--engram-ids is for a sparse checkpoint: without --sparse every row has content");
  }
  if (!flags.plants.empty() && flags.fill_layers.empty()) {
    return fail(Errc::usage, "--plant needs layers with content in a sparse checkpoint: name them with --fill-layers");
  }
  SparseFill& fill = flags.options.sparse.emplace();
  if (!flags.fill_layers.empty()) {
    auto layers = parse_layer_list(flags.fill_layers, "--fill-layers");
    if (!layers) return tl::unexpected(layers.error());
    fill.layers = std::move(*layers);
  }
  if (!flags.options.tokenizer.empty()) return read_tokenizer(flags, &fill);
  if (flags.engram_ids.empty()) return {};
  return fail(Errc::usage, "--engram-ids needs --tokenizer: rows are hashes of its token classes");
}

int make(MakeFlags& flags) {
  MakeCheckpointOptions& options = flags.options;
  if (Status good = read_flags(flags); !good) return report(good.error());
  catch_interrupts();
  Progress progress;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show("writing MiB", done >> 20, total >> 20);
    return !interrupted();
  };
  const auto made = make_checkpoint(options);
  progress.clear();
  if (!made) return report(made.error());
  print_out(fmt::format(
      "{}: {} tensors, {}, in {} shard{}{}\n", options.out.string(), made->tensors, byte_text(made->bytes),
      made->shards, made->shards == 1 ? "" : "s",
      options.sparse ? fmt::format("; {} of them written, the rest are holes", byte_text(made->written)) : ""));
  return 0;
}

}  // namespace

void add_make_checkpoint_command(Command& program) {
  Command& command = program.add_command("make-checkpoint", "Write a checkpoint with random weights, of any shape");
  const auto flags = std::make_shared<MakeFlags>();
  MakeCheckpointOptions& options = flags->options;
  OptionGroup& shape = command.group("Shape and place");
  shape.choice("--shape", flags->shape, {"released"},
               "released: the whole released model, 475 GiB, as sparse files that take almost no disk");
  shape.path("--config", options.config, "another shape: a config.json in either spelling").placeholder("FILE");
  shape.path("--out", options.out, "folder to write into, made if need be").required().placeholder("DIR");
  shape.flag("--force", options.force, "write into a folder that has files; a model in it is replaced");
  shape.whole("--shards", options.shards, 1, 99'999, "number of files (default: as few as keep each under 4 GiB)");
  shape.path("--tokenizer", options.tokenizer, "a tokenizer.json to copy beside the weights").placeholder("FILE");
  OptionGroup& weights = command.group("Weights");
  weights
      .whole("-s,--seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max(),
             "the same seed gives the same weights")
      .with_default();
  weights.flag("--sparse", flags->sparse, "write headers only; weights are holes in the files and read as zero");
  weights
      .text("--fill-layers", flags->fill_layers,
            "sparse, but with random weights in these layers (draft stages are the last), the embedding, the head, and "
            "all norms and hyper-connections; the Engram tables stay holes")
      .not_empty()
      .placeholder("1,2-5,...");
  weights
      .text("--engram-ids", flags->engram_ids,
            "where sparse: random values in the rows of the Engram tables that a text of these token ids reads")
      .not_empty()
      .placeholder("ID,ID,...");
  weights
      .text("--plant", flags->plants,
            "ties: equal scores of experts, index groups and tokens; clamps: experts that leave swiglu_limit behind")
      .not_empty()
      .placeholder("ties,clamps");
  command.group("Machine")
      .whole("-t,--threads", options.threads, 1, 1024,
             "threads that make the weights; changes speed, never the weights")
      .with_default();
  command.examples(
      {"cachalot make-checkpoint --config models/demo/config.json --out /tmp/random --seed 7 --tokenizer "
       "models/demo/tokenizer.json",
       "cachalot make-checkpoint --shape released --out /tmp/released",
       "cachalot make-checkpoint --shape released --out /tmp/part --fill-layers 1,2,20"});
  command.runs([flags]() -> Expected<int> { return make(*flags); });
}

}  // namespace cachalot
