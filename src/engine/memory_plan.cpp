// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include <algorithm>
#include <string>

#include "base/byte_text.h"
#include "base/ids.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/safetensors.h"
#include "model/scratch_bytes.h"
#include "weights/small_parameters.h"

namespace cachalot {
namespace {

// Measured with tools/measure_memory.py, which also says when they are no longer true.
constexpr std::int64_t program_bytes = 5 << 19;     // libraries, tables of our own, the caller's stack
constexpr std::int64_t thread_bytes = 16 << 10;     // of its stack that a thread touches
constexpr std::int64_t tensor_bytes = 400;          // kept of each tensor
constexpr std::int64_t indexed_tensor_bytes = 450;  // besides, while the index is read and compared
constexpr std::int64_t header_tensor_bytes = 700;   // besides, while the header it stands in is read
constexpr std::int64_t vocabulary_bytes = 50;       // of a tokenizer.json that is not there, each token
constexpr double tokenizer_share = 2.75;            // of tokenizer.json that is kept
constexpr double tokenizer_loading_share = 8;       // of it while it is read

WeightGroup group_of(const ExpectedTensor& tensor) {
  switch (tensor.part) {
    case Part::experts:
      return WeightGroup::experts;
    case Part::engram:
      return tensor.role == TensorRole::fp8_rows || tensor.role == TensorRole::fp8_rows_scale ? WeightGroup::engram
                                                                                              : WeightGroup::dense;
    case Part::drafts:
      return WeightGroup::drafts;
    case Part::vision:
      return WeightGroup::vision;
    default:
      return WeightGroup::dense;
  }
}

// The share of a tensor that a step of one row reads (a draft block, of the draft stages).
double step_share(const Config& c, const ExpectedTensor& tensor) {
  const auto share = [](std::int64_t read, std::int64_t all) {
    return std::min(1.0, static_cast<double>(read) / static_cast<double>(std::max<std::int64_t>(1, all)));
  };
  const bool draft = tensor.part == Part::drafts;
  switch (tensor.role) {
    case TensorRole::embedding:
      return share(draft ? c.dspark_block_size : 1, tensor.shape[0]);
    case TensorRole::fp8_rows:
    case TensorRole::fp8_rows_scale:
      return share(c.engram_columns(), tensor.shape[0]);
    case TensorRole::fp4:  // routed experts, and no others
    case TensorRole::fp4_scale:
      return share(c.active_experts(tensor.layer) * (draft ? c.dspark_block_size : 1), c.experts(tensor.layer));
    default:
      return 1;
  }
}

std::array<WeightsPlan, weight_groups> plan_weights(const Config& config, bool drafts, const Checkpoint* opened) {
  std::array<WeightsPlan, weight_groups> groups;
  for (const ExpectedTensor& tensor : expected_tensors(config)) {
    const TensorInfo* real = opened == nullptr ? nullptr : opened->find(tensor.name);
    if (opened != nullptr ? real == nullptr : !tensor.required) continue;
    const std::int64_t bytes = real == nullptr ? tensor.bytes() : real->bytes;
    WeightsPlan& group = groups[static_cast<std::size_t>(group_of(tensor))];
    ++group.tensors;
    group.bytes += bytes;
    group.step_bytes += static_cast<std::int64_t>(static_cast<double>(bytes) * step_share(config, tensor));
  }
  groups[static_cast<std::size_t>(WeightGroup::drafts)].used = drafts;
  groups[static_cast<std::size_t>(WeightGroup::vision)].used = false;
  return groups;
}

StateBytes operator*(StateBytes one, std::int64_t n) {
  for (std::int64_t* part : {&one.rings, &one.compressor_inputs, &one.history, &one.compressed, &one.index_keys})
    *part *= n;
  return one;
}

// Of a prompt's chunk, and of every sequence's newest token with the drafts behind it.
std::int64_t largest_scratch(const Config& config, const MemoryRequest& r) {
  StepShape prompt{.rows = std::min(r.chunk, r.context),
                   .positions = r.context,
                   .logits = r.all_logits ? std::min(r.chunk, r.context) : 1,
                   .threads = r.threads,
                   .numerics = r.numerics,
                   .drafts = r.drafts};
  StepShape all = prompt;
  all.sequences = r.sequences;
  all.rows = all.logits = r.sequences * (1 + (r.drafts ? config.dspark_block_size : 0));
  return std::max(scratch_bytes(config, prompt), scratch_bytes(config, all));
}

}  // namespace

const char* name(WeightGroup group) {
  switch (group) {
    case WeightGroup::dense:
      return "dense";
    case WeightGroup::experts:
      return "routed experts";
    case WeightGroup::engram:
      return "Engram tables";
    case WeightGroup::drafts:
      return "draft stages";
    case WeightGroup::vision:
      return "vision";
  }
  return "?";
}

std::int64_t MemoryPlan::used_bytes() const {
  std::int64_t bytes = 0;
  for (const WeightsPlan& group : weights) bytes += group.used ? group.bytes : 0;
  return bytes;
}

std::int64_t MemoryPlan::step_bytes() const {
  std::int64_t bytes = 0;
  for (const WeightsPlan& group : weights) bytes += group.used ? group.step_bytes : 0;
  return bytes;
}

MemoryPlan plan_memory(const ModelFiles& files, const MemoryRequest& wanted, const Checkpoint* opened) {
  const Config& c = files.config;
  MemoryPlan plan;
  plan.request = wanted;
  MemoryRequest& request = plan.request;
  request.context = std::clamp<std::int64_t>(request.context, 1, c.max_seq_len);
  request.chunk = std::max<std::int64_t>(1, request.chunk);
  plan.weights = plan_weights(c, request.drafts, opened);
  plan.mapped = files.shard_bytes;

  std::int64_t tensors = 0;
  for (const WeightsPlan& group : plan.weights) tensors += group.tensors;
  if (files.shards == 0) plan.mapped = plan.used_bytes();
  const std::int64_t shards = std::max<std::int64_t>(1, files.shards);
  const std::int64_t row = c.vocab_size * static_cast<std::int64_t>(sizeof(float));

  const auto tokenizer =
      static_cast<double>(files.tokenizer_bytes > 0 ? files.tokenizer_bytes : c.vocab_size * vocabulary_bytes);

  OwnMemory& own = plan.own;
  own.state = state_bytes(state_shape_of(c), request.context) * request.sequences;
  own.prefixes = request.prefixes;
  own.scratch = largest_scratch(c, request);
  own.logits = (request.sequences + 4) * row + (request.drafts ? 2 * request.sequences * c.dspark_block_size * row : 0);
  if (request.all_logits) own.logits += std::min(request.chunk, request.context) * row;
  own.tensors = tensors * tensor_bytes;
  own.copies = opened == nullptr ? 0 : opened->copied_bytes() + widened_bytes(*opened);
  own.tokenizer = static_cast<std::int64_t>(tokenizer * tokenizer_share) + row;
  own.program = program_bytes + request.threads * thread_bytes;
  // As long as it is, whatever it says: a header may list more tensors than the config wants.
  const std::int64_t foreign_header = files.header_bytes * safetensors_header_share;
  const std::int64_t table = tensors * (files.indexed ? indexed_tensor_bytes : 0),
                     header = tensors / shards * header_tensor_bytes;
  own.loading =
      own.program + own.tensors + own.copies +
      std::max({table, header, foreign_header, static_cast<std::int64_t>(tokenizer * tokenizer_loading_share)});
  return plan;
}

std::array<std::int64_t, weight_groups> resident_bytes(const MemoryPlan& plan, std::int64_t room) {
  std::array<std::size_t, weight_groups> order{};
  for (std::size_t i = 0; i < weight_groups; ++i) order[i] = i;
  const auto often = [&](std::size_t group) {
    const WeightsPlan& w = plan.weights[group];
    return static_cast<double>(w.step_bytes) / static_cast<double>(std::max<std::int64_t>(1, w.bytes));
  };
  std::ranges::stable_sort(order, std::greater(), often);
  std::array<std::int64_t, weight_groups> resident{};
  room = std::max<std::int64_t>(0, room);
  for (const std::size_t group : order) {
    if (!plan.weights[group].used) continue;
    resident[group] = std::min(room, plan.weights[group].bytes);
    room -= resident[group];
  }
  return resident;
}

Status check_memory(const MemoryPlan& plan, const MachineMemory& machine) {
  const OwnMemory& own = plan.own;
  const MemoryRequest& r = plan.request;
  const auto count = [](std::int64_t n, const char* one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); };
  const std::string kept = own.prefixes > 0 ? fmt::format("kept states {}, ", byte_text(own.prefixes)) : "";
  const std::string needed = fmt::format(
      "{} of its own (state {} of {} at {}, {}scratch {} for {} a step and {}, {} besides)", byte_text(own.peak()),
      byte_text(own.state.all()), count(r.sequences, "sequence"), count(r.context, "position"), kept,
      byte_text(own.scratch), count(std::min(r.chunk, r.context), "row"), count(r.threads, "thread"),
      byte_text(own.peak() - own.state.all() - own.prefixes - own.scratch));
  if (machine.available && own.peak() > machine.available->bytes) {
    return fail(
        Errc::memory,
        "not enough memory: this needs {}, and {} are left ({}); fewer positions, fewer rows a step (--chunk){} or "
        "fewer threads need less",
        needed, byte_text(machine.available->bytes), machine.available->from,
        own.prefixes > 0 ? ", fewer kept states (--cache-budget)" : "");
  }
  const std::int64_t stacks = r.threads * machine.thread_stack;
  if (machine.data && own.peak() + stacks > machine.data->bytes) {
    return fail(Errc::memory, "not enough memory: this needs {} and stacks of {}, and {} leaves {}; raise that limit",
                needed, byte_text(stacks), machine.data->from, byte_text(machine.data->bytes));
  }
  if (machine.address_space && plan.mapped + own.peak() + stacks > machine.address_space->bytes) {
    return fail(
        Errc::memory,
        "not enough address space: this maps {} of files, needs {} and stacks of {}, and {} leaves {}; raise that "
        "limit (`ulimit -v unlimited`)",
        byte_text(plan.mapped), needed, byte_text(stacks), machine.address_space->from,
        byte_text(machine.address_space->bytes));
  }
  return {};
}

}  // namespace cachalot
