// SPDX-License-Identifier: Apache-2.0
#include "weights/small_parameters.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "checkpoint/expected_tensors.h"
#include "numerics/bf16.h"
#include "numerics/f16.h"

namespace cachalot {
namespace {

std::int64_t elements(const TensorInfo& tensor) { return tensor.bytes / bytes_of(*tensor.dtype); }

float value(const TensorInfo& tensor, std::int64_t i) {
  switch (*tensor.dtype) {
    case DType::f32:
      return reinterpret_cast<const float*>(tensor.data)[i];
    case DType::f16:
      return to_float(reinterpret_cast<const f16*>(tensor.data)[i]);
    case DType::bf16:
      return to_float(reinterpret_cast<const bf16*>(tensor.data)[i]);
    default:
      check(false, "small parameters are bf16, f16 or f32");
      return 0;
  }
}

// "[3, 17]"
std::string place_text(const TensorInfo& tensor, std::int64_t i) {
  std::vector<std::int64_t> place(tensor.shape.size());
  for (std::size_t axis = place.size(); axis-- > 0; i /= tensor.shape[axis]) place[axis] = i % tensor.shape[axis];
  return fmt::format("[{}]", fmt::join(place, ", "));
}

// Whether an operator reads this tensor as f32 only; norms are read as bf16 too.
bool is_widened(TensorRole role, DType type) {
  switch (role) {
    case TensorRole::norm:
      return type == DType::f16;
    case TensorRole::gate_bias:
    case TensorRole::sink:
    case TensorRole::hc_matrix:
    case TensorRole::hc_base:
    case TensorRole::hc_scale:
      return type != DType::f32;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> place_not_finite(const TensorInfo& tensor) {
  for (std::int64_t i = 0; i < elements(tensor); ++i) {
    if (const float found = value(tensor, i); !std::isfinite(found))
      return fmt::format("{} is {}", place_text(tensor, i), found);
  }
  return std::nullopt;
}

Expected<const TensorInfo*> SmallParameters::as_read(const TensorInfo& tensor, WeightRole role) {
  if (tensor.dtype != DType::bf16 && tensor.dtype != DType::f16 && tensor.dtype != DType::f32)
    return tl::unexpected(unreadable_type(tensor));
  if (const auto place = place_not_finite(tensor)) {
    return fail(Errc::format, "{}: tensor {}: {}, expected a finite number", tensor.file, tensor.name, *place);
  }
  if (tensor.dtype == DType::f32 || (role == WeightRole::norm && tensor.dtype == DType::bf16)) return &tensor;
  const std::int64_t n = elements(tensor);
  auto values = std::unique_ptr<float[]>(new (std::nothrow) float[static_cast<std::size_t>(n)]);
  if (!values) {
    return fail(Errc::memory, "{}: tensor {} is {}, and no memory is left for its {} values as F32", tensor.file,
                tensor.name, tensor.dtype_text, n);
  }
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = value(tensor, i);
  Widened& it = widened_.emplace_back(Widened{std::move(values), tensor});
  it.tensor.dtype = DType::f32;
  it.tensor.dtype_text = name(DType::f32);
  it.tensor.data = reinterpret_cast<const std::byte*>(it.values.get());
  it.tensor.bytes = n * bytes_of(DType::f32);
  return &it.tensor;
}

std::int64_t widened_bytes(const Checkpoint& checkpoint) {
  std::int64_t bytes = 0;
  for (const ExpectedTensor& want : expected_tensors(checkpoint.config())) {
    const TensorInfo* found = want.part == Part::vision ? nullptr : checkpoint.find(want.name);
    if (found == nullptr || !found->dtype || !is_widened(want.role, *found->dtype)) continue;
    bytes += elements(*found) * static_cast<std::int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace cachalot
