// SPDX-License-Identifier: Apache-2.0
// What `cachalot inspect --state` tells: how much memory one sequence takes. From a config alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "checkpoint/config.h"

namespace cachalot {

// `positions`: how long the sequence is.
std::string state_text(const Config& config, std::int64_t positions, int columns);
Json state_json(const Config& config, std::int64_t positions);

}  // namespace cachalot
