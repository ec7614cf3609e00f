// SPDX-License-Identifier: Apache-2.0
// Text that somebody hands in: read to its end, but never further than its limit, so that no input can fill the memory
// or keep the program reading for ever.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

enum class Pipes {
  refused,  // where a file is meant, and nothing may be waited for
  allowed,  // what <(command) gives, and /dev/stdin
};

// A regular file, or a pipe where allowed; never a folder or a device such as /dev/zero, and a pipe that nobody writes
// to is not waited for. Errors: Errc::missing where there is no such file; Errc::io; Errc::range for more than
// `most_bytes`.
Expected<std::string> read_text_file(const std::filesystem::path& path, std::size_t most_bytes, Pipes pipes);

// What an open descriptor still has, whatever it is; `name` is it in messages. Errors: Errc::io, Errc::range.
Expected<std::string> read_descriptor(int descriptor, std::string_view name, std::size_t most_bytes);

}  // namespace cachalot
