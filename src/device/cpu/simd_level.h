// SPDX-License-Identifier: Apache-2.0
// Which SIMD level kernels run at: chosen from what the machine has, or forced.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/expected.h"

namespace cachalot {

// Highway's number of a target; bits are the same at avx2, avx512 and neon.
struct SimdLevel {
  const char* name;  // "avx2", "avx512", "neon", "portable"
  std::int64_t target;
};

// The levels this machine can run, best first; never empty.
std::span<const SimdLevel> simd_levels();

// The level in use.
const SimdLevel& simd_level();

// Every kernel called from here on runs at `level`. Not while kernels run.
void force_simd_level(const SimdLevel& level);

// The level of that name. Errors: Errc::usage, listing what this machine has.
Expected<SimdLevel> find_simd_level(std::string_view name);

}  // namespace cachalot
