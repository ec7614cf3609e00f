// SPDX-License-Identifier: Apache-2.0
// In which settings the bits of the cpu backend are compared: every SIMD level of this machine, both numerics.
#pragma once

#include "device/cpu/simd_level.h"
#include "sequence_runner.h"

namespace cachalot {

// mini-a with drafts, on the cpu backend.
inline const Model& mini_a_cpu(Numerics numerics) {
  static const Model released =
      load_mini_a({.backend = &cpu_under_test(), .numerics = Numerics::released, .drafts = true});
  static const Model f32 = load_mini_a({.backend = &cpu_under_test(), .numerics = Numerics::f32, .drafts = true});
  return numerics == Numerics::released ? released : f32;
}

// Runs kernels at one level while it lives.
class AtLevel {
 public:
  explicit AtLevel(const SimdLevel& level) : before_(simd_level()) { force_simd_level(level); }
  ~AtLevel() { force_simd_level(before_); }
  AtLevel(const AtLevel&) = delete;
  AtLevel& operator=(const AtLevel&) = delete;

 private:
  SimdLevel before_;
};

inline bool is_portable(const SimdLevel& level) { return std::string_view(level.name) == "portable"; }

// Calls test(model, words) in every setting; `words` say which it is. The portable level takes about five times as long
// as the others, so that a test asks for it by itself.
enum class Levels { vector, portable };
template <class Test>
void in_every_setting(Levels levels, const Test& test) {
  for (const SimdLevel& level : simd_levels()) {
    if (is_portable(level) != (levels == Levels::portable)) continue;
    if (guarded() && &level != &simd_levels().front()) continue;  // the host's part is the same at all
    const AtLevel at(level);
    for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
      test(mini_a_cpu(numerics), std::string(level.name) + (numerics == Numerics::released ? ", released" : ", f32"));
    }
  }
}

}  // namespace cachalot
