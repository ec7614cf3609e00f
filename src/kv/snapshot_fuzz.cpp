// SPDX-License-Identifier: Apache-2.0
// Any bytes give a snapshot or an error; a state that comes out can be continued and kept again.
#include <cstdint>
#include <sstream>
#include <string>

#include "base/check.h"
#include "kv/snapshot_file.h"
#include "kv/test_sequence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cachalot;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto length = static_cast<std::int64_t>(size);
  for (const auto checksums : {SnapshotReader::Checksums::ignored, SnapshotReader::Checksums::compared}) {
    std::istringstream in(bytes);
    auto reader = SnapshotReader::open(in, length, "fuzz", checksums);
    if (!reader) continue;
    const auto ids = reader->ids();
    if (!ids) continue;
    auto state = reader->state(small_shape());
    if (!state) continue;
    check(std::ssize(*ids) == state->length(), "an id for each position");
    check(state->truncate(state->reachable()).has_value(), "it goes back as far as it says");
    run(*state, 40);
    check(!bytes_of(*state).empty(), "it can be kept again");
  }
  std::istringstream in(bytes);
  auto reader = SnapshotReader::open(in, length, "fuzz", SnapshotReader::Checksums::ignored);
  if (reader) (void)reader->verify();
  return 0;
}
