// SPDX-License-Identifier: Apache-2.0
#include "weights/mapped_places.h"

namespace cachalot {

Expected<const TensorInfo*> MappedPlaces::place(const std::string& name, WeightRole role) {
  const TensorInfo* tensor = checkpoint_->find(name);
  const bool small = role == WeightRole::norm || role == WeightRole::parameter;
  if (tensor == nullptr || !small) return tensor;
  return small_.as_read(*tensor, role);
}

}  // namespace cachalot
