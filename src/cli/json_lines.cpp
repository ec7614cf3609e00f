// SPDX-License-Identifier: Apache-2.0
#include "cli/json_lines.h"

#include <istream>
#include <ostream>

namespace cachalot {
namespace {

// The next line without its end; the bytes beyond `most_bytes` are read and dropped, all but one. False at the end, and
// where reading fails, which sets the badbit.
bool read_line(std::istream& in, std::string& line, std::size_t most_bytes) {
  using Traits = std::istream::traits_type;
  line.clear();
  try {
    auto c = in.rdbuf()->sbumpc();
    if (c == Traits::eof()) return false;
    for (; c != Traits::eof() && c != '\n'; c = in.rdbuf()->sbumpc()) {
      if (line.size() <= most_bytes) line += Traits::to_char_type(c);
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

bool answer_lines(const LineAnswer& answer, std::istream& in, std::ostream& out, std::size_t most_bytes) {
  std::string line;
  while (out.good() && read_line(in, line, most_bytes)) {
    const Expected<Json> result =
        line.size() > most_bytes ? fail(Errc::range, "a line of more than {} bytes", most_bytes) : answer(line);
    out << answer_text(result) << '\n' << std::flush;
  }
  return out.good();
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
