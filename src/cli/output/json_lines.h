// SPDX-License-Identifier: Apache-2.0
// Commands that answer JSON lines: one value in, one object out, in order, whatever is wrong with a line.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

#include "base/expected.h"
#include "base/json.h"
#include "base/open_file.h"

namespace cachalot {

using LineAnswer = std::function<Expected<Json>(std::string_view line)>;

// The answer to one line, without an end: the object, or {"error": "..."}.
std::string answer_text(const Expected<Json>& answer);

// Answers each line of `in` at once, so that a partner on a pipe can wait for it; a line of more than `most_bytes`, or
// one that there is no memory for, is answered with an error. One that goes on for `endless` times that is no line:
// reading ends with the badbit of `in`. Returns whether `out` took everything.
bool answer_lines(const LineAnswer& answer, std::istream& in, std::ostream& out,
                  std::size_t most_bytes = std::size_t{64} << 20, std::size_t endless = 16);

// A file of lines, or a pipe, for std::istream: never a device, which may have no end.
class LineFile : public std::streambuf {
 public:
  // Errors: those of OpenFile; Errc::io for a folder or a device.
  static Expected<LineFile> open(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept : file_(std::move(other.file_)) {}  // before anything is read

 protected:
  int_type underflow() override;  // throws std::ios::failure where the system does not read on, as a file's buffer does

 private:
  explicit LineFile(OpenFile file) : file_(std::move(file)) {}

  OpenFile file_;
  std::array<char, 1 << 16> piece_;
};

// What a value is, for a message: "a string", "an array", 12. Long ones are cut.
std::string shown(const Json& value);

}  // namespace cachalot
