// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/random_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/split_mix.h"
#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"

namespace cachalot {
namespace {

constexpr std::uint64_t step = SplitMix::step;
constexpr auto mixed = SplitMix::mixed;

std::uint64_t state_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t state = seed * step + 0x632BE59BD9B4E019u;
  for (const char c : name) state = (mixed(state + step) ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return state;
}

// Nearly normal, deviation 1, never beyond ±3.47: the sum of four 16-bit numbers.
float normal(std::uint64_t bits) {
  const auto sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return (static_cast<float>(sum) - 131070.0f) * (1.0f / 37837.2f);
}

// The same shape from the sum of four bytes, which is an index: two codes from one number, without arithmetic on
// floats.
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

bool is_scale(TensorRole role) {
  return role == TensorRole::fp8_scale || role == TensorRole::fp4_scale || role == TensorRole::fp8_rows_scale;
}

// How many bytes one random number makes.
std::int64_t bytes_per_number(TensorRole role, std::int64_t element_bytes) {
  if (role == TensorRole::fp8 || role == TensorRole::fp8_rows) return 2;
  if (role == TensorRole::fp4 || is_scale(role)) return 1;
  return element_bytes;
}

}  // namespace

RandomTensor::RandomTensor(const ExpectedTensor& tensor, std::uint64_t seed, const Planted& planted)
    : role_(tensor.role),
      planted_(planted),
      row_bytes_(tensor.bytes() / tensor.shape[0]),
      element_bytes_(bytes_of(tensor.dtype())),
      all_bytes_(tensor.bytes()),
      start_(state_of(seed, tensor.name)) {
  if (is_scale(role_)) {
    exponent_ = split_of(tensor).exponent;
  } else if (role_ == TensorRole::fp8 || role_ == TensorRole::fp8_rows || role_ == TensorRole::fp4) {
    const float deviation = split_of(tensor).code / byte_sum_deviation;
    for (std::size_t sum = 0; sum < byte_sums; ++sum) {
      const float value = (static_cast<float>(sum) - byte_sum_mean) * deviation;
      code_[sum] = role_ == TensorRole::fp4 ? static_cast<std::uint8_t>(to_e2m1(value)) : to_e4m3(value).code;
    }
  } else {
    const Normal plain_numbers = plain(tensor);
    mean_ = plain_numbers.mean;
    deviation_ = plain_numbers.deviation;
  }
}

std::uint64_t RandomTensor::number(std::int64_t at) const {
  return mixed(start_ + (static_cast<std::uint64_t>(at) + 1) * step);
}

void RandomTensor::bytes(std::int64_t first, std::span<std::byte> out) const {
  if (!planted_.any()) return random_bytes(first, out);
  while (!out.empty()) {
    const std::int64_t row = first / row_bytes_, inside = first % row_bytes_;
    const auto part = out.first(static_cast<std::size_t>(std::min(row_bytes_ - inside, std::ssize(out))));
    planted_row(row, inside, part);
    first += std::ssize(part);
    out = out.subspan(part.size());
  }
}

// Bytes of one row, from `first` of its own on.
void RandomTensor::planted_row(std::int64_t row, std::int64_t first, std::span<std::byte> out) const {
  random_bytes((row - row % planted_.equal_rows) * row_bytes_ + first, out);
  if (planted_.odd_rows_negated && row % 2 == 1) {
    const auto last = static_cast<std::size_t>(element_bytes_);
    for (std::size_t i = last - 1; i < out.size(); i += last) out[i] ^= std::byte{0x80};
  }
  if ((planted_.large_rows >> (row % 4) & 1) != 0) {
    for (std::byte& scale : out) scale = static_cast<std::byte>(std::min(std::to_integer<int>(scale) + 6, 254));
  }
  if (row * row_bytes_ >= all_bytes_ - planted_.zeros_at_end * element_bytes_) std::ranges::fill(out, std::byte{});
}

void RandomTensor::random_bytes(std::int64_t first, std::span<std::byte> out) const {
  const std::int64_t per_number = bytes_per_number(role_, element_bytes_);
  check(first % per_number == 0, "a piece of a random tensor starts with a number of its own");
  std::int64_t at = first / per_number;
  const auto code = [&](std::uint64_t bits) { return code_[low_sum(bits)]; };
  switch (role_) {
    case TensorRole::fp8:
    case TensorRole::fp8_rows:
      for (std::size_t i = 0; i < out.size(); i += 2) {
        const std::uint64_t bits = number(at++);
        out[i] = std::byte{code(bits)};
        if (i + 1 < out.size()) out[i + 1] = std::byte{code(bits >> 32)};
      }
      break;
    case TensorRole::fp4:
      for (std::byte& pair : out) {
        const std::uint64_t bits = number(at++);
        pair = static_cast<std::byte>(code(bits) | code(bits >> 32) << 4);
      }
      break;
    case TensorRole::fp8_scale:
    case TensorRole::fp4_scale:
    case TensorRole::fp8_rows_scale:
      for (std::byte& scale : out) {
        const std::uint64_t which = number(at++) >> 61;
        const int change = which == 0 ? -1 : which == 1 ? 1 : 0;
        scale = static_cast<std::byte>(std::clamp(127 + exponent_ + change, 1, 254));
      }
      break;
    default:
      for (std::size_t i = 0; i < out.size(); i += static_cast<std::size_t>(element_bytes_)) {
        const float value = mean_ + deviation_ * normal(number(at++));
        const bf16 narrow = to_bf16(value);
        std::memcpy(&out[i], element_bytes_ == 4 ? static_cast<const void*>(&value) : &narrow,
                    static_cast<std::size_t>(element_bytes_));
      }
  }
}

}  // namespace cachalot
