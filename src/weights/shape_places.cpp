// SPDX-License-Identifier: Apache-2.0
#include "weights/shape_places.h"

#include "checkpoint/expected_tensors.h"

namespace cachalot {

ShapePlaces::ShapePlaces(const Config& config) {
  std::vector<ExpectedTensor> expected = expected_tensors(config);
  tensors_.reserve(expected.size());  // place_ has views of their names, so they must not move
  for (ExpectedTensor& tensor : expected) {
    if (!tensor.required) continue;
    TensorInfo& it = tensors_.emplace_back();
    it.name = std::move(tensor.name);
    it.dtype_text = name(tensor.dtype());
    it.dtype = tensor.dtype();
    it.bytes = tensor.bytes();
    it.shape = std::move(tensor.shape);
    place_.emplace(it.name, &it);
  }
}

Expected<const TensorInfo*> ShapePlaces::place(const std::string& name, WeightRole) {
  const auto at = place_.find(name);
  return at == place_.end() ? nullptr : at->second;
}

}  // namespace cachalot
