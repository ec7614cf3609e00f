// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"
#include "verify/cases/model_cases.h"

namespace cachalot {
namespace {

constexpr std::string_view manifest_name = "manifest.json";
constexpr std::size_t most_manifest_bytes = std::size_t{16} << 20;

Expected<ManifestEntry> parse_entry(const Json& json, std::string_view where) {
  const auto text = [&](std::string_view key) {
    const Json* value = json.find(key);
    return value != nullptr && value->is_string() ? *value->as_string() : std::string();
  };
  ManifestEntry entry{.kind = text("kind"), .file = text("file"), .json = json};
  const auto numerics = parse_numerics(text("numerics"));
  if (entry.kind.empty()) return fail(Errc::format, "{}: no \"kind\" text", where);
  if (!numerics) return fail(Errc::format, "{}: \"numerics\" is neither released nor f32", where);
  if (std::filesystem::path(entry.file).filename() != entry.file) {
    return fail(Errc::format, "{}: \"file\" is {}, expected a name without folders", where, entry.file);
  }
  entry.numerics = *numerics;
  return entry;
}

}  // namespace

std::optional<Numerics> parse_numerics(std::string_view text) {
  if (text == "released") return Numerics::released;
  if (text == "f32") return Numerics::f32;
  return std::nullopt;
}

const char* name(Numerics numerics) { return numerics == Numerics::released ? "released" : "f32"; }

std::string ManifestEntry::case_name() const {
  if (file.empty()) return fmt::format("{}_{}", kind, name(numerics));
  return std::filesystem::path(file).stem().string();
}

Expected<std::int64_t> ManifestEntry::number(std::string_view key) const {
  const Json* value = json.find(key);
  const auto number = value == nullptr ? std::nullopt : value->as_int64();
  if (!number || *number < 0) {
    return fail(Errc::format, "{}: case {}: \"{}\" is no whole number from 0 on", manifest_name, case_name(), key);
  }
  return *number;
}

Expected<std::vector<double>> ManifestEntry::reals(std::string_view key) const {
  const Json* value = json.find(key);
  std::vector<double> all;
  for (const Json& item : value == nullptr ? std::span<const Json>() : value->items()) {
    const auto real = item.as_double();
    if (!real) break;
    all.push_back(*real);
  }
  if (value == nullptr || !value->is_array() || all.size() != value->items().size()) {
    return fail(Errc::format, "{}: case {}: \"{}\" is no list of numbers", manifest_name, case_name(), key);
  }
  return all;
}

Expected<std::vector<std::int64_t>> ManifestEntry::numbers(std::string_view key) const {
  auto reals_of = reals(key);
  if (!reals_of) return tl::unexpected(reals_of.error());
  std::vector<std::int64_t> all;
  for (const Json& item : json.find(key)->items()) {
    const auto number = item.as_int64();
    if (!number) {
      return fail(Errc::format, "{}: case {}: \"{}\" holds {}, expected whole numbers", manifest_name, case_name(), key,
                  item.dump());
    }
    all.push_back(*number);
  }
  return all;
}

Expected<std::vector<ManifestEntry>> read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / manifest_name;
  auto file = MappedFile::open(path, most_manifest_bytes);
  if (!file) return tl::unexpected(file.error());
  auto json = parse_json(file->text(), path.string());
  if (!json) return tl::unexpected(json.error());
  const Json* cases = json->find("cases");
  if (cases == nullptr || !cases->is_array()) return fail(Errc::format, "{}: no \"cases\" list", path.string());
  std::vector<ManifestEntry> entries;
  for (const Json& item : cases->items()) {
    auto entry = parse_entry(item, fmt::format("{}: case {}", path.string(), entries.size()));
    if (!entry) return tl::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace cachalot
