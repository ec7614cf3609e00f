// SPDX-License-Identifier: Apache-2.0
// Errors of the world (a file, a request, an option) are values: Expected<T> or Status. Errors of ours are check().
#pragma once

#include <tl/expected.hpp>

#include "base/shown_text.h"

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
  ShownText message;
};

template <class T>
class [[nodiscard]] Expected : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Expected<void>;

// return fail(Errc::format, "{}: {} bytes, expected {}", file, found, wanted); what is foreign in it is made visible
// and cut (shown_text.h).
template <class... Args>
tl::unexpected<Error> fail(Errc code, MessageFormat<Args...> format, const Args&... args) {
  return tl::unexpected<Error>(Error{code, message(format, args...)});
}

}  // namespace cachalot
