// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/chat_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/machine_memory.h"
#include "base/signals.h"
#include "base/text_input.h"
#include "cli/output/json_lines.h"
#include "cli/output/terminal.h"
#include "tokenizer/chat/json_text.h"

namespace cachalot {
namespace {

constexpr const char* format_name = "cachalot-chat";
constexpr std::int64_t format_version = 1;

Expected<Json> parse_chat_json(std::string_view text, const std::string& name) {
  if (Status fits = expect_room(chat_json_rules.most_memory(text.size()), "reading " + name); !fits)
    return tl::unexpected(fits.error());
  return parse_json(text, name, chat_json_rules);
}

// Into a new file beside it, which then takes its place. Where `path` is a link, the file it leads to is replaced; what
// is no plain file stays as it is. The new file is readable by its owner alone, or by whoever could read the old one.
Status replace_file(const std::filesystem::path& path, std::string_view text) {
  const auto failed = [&](std::string_view why) { return fail(Errc::io, "can't save {}: {}", path.string(), why); };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return failed(std::filesystem::is_directory(status) ? "it is a folder" : "it is no plain file");
  }
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (error) return failed(error.message());
  std::string beside;
  const int descriptor = through_signals([&] {
    beside = target.string() + ".XXXXXX";
    return ::mkostemp(beside.data(), O_CLOEXEC);  // a name that nobody can guess, never a link
  });
  if (descriptor < 0) return failed(std::strerror(errno));
  Status written;
  const auto system = [&](bool good) {
    if (!good && written) written = fail(Errc::io, "{}", std::strerror(errno));
  };
  system(write_all(descriptor, text));
  const auto mode = static_cast<mode_t>(status.permissions());
  if (std::filesystem::exists(status)) system(through_signals([&] { return ::fchmod(descriptor, mode); }) == 0);
  system(through_signals([&] { return ::fsync(descriptor); }) == 0);
  system(::close(descriptor) == 0 || errno == EINTR);
  if (written) system(std::rename(beside.c_str(), target.c_str()) == 0);
  if (written) return {};
  ::unlink(beside.c_str());
  return failed(written.error().message);
}

}  // namespace

Status save_chat(const std::filesystem::path& path, std::span<const Json> messages, const ChatOptions& options) {
  Json list = Json::array();
  for (const Json& message : messages) list.push_back(message);
  Json kept = Json::object({{"mode", options.mode == ChatMode::chat ? "chat" : "thinking"},
                            {"reasoning_effort", options.effort},
                            {"drop_thinking", options.drop_thinking}});
  const Json file = Json::object({{"format", format_name},
                                  {"version", format_version},
                                  {"options", std::move(kept)},
                                  {"messages", std::move(list)}});
  return replace_file(path, file.dump(JsonSpacing::spaced) + '\n');
}

Expected<ChatFile> load_chat(const std::filesystem::path& path) {
  const std::string file = path.string();
  const auto text = read_text_file(path, most_chat_bytes, Pipes::refused);
  if (!text) return tl::unexpected(text.error());
  const auto json = parse_chat_json(*text, file);
  if (!json) return tl::unexpected(json.error());
  const Json* format = json->find("format");
  if (format == nullptr || *format != Json(format_name))
    return fail(Errc::format, "{} is no saved conversation: its \"format\" is not \"{}\"", file, format_name);
  const Json* given_version = json->find("version");
  if (given_version == nullptr || given_version->as_int64() != format_version) {
    return fail(Errc::format, "{} has version {}, and only {} is known", file,
                given_version == nullptr ? "none" : shown(*given_version), format_version);
  }
  const Json* options = json->find("options");
  if (options == nullptr || !options->is_object())
    return fail(Errc::format, "{}: \"options\" should be an object", file);
  constexpr std::array<std::string_view, 3> known = {"mode", "reasoning_effort", "drop_thinking"};
  for (const Json::Member& option : options->members()) {
    if (std::ranges::find(known, option.key) != known.end()) continue;
    return fail(Errc::format, "{}: the option {:?} is not known; mode, reasoning_effort and drop_thinking are", file,
                option.key);
  }
  const Json* messages = json->find("messages");
  if (messages == nullptr || !messages->is_array())
    return fail(Errc::format, "{}: \"messages\" should be a list", file);
  const auto read = read_chat_options(*options);
  if (!read) return fail(read.error().code, "{}: {}", file, read.error().message);
  return ChatFile{{messages->items().begin(), messages->items().end()},
                  {.mode = read->mode, .effort = read->effort, .drop_thinking = read->drop_thinking}};
}

Expected<Json> load_json_list(const std::filesystem::path& path) {
  const bool input = path == "-";
  const std::string name = input ? "standard input" : path.string();
  const auto text = input ? read_input(most_chat_bytes) : read_text_file(path, most_chat_bytes, Pipes::allowed);
  if (!text) return tl::unexpected(text.error());
  auto json = parse_chat_json(*text, name);
  if (json && !json->is_array()) return fail(Errc::format, "{} holds {}, expected a list", name, shown(*json));
  return json;
}

}  // namespace cachalot
