// SPDX-License-Identifier: Apache-2.0
// Element types as safetensors files name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cachalot {

enum class DType : std::uint8_t { f64, f32, f16, bf16, e4m3, e8m0, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

// "F32", "BF16", "F8_E4M3", …; nothing for a name this build does not know.
std::optional<DType> parse_dtype(std::string_view name);
const char* name(DType type);
std::int64_t bytes_of(DType type);

}  // namespace cachalot
