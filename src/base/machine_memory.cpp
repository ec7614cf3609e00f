// SPDX-License-Identifier: Apache-2.0
#include "base/machine_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "base/byte_text.h"
#include "base/cgroups.h"

namespace cachalot {
namespace {

constexpr std::int64_t default_stack = 8 << 20;  // where the limit on stacks says nothing

// The number after a word that starts a line: "MemTotal:  123 kB", "inactive_file 123".
std::optional<std::int64_t> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return leading_number(line.substr(key.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

// The same for what is told in kB.
std::optional<std::int64_t> kib_of(std::string_view text, std::string_view key) {
  const auto kib = value_of(text, key);
  if (!kib || *kib < 0 || *kib > std::numeric_limits<std::int64_t>::max() / 1024) return std::nullopt;
  return *kib * 1024;
}

void lower(std::optional<MemoryBound>& bound, std::int64_t bytes, std::string from) {
  if (!bound || bytes < bound->bytes) bound = MemoryBound{std::max<std::int64_t>(0, bytes), std::move(from)};
}

// The files of one of the two kinds of memory cgroups.
struct CgroupFiles {
  std::vector<const char*> limits;
  const char* used;
  std::array<const char*, 2> files;  // memory.stat's keys for pages of files, idle and in use
};

void lower_by_cgroup(MachineMemory& memory, const Cgroup& group) {
  const CgroupFiles kind =
      group.version == 2
          ? CgroupFiles{{"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}}
          : CgroupFiles{
                {"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file ", "total_active_file "}};
  const std::string stat = small_file(group.folder / "memory.stat");
  for (const char* name : kind.limits) {
    const auto limit = leading_number(small_file(group.folder / name));
    const auto used = leading_number(small_file(group.folder / kind.used));
    if (!limit || *limit < 0) continue;
    const std::string from = fmt::format("cgroup {}, {}", group.name.string(), name);
    std::int64_t kept = used.value_or(0);
    for (const char* key : kind.files) kept -= value_of(stat, key).value_or(0);
    lower(memory.limit, *limit, from);
    lower(memory.available, *limit - std::max<std::int64_t>(0, kept), from);
  }
}

}  // namespace

MachineMemory machine_memory(const std::filesystem::path& root) {
  MachineMemory memory;
  const std::string system = small_file(root / "proc/meminfo");
  if (const auto total = kib_of(system, "MemTotal:")) lower(memory.limit, *total, "this machine's memory");
  if (const auto left = kib_of(system, "MemAvailable:")) lower(memory.available, *left, "this machine, MemAvailable");
  if (leading_number(small_file(root / "proc/sys/vm/overcommit_memory")) ==
      2) {  // the system promises no more than it has
    const auto most = kib_of(system, "CommitLimit:"), promised = kib_of(system, "Committed_AS:");
    if (most && promised) lower(memory.available, *most - *promised, "this machine, CommitLimit");
  }
  each_cgroup(root, "memory", [&](const Cgroup& group) { lower_by_cgroup(memory, group); });

  const std::string status = small_file(root / "proc/self/status"), limits = small_file(root / "proc/self/limits");
  if (const auto most = value_of(limits, "Max address space"))
    lower(memory.address_space, *most - kib_of(status, "VmSize:").value_or(0), "ulimit -v");
  if (const auto most = value_of(limits, "Max data size"))
    lower(memory.data, *most - kib_of(status, "VmData:").value_or(0), "ulimit -d");
  memory.thread_stack = value_of(limits, "Max stack size").value_or(default_stack);
  return memory;
}

Status expect_room(std::int64_t bytes, std::string_view what) {
  constexpr std::int64_t never_asked = 1 << 20;  // asking reads a dozen files
  return bytes <= never_asked ? Status() : expect_room(bytes, what, machine_memory());
}

Status expect_room(std::int64_t bytes, std::string_view what, const MachineMemory& machine) {
  for (const auto& bound : {machine.available, machine.address_space, machine.data}) {
    if (bound && bytes > bound->bytes) {
      return fail(Errc::memory, "not enough memory: {} may take {}, and {} are left ({})", what, byte_text(bytes),
                  byte_text(bound->bytes), bound->from);
    }
  }
  return {};
}

}  // namespace cachalot
