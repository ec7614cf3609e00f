// SPDX-License-Identifier: Apache-2.0
#include "engine/load_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "base/byte_text.h"
#include "base/process_memory.h"
#include "checkpoint/expected_tensors.h"
#include "engine/reserved_tokens.h"
#include "engine/tokenizer_fit.h"
#include "tokenizer/token_classes.h"
#include "weights/mapped_places.h"

namespace cachalot {

Expected<LoadedModel> load_model(const std::filesystem::path& directory, const ModelOptions& options,
                                 const std::function<void(std::string_view)>& stage, const MemoryRequest& request,
                                 const MachineMemory& machine, const std::filesystem::path& tokenizer_file) {
  const auto tell = [&](std::string_view what) {
    if (stage) stage(what);
  };
  auto files = look_at_model(directory);
  if (!files) return tl::unexpected(files.error());
  MemoryRequest wanted = request;
  wanted.numerics = options.numerics;
  wanted.drafts = options.drafts;
  if (Status fits = check_memory(plan_memory(*files, wanted), machine); !fits) {
    return fail(fits.error().code, "{}: {}", directory.string(), fits.error().message);
  }
  tell("mapping the checkpoint");
  auto opened = open_checkpoint(*files);
  if (!opened) return tl::unexpected(opened.error());
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(*opened));
  tell(fmt::format("checking {} tensors", checkpoint->tensors().size()));
  auto unused = check_tensors(*checkpoint);
  if (!unused) return tl::unexpected(unused.error());
  std::vector<ShownText> warnings(checkpoint->warnings().begin(), checkpoint->warnings().end());
  if (!unused->empty()) {
    warnings.push_back(
        message("{} tensors of {} are not used: {}", unused->size(), directory.string(), shown_list(*unused)));
  }
  give_back_freed_memory();
  MemoryPlan plan = plan_memory(*files, wanted, checkpoint.get());
  plan.mapped = 0;  // it is there already
  if (Status fits = check_memory(plan, machine); !fits) {
    return fail(fits.error().code, "{}: {}", directory.string(), fits.error().message);
  }
  tell("reading the tokenizer");
  const Config& config = checkpoint->config();
  auto tokenizer =
      Tokenizer::load(tokenizer_file.empty() ? directory : tokenizer_file,
                      {.least = config.engram_layer_ids.empty() ? 0 : config.vocab_size, .most = config.vocab_size});
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  if (Status fits = expect_tokenizer_fits(*tokenizer, files->config); !tokenizer_file.empty() && !fits)
    return fail(fits.error().code, "{}: {}", tokenizer_file.string(), fits.error().message);
  TokenClasses classes = token_classes(*tokenizer);
  give_back_freed_memory();
  tell("binding the weights");
  auto model = Model::load(config, std::make_shared<MappedPlaces>(checkpoint), std::move(classes.class_of),
                           classes.classes, options);
  if (!model) return tl::unexpected(model.error());
  std::vector<TokenId> reserved = reserved_tokens(*tokenizer, model->config());
  return LoadedModel{std::move(*files),   std::move(*tokenizer), std::move(*model),
                     std::move(reserved), std::move(warnings),   checkpoint};
}

std::size_t most_prompt_bytes(const LoadedModel& loaded) {
  return static_cast<std::size_t>(loaded.model.config().max_seq_len) * loaded.tokenizer.longest_token();
}

Status set_aside(const LoadedModel& loaded, Context& context, const MemoryRequest& request,
                 const MachineMemory& machine) {
  MemoryRequest wanted = request;
  wanted.numerics = loaded.model.options().numerics;
  wanted.drafts = loaded.model.options().drafts;
  wanted.threads = context.pool.threads();
  MemoryPlan plan = plan_memory(loaded.files, wanted, loaded.checkpoint.get());
  plan.mapped = 0;  // it is there already, and so are the parts below
  OwnMemory& own = plan.own;
  own.tensors = own.copies = own.tokenizer = own.program = own.loading = 0;
  if (Status fits = check_memory(plan, machine); !fits) {
    return fail(fits.error().code, "after loading: {}", fits.error().message);
  }
  try {
    const Arena::Frame whole(context.scratch);
    context.scratch.take_bytes(own.scratch);
  } catch (const std::bad_alloc&) {
    return fail(Errc::memory, "{} of scratch for {} rows a step can't be had; fewer rows a step (--chunk) need less",
                byte_text(own.scratch), std::min(request.chunk, request.context));
  }
  return {};
}

}  // namespace cachalot
