// SPDX-License-Identifier: Apache-2.0
// The small parameters: norms, sinks, biases, hyper-connections. Converters write them in any of three types, so here
// they become what operators read; and every one is looked at, for a NaN in one of them would spread over all rows and
// still look like an answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"
#include "tensor/dtype.h"

namespace cachalot {

// The place of a value that is no finite number, "[3, 17] is nan"; none where all are finite. bf16, f16 and f32 only.
std::optional<std::string> place_not_finite(const TensorInfo& tensor);

// Memory that widened values live in, as long as the weights bound to them.
class WidenedParameters {
 public:
  // As f32: where they lie, or a copy that represents the same values. Errors: Errc::memory.
  Expected<const float*> floats(const TensorInfo& tensor);

 private:
  std::vector<std::unique_ptr<float[]>> copies_;
};

// Of all copies that a checkpoint will need, for the memory plan.
std::int64_t widened_bytes(const Checkpoint& checkpoint);

}  // namespace cachalot
