// SPDX-License-Identifier: Apache-2.0
#include "cli/cache_command.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/byte_text.h"
#include "base/json.h"
#include "base/private_folder.h"
#include "cli/command_line/help_text.h"
#include "cli/options/cache_options.h"
#include "cli/output/terminal.h"
#include "cli/output/text_table.h"
#include "kv/stored_snapshots.h"

namespace cachalot {
namespace {

struct CacheCommandFlags {
  std::string folder;
  bool trusted = false;  // whoever may write to the folder
  bool json = false;
  std::int64_t older = 0;  // days
};

Status expect_folder(const std::string& folder) {
  if (folder == "off")
    return fail(Errc::usage, "which folder? off is the word for none; a folder of that name is ./off");
  if (!folder.empty()) return {};
  return fail(Errc::usage, "which folder? Name it with --cache DIR, or in the variable CACHALOT_CACHE");
}

// Why runs refuse the folder; nothing where they do not, or where it is trusted.
Expected<std::optional<ShownText>> why_distrusted(const CacheCommandFlags& flags) {
  if (flags.trusted) return std::nullopt;
  return why_not_private(flags.folder);
}

// Who may put another folder in its place chooses whose states are removed.
Status expect_private(const CacheCommandFlags& flags) {
  const auto others = why_distrusted(flags);
  if (!others) return tl::unexpected(others.error());
  if (!*others) return {};
  return fail(Errc::io, "{}: nothing is removed there, unless --trust-cache says so", **others);
}

std::string age_text(std::int64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 60 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 60 * 60) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

std::string snapshots_text(std::int64_t n) { return fmt::format("{} snapshot{}", n, n == 1 ? "" : "s"); }

Expected<int> list(const CacheCommandFlags& flags) {
  if (Status given = expect_folder(flags.folder); !given) return tl::unexpected(given.error());
  auto all = stored_snapshots(flags.folder);
  if (!all) return tl::unexpected(all.error());
  // To look does no harm, and shows what others put there.
  const auto others = why_distrusted(flags);
  if (!others) return tl::unexpected(others.error());
  if (*others) spdlog::warn("{}: runs refuse its states without --trust-cache", **others);
  const auto unfinished = unfinished_snapshots(flags.folder);
  if (!unfinished) return tl::unexpected(unfinished.error());
  std::ranges::reverse(*all);  // the newest first
  const auto now = std::filesystem::file_time_type::clock::now();
  std::int64_t bytes = 0, good = 0;
  Json entries = Json::array();
  TextTable table({{"model"}, {"size", true}, {"last used", true}, {"tokens", true}, {"kind"}, {"run by"}});
  std::string damaged;
  for (const StoredSnapshot& s : *all) {
    const std::int64_t age =
        std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - s.last_use).count());
    const auto header = verify(s);
    bytes += s.bytes;
    good += header ? 1 : 0;
    Json entry = Json::object({{"file", s.path.filename().string()},
                               {"bytes", s.bytes},
                               {"age_seconds", age},
                               {"readable", header.has_value()}});
    if (header) {
      entry.set("tokens", header->numbers.length);
      entry.set("kind", name(header->kind));
      entry.set("model", header->key.model);
      entry.set("fingerprint", header->key.fingerprint);
      entry.set("mode", header->key.mode);
      table.row({fmt::format("{} {}", header->key.model, header->key.fingerprint.substr(0, 8)), byte_text(s.bytes),
                 fmt::format("{} ago", age_text(age)), std::to_string(header->numbers.length), name(header->kind),
                 header->key.mode});
    } else {
      entry.set("error", header.error().message);
      damaged +=
          fmt::format("can't be read: {} ({}, {} ago)\n", header.error().message, byte_text(s.bytes), age_text(age));
    }
    entries.push_back(std::move(entry));
  }
  const std::int64_t count = std::ssize(*all);
  if (flags.json) {
    const Json out = Json::object({{"folder", flags.folder},
                                   {"snapshots", std::move(entries)},
                                   {"files", count},
                                   {"bytes", bytes},
                                   {"readable", good},
                                   {"unfinished_files", unfinished->files},
                                   {"unfinished_bytes", unfinished->bytes}});
    print_out(out.dump() + "\n");
  } else {
    std::string lines = good > 0 ? table.text(table_columns()) + '\n' : "";
    lines += damaged;
    lines += fmt::format("{}, {} in all, {} of them readable\n", snapshots_text(count), byte_text(bytes), good);
    if (unfinished->files > 0)
      lines += fmt::format("and {} not finished, {}\n", unfinished->files, byte_text(unfinished->bytes));
    print_out(lines);
  }
  return 0;
}

Expected<int> clear(const CacheCommandFlags& flags) {
  if (Status given = expect_folder(flags.folder); !given) return tl::unexpected(given.error());
  if (Status own = expect_private(flags); !own) return tl::unexpected(own.error());
  const auto removed = remove_snapshots(flags.folder, std::chrono::hours(24 * flags.older));
  if (!removed) return tl::unexpected(removed.error());
  if (flags.json) {
    print_out(Json::object({{"folder", flags.folder},
                            {"removed", removed->files},
                            {"bytes", removed->bytes},
                            {"unfinished_removed", removed->unfinished}})
                  .dump() +
              "\n");
  } else {
    print_out(fmt::format("{} removed, {}\n", snapshots_text(removed->files), byte_text(removed->bytes)));
    if (removed->unfinished > 0) print_out(fmt::format("and {} not finished\n", removed->unfinished));
  }
  return 0;
}

}  // namespace

void add_cache_command(Command& program) {
  Command& command = program.add_command("cache", "Look at or clear the states that --cache keeps");
  const auto flags = std::make_shared<CacheCommandFlags>();
  const auto add = [&](const char* name, const char* what, const char* trust,
                       Expected<int> (*run)(const CacheCommandFlags&)) -> Command& {
    Command& sub = command.add_command(name, what);
    add_cache_folder_flag(sub, flags->folder, "the folder of kept states");
    add_trust_cache_flag(sub, flags->trusted, trust);
    sub.group("Output").flag("--json", flags->json, "write one JSON object");
    sub.runs([flags, run] { return run(*flags); });
    return sub;
  };
  add("ls", "List the states, the one used last first; reads and checks every byte",
      "no warning where the folder is another user's or others may write to it", list)
      .examples({"cachalot cache ls --cache states", "CACHALOT_CACHE=states cachalot cache ls"});
  Command& clearing = add("clear", "Remove the states; other files in the folder stay",
                          "also where the folder is another user's or others may write to it", clear);
  clearing.group("Kept states")
      .whole("--older", flags->older, 1, 36500, "only those that were not used for so many days")
      .placeholder("DAYS");
  clearing.examples({"cachalot cache clear --cache states --older 7"});
  command.examples({"cachalot cache ls --cache states", "CACHALOT_CACHE=states cachalot cache clear"});
}

}  // namespace cachalot
