// SPDX-License-Identifier: Apache-2.0
// How close is right: docs/spec/tolerances.md as a table of names. A limit is never widened to make something pass.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "verify/statistics.h"

namespace cachalot {

// Limits of ErrorStats; what is not named is not looked at. NaN and infinities out of place never pass.
struct Tolerance {
  static constexpr double any = std::numeric_limits<double>::infinity();

  std::string_view name;
  std::string_view reason;
  double median = any;
  double p99 = any;
  double max = any;
  double rms = any;
  double max_abs = any;
  double max_ulps = any;
  double unequal = any;  // share of elements
};

struct Judgement {
  double used = 0;      // the largest error / limit: above 1 is a failure
  std::string error;    // what was found, in the terms of the tolerance
  std::string allowed;  // the tolerance
};

Judgement judge(const ErrorStats& stats, const Tolerance& tolerance);

namespace tolerances {

inline constexpr Tolerance exact{.name = "exact", .reason = "discrete", .unequal = 0};

// Single operators.
inline constexpr Tolerance bf16_operator{
    .name = "bf16_operator", .reason = "0 unequal in three orders of summation", .max_ulps = 1, .unequal = 0.005};
inline constexpr Tolerance rotation{.name = "rotation", .reason = "angles are f32 up to a million", .max_abs = 3e-7};
inline constexpr Tolerance gate_weights{.name = "gate_weights", .reason = "f32 scores", .max_abs = 1e-6};
inline constexpr Tolerance hyper_connection{
    .name = "hyper_connection", .reason = "a dropped hc_eps or Sinkhorn round shows at 1e-6", .max_abs = 4e-7};
inline constexpr Tolerance attention_f32{.name = "attention_f32", .reason = "3 times the worst seen", .max = 2e-5};
inline constexpr Tolerance attention_bf16{.name = "attention_bf16",
                                          .reason = "bf16 probabilities in blocks of 64: the same roundings",
                                          .max = 2e-2,
                                          .unequal = 0.005};

// Layers fed golden inputs.
inline constexpr Tolerance layer_f32{
    .name = "layer_f32", .reason = "one fp8 flip makes 1e-4", .p99 = 1e-5, .max = 1e-3};
inline constexpr Tolerance step_f32{
    .name = "step_f32",
    .reason = "the state behind a step is the engine's own, and one flipped fp8 code in it makes 1e-4 in every row",
    .median = 1e-5,
    .max = 1e-3};
inline constexpr Tolerance layer_gates_f32{
    .name = "layer_gates_f32", .reason = "f32 sums of one layer in another order", .max = 2e-6};
inline constexpr Tolerance layer_fp4{.name = "layer_fp4", .reason = "an fp4 flip is a whole step", .unequal = 0.001};
inline constexpr Tolerance layer_bf16{
    .name = "layer_bf16", .reason = "reached: 81 of 368,640", .max_ulps = 2, .unequal = 0.002};
inline constexpr Tolerance layer_attention_other{
    .name = "layer_attention_other", .reason = "half a bf16 unit per probability", .max = 5e-2, .unequal = 0.002};
inline constexpr Tolerance layer_released_f32{
    .name = "layer_released_f32", .reason = "f32 behind bf16 inputs that may flip", .max = 2e-4};

// A trained model is not chaotic: flips stay small, and without one nothing of this size is left.
inline constexpr Tolerance trained_f32{
    .name = "trained_f32", .reason = "reached: 4e-5, once a query is on the golden side of its tie", .rms = 1e-4};
inline constexpr Tolerance trained_released{
    .name = "trained_released", .reason = "however far the runs of the sample lie apart", .rms = 0.1};

}  // namespace tolerances

// Logits of whole runs, row by row.
struct EndToEndLimits {
  double median;  // of the row errors
  double max;     // of every row
  double margin;  // where the golden margin is larger the best token must be the same
};
inline constexpr EndToEndLimits end_to_end_f32{.median = 1e-5, .max = 1e-3, .margin = 0.01};      // row max error
inline constexpr EndToEndLimits end_to_end_released{.median = 0.08, .max = 0.35, .margin = 0.8};  // row L2 error
inline constexpr double end_to_end_released_short =
    1e-5;  // row max error of prompts up to 3 tokens: nothing to flip yet
inline constexpr std::int64_t short_prompt = 3;

// The long text of a trained model.
inline constexpr struct {
  double nll = 0.0002;   // share of the mean
  double margin = 0.01;  // of greedy ids and the best token
} trained_text_f32;
inline constexpr struct {
  double nll = 0.003;
  double margin = 0.3;  // of greedy ids
} trained_text_released;

}  // namespace cachalot
