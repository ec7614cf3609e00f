// SPDX-License-Identifier: Apache-2.0
// The small parameters: norms, sinks, biases, hyper-connections. Converters write them in any of three types, so here
// they become what operators read; and every one is looked at, for a NaN in one of them would spread over all rows and
// still look like an answer.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/expected.h"
#include "checkpoint/checkpoint.h"
#include "weights/weight_places.h"

namespace cachalot {

// The place of a value that is no finite number, "[3, 17] is nan"; none where all are finite. bf16, f16 and f32 only.
std::optional<std::string> place_not_finite(const TensorInfo& tensor);

// Those that are not as operators read them, for as long as weights are bound to them.
class SmallParameters {
 public:
  // Of the roles norm and parameter: the tensor itself, or one of f32 that represents the same values. Errors:
  // Errc::format naming tensor and file, for another type than the three and for a value that is no finite number;
  // Errc::memory.
  Expected<const TensorInfo*> as_read(const TensorInfo& tensor, WeightRole role);

 private:
  struct Widened {
    std::unique_ptr<float[]> values;
    TensorInfo tensor;
  };
  std::deque<Widened> widened_;
};

// Of all copies that a checkpoint will need, for the memory plan.
std::int64_t widened_bytes(const Checkpoint& checkpoint);

}  // namespace cachalot
