// SPDX-License-Identifier: Apache-2.0
// The tensors of a checkpoint against the table of expected ones.
#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/seeded_hash.h"
#include "checkpoint/expected_tensors.h"

namespace cachalot {
namespace {

// The other half of a weight and its scale; empty for a tensor that has none.
std::optional<std::string> partner(const ExpectedTensor& tensor) {
  switch (tensor.role) {
    case TensorRole::fp8:
    case TensorRole::fp4:
    case TensorRole::fp8_rows:
      return tensor.name.substr(0, tensor.name.size() - std::string_view("weight").size()) + "scale";
    case TensorRole::fp8_scale:
    case TensorRole::fp4_scale:
    case TensorRole::fp8_rows_scale:
      return tensor.name.substr(0, tensor.name.size() - std::string_view("scale").size()) + "weight";
    default:
      return std::nullopt;
  }
}

// The weight that a tensor would be the scale of, by its name; null where it has no such name.
const TensorInfo* weight_beside(const Checkpoint& checkpoint, const TensorInfo& tensor) {
  constexpr std::string_view scale = ".scale";
  if (!tensor.name.ends_with(scale)) return nullptr;
  return checkpoint.find(tensor.name.substr(0, tensor.name.size() - scale.size()) + ".weight");
}

std::string types_of(TensorRole role) {
  std::string text;
  for (const DType type : accepted_dtypes(role)) text += fmt::format("{}{}", text.empty() ? "" : " or ", name(type));
  return text;
}

ShownText shape_text(std::span<const std::int64_t> shape) { return message("[{}]", shown_list(shape)); }

}  // namespace

Expected<std::vector<std::string>> check_tensors(const Checkpoint& checkpoint) {
  std::vector<std::string> missing, unused;
  HashSet<std::string_view> used;
  const std::vector<ExpectedTensor> expected = expected_tensors(checkpoint.config());
  for (const ExpectedTensor& want : expected) {
    const TensorInfo* found = checkpoint.find(want.name);
    if (!found) {
      if (!want.required) continue;
      const auto other = partner(want);
      missing.push_back(other && checkpoint.find(*other)
                            ? fmt::format("{} (its partner {} is there)", want.name, *other)
                            : want.name);
      continue;
    }
    used.insert(found->name);
    if (!found->dtype ||
        std::ranges::find(accepted_dtypes(want.role), *found->dtype) == accepted_dtypes(want.role).end()) {
      return fail(Errc::format, "{}: tensor {} is {}, expected {}", found->file, found->name, found->dtype_text,
                  types_of(want.role));
    }
    if (!std::ranges::equal(found->shape, want.shape)) {
      return fail(Errc::format, "{}: tensor {} has shape {}, expected {}", found->file, found->name,
                  shape_text(found->shape), shape_text(want.shape));
    }
  }
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (used.contains(tensor.name)) continue;
    if (const TensorInfo* weight = weight_beside(checkpoint, tensor);
        weight != nullptr && used.contains(weight->name)) {
      return fail(
          Errc::format,
          "{}: tensor {} is a scale beside {}, which is {} and has none: that weight is quantized in a way that is "
          "not known here, or the scale is left over; a weight without it can be read",
          tensor.file, tensor.name, weight->name, weight->dtype_text);
    }
    unused.push_back(tensor.name);
  }
  if (!missing.empty()) {
    const std::string also = unused.empty() ? "" : fmt::format(". Tensors nobody asks for: {}", shown_list(unused));
    return fail(Errc::missing, "{}: {} tensors are missing: {}{}", checkpoint.directory().string(), missing.size(),
                shown_list(missing), also);
  }
  return unused;
}

}  // namespace cachalot
