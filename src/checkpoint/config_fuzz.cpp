// SPDX-License-Identifier: Apache-2.0
// Any text gives a config or an error; what an accepted config says about its layers is inside the model, and sizes do
// not overflow.
#include <cstdint>

#include "base/check.h"
#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cachalot;
  const auto loaded = parse_config(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!loaded) return 0;
  const Config& config = loaded->config;
  for (std::int64_t layer = 0; layer < config.all_layers(); ++layer) {
    check(config.kv_source(layer) <= layer && config.index_source(layer) <= layer, "a source is at or below its layer");
    check((config.ratio(layer) > 0) == (config.kv_source(layer) >= 0), "a layer with a ratio has a KV source");
  }
  // Experts by the thousand in layers by the thousand are legal, and take long to list.
  if (config.all_layers() * config.n_routed_experts > 10'000 ||
      config.n_mtp_layers * config.dspark_n_routed_experts > 10'000)
    return 0;
  for (const ExpectedTensor& tensor : expected_tensors(config)) {
    for (const std::int64_t extent : tensor.shape) check(extent > 0, "every extent is positive");
    check(tensor.bytes() > 0, "sizes do not overflow");
  }
  return 0;
}
