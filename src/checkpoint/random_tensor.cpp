// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/random_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"

namespace cachalot {
namespace {

// splitmix64: each number is a function of the state's place in the sequence.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view name) : state_(seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) {
    for (const char c : name) state_ = (next() ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // Nearly normal, deviation 1, never beyond ±3.47: the sum of four 16-bit numbers.
  float normal() {
    const std::uint64_t bits = next();
    const auto sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
    return (static_cast<float>(sum) - 131070.0f) * (1.0f / 37837.2f);
  }

 private:
  std::uint64_t state_;
};

// The same shape from the sum of four bytes, which is an index: two codes from one number, without arithmetic on
// floats.
constexpr int byte_sums = 4 * 255 + 1;
constexpr float byte_sum_mean = 510.0f, byte_sum_deviation = 147.8f;
std::size_t low_sum(std::uint64_t bits) {
  return (bits & 0xFF) + (bits >> 8 & 0xFF) + (bits >> 16 & 0xFF) + (bits >> 24 & 0xFF);
}

// Codes of deviation `code` times a scale 2^exponent make weights of the deviation asked for. The scales of blocks
// differ, so that one read from the wrong place shows: an eighth of them is half, an eighth is twice as large.
struct CodeScale {
  float code;
  int exponent;
};
constexpr float scale_spread = 1.132f;  // sqrt(1/8 · 1/4 + 6/8 + 1/8 · 4): what that does to the deviation
CodeScale split(float deviation, float largest_code_deviation) {
  const float wanted = deviation / scale_spread;
  int exponent = 0;
  while (wanted * std::ldexp(1.0f, -exponent) > largest_code_deviation) ++exponent;
  while (wanted * std::ldexp(1.0f, -exponent) * 2 <= largest_code_deviation) --exponent;
  return {wanted * std::ldexp(1.0f, -exponent), exponent};
}
constexpr float e4m3_code_deviation = 110.0f;  // 3.45 deviations stay below 448
constexpr float e2m1_code_deviation = 2.2f;    // most codes are used, few saturate

float per_input(std::int64_t inputs) { return 1.0f / std::sqrt(static_cast<float>(inputs)); }

// Deviation and mean of a tensor stored as plain numbers.
struct Normal {
  float mean, deviation;
};
Normal plain(const ExpectedTensor& tensor) {
  switch (tensor.role) {
    case TensorRole::matrix:
    case TensorRole::gate:
    case TensorRole::hc_matrix:
      return {0.0f, per_input(tensor.shape.back())};
    case TensorRole::head:
      return {0.0f, 2.0f * per_input(tensor.shape.back())};
    case TensorRole::embedding:
      return {0.0f, 1.0f};
    case TensorRole::norm:
      return {1.0f, 0.1f};
    case TensorRole::bias:
      return {0.0f, 0.1f};
    case TensorRole::gate_bias:
      return {0.0f, 0.2f};
    case TensorRole::sink:
      return {-0.5f, 1.0f};
    case TensorRole::hc_base:
      return {0.0f, 0.3f};
    case TensorRole::hc_scale:
      return {0.5f, 0.1f};
    default:
      break;
  }
  check(false, "codes and scales are no plain numbers");
  return {};
}

// What the codes and scales of a quantized tensor are split into; a scale finds the width it belongs to from its own
// shape, for widths are multiples of 32.
CodeScale split_of(const ExpectedTensor& tensor) {
  const std::int64_t last = tensor.shape.back();
  switch (tensor.role) {
    case TensorRole::fp8:
      return split(per_input(last), e4m3_code_deviation);
    case TensorRole::fp8_scale:
      return split(per_input(last * 32), e4m3_code_deviation);
    case TensorRole::fp4:
      return split(per_input(last * 2), e2m1_code_deviation);
    case TensorRole::fp4_scale:
      return split(per_input(last * 32), e2m1_code_deviation);
    default:
      return split(1.0f, e4m3_code_deviation);  // Engram rows are an embedding
  }
}

void fill_plain(const ExpectedTensor& tensor, Random& random, std::span<std::byte> out) {
  const Normal normal = plain(tensor);
  const bool wide = tensor.dtype() == DType::f32;
  const std::size_t size = wide ? 4 : 2;
  for (std::size_t at = 0; at < out.size(); at += size) {
    const float value = normal.mean + normal.deviation * random.normal();
    const bf16 narrow = to_bf16(value);
    std::memcpy(out.data() + at, wide ? static_cast<const void*>(&value) : &narrow, size);
  }
}

void fill_e4m3(float deviation, Random& random, std::span<std::byte> out) {
  std::array<std::byte, byte_sums> code_of;
  for (std::size_t sum = 0; sum < byte_sums; ++sum) {
    code_of[sum] =
        std::byte{to_e4m3((static_cast<float>(sum) - byte_sum_mean) * (deviation / byte_sum_deviation)).code};
  }
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const std::uint64_t bits = random.next();
    out[i] = code_of[low_sum(bits)];
    if (i + 1 < out.size()) out[i + 1] = code_of[low_sum(bits >> 32)];
  }
}

void fill_e2m1(float deviation, Random& random, std::span<std::byte> out) {
  std::array<unsigned, byte_sums> code_of;
  for (std::size_t sum = 0; sum < byte_sums; ++sum) {
    code_of[sum] = to_e2m1((static_cast<float>(sum) - byte_sum_mean) * (deviation / byte_sum_deviation));
  }
  for (std::byte& pair : out) {
    const std::uint64_t bits = random.next();
    pair = static_cast<std::byte>(code_of[low_sum(bits)] | code_of[low_sum(bits >> 32)] << 4);
  }
}

void fill_scales(int exponent, Random& random, std::span<std::byte> out) {
  for (std::byte& scale : out) {
    const std::uint64_t which = random.next() >> 61;
    const int step = which == 0 ? -1 : which == 1 ? 1 : 0;
    scale = static_cast<std::byte>(std::clamp(127 + exponent + step, 1, 254));
  }
}

}  // namespace

Status write_random_tensor(const ExpectedTensor& tensor, std::uint64_t seed,
                           const std::function<Status(std::span<const std::byte>)>& sink) {
  constexpr std::int64_t piece_bytes = 1 << 20;
  Random random(seed, tensor.name);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(piece_bytes, tensor.bytes())));
  for (std::int64_t left = tensor.bytes(); left > 0;) {
    const auto part = std::span(piece).first(static_cast<std::size_t>(std::min(piece_bytes, left)));
    switch (tensor.role) {
      case TensorRole::fp8:
      case TensorRole::fp8_rows:
        fill_e4m3(split_of(tensor).code, random, part);
        break;
      case TensorRole::fp4:
        fill_e2m1(split_of(tensor).code, random, part);
        break;
      case TensorRole::fp8_scale:
      case TensorRole::fp4_scale:
      case TensorRole::fp8_rows_scale:
        fill_scales(split_of(tensor).exponent, random, part);
        break;
      default:
        fill_plain(tensor, random, part);
    }
    if (Status done = sink(part); !done) return done;
    left -= static_cast<std::int64_t>(part.size());
  }
  return {};
}

}  // namespace cachalot
