// SPDX-License-Identifier: Apache-2.0
// Whether what a state holds are numbers. What a model computes always is, unless its weights are damaged; what comes
// from a file may be anything.
#pragma once

#include "kv/sequence.h"

namespace cachalot {

// No code or scale of its rings, pages and inputs is NaN, infinite, or gives a value that f32 does not have.
bool holds_numbers(const Sequence& sequence);

}  // namespace cachalot
