// SPDX-License-Identifier: Apache-2.0
#include "weights/weight_places.h"

namespace cachalot {

Expected<ExpertLease> WeightPlaces::lease_experts(std::int64_t, std::span<const ExpertWeights> bound,
                                                  std::span<const std::int32_t>) {
  return ExpertLease{bound, nullptr};
}

void WeightPlaces::expect_rows(std::int64_t, const PackedRows&, std::span<const std::int64_t>) {}

Expected<RowLease> WeightPlaces::lease_rows(std::int64_t, const PackedRows& bound, std::span<const std::int64_t>) {
  return RowLease{bound, nullptr};
}

Error unreadable_type(const TensorInfo& tensor) {
  return {Errc::format, message("{} in {}: type {} can't be used here", tensor.name, tensor.file, tensor.dtype_text)};
}

}  // namespace cachalot
