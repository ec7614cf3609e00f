// SPDX-License-Identifier: Apache-2.0
#include "engine/engram_rows_of_text.h"

#include <algorithm>

#include "ops/engram/hash/hash.h"

namespace cachalot {

Expected<std::vector<std::vector<std::int64_t>>> engram_rows_of_text(const Config& config, const TokenClasses& classes,
                                                                     std::span<const TokenId> text) {
  if (config.engram_layer_ids.empty()) return std::vector<std::vector<std::int64_t>>();
  if (classes.classes != config.engram_compressed_vocab_size || std::ssize(classes.class_of) < config.vocab_size) {
    return fail(Errc::format,
                "the tokenizer has {} tokens in {} classes, the config says {} in {}: they are not of the "
                "same model",
                classes.class_of.size(), classes.classes, config.vocab_size, config.engram_compressed_vocab_size);
  }
  const auto class_of = [&](std::int64_t id) { return classes.class_of[static_cast<std::size_t>(id)]; };
  std::vector<std::int32_t> back;  // classes of the text so far, the newest first
  std::vector<std::int32_t> history(static_cast<std::size_t>(config.engram_max_ngram_size));
  std::vector<std::int64_t> row(static_cast<std::size_t>(config.engram_columns()));
  const auto layers = engram_columns({.layers = config.engram_layer_ids,
                                      .vocab_size = config.engram_vocab_size,
                                      .classes = config.engram_compressed_vocab_size,
                                      .max_ngram = config.engram_max_ngram_size,
                                      .heads = config.engram_n_heads});
  std::vector<std::vector<std::int64_t>> rows(layers.size());
  for (const TokenId token : text) {
    if (raw(token) < 0 || raw(token) >= config.vocab_size) {
      return fail(Errc::usage, "{} is no token id; the model has ids 0 to {}", raw(token), config.vocab_size - 1);
    }
    back.insert(back.begin(), class_of(raw(token)));
    if (back.size() > history.size()) back.pop_back();
    const std::vector<std::uint8_t> dead(back.size());
    engram_history(back, dead, class_of(config.engram_pad_id), history);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      engram_rows(layers[i], history, row);
      rows[i].insert(rows[i].end(), row.begin(), row.end());
    }
  }
  for (auto& list : rows) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());  // ranges::unique is beyond clang 14
  }
  return rows;
}

}  // namespace cachalot
