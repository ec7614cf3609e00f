// SPDX-License-Identifier: Apache-2.0
// Any bytes give a value or an error; a value written and read again is the same value.
#include <cstdint>

#include "base/check.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cachalot;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = parse_json(text, "fuzz", {.max_depth = 20, .replace_lone_surrogates = true});
  if (!value) return 0;
  const auto again = parse_json(value->dump(), "dump");
  check(again.has_value() && *again == *value, "a dumped value reads back equal");
  const auto spaced = parse_json(value->dump(JsonSpacing::spaced), "dump");
  check(spaced.has_value() && *spaced == *value, "spaces change no value");
  return 0;
}
