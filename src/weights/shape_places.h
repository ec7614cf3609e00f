// SPDX-License-Identifier: Apache-2.0
// Formats and shapes of a config's weights, in the released types, and no bytes: for a model that only counts.
#pragma once

#include <string_view>
#include <vector>

#include "base/seeded_hash.h"
#include "checkpoint/config.h"
#include "weights/weight_places.h"

namespace cachalot {

class ShapePlaces : public WeightPlaces {
 public:
  explicit ShapePlaces(const Config& config);

  // `data` is null; no error.
  Expected<const TensorInfo*> place(const std::string& name, WeightRole role) override;

 private:
  std::vector<TensorInfo> tensors_;
  HashMap<std::string_view, const TensorInfo*> place_;  // name, in tensors_
};

}  // namespace cachalot
