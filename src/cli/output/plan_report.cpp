// SPDX-License-Identifier: Apache-2.0
#include "cli/output/plan_report.h"

#include <fmt/core.h>

#include <optional>
#include <vector>

#include "base/byte_text.h"

namespace cachalot {
namespace {

struct OwnPart {
  const char* name;
  std::int64_t bytes;
};

std::vector<OwnPart> own_parts(const OwnMemory& own) {
  return {{"state, fixed", own.state.fixed()},
          {"state, in pages", own.state.pages()},
          {"kept states", own.prefixes},
          {"scratch", own.scratch},
          {"logits", own.logits},
          {"tensor table", own.tensors},
          {"copies of tensors", own.copies},
          {"tokenizer", own.tokenizer},
          {"program", own.program}};
}

// Bytes that a step of one row finds in no memory, the chosen experts and rows taken as equally likely.
std::int64_t read_from_disk(const MemoryPlan& plan, const std::array<std::int64_t, weight_groups>& resident) {
  double bytes = 0;
  for (std::size_t i = 0; i < weight_groups; ++i) {
    const WeightsPlan& w = plan.weights[i];
    if (!w.used || w.bytes == 0) continue;
    bytes +=
        static_cast<double>(w.step_bytes) * static_cast<double>(w.bytes - resident[i]) / static_cast<double>(w.bytes);
  }
  return static_cast<std::int64_t>(bytes);
}

// Room that is left for mapped weights; nothing where the machine does not say.
std::optional<std::int64_t> room_for_weights(const MemoryPlan& plan, const MachineMemory& machine) {
  if (!machine.available) return std::nullopt;
  return std::max<std::int64_t>(0, machine.available->bytes - plan.own.peak());
}

std::string bound_text(const std::optional<MemoryBound>& bound) {
  return bound ? fmt::format("{} ({})", byte_text(bound->bytes), bound->from) : "unknown";
}

std::string verdict(const MemoryPlan& plan, const MachineMemory& machine) {
  if (const Status works = check_memory(plan, machine); !works) return "this can't work\n";
  const auto room = room_for_weights(plan, machine);
  if (!room) return "this works where memory allows; this machine does not say what it has\n";
  const auto resident = resident_bytes(plan, *room);
  const WeightsPlan& dense = plan.of(WeightGroup::dense);
  const std::int64_t from_disk = read_from_disk(plan, resident);
  if (*room >= plan.used_bytes()) return "this works, and all its weights fit in memory beside it\n";
  std::string text =
      resident[static_cast<std::size_t>(WeightGroup::dense)] == dense.bytes
          ? "this works: the dense weights fit in memory; what does not is read from disk as it is wanted"
          : "this works, but not even the dense weights fit in memory: every step reads from disk";
  return text + fmt::format(", about {} a step\n", byte_text(from_disk));
}

std::string files_text(const ModelFiles& files, const MemoryPlan& plan) {
  std::int64_t tensors = 0;
  for (const WeightsPlan& w : plan.weights) tensors += w.tensors;
  if (files.shards == 0) return fmt::format("{}: {} tensors, as the config says\n", files.path.string(), tensors);
  std::string text = fmt::format("{}: {} tensors, {} in {} file{}", files.path.string(), tensors,
                                 byte_text(files.shard_bytes), files.shards, files.shards == 1 ? "" : "s");
  if (!files.absent.empty())
    text += fmt::format(", {} of which are not there yet: sizes are as the config says", files.absent.size());
  return text + "\n";
}

}  // namespace

std::string plan_text(const ModelFiles& files, const MemoryPlan& plan, const MachineMemory& machine) {
  const MemoryRequest& r = plan.request;
  std::string out = files_text(files, plan);
  out += fmt::format("{} of {} positions, {} rows a step, {} thread{}, {} drafts\n",
                     r.sequences == 1 ? "one sequence" : fmt::format("{} sequences", r.sequences), r.context, r.chunk,
                     r.threads, r.threads == 1 ? "" : "s", r.drafts ? "with" : "without");
  const auto room = room_for_weights(plan, machine);
  const auto resident = resident_bytes(plan, room.value_or(0));
  const auto row = [&](const char* name, std::int64_t tensors, std::int64_t bytes, const std::string& step,
                       const std::string& fits) {
    out += fmt::format("{:<20} {:>8} {:>12} {:>15} {:>15}\n", name, tensors, byte_text(bytes), step, fits);
  };
  out += fmt::format("\n{:<20} {:>8} {:>12} {:>15} {:>15}\n", "weights, mapped", "tensors", "bytes", "a step reads",
                     "fits in memory");
  std::int64_t fitting = 0, tensors = 0;
  for (std::size_t i = 0; i < weight_groups; ++i) {
    const WeightsPlan& w = plan.weights[i];
    if (w.tensors == 0) continue;
    fitting += resident[i];
    tensors += w.used ? w.tensors : 0;
    row(name(static_cast<WeightGroup>(i)), w.tensors, w.bytes, w.used ? byte_text(w.step_bytes) : "not used",
        w.used && room ? byte_text(resident[i]) : "-");
  }
  row("all that is used", tensors, plan.used_bytes(), byte_text(plan.step_bytes()), room ? byte_text(fitting) : "-");

  out += fmt::format("\n{:<20} {:>12}\n", "memory of its own", "bytes");
  for (const OwnPart& part : own_parts(plan.own)) {
    if (part.bytes > 0) out += fmt::format("{:<20} {:>12}\n", part.name, byte_text(part.bytes));
  }
  out += fmt::format("{:<20} {:>12}\n", "all", byte_text(plan.own.running()));
  out += fmt::format("{:<20} {:>12}\n", "while loading", byte_text(plan.own.loading));

  out += fmt::format("\nthis machine: {}; left {}\n", bound_text(machine.limit), bound_text(machine.available));
  if (machine.address_space) out += fmt::format("address space left: {}\n", bound_text(machine.address_space));
  if (machine.data) out += fmt::format("data left: {}\n", bound_text(machine.data));
  return out + verdict(plan, machine);
}

Json plan_json(const ModelFiles& files, const MemoryPlan& plan, const MachineMemory& machine) {
  const MemoryRequest& r = plan.request;
  const auto room = room_for_weights(plan, machine);
  const auto resident = resident_bytes(plan, room.value_or(0));
  std::vector<Json> weights, own;
  for (std::size_t i = 0; i < weight_groups; ++i) {
    const WeightsPlan& w = plan.weights[i];
    weights.push_back(Json::object({{"name", name(static_cast<WeightGroup>(i))},
                                    {"tensors", w.tensors},
                                    {"bytes", w.bytes},
                                    {"step_bytes", w.step_bytes},
                                    {"used", w.used},
                                    {"place", "mapped"},
                                    {"resident_bytes", room ? Json(resident[i]) : Json()}}));
  }
  for (const OwnPart& part : own_parts(plan.own))
    own.push_back(Json::object({{"name", part.name}, {"bytes", part.bytes}}));
  const auto bound = [](const std::optional<MemoryBound>& b) {
    return b ? Json::object({{"bytes", b->bytes}, {"from", b->from}}) : Json();
  };
  const Status works = check_memory(plan, machine);
  Json out = Json::object({{"model", files.path.string()},
                           {"files", files.shards},
                           {"absent_files", static_cast<std::int64_t>(files.absent.size())},
                           {"file_bytes", files.shard_bytes},
                           {"context", r.context},
                           {"chunk", r.chunk},
                           {"sequences", r.sequences},
                           {"threads", r.threads},
                           {"drafts", r.drafts},
                           {"weights", Json::array(std::move(weights))},
                           {"used_bytes", plan.used_bytes()},
                           {"step_bytes", plan.step_bytes()},
                           {"step_disk_bytes", room ? Json(read_from_disk(plan, resident)) : Json()},
                           {"own", Json::array(std::move(own))},
                           {"own_bytes", plan.own.running()},
                           {"loading_bytes", plan.own.loading},
                           {"peak_bytes", plan.own.peak()},
                           {"limit", bound(machine.limit)},
                           {"available", bound(machine.available)},
                           {"address_space", bound(machine.address_space)},
                           {"data", bound(machine.data)},
                           {"works", works.has_value()}});
  if (!works) out.set("error", works.error().message);
  return out;
}

}  // namespace cachalot
