// SPDX-License-Identifier: Apache-2.0
#include "ops/engram/hash/hash.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/primes.h"

namespace cachalot {

std::vector<EngramColumns> engram_columns(const EngramShape& shape) {
  check(shape.vocab_size >= 1 && shape.vocab_size <= 3'000'000'000 && shape.classes >= 1 && shape.max_ngram >= 2 &&
            shape.heads >= 1,
        "engram_columns: a shape in range");
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t bound = std::max<std::uint64_t>(1, largest / static_cast<std::uint64_t>(shape.classes) / 2);
  // Every row of columns starts at vocab_size again and skips what was taken, by any row or layer: so all of them
  // together walk through the primes once.
  std::uint64_t prime = static_cast<std::uint64_t>(shape.vocab_size) - 1;
  std::vector<EngramColumns> all;
  for (std::int64_t layer : shape.layers) {
    check(layer >= 0, "engram_columns: a layer number");
    EngramColumns columns{.multiplier = {}, .prime = {}, .offset = {}, .heads = shape.heads};
    Pcg64 generator(10007 * static_cast<std::uint64_t>(layer));
    for (std::int64_t k = 0; k < shape.max_ngram; ++k) columns.multiplier.push_back(2 * generator.below(bound) + 1);
    std::uint64_t offset = 0;
    for (std::int64_t i = 0; i < (shape.max_ngram - 1) * shape.heads; ++i) {
      prime = prime_above(prime);
      columns.prime.push_back(prime);
      columns.offset.push_back(offset);
      offset += prime;
    }
    all.push_back(std::move(columns));
  }
  return all;
}

void engram_history(std::span<const std::int32_t> classes_back, std::span<const std::uint8_t> dead_back,
                    std::int32_t pad_class, std::span<std::int32_t> out) {
  check(classes_back.size() == dead_back.size() && pad_class >= 0, "engram_history: a class and a mark each");
  bool alive = true;
  for (std::size_t k = 0; k < out.size(); ++k) {
    alive = alive && k < classes_back.size() && dead_back[k] == 0;
    out[k] = alive ? classes_back[k] : pad_class;
    check(out[k] >= 0, "engram_history: a class is not negative");
  }
}

void engram_rows(const EngramColumns& layer, std::span<const std::int32_t> classes, std::span<std::int64_t> out) {
  check(classes.size() == layer.multiplier.size() && out.size() == layer.prime.size(), "engram_rows: as many as told");
  const auto heads = static_cast<std::size_t>(layer.heads);
  std::uint64_t hash = 0;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    check(classes[k] >= 0, "engram_rows: a class is not negative");
    hash ^= static_cast<std::uint64_t>(classes[k]) * layer.multiplier[k];
    if (k == 0) continue;  // the shortest n-gram has two tokens
    for (std::size_t i = (k - 1) * heads; i < k * heads; ++i) {
      out[i] = static_cast<std::int64_t>(layer.offset[i] + hash % layer.prime[i]);
    }
  }
}

}  // namespace cachalot
