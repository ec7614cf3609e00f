// SPDX-License-Identifier: Apache-2.0
// For this room's tests: what a sampler would draw, as text.
#pragma once

#include <fmt/core.h>

#include <string>
#include <vector>

#include "engine/sampler.h"

namespace cachalot {

// "0:0.25 3:0.75": ids with their probabilities; the error's message where no token is possible.
inline std::string shares(const Sampler& sampler, const std::vector<float>& logits) {
  SamplerScratch scratch;
  const auto all = sampler.distribution(logits, scratch);
  if (!all) return all.error().message;
  std::string text;
  for (const TokenProbability& t : *all)
    text += fmt::format("{}{}:{:.4g}", text.empty() ? "" : " ", raw(t.id), t.probability);
  return text;
}

}  // namespace cachalot
