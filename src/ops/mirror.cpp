// SPDX-License-Identifier: Apache-2.0
#include "ops/mirror.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace cachalot {

void HostCopies::add(Direction direction, const std::byte* first, std::int64_t bytes) {
  stretches_.push_back({first, first + bytes, direction != Direction::in});
}

void HostCopies::download() {
  constexpr std::uintptr_t line = 64;  // a copy lies in its cache line as the original does
  std::ranges::sort(stretches_, std::less(), &Stretch::first);
  std::vector<Stretch> joined;
  for (const Stretch& s : stretches_) {
    if (joined.empty() || std::less_equal()(joined.back().end, s.first)) {
      joined.push_back(s);
    } else {
      joined.back().end = std::max(joined.back().end, s.end, std::less());
      joined.back().written |= s.written;
    }
  }
  for (Stretch& s : joined) {
    const auto size = static_cast<std::size_t>(s.end - s.first);
    s.memory.resize(size + 2 * line);
    const auto of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % line; };
    s.copy = s.memory.data() + (line - of(s.memory.data())) + of(s.first);
    space_.download({s.copy, size}, s.first);
  }
  stretches_ = std::move(joined);
}

const std::byte* HostCopies::copy_of(const std::byte* at) const {
  const auto behind = std::ranges::upper_bound(stretches_, at, std::less(), &Stretch::first);
  check(behind != stretches_.begin(), "an address that was added");
  const Stretch& s = *std::prev(behind);
  check(std::less()(at, s.end), "an address that was added");
  return s.copy + (at - s.first);
}

void HostCopies::upload() {
  for (const Stretch& s : stretches_) {
    if (!s.written) continue;
    space_.upload(const_cast<std::byte*>(s.first), {s.copy, static_cast<std::size_t>(s.end - s.first)});
  }
}

}  // namespace cachalot
