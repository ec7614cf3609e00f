// SPDX-License-Identifier: Apache-2.0
// Arguments of operators, for tests: seeded numbers, and arrays, values, weights and packed rows that own their memory.
// Included by *_test.cpp only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/split_mix.h"
#include "numerics/row_format.h"
#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

// Draw once per argument list: C++ leaves the order of arguments to the compiler, and g++ takes another one for arm64
// than for amd64.
class Random : public SplitMix {
 public:
  using SplitMix::SplitMix;
  float real() { return static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1); }  // [-1, 1)
};

template <int N>
std::size_t count(const std::array<std::int64_t, N>& shape) {
  std::size_t n = 1;
  for (const std::int64_t s : shape) n *= static_cast<std::size_t>(s);
  return n;
}

// A view and the memory it shows.
template <class T, int N>
struct Array {
  std::array<std::int64_t, N> shape;
  std::vector<T> at;

  explicit Array(std::array<std::int64_t, N> s, T v = {}) : shape(s), at(count<N>(s), v) {}
  Array(std::array<std::int64_t, N> s, std::vector<T> v) : shape(s), at(std::move(v)) {
    check(at.size() == count<N>(s), "an entry for every place");
  }
  View<T, N> view() { return View<T, N>(at.data(), shape); }
  View<const T, N> view() const { return View<const T, N>(at.data(), shape); }
  operator View<T, N>() { return view(); }
  operator View<const T, N>() const { return view(); }
};

// Values and their memory.
template <int N>
struct Tensor {
  DType type;
  std::array<std::int64_t, N> shape;
  std::vector<std::byte> bytes;

  Tensor(DType t, std::array<std::int64_t, N> s)
      : type(t), shape(s), bytes(count<N>(s) * static_cast<std::size_t>(bytes_of(t))) {}
  Tensor(DType t, std::array<std::int64_t, N> s, Random& random, float scale = 1) : Tensor(t, s) {
    for (std::int64_t i = 0; i < size(); ++i) set(i, scale * random.real());
  }
  Tensor(DType t, std::array<std::int64_t, N> s, const std::vector<float>& numbers) : Tensor(t, s) {
    check(std::ssize(numbers) == size(), "a number for every place");
    for (std::int64_t i = 0; i < size(); ++i) set(i, numbers[static_cast<std::size_t>(i)]);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(count<N>(shape)); }
  Values<N> values() { return Values<N>(bytes.data(), type, shape); }
  ConstValues<N> values() const { return ConstValues<N>(bytes.data(), type, shape); }
  operator Values<N>() { return values(); }
  operator ConstValues<N>() const { return values(); }
  // A matrix [out, in] as a weight of the same type.
  Weight weight() const requires(N == 2) {
    return {type == DType::bf16 ? WeightFormat::bf16 : WeightFormat::f32, shape[0], shape[1], bytes.data(), nullptr};
  }
  float get(std::int64_t i) const { return ConstValues<1>(bytes.data(), type, {size()}).load(i); }
  void set(std::int64_t i, double v) { Values<1>(bytes.data(), type, {size()}).store(i, v); }
  // Row `row` along the first axis, as bytes: what "bit-equal" compares.
  std::vector<std::byte> row_bytes(std::int64_t row) const {
    const auto step = static_cast<std::ptrdiff_t>(bytes.size()) / static_cast<std::ptrdiff_t>(shape[0]);
    return {bytes.begin() + row * step, bytes.begin() + (row + 1) * step};
  }
};

// Packed rows made of the numbers given, and their memory.
struct StoredRows {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  PackedRows rows;

  StoredRows(RowFormat format, std::int64_t width, const std::vector<float>& values) {
    rows = {format, width, static_cast<std::int64_t>(values.size()) / width};
    const std::int64_t code_step = code_bytes(format, width);
    const std::int64_t scale_step = scale_bytes(format, width);
    codes.resize(static_cast<std::size_t>(rows.rows * code_step));
    scales.resize(static_cast<std::size_t>(rows.rows * scale_step));
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      encode_row(format,
                 std::span(values).subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width)),
                 codes.data() + r * code_step, scales.data() + r * scale_step);
    }
    rows.codes = codes.data();
    rows.scales = scales.data();
  }
  StoredRows(StoredRows&&) = default;

  std::vector<float> row(std::int64_t r) const {
    std::vector<float> v(static_cast<std::size_t>(rows.width));
    rows.decode(r, v);
    return v;
  }
};

// The rows of several sequences (null: none) in the pages of one pool, which stand in no order in it.
struct StoredPages {
  std::vector<std::uint8_t> memory;
  std::vector<std::int32_t> page;
  std::vector<std::int64_t> readable;
  PagedRows rows;

