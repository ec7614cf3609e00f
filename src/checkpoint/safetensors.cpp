// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/json.h"
#include "base/machine_memory.h"

namespace cachalot {
namespace {

constexpr std::int64_t length_bytes = 8;
constexpr std::int64_t max_header_bytes = 100'000'000;  // the format's own limit

constexpr const char* metadata_key = "__metadata__";
constexpr std::size_t most_tensor_values = 64;  // of one tensor: a type, two offsets, and extents

// Elements of a shape; nothing where the product does not fit.
std::optional<std::int64_t> product(std::span<const std::int64_t> shape) {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) {
    if (extent != 0 && all > std::numeric_limits<std::int64_t>::max() / extent) return std::nullopt;
    all *= extent;
  }
  return all;
}

Expected<TensorInfo> parse_tensor(const Json::Member& member, std::string_view file, std::int64_t data_start,
                                  std::int64_t data_bytes) {
  const auto wrong = [&](std::string_view problem) {
    return fail(Errc::format, "{}: tensor {}: {}", file, member.key, problem);
  };
  TensorInfo tensor;
  tensor.name = member.key;
  tensor.file = file;

  const Json* dtype = member.value.find("dtype");
  if (!dtype || !dtype->is_string()) return wrong("no \"dtype\" text");
  tensor.dtype_text = *dtype->as_string();
  tensor.dtype = parse_dtype(tensor.dtype_text);

  const Json* shape = member.value.find("shape");
  if (!shape || !shape->is_array()) return wrong("no \"shape\" list");
  for (const Json& extent : shape->items()) {
    const auto value = extent.as_int64();
    if (!value || *value < 0)
      return wrong(fmt::format("shape {}: each extent is a whole number from 0 on", shape->dump()));
    tensor.shape.push_back(*value);
  }

  const Json* offsets = member.value.find("data_offsets");
  if (!offsets || offsets->items().size() != 2) return wrong("no \"data_offsets\" pair");
  const auto begin = offsets->items()[0].as_int64(), end = offsets->items()[1].as_int64();
  if (!begin || !end || *begin < 0 || *end < *begin || *end > data_bytes) {
    return wrong(
        fmt::format("data_offsets {} are not inside the {} data bytes of the file", offsets->dump(), data_bytes));
  }
  tensor.offset = data_start + *begin;
  tensor.bytes = *end - *begin;

  const auto elements = product(tensor.shape);
  if (!elements) return wrong(fmt::format("shape {} has too many elements", shape->dump()));
  if (tensor.dtype) {
    const std::int64_t size = bytes_of(*tensor.dtype);
    if (*elements > std::numeric_limits<std::int64_t>::max() / size || *elements * size != tensor.bytes) {
      return wrong(
          fmt::format("shape {} of {} does not fill its {} bytes", shape->dump(), tensor.dtype_text, tensor.bytes));
    }
  }
  return tensor;
}

// `start` has at least length_bytes.
std::uint64_t header_length(std::span<const std::byte> start) {
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(start[i]);
  return length;
}

// What a header of this file can be at most; 0 where there is none.
std::int64_t possible_header_bytes(std::span<const std::byte> file) {
  if (std::ssize(file) < length_bytes) return 0;
  const auto most = static_cast<std::uint64_t>(std::min(std::ssize(file) - length_bytes, max_header_bytes));
  return static_cast<std::int64_t>(std::min(header_length(file), most));
}

Status expect_no_name_twice(std::span<const TensorInfo> tensors, std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return fail(Errc::format, "{}: key \"{}\" comes twice in the header", file, *twice);
}

// Every data byte belongs to exactly one tensor. Sorts by place.
Status check_places(std::vector<TensorInfo>& tensors, std::string_view file, std::int64_t data_start,
                    std::int64_t file_bytes) {
  std::ranges::stable_sort(tensors, [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  std::int64_t at = data_start;
  std::string_view before = "the header";
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset < at) return fail(Errc::format, "{}: tensor {} overlaps {}", file, tensor.name, before);
    if (tensor.offset > at) {
      return fail(Errc::format, "{}: {} bytes between {} and tensor {} belong to no tensor", file, tensor.offset - at,
                  before, tensor.name);
    }
    at += tensor.bytes;
    before = tensor.name;
  }
  if (at != file_bytes)
    return fail(Errc::format, "{}: {} bytes after {} belong to no tensor", file, file_bytes - at, before);
  return {};
}

}  // namespace

