// SPDX-License-Identifier: Apache-2.0
// Runs a host's operator for a context whose memory is elsewhere: what its arguments name is downloaded, the operator
// works on the copies, and what it may have written is uploaded. For finding a wrong kernel; a step that is to be fast
// has no such operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/context.h"
#include "ops/operands.h"

namespace cachalot {

// Copies of stretches of memory. Those that overlap are one, so that what is one number stays one.
class HostCopies {
 public:
  explicit HostCopies(MemorySpace& space) : space_(space) {}

  void add(Direction direction, const std::byte* first, std::int64_t bytes);
  void download();  // all that was added
  const std::byte* copy_of(const std::byte* at) const;
  void upload();  // what may have been written

 private:
  struct Stretch {
    const std::byte* first;
    const std::byte* end;
    bool written;
    std::vector<std::byte> memory{};
    std::byte* copy = nullptr;
  };

  MemorySpace& space_;
  std::vector<Stretch> stretches_;
};

template <class Args>
void run_on_host(Context& context, const Args& args, void (*op)(Context&, const Args&)) {
  if (context.memory.on_host()) return op(context, args);
  HostCopies copies(context.memory);
  for_each_range(args, [&](Direction direction, const std::byte* first, std::int64_t bytes) {
    copies.add(direction, first, bytes);
  });
  copies.download();
  Context host;
  const auto here = relocated(args, [&](const std::byte* first, std::int64_t) { return copies.copy_of(first); });
  op(host, here.args);
  copies.upload();
}

}  // namespace cachalot
