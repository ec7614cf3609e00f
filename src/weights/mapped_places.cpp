// SPDX-License-Identifier: Apache-2.0
#include "weights/mapped_places.h"

#include "base/mapped_file.h"

namespace cachalot {
namespace {

// Of a table; a smaller one is soon in memory as a whole.
constexpr std::int64_t large = std::int64_t{256} << 20;

}  // namespace

Expected<const TensorInfo*> MappedPlaces::place(const std::string& name, WeightRole role) {
  const TensorInfo* tensor = checkpoint_->find(name);
  const bool small = role == WeightRole::norm || role == WeightRole::parameter;
  if (tensor == nullptr || !small) return tensor;
  return small_.as_read(*tensor, role);
}

void MappedPlaces::expect_rows(std::int64_t, const PackedRows& bound, std::span<const std::int64_t> row) {
  if (bound.rows * row_bytes(bound.format, bound.width) < large) return;
  const auto expect = [](const std::uint8_t* first, std::int64_t bytes) {
    expect_read(reinterpret_cast<const std::byte*>(first), static_cast<std::size_t>(bytes));
  };
  for (const std::int64_t r : row) {
    const PackedRows::Place place = bound[r];
    expect(place.codes, code_bytes(bound.format, bound.width));
    expect(place.scales, scale_bytes(bound.format, bound.width));
  }
}

}  // namespace cachalot
