// SPDX-License-Identifier: Apache-2.0
// Rows of numbers in the formats the model stores them in, and the codecs between them and f32 (spec 7).
// What a row holds after encode_row is exactly the round trip the model computes: decode_row loses nothing more.
#pragma once

#include <cstdint>
#include <span>

namespace cachalot {

enum class RowFormat : std::uint8_t {
  f32,
  bf16,
  e4m3_e8m0_32,  // one byte a value, one ue8m0 scale per 32: window KV, Engram tables, quantized activations
  e2m1_e4m3_16,  // half a byte a value, one e4m3 scale per 16: compressed KV
  e2m1_e8m0_32,  // half a byte a value, one ue8m0 scale per 32: index keys and index queries
};

// Values that share one scale; 1 where there are no scales. A packed row's width is a multiple of it.
constexpr std::int64_t group_size(RowFormat f) {
  switch (f) {
    case RowFormat::f32:
    case RowFormat::bf16:
      return 1;
    case RowFormat::e2m1_e4m3_16:
      return 16;
    case RowFormat::e4m3_e8m0_32:
    case RowFormat::e2m1_e8m0_32:
      return 32;
  }
  return 1;
}

// Bytes of a row's codes, and of its scales.
constexpr std::int64_t code_bytes(RowFormat f, std::int64_t width) {
  switch (f) {
    case RowFormat::f32:
      return 4 * width;
    case RowFormat::bf16:
      return 2 * width;
    case RowFormat::e4m3_e8m0_32:
      return width;
    case RowFormat::e2m1_e4m3_16:
    case RowFormat::e2m1_e8m0_32:
      return width / 2;
  }
  return 0;
}
constexpr std::int64_t scale_bytes(RowFormat f, std::int64_t width) {
  return f == RowFormat::f32 || f == RowFormat::bf16 ? 0 : width / group_size(f);
}

constexpr std::int64_t row_bytes(RowFormat f, std::int64_t width) {
  return code_bytes(f, width) + scale_bytes(f, width);
}

const char* name(RowFormat f);

// codes and scales hold code_bytes and scale_bytes of values.size().
void encode_row(RowFormat f, std::span<const float> values, std::uint8_t* codes, std::uint8_t* scales);
void decode_row(RowFormat f, const std::uint8_t* codes, const std::uint8_t* scales, std::span<float> values);

// The quantizers of one group (spec 7): scale first, then the codes. Exposed for the operators that want codes and
// scale apart.
std::uint8_t quantize_e4m3_e8m0(std::span<const float> group, std::uint8_t* codes);   // returns the ue8m0 scale code
std::uint8_t quantize_e2m1_e8m0(std::span<const float> group, std::uint8_t* packed);  // returns the ue8m0 scale code
std::uint8_t quantize_e2m1_e4m3(std::span<const float> group, std::uint8_t* packed);  // returns the e4m3 scale code

}  // namespace cachalot
