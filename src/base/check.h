// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cachalot {

[[noreturn]] void check_failed(const char* what, const char* file, int line);

// Stops the program with file and line where our own reasoning does not hold. Never for input: that is Expected
// (expected.h).
inline void check(bool good, const char* what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!good) [[unlikely]]
    check_failed(what, file, line);
}

}  // namespace cachalot
