// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/expected.h"

namespace cachalot {

// "1,2,20" or "1-3,20" to numbers, as written. `option` is named in the error, which is Errc::usage.
Expected<std::vector<std::int64_t>> parse_layer_list(std::string_view list, std::string_view option);

}  // namespace cachalot
