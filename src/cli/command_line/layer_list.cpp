// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/layer_list.h"

#include "cli/command_line/option_checks.h"

namespace cachalot {

Expected<std::vector<std::int64_t>> parse_layer_list(std::string_view list, std::string_view option) {
  constexpr std::int64_t most = 1 << 20;  // of layers; a range that a typing error made must not fill the memory
  std::vector<std::int64_t> layers;
  for (std::string part : split_at_commas(list)) {
    const std::size_t dash = part.find('-', 1);
    if (dash != part.npos) part[dash] = ',';
    const auto ends = parse_whole_numbers(part, option);
    if (!ends || ends->front() < 0 || ends->back() >= most || ends->back() < ends->front()) {
      return fail(Errc::usage, "{}: \"{}\" names no layers; a list is written 1,2,20 or 1-3,20", option, list);
    }
    for (std::int64_t layer = ends->front(); layer <= ends->back(); ++layer) layers.push_back(layer);
  }
  return layers;
}

}  // namespace cachalot
