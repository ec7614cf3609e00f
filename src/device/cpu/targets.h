// SPDX-License-Identifier: Apache-2.0
// The SIMD levels kernels are compiled for: AVX2 with FMA, AVX-512, NEON, and Highway's portable one (EMU128 or SCALAR)
// where there is none of them. Every file that holds kernels includes this before Highway's foreach_target.h.
#pragma once

// SVE registers have no size at compile time, which sums of 16 lanes want to know.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
