// SPDX-License-Identifier: Apache-2.0
// Weights where the checkpoint's mapped files are. Nothing is copied but small parameters of another type than the
// operators'.
#pragma once

#include <memory>

#include "checkpoint/checkpoint.h"
#include "weights/small_parameters.h"
#include "weights/weight_places.h"

namespace cachalot {

class MappedPlaces : public WeightPlaces {
 public:
  explicit MappedPlaces(std::shared_ptr<const Checkpoint> checkpoint) : checkpoint_(std::move(checkpoint)) {}

  // Errors: those of SmallParameters.
  Expected<const TensorInfo*> place(const std::string& name, WeightRole role) override;
  // Has the system begin with rows of a large table: a page that is read when a lookup first meets it is waited for,
  // one after the other, with all that the system reads around it.
  void expect_rows(std::int64_t layer, const PackedRows& bound, std::span<const std::int64_t> row) override;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  SmallParameters small_;
};

}  // namespace cachalot
