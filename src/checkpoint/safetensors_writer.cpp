// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace cachalot {
namespace {

constexpr std::size_t header_alignment = 64;

std::string header_text(std::span<const TensorSpec> tensors) {
  std::vector<Json::Member> members = {{"__metadata__", Json::object({{"format", "pt"}})}};
  std::int64_t at = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::int64_t end = at + tensor.bytes();
    members.push_back({tensor.name, Json::object({{"dtype", name(tensor.dtype)},
                                                  {"shape", Json::array({tensor.shape.begin(), tensor.shape.end()})},
                                                  {"data_offsets", Json::array({at, end})}})});
    at = end;
  }
  std::string text = Json::object(std::move(members)).dump();
  while ((text.size() + 8) % header_alignment != 0) text += ' ';
  return text;
}

}  // namespace

std::int64_t TensorSpec::elements() const {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::vector<TensorSpec> tensors, std::ofstream out)
    : path_(std::move(path)), tensors_(std::move(tensors)), out_(std::move(out)) {
  for (const TensorSpec& tensor : tensors_) left_ += tensor.bytes();
}

Expected<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                      std::vector<TensorSpec> tensors) {
  std::ranges::stable_sort(
      tensors, [](DType a, DType b) { return bytes_of(a) > bytes_of(b); }, &TensorSpec::dtype);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) return fail(Errc::io, "can't create {}: {}", path.string(), std::strerror(errno));
  const std::string header = header_text(tensors);
  for (std::size_t i = 0; i < 8; ++i) out.put(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  out << header;
  return SafetensorsWriter(path, std::move(tensors), std::move(out));
}

Status SafetensorsWriter::write(std::span<const std::byte> bytes) {
  left_ -= static_cast<std::int64_t>(bytes.size());
  check(left_ >= 0, "no more bytes are written than the header says");
  out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out_) return fail(Errc::io, "can't write {}: {}", path_.string(), std::strerror(errno));
  return {};
}

Status SafetensorsWriter::finish() {
  check(left_ == 0, "as many bytes are written as the header says");
  out_.close();
  if (!out_) return fail(Errc::io, "can't finish writing {}: {}", path_.string(), std::strerror(errno));
  return {};
}

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors) {
  auto writer = SafetensorsWriter::create(path, {tensors.begin(), tensors.end()});
  if (!writer) return tl::unexpected(writer.error());
  for (const TensorSpec& next : writer->order()) {
    const auto tensor = std::ranges::find(tensors, next.name, &TensorData::name);
    if (Status done = writer->write(tensor->data); !done) return done;
  }
  return writer->finish();
}

}  // namespace cachalot
