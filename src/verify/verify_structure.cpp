// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_structure.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "checkpoint/expected_tensors.h"
#include "numerics/e4m3.h"
#include "numerics/f16.h"
#include "tensor/weight.h"
#include "weights/mapped_places.h"
#include "weights/model_weights.h"

namespace cachalot {
namespace {

bool is_scale(TensorRole role) {
  return role == TensorRole::fp8_scale || role == TensorRole::fp4_scale || role == TensorRole::fp8_rows_scale;
}
bool is_fp8(TensorRole role) { return role == TensorRole::fp8 || role == TensorRole::fp8_rows; }

template <class Stored, class Bad>
std::optional<std::int64_t> first_where(const TensorInfo& info, Bad bad) {
  for (std::int64_t at = 0; at < info.bytes; at += static_cast<std::int64_t>(sizeof(Stored))) {
    Stored v;
    std::memcpy(&v, info.data + at, sizeof(Stored));
    if (bad(v)) return at / static_cast<std::int64_t>(sizeof(Stored));
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_not_finite(const TensorInfo& info) {
  switch (*info.dtype) {
    case DType::f64:
      return first_where<double>(info, [](double v) { return !std::isfinite(v); });
    case DType::f32:
      return first_where<float>(info, [](float v) { return !std::isfinite(v); });
    case DType::f16:
      return first_where<f16>(info, [](f16 v) { return !std::isfinite(to_float(v)); });
    case DType::bf16:
      return first_where<bf16>(info, [](bf16 v) { return !std::isfinite(to_float(v)); });
    default:
      return std::nullopt;
  }
}

// Whether some code times its scale leaves f32: only where a scale is so large that it could.
std::optional<std::int64_t> first_overflow(const TensorInfo& codes, const TensorInfo& scales, TensorRole role) {
  const int largest = role == TensorRole::fp4 ? 252 : 246;  // 2^(252-127) · 6 and 2^(246-127) · 448 still fit
  if (!first_where<std::uint8_t>(scales, [&](std::uint8_t s) { return s > largest; })) return std::nullopt;
  const bool rows = role == TensorRole::fp8_rows;
  const bool fp4 = role == TensorRole::fp4;
  const std::int64_t out = codes.shape[0], in = fp4 ? 2 * codes.shape[1] : codes.shape[1];
  const auto* scale = reinterpret_cast<const std::uint8_t*>(scales.data);
  const Weight weight{fp4 ? WeightFormat::e2m1_row32 : WeightFormat::e4m3_block32, out, in, codes.data, scale};
  for (std::int64_t r = 0; r < out; ++r) {
    for (std::int64_t i = 0; i < in; ++i) {
      const float scale_of_row = rows ? to_float(e8m0{scale[r * weight.scale_columns() + i / 32]}) : 0;
      const float v = rows ? weight.code(r, i) * scale_of_row : weight.value(r, i);
      if (std::isinf(v)) return r * in + i;  // NaN comes from a code that has its own finding
    }
  }
  return std::nullopt;
}

std::string problem_of(const TensorInfo& info, const ExpectedTensor* expected, const Checkpoint& checkpoint) {
  const bool scale = expected != nullptr && is_scale(expected->role);
  if (*info.dtype == DType::e8m0 || scale) {
    const auto bad = first_where<std::uint8_t>(info, [](std::uint8_t code) { return code == 255; });
    return bad ? fmt::format("{} in {}: scale {} is the ue8m0 code 255, which is NaN", info.name, info.file, *bad) : "";
  }
  if (*info.dtype == DType::e4m3) {
    const auto bad = first_where<std::uint8_t>(info, [](std::uint8_t code) { return (code & 0x7F) == 0x7F; });
    if (bad) return fmt::format("{} in {}: value {} is an e4m3 code of NaN", info.name, info.file, *bad);
  }
  if (const auto bad = first_not_finite(info)) {
    return fmt::format("{} in {}: value {} is NaN or infinite", info.name, info.file, *bad);
  }
  constexpr std::string_view weight = "weight";
  if (expected == nullptr || !(is_fp8(expected->role) || expected->role == TensorRole::fp4)) return "";
  const TensorInfo* scales = checkpoint.find(info.name.substr(0, info.name.size() - weight.size()) + "scale");
  if (scales == nullptr) return "";
  const auto bad = first_overflow(info, *scales, expected->role);
  return bad ? fmt::format("{} in {}: value {} times its scale is beyond f32", info.name, info.file, *bad) : "";
}

}  // namespace

Expected<StructureFacts> verify_structure(const std::filesystem::path& model) {
  auto opened = Checkpoint::open(model);
  if (!opened) return tl::unexpected(opened.error());
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(*opened));
  auto unused = check_tensors(*checkpoint);
  if (!unused) return tl::unexpected(unused.error());
  auto weights = bind_weights(checkpoint->config(), std::make_shared<MappedPlaces>(checkpoint));
  if (!weights) return tl::unexpected(weights.error());
  StructureFacts facts{.tensors = static_cast<std::int64_t>(checkpoint->tensors().size()),
                       .shards = static_cast<std::int64_t>(checkpoint->shards().size()),
                       .bytes = checkpoint->bytes(),
                       .warnings = {checkpoint->warnings().begin(), checkpoint->warnings().end()}};
  if (!unused->empty())
    facts.warnings.push_back(message("nothing uses {} tensors: {}", unused->size(), shown_list(*unused)));
  return facts;
}

ValueFacts verify_values(const Checkpoint& checkpoint,
                         const std::function<bool(std::int64_t, std::int64_t)>& progress) {
  const std::vector<ExpectedTensor> expected = expected_tensors(checkpoint.config());
  std::map<std::string_view, const ExpectedTensor*> by_name;
  for (const ExpectedTensor& e : expected) by_name.emplace(e.name, &e);
  ValueFacts facts;
  for (const TensorInfo& info : checkpoint.tensors()) {
    if (!progress(facts.bytes, checkpoint.bytes())) {
      facts.stopped = true;
      break;
    }
    ++facts.tensors;
    facts.bytes += info.bytes;
    if (!info.dtype) {
      facts.problems.push_back(
          fmt::format("{} in {}: values of the unknown type {}", info.name, info.file, info.dtype_text));
      continue;
    }
    const auto role = by_name.find(info.name);
    std::string problem = problem_of(info, role == by_name.end() ? nullptr : role->second, checkpoint);
    if (!problem.empty()) facts.problems.push_back(std::move(problem));
  }
  return facts;
}

}  // namespace cachalot
