// SPDX-License-Identifier: Apache-2.0
#include "base/text_input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/open_file.h"

namespace cachalot {
namespace {

// Appends what the descriptor gives, up to one byte more than `most_bytes`. Errors: the system's words alone.
Status read_on(int descriptor, std::size_t most_bytes, std::string& text) {
  constexpr std::size_t piece = 1 << 16;
  while (text.size() <= most_bytes) {
    const std::size_t before = text.size();
    text.resize(before + std::min(piece, most_bytes + 1 - before));
    const ssize_t n = ::read(descriptor, text.data() + before, text.size() - before);
    const int error = errno;
    text.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n == 0) return {};
    if (n < 0 && error != EINTR) return fail(Errc::io, "{}", std::strerror(error));
  }
  return {};
}

tl::unexpected<Error> too_long(std::string_view name, std::size_t most_bytes) {
  return fail(Errc::range, "{} has more than the {} bytes that are read at most", name, most_bytes);
}

}  // namespace

Expected<std::string> read_text_file(const std::filesystem::path& path, std::size_t most_bytes, Pipes pipes) {
  const std::string name = path.string();
  const auto file = OpenFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const bool pipe = file->pipe() && pipes == Pipes::allowed;
  if (!file->regular() && !pipe) {
    return fail(Errc::io, "{} is {}, expected a regular file{}", name, file->kind(),
                pipes == Pipes::allowed ? " or a pipe" : "");
  }
  if (file->bytes() > most_bytes) return too_long(name, most_bytes);
  std::string text;
  text.reserve(file->bytes() + (file->regular() ? 1 : 0));
  if (Status done = read_on(file->descriptor(), most_bytes, text); !done)
    return fail(Errc::io, "can't read {}: {}", name, done.error().message);
  if (text.size() > most_bytes) return too_long(name, most_bytes);
  if (pipe && text.empty()) return fail(Errc::io, "{} is a pipe, and nobody writes to it", name);
  return text;
}

Expected<std::string> read_descriptor(int descriptor, std::string_view name, std::size_t most_bytes) {
  std::string text;
  if (Status done = read_on(descriptor, most_bytes, text); !done)
    return fail(Errc::io, "can't read {}: {}", name, done.error().message);
  if (text.size() > most_bytes) return too_long(name, most_bytes);
  return text;
}

}  // namespace cachalot