  StoredPages(const std::vector<const StoredRows*>& sequences, std::int64_t page_rows,
              RowLayout layout = RowLayout::planes) {
    std::int64_t widest = 0, pages = 0;
    for (const StoredRows* s : sequences) {
      readable.push_back(s == nullptr ? 0 : s->rows.rows);
      const std::int64_t n = (readable.back() + page_rows - 1) / page_rows;
      widest = std::max(widest, n);
      pages += n;
    }
    const auto some = std::ranges::find_if(sequences, [](const StoredRows* s) { return s != nullptr; });
    const PackedRows like = some == sequences.end() ? PackedRows{} : (*some)->rows;
    const std::int64_t step = page_rows * row_bytes(like.format, like.width) + 16;
    memory.assign(static_cast<std::size_t>(pages * step), 0xEE);
    PackedRowsOut pool = packed_rows(like.format, like.width, page_rows, memory.data(), layout);
    pool.rows = pages * page_rows;
    pool.page_rows = page_rows;
    pool.page_step = step;
    page.assign(sequences.size() * static_cast<std::size_t>(widest), -1);
    const auto count = static_cast<std::int64_t>(sequences.size());
    rows = {pool, {page.data(), {count, widest}}, {readable.data(), {count}}};
    for (std::int64_t s = 0; s < count; ++s) {
      for (std::int64_t r = 0; r < readable[static_cast<std::size_t>(s)]; ++r) {
        if (r % page_rows == 0)
          page[static_cast<std::size_t>(s * widest + r / page_rows)] = static_cast<std::int32_t>(--pages);
        const PackedRows& f = sequences[static_cast<std::size_t>(s)]->rows;
        const auto from = f[r];
        const auto to = pool[rows.row_of(s, r)];
        std::copy_n(from.codes, code_bytes(f.format, f.width), to.codes);
        std::copy_n(from.scales, scale_bytes(f.format, f.width), to.scales);
      }
    }
  }
  StoredPages(const StoredPages&) = delete;
  StoredPages& operator=(const StoredPages&) = delete;
};

// Compressor inputs from two lists of [tokens, dim]; the second half of the tokens are of earlier steps.
struct StoredInputs {
  std::vector<float> memory;
  std::int64_t dim, half, tokens;

  StoredInputs(const std::vector<float>& kv, const std::vector<float>& score, std::int64_t width)
      : dim(width),
        half(static_cast<std::int64_t>(kv.size()) / width / 2),
        tokens(static_cast<std::int64_t>(kv.size()) / width) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (const auto* half_of_it : {&kv, &score}) {
        memory.insert(memory.end(), half_of_it->begin() + t * dim, half_of_it->begin() + (t + 1) * dim);
      }
    }
  }
  PackedRows rows(std::int64_t first, std::int64_t n) const {
    const auto* at = reinterpret_cast<const std::uint8_t*>(memory.data() + 2 * dim * first);
    return packed_rows(RowFormat::f32, 2 * dim, n, at, RowLayout::records);
  }
  PackedRows own() const { return rows(0, half); }
  PackedRows kept() const { return rows(half, tokens - half); }
};

// A weight of random codes near 1 in size, and its memory.
struct StoredWeight {
  std::vector<std::uint8_t> data;
  std::vector<std::uint8_t> scale;
  Weight weight;

  StoredWeight(WeightFormat format, std::int64_t out, std::int64_t in, Random& random) {
    weight = {format, out, in, nullptr, nullptr};
    const auto put = [&](const auto& v) {
      const auto* p = reinterpret_cast<const std::uint8_t*>(&v);
      data.insert(data.end(), p, p + sizeof v);
    };
    for (std::int64_t i = 0; i < out * in; ++i) {
      const float v = random.real();
      if (format == WeightFormat::f32) put(v);
      if (format == WeightFormat::bf16) put(to_bf16(v));
      if (format == WeightFormat::f16) put(static_cast<std::uint16_t>(0x3000 + random.below(0xC00)));  // 1/8 to 2
      if (format == WeightFormat::e4m3_block32) put(to_e4m3(8 * v));
      if (format == WeightFormat::e2m1_row32 && i % 2 == 0) put(static_cast<std::uint8_t>(random.below(256)));
    }
    if (weight.quantized()) {
      const std::int64_t rows = format == WeightFormat::e4m3_block32 ? (out + 31) / 32 : out;
      for (std::int64_t i = 0; i < rows * weight.scale_columns(); ++i) {
        scale.push_back(static_cast<std::uint8_t>(120 + random.below(8)));
      }
      weight.scale = scale.data();
    }
    weight.data = data.data();
  }
  StoredWeight(const StoredWeight&) = delete;
  StoredWeight& operator=(const StoredWeight&) = delete;
};

template <int N>
std::vector<float> floats(const Tensor<N>& t) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < t.size(); ++i) v.push_back(t.get(i));
  return v;
}

inline std::vector<float> random_floats(std::int64_t n, Random& random, float scale = 1) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = scale * random.real();
  return v;
}
// Between -reach and reach, the same for a seed.
inline std::vector<float> noise(std::int64_t n, std::uint64_t seed, float reach = 1) {
  Random random(seed);
  return random_floats(n, random, reach);
}

}  // namespace cachalot
