// SPDX-License-Identifier: Apache-2.0
// For this room's tests: requests to the tiny checkpoint of the goldens.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "engine/generate.h"

namespace cachalot {

inline const LoadedModel& mini() {
  static const LoadedModel loaded = [] {
    auto l = load_model(CACHALOT_BUILD_DIR "/golden/mini-a", {.backend = &cpu_backend()});
    if (!l) {
      ADD_FAILURE() << l.error().message;
      std::abort();
    }
    return std::move(*l);
  }();
  return loaded;
}

inline std::vector<TokenId> tokens(std::int64_t n) {
  std::vector<TokenId> t;
  for (std::int64_t i = 0; i < n; ++i) t.push_back(TokenId{static_cast<std::int32_t>(3 + i * 37 % 400)});
  return t;
}

inline std::vector<TokenId> ids(const Completion& completion) {
  std::vector<TokenId> all;
  for (const GeneratedToken& t : completion.tokens) all.push_back(t.id);
  return all;
}

inline Expected<Generation> run(const std::vector<TokenId>& prompt, const GenerateOptions& options,
                                const GenerateEvents& events = {}) {
  Context context;
  Sequence sequence = mini().model.new_sequence();
  return generate(mini(), context, sequence, prompt, options, events);
}

}  // namespace cachalot
