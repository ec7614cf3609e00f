// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer_fit.h"

#include <iterator>

#include "tokenizer/token_classes.h"

namespace cachalot {

Status expect_tokenizer_fits(const Tokenizer& tokenizer, const Config& config) {
  if (tokenizer.vocab_size() > config.vocab_size) {
    return fail(Errc::format, "the tokenizer has ids up to {}, the config a vocabulary of {}",
                tokenizer.vocab_size() - 1, config.vocab_size);
  }
  if (config.engram_layer_ids.empty()) return {};
  const TokenClasses classes = token_classes(tokenizer);
  if (classes.classes != config.engram_compressed_vocab_size || std::ssize(classes.class_of) < config.vocab_size) {
    return fail(Errc::format, "the tokenizer has {} tokens in {} classes, the config says {} in {}",
                classes.class_of.size(), classes.classes, config.vocab_size, config.engram_compressed_vocab_size);
  }
  return {};
}

}  // namespace cachalot
