// SPDX-License-Identifier: Apache-2.0
// The operators of every backend of this build, as `cachalot inspect --backends` shows them.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "ops/backend.h"

namespace cachalot {

// One line per operator, one column per backend: "own", "none", or "= NAME" where the entry is another backend's, which
// must not be (a backend that borrows an entry would be compared with itself).
std::string backend_table_text(std::span<const Backend* const> backends);
Json backend_table_json(std::span<const Backend* const> backends);

}  // namespace cachalot
