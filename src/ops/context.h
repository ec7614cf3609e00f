// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor/arena.h"

namespace cachalot {

// What an operator may use besides its arguments.
struct Context {
  Arena scratch;
};

}  // namespace cachalot
