// SPDX-License-Identifier: Apache-2.0
// One golden call with taps: the engine runs it while every layer is fed the golden inputs, and everything it computes
// on the way is compared.
#pragma once

#include "verify/cases/model_cases.h"
#include "verify/taps.h"

namespace cachalot {

// Runs the call on `run`, which stands where the call starts. A prompt is judged by the limits for layers fed golden
// inputs. Where a tensor of a prompt is beyond them, the prompt runs once more with every operator fed golden inputs:
// what is right then was led astray by a rounding before it that the first run shows; a head of attention that is still
// off must be explained by one rounding next to a tie. A step behind the engine's own prefill is judged by the limits
// for steps in `f32`, and shown in `released`.
Status judge_layers(ModelCase& c, ModelRun& run, GoldenFile& golden, const GoldenTensor& ids,
                    const GoldenTensor& logits, std::initializer_list<std::string_view> not_taps, CaseReport& report);

}  // namespace cachalot
