// SPDX-License-Identifier: Apache-2.0
// Any bytes give a header or an error, and no tensor of a header reaches outside the file.
#include <cstdint>

#include "base/check.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cachalot;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = parse_safetensors_header(bytes, static_cast<std::int64_t>(size), "fuzz");
  if (!header) return 0;
  std::int64_t all = 0;
  for (const TensorInfo& tensor : header->tensors) {
    check(tensor.offset >= 8 && tensor.bytes >= 0, "a tensor starts after the header");
    check(tensor.offset + tensor.bytes <= static_cast<std::int64_t>(size), "a tensor ends inside the file");
    all += tensor.bytes;
  }
  check(all <= static_cast<std::int64_t>(size), "tensors do not overlap");
  return 0;
}
