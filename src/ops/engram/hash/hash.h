// SPDX-License-Identifier: Apache-2.0
// N-gram hashes: which rows of the Engram tables a position reads. Whole numbers only. Source: engram.md 2 to 5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cachalot {

// One Engram layer: (max_ngram - 1) · heads columns, sizes ascending, then heads.
struct EngramColumns {
  std::vector<std::uint64_t> multiplier;  // [max_ngram], for the token k back
  std::vector<std::uint64_t> prime;       // [columns]: rows of a column
  std::vector<std::uint64_t> offset;      // [columns]: its first row in the table
  std::int64_t heads;

  std::int64_t max_ngram() const { return static_cast<std::int64_t>(multiplier.size()); }
  std::int64_t columns() const { return static_cast<std::int64_t>(prime.size()); }
  std::int64_t table_rows() const { return static_cast<std::int64_t>(offset.back() + prime.back()); }
};

// Numbers of the configuration; whoever read it has seen that they are in range.
struct EngramShape {
  std::vector<std::int64_t> layers;  // engram_layer_ids, in configuration order; >= 0
  std::int64_t vocab_size;           // engram_vocab_size, 1 to 3,000,000,000: primes are taken from here upwards
  std::int64_t classes;              // token classes (engram.md 1), at least 1
  std::int64_t max_ngram;            // at least 2
  std::int64_t heads;                // at least 1
};

// Layout and multipliers of every Engram layer, in the order of shape.layers.
std::vector<EngramColumns> engram_columns(const EngramShape& shape);

// The classes a position hashes: out[k] is the class of the token k back, k = 0 being the position itself. From the
// first k that lies before the sequence's start (where the two spans end) or on a dead position, that one and all
// further back are pad_class. classes_back and dead_back: equally long, may be longer than out; dead 1 = takes no part
// (image rows), and its class is not looked at. out: [max_ngram].
void engram_history(std::span<const std::int32_t> classes_back, std::span<const std::uint8_t> dead_back,
                    std::int32_t pad_class, std::span<std::int32_t> out);

// Row numbers of one position. classes: [max_ngram] of engram_history, none negative. out: [columns].
void engram_rows(const EngramColumns& layer, std::span<const std::int32_t> classes, std::span<std::int64_t> out);

// PCG64 (XSL-RR 128/64) seeded through a seed sequence (engram.md 4). Seeds below 2^63.
class Pcg64 {
 public:
  explicit Pcg64(std::uint64_t seed);
  std::uint64_t next64();
  std::uint32_t next32();                    // half of a next64; the other half is kept for the following call
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), 1 <= bound <= 2^63

 private:
  void step();
  unsigned __int128 state_ = 0;
  unsigned __int128 increment_ = 0;
  std::uint32_t kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace cachalot
