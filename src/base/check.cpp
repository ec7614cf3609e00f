// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cachalot {

void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "cachalot: internal error at %s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace cachalot
