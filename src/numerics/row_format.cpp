// SPDX-License-Identifier: Apache-2.0
#include "numerics/row_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"

namespace cachalot {
namespace {

float largest_magnitude(std::span<const float> group, float at_least) {
  float a = at_least;
  for (float v : group) a = std::max(a, std::abs(v));
  return a;
}

void pack_e2m1(std::span<const float> group, float scale, std::uint8_t* packed) {
  for (std::size_t i = 0; i < group.size(); i += 2) {
    const unsigned even = to_e2m1(std::clamp(group[i] / scale, -e2m1_max, e2m1_max));
    const unsigned odd = to_e2m1(std::clamp(group[i + 1] / scale, -e2m1_max, e2m1_max));
    packed[i / 2] = static_cast<std::uint8_t>(even | (odd << 4));
  }
}

}  // namespace

const char* name(RowFormat f) {
  switch (f) {
    case RowFormat::f32:
      return "f32";
    case RowFormat::bf16:
      return "bf16";
    case RowFormat::e4m3_e8m0_32:
      return "e4m3 + ue8m0 per 32";
    case RowFormat::e2m1_e4m3_16:
      return "e2m1 + e4m3 per 16";
    case RowFormat::e2m1_e8m0_32:
      return "e2m1 + ue8m0 per 32";
  }
  return "?";
}

std::uint8_t quantize_e4m3_e8m0(std::span<const float> group, std::uint8_t* codes) {
  const e8m0 scale = ceil_e8m0(largest_magnitude(group, 1e-4f) * (1.0f / e4m3_max));
  const float s = to_float(scale);
  for (std::size_t i = 0; i < group.size(); ++i) {
    codes[i] = to_e4m3(std::clamp(group[i] / s, -e4m3_max, e4m3_max)).code;
  }
  return scale.code;
}

std::uint8_t quantize_e2m1_e8m0(std::span<const float> group, std::uint8_t* packed) {
  const e8m0 scale = ceil_e8m0(largest_magnitude(group, 6.0f * 0x1p-126f) * (1.0f / e2m1_max));
  pack_e2m1(group, to_float(scale), packed);
  return scale.code;
}

std::uint8_t quantize_e2m1_e4m3(std::span<const float> group, std::uint8_t* packed) {
  const e4m3 scale = to_e4m3(largest_magnitude(group, 6.0f * 0x1p-9f) / e2m1_max);
  pack_e2m1(group, to_float(scale), packed);
  return scale.code;
}

void encode_row(RowFormat f, std::span<const float> values, std::uint8_t* codes, std::uint8_t* scales) {
  const auto width = static_cast<std::int64_t>(values.size());
  const std::int64_t group = group_size(f);
  check(width % group == 0, "a packed row has whole groups");
  switch (f) {
    case RowFormat::f32:
      for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(codes + 4 * i, &values[i], 4);
      return;
    case RowFormat::bf16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bf16 v = to_bf16(values[i]);
        std::memcpy(codes + 2 * i, &v, 2);
      }
      return;
    default:
      break;
  }
  for (std::int64_t g = 0; g < width / group; ++g) {
    const auto part = values.subspan(static_cast<std::size_t>(g * group), static_cast<std::size_t>(group));
    std::uint8_t* at = codes + code_bytes(f, g * group);
    scales[g] = f == RowFormat::e4m3_e8m0_32   ? quantize_e4m3_e8m0(part, at)
                : f == RowFormat::e2m1_e8m0_32 ? quantize_e2m1_e8m0(part, at)
                                               : quantize_e2m1_e4m3(part, at);
  }
}

void decode_row(RowFormat f, const std::uint8_t* codes, const std::uint8_t* scales, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    switch (f) {
      case RowFormat::f32:
        std::memcpy(&values[i], codes + 4 * i, 4);
        break;
      case RowFormat::bf16: {
        bf16 v;
        std::memcpy(&v, codes + 2 * i, 2);
        values[i] = to_float(v);
        break;
      }
      case RowFormat::e4m3_e8m0_32:
        values[i] = to_float(e4m3{codes[i]}) * to_float(e8m0{scales[i / 32]});
        break;
      case RowFormat::e2m1_e4m3_16:
        values[i] = e2m1_value[e2m1_code(codes, at)] * to_float(e4m3{scales[i / 16]});
        break;
      case RowFormat::e2m1_e8m0_32:
        values[i] = e2m1_value[e2m1_code(codes, at)] * to_float(e8m0{scales[i / 32]});
        break;
    }
  }
}

}  // namespace cachalot
