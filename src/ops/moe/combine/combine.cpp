// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/combine/combine.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace cachalot {

void order_of_sum(View<const std::int32_t, 1> expert, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  const auto number = [&](std::int64_t k) { return expert[k]; };
  std::ranges::sort(order, {}, number);
  check(std::ranges::adjacent_find(order, {}, number) == order.end(), "combine: a row's experts are all different");
}

}  // namespace cachalot
