// SPDX-License-Identifier: Apache-2.0
// The SIMD levels kernels are compiled for: AVX2 with FMA, AVX-512, NEON, and Highway's portable one (EMU128 or SCALAR)
// where there is none of them. Every file that holds kernels includes this before Highway's foreach_target.h.
#pragma once

// SVE registers have no size at compile time, which sums of 16 lanes want to know. Targets that Highway 1.0.3 does not
// know by name are given by their bits: AVX3_SPR (4), AVX3_ZEN4 (6), SSE2 (14), NEON_BF16 (26), NEON_WITHOUT_AES (29).
// Left in, they would run, unnamed, where simd_level() says another level; and each is one more compilation of every
// kernel.
#define HWY_DISABLED_TARGETS                                                                                        \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | (1LL << 4) | (1LL << 6) | \
   (1LL << 14) | (1LL << 26) | (1LL << 29))
