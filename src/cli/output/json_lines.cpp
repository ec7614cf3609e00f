// SPDX-License-Identifier: Apache-2.0
#include "cli/output/json_lines.h"

#include <unistd.h>

#include <cerrno>
#include <ios>
#include <istream>
#include <ostream>

#include "base/machine_memory.h"

namespace cachalot {
namespace {

// The next line without its end; the bytes beyond `most_bytes` are read and dropped, all but one, up to `endless` in
// all. False at the end, and where reading fails or `endless` bytes are no line, which sets the badbit.
bool read_line(std::istream& in, std::string& line, std::size_t most_bytes, std::size_t endless) {
  using Traits = std::istream::traits_type;
  line.clear();
  try {
    auto c = in.rdbuf()->sbumpc();
    if (c == Traits::eof()) return false;
    std::size_t bytes = 0;
    for (; c != Traits::eof() && c != '\n'; c = in.rdbuf()->sbumpc()) {
      if (line.size() <= most_bytes) line += Traits::to_char_type(c);
      if (++bytes < endless) continue;
      in.setstate(std::ios::badbit);
      return false;
    }
    return true;
  } catch (const std::ios::failure&) {  // a file's buffer throws, as for a directory
    in.setstate(std::ios::badbit);
    return false;
  }
}

}  // namespace

std::string answer_text(const Expected<Json>& answer) {
  return answer ? answer->dump() : Json::object({{"error", answer.error().message}}).dump();
}

bool answer_lines(const LineAnswer& answer, std::istream& in, std::ostream& out, std::size_t most_bytes,
                  std::size_t endless) {
  std::string line;
  while (out.good() && read_line(in, line, most_bytes, most_bytes * endless)) {
    Expected<Json> result = fail(Errc::range, "a line of more than {} bytes", most_bytes);
    if (line.size() <= most_bytes) {
      const Status fits = expect_room(JsonRules{}.most_memory(line.size()), "reading this line");
      result = fits ? answer(line) : Expected<Json>(tl::unexpected(fits.error()));
    }
    out << answer_text(result) << '\n' << std::flush;
  }
  return out.good();
}

Expected<LineFile> LineFile::open(const std::filesystem::path& path) {
  auto file = OpenFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if (!file->regular() && !file->pipe())
    return fail(Errc::io, "{} is {}, expected a regular file or a pipe", path.string(), file->kind());
  return LineFile(std::move(*file));
}

LineFile::int_type LineFile::underflow() {
  ssize_t n;
  do {
    n = ::read(file_.descriptor(), piece_.data(), piece_.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) throw std::ios::failure("read");
  setg(piece_.data(), piece_.data(), piece_.data() + n);
  return n == 0 ? traits_type::eof() : traits_type::to_int_type(piece_[0]);
}

std::string shown(const Json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a string";
  const std::string text = value.dump();
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

}  // namespace cachalot
