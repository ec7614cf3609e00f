// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <algorithm>
#include <array>

namespace cachalot {
namespace {

struct Entry {
  DType type;
  const char* name;
  std::int64_t bytes;
};

constexpr std::array<Entry, 15> entries = {{{DType::f64, "F64", 8},
                                            {DType::f32, "F32", 4},
                                            {DType::f16, "F16", 2},
                                            {DType::bf16, "BF16", 2},
                                            {DType::e4m3, "F8_E4M3", 1},
                                            {DType::e8m0, "F8_E8M0", 1},
                                            {DType::i64, "I64", 8},
                                            {DType::i32, "I32", 4},
                                            {DType::i16, "I16", 2},
                                            {DType::i8, "I8", 1},
                                            {DType::u64, "U64", 8},
                                            {DType::u32, "U32", 4},
                                            {DType::u16, "U16", 2},
                                            {DType::u8, "U8", 1},
                                            {DType::boolean, "BOOL", 1}}};

const Entry& entry(DType type) { return entries[static_cast<std::size_t>(type)]; }

}  // namespace

std::optional<DType> parse_dtype(std::string_view name) {
  const auto* at = std::ranges::find_if(entries, [&](const Entry& e) { return name == e.name; });
  if (at == entries.end()) return std::nullopt;
  return at->type;
}

const char* name(DType type) { return entry(type).name; }
std::int64_t bytes_of(DType type) { return entry(type).bytes; }

}  // namespace cachalot