Expected<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> start, std::int64_t file_bytes,
                                                     std::string_view file) {
  if (file_bytes < length_bytes || start.size() < length_bytes) {
    return fail(Errc::format, "{}: {} bytes, too short for a safetensors file", file, file_bytes);
  }
  const std::uint64_t length = header_length(start);
  const std::int64_t most =
      std::min({file_bytes - length_bytes, static_cast<std::int64_t>(start.size()) - length_bytes, max_header_bytes});
  if (length > static_cast<std::uint64_t>(most)) {
    return fail(Errc::format,
                "{}: a header of {} bytes in a file of {} (at most {} can be): cut off, or no safetensors file", file,
                length, file_bytes, most);
  }
  const std::string_view text(reinterpret_cast<const char*>(start.data()) + length_bytes, length);
  SafetensorsHeader header;
  const std::int64_t data_start = length_bytes + static_cast<std::int64_t>(length);
  const auto take = [&](std::string_view inside, Json::Member member) -> Status {
    if (!inside.empty()) {
      if (member.value.is_string()) header.metadata.emplace_back(std::move(member.key), *member.value.as_string());
      return {};
    }
    if (member.key == metadata_key) return {};
    auto tensor = parse_tensor(member, file, data_start, file_bytes - data_start);
    if (!tensor) return tl::unexpected(tensor.error());
    header.tensors.push_back(std::move(*tensor));
    return {};
  };
  const JsonRules rules{.max_depth = 4, .unique_keys = true, .max_values = most_tensor_values};
  if (Status read = read_json_members(text, file, metadata_key, rules, take); !read)
    return tl::unexpected(read.error());
  if (Status once = expect_no_name_twice(header.tensors, file); !once) return tl::unexpected(once.error());
  if (Status good = check_places(header.tensors, file, data_start, file_bytes); !good)
    return tl::unexpected(good.error());
  return header;
}

std::int64_t safetensors_header_bytes(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return file ? possible_header_bytes(file->bytes()) : 0;
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return tl::unexpected(mapped.error());
  SafetensorsFile file(std::move(*mapped));
  const auto bytes = file.file_.bytes();
  const std::int64_t most_memory = possible_header_bytes(bytes) * safetensors_header_share;
  if (Status fits = expect_room(most_memory, "reading the header of " + path.string()); !fits)
    return tl::unexpected(fits.error());
  auto header = parse_safetensors_header(bytes, static_cast<std::int64_t>(bytes.size()), path.string());
  if (!header) return tl::unexpected(header.error());
  file.header_ = std::move(*header);
  for (TensorInfo& tensor : file.header_.tensors) {
    tensor.data = bytes.data() + tensor.offset;
    if (!tensor.dtype || tensor.bytes == 0 || tensor.offset % bytes_of(*tensor.dtype) == 0) continue;
    const auto size = static_cast<std::size_t>(tensor.bytes);
    auto copy = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]);
    if (!copy) {
      return fail(
          Errc::memory,
          "{}: tensor {} does not lie on a multiple of its element size, and no memory is left to copy its {} bytes",
          tensor.file, tensor.name, tensor.bytes);
    }
    std::memcpy(copy.get(), tensor.data, size);
    tensor.data = copy.get();
    file.copies_.push_back(std::move(copy));
    file.copied_bytes_ += tensor.bytes;
  }
  return file;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::find(header_.tensors, name, &TensorInfo::name);
  return at == header_.tensors.end() ? nullptr : &*at;
}

}  // namespace cachalot
