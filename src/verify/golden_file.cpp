// SPDX-License-Identifier: Apache-2.0
#include "verify/golden_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/e8m0.h"
#include "numerics/f16.h"

namespace cachalot {
namespace {

template <class Stored, class Out, class Convert>
void decode(const TensorInfo& info, std::vector<Out>& out, Convert convert) {
  const std::size_t count = static_cast<std::size_t>(info.bytes) / sizeof(Stored);
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, info.data + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
}

void decode_any(const TensorInfo& info, GoldenTensor& t) {
  const auto number = [](auto v) { return static_cast<std::int64_t>(v); };
  const auto value = [](auto v) { return to_float(v); };
  switch (t.dtype) {
    case DType::f64:
      return decode<double>(info, t.values, [](double v) { return static_cast<float>(v); });
    case DType::f32:
      return decode<float>(info, t.values, [](float v) { return v; });
    case DType::f16:
      return decode<f16>(info, t.values, value);
    case DType::bf16:
      return decode<bf16>(info, t.values, value);
    case DType::e4m3:
      return decode<e4m3>(info, t.values, value);
    case DType::e8m0:
      return decode<e8m0>(info, t.values, value);
    case DType::i64:
      return decode<std::int64_t>(info, t.numbers, number);
    case DType::i32:
      return decode<std::int32_t>(info, t.numbers, number);
    case DType::i16:
      return decode<std::int16_t>(info, t.numbers, number);
    case DType::i8:
      return decode<std::int8_t>(info, t.numbers, number);
    case DType::u64:
      return decode<std::uint64_t>(info, t.numbers, number);
    case DType::u32:
      return decode<std::uint32_t>(info, t.numbers, number);
    case DType::u16:
      return decode<std::uint16_t>(info, t.numbers, number);
    case DType::u8:
    case DType::boolean:
      return decode<std::uint8_t>(info, t.numbers, number);
  }
}

bool fits(DType type, char want) {
  switch (want) {
    case 'b':
      return type == DType::bf16;
    case 'f':
      return type == DType::f32;
    case 'r':
      return type == DType::bf16 || type == DType::f32;
    case '8':
      return bytes_of(type) == 1;
    default:
      return type >= DType::i64;
  }
}

const char* words(char want) {
  switch (want) {
    case 'b':
      return "BF16";
    case 'f':
      return "F32";
    case 'r':
      return "BF16 or F32";
    case '8':
      return "a type of one byte";
    default:
      return "a whole-number type";
  }
}

}  // namespace

std::int64_t GoldenTensor::width(int inner) const {
  std::int64_t n = 1;
  for (std::size_t i = shape.size() - static_cast<std::size_t>(inner); i < shape.size(); ++i) n *= shape[i];
  return n;
}

std::int64_t GoldenTensor::rows(int inner) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i + static_cast<std::size_t>(inner) < shape.size(); ++i) n *= shape[i];
  return n;
}

Expected<GoldenFile> GoldenFile::open(const std::filesystem::path& path) {
  auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  GoldenFile golden(std::move(*file));
  golden.path_ = path.string();
  for (const TensorInfo& info : golden.file_.tensors()) golden.unread_.insert(info.name);
  return golden;
}

Expected<GoldenTensor> GoldenFile::read(const GoldenWant& want) {
  const TensorInfo* info = file_.find(want.name);
  if (info == nullptr) return fail(Errc::missing, "{}: no tensor {}", path_, want.name);
  if (!info->dtype || !fits(*info->dtype, want.type)) {
    return fail(Errc::format, "{}: {} is {}, expected {}", path_, want.name, info->dtype_text, words(want.type));
  }
  if (want.rank >= 0 && static_cast<std::size_t>(want.rank) != info->shape.size()) {
    return fail(Errc::format, "{}: {} has shape [{}], expected {} axes", path_, want.name, shown_list(info->shape),
                want.rank);
  }
  GoldenTensor tensor;
  tensor.name = info->name;
  tensor.dtype = *info->dtype;
  tensor.shape = info->shape;
  tensor.data = info->data;
  decode_any(*info, tensor);
  unread_.erase(tensor.name);
  return tensor;
}

Status GoldenFile::expect_shape(const GoldenTensor& tensor, std::initializer_list<std::int64_t> want) const {
  if (std::ranges::equal(tensor.shape, want)) return {};
  return fail(Errc::format, "{}: {} has shape [{}], the other tensors ask for [{}]", path_, tensor.name,
              shown_list(tensor.shape), shown_list(want));
}

Status GoldenFile::expect_range(const GoldenTensor& tensor, std::int64_t low, std::int64_t high) const {
  const auto bad = std::ranges::find_if(tensor.numbers, [&](std::int64_t v) { return v < low || v >= high; });
  if (bad == tensor.numbers.end()) return {};
  return fail(Errc::range, "{}: {} holds {}, expected {} to {}", path_, tensor.name, *bad, low, high - 1);
}

void GoldenFile::close(CaseReport& report) const {
  report.set_present(count());
  for (const std::string& name : unread_) report.fail(name, "a golden tensor that nothing was compared with");
}

}  // namespace cachalot
