// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cachalot {

// The one of `names` that was most likely meant by `written`: it goes on from it, or few letters differ (inserted, left
// out, other, or two swapped). Empty where none is near.
std::string nearest_name(std::string_view written, const std::vector<std::string>& names);

}  // namespace cachalot
