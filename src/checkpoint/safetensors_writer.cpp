// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_writer.h"

#include <algorithm>
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

Expected<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                      std::vector<TensorSpec> tensors) {
  std::ranges::stable_sort(
      tensors, [](DType a, DType b) { return bytes_of(a) > bytes_of(b); }, &TensorSpec::dtype);
  const std::string header = header_text(tensors);
  std::string beginning;
  for (std::size_t i = 0; i < 8; ++i) beginning += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  beginning += header;
  auto at = static_cast<std::int64_t>(beginning.size());
  std::vector<std::int64_t> start;
  for (const TensorSpec& tensor : tensors) {
    start.push_back(at);
    at += tensor.bytes();
  }
  auto file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (Status grown = file->resize(at); !grown) return tl::unexpected(grown.error());
  if (Status done = file->write_at(0, std::as_bytes(std::span(beginning))); !done) return tl::unexpected(done.error());
  return SafetensorsWriter(std::move(tensors), std::move(start), std::move(*file));
}

Status SafetensorsWriter::write(std::size_t tensor, std::int64_t offset, std::span<const std::byte> bytes) {
  check(offset >= 0 && offset + std::ssize(bytes) <= tensors_[tensor].bytes(), "a tensor is written inside itself");
  return file_.write_at(start_[tensor] + offset, bytes);
}

Status SafetensorsWriter::finish() { return file_.close(); }

Status write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors) {
  auto writer = SafetensorsWriter::create(path, {tensors.begin(), tensors.end()});
  if (!writer) return tl::unexpected(writer.error());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto tensor = std::ranges::find(tensors, writer->order()[i].name, &TensorData::name);
    check(std::ssize(tensor->data) == tensor->bytes(), "a tensor has as many bytes as its shape says");
    if (Status done = writer->write(i, 0, tensor->data); !done) return done;
  }
  return writer->finish();
}

}  // namespace cachalot
