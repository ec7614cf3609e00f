// SPDX-License-Identifier: Apache-2.0
// Errors of the world (a file, a request, an option) are values: Expected<T> or Status. Errors of ours are check().
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cachalot {

enum class Errc {
  usage,    // an option or argument that can't be used: exit code 2
  io,       // a file that can't be opened, read, mapped or written
  format,   // bytes that are not what their format says: JSON, safetensors, tokenizer, config
  missing,  // a needed file, tensor or key that is not there
  range,    // a number outside what it may be
  memory,   // not enough memory, or a limit reached
  stopped,  // the user interrupted
};

// `message` is one sentence for a person: what, where, found, wanted, what to do.
struct Error {
  Errc code;
  std::string message;
};

template <class T>
class [[nodiscard]] Expected : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Expected<void>;

// return fail(Errc::format, "{}: {} bytes, expected {}", file, found, wanted);
template <class... Args>
tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace cachalot
