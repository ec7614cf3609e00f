// SPDX-License-Identifier: Apache-2.0
#include "engine/reserved_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cachalot {
namespace {

constexpr std::array<std::string_view, 2> reserved_beginnings = {"<｜place▁holder▁", "<|place_holder_"};
constexpr std::array<std::string_view, 3> picture_tokens = {"<｜deepseek_image｜>", "<｜rl_image_pad｜>",
                                                            "<｜rl_image_start｜>"};

bool is_reserved(std::string_view content) {
  return std::ranges::find(picture_tokens, content) != picture_tokens.end() ||
         std::ranges::any_of(reserved_beginnings, [&](std::string_view b) { return content.starts_with(b); });
}

}  // namespace

std::vector<TokenId> reserved_tokens(const Tokenizer& tokenizer, const Config& config) {
  std::vector<TokenId> reserved;
  for (std::int64_t i = 0; i < config.vocab_size; ++i) {
    const auto id = TokenId{static_cast<std::int32_t>(i)};
    const bool begins_or_pads = i != config.eos_token_id && (i == config.bos_token_id || i == config.pad_token_id);
    if (begins_or_pads || !tokenizer.contains(id) ||
        (is_reserved(tokenizer.spelling(id)) && tokenizer.id_of(tokenizer.spelling(id)) == id))
      reserved.push_back(id);
  }
  return reserved;
}

}  // namespace cachalot
