// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/machine_memory.h"
#include "base/mapped_file.h"
#include "base/seeded_hash.h"

namespace cachalot {

namespace {

constexpr std::int64_t index_share = 10;  // of the file's size, what its reading takes; see measure_input_limits.py

// Each name once, ascending; entries are numbered anew.
void sort_shards(ShardIndex& index) {
  std::vector<std::size_t> order(index.shards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return index.shards[i]; });
  std::vector<std::size_t> place(order.size());
  std::vector<std::string> names(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    names[i] = std::move(index.shards[order[i]]);
  }
  index.shards = std::move(names);
  for (ShardIndex::Entry& entry : index.entries) entry.shard = place[entry.shard];
}

Status expect_no_name_twice(const ShardIndex& index, std::string_view what) {
  std::vector<std::string_view> names;
  names.reserve(index.entries.size());
  for (const ShardIndex::Entry& entry : index.entries) names.push_back(entry.tensor);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return fail(Errc::format, "{}: key \"{}\" comes twice in \"weight_map\"", what, *twice);
}

}  // namespace

Expected<ShardIndex> parse_shard_index(std::string_view text, std::string_view what) {
  ShardIndex index;
  HashMap<std::string, std::size_t> places;
  const auto take = [&](std::string_view inside, Json::Member member) -> Status {
    if (inside.empty()) {
      if (member.key == "weight_map") return fail(Errc::format, "{}: \"weight_map\" is no object", what);
      if (member.key != "metadata") return {};
      if (const Json* size = member.value.find("total_size")) index.total_size = size->as_int64();
      return {};
    }
    const std::string* shard = member.value.as_string();
    if (!shard || shard->empty() || *shard == "." || *shard == ".." ||
        shard->find_first_of(std::string_view("/\\\0", 3)) != shard->npos) {
      return fail(Errc::format, "{}: tensor {} is in {}, expected the name of a file beside the index", what,
                  member.key, member.value.dump().substr(0, 200));
    }
    const auto [place, is_new] = places.try_emplace(*shard, index.shards.size());
    if (is_new) index.shards.push_back(*shard);
    index.entries.push_back({std::move(member.key), place->second});
    return {};
  };
  const JsonRules rules{.max_depth = 8, .unique_keys = true, .max_values = 4096};
  if (Status read = read_json_members(text, what, "weight_map", rules, take); !read)
    return tl::unexpected(read.error());
  if (index.entries.empty()) return fail(Errc::format, "{}: no \"weight_map\" object that names a tensor", what);
  if (Status once = expect_no_name_twice(index, what); !once) return tl::unexpected(once.error());
  sort_shards(index);
  return index;
}

Expected<ShardIndex> load_shard_index(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, most_index_bytes);
  if (!file) return tl::unexpected(file.error());
  const auto size = static_cast<std::int64_t>(file->size());
  if (Status fits = expect_room(size * index_share, "reading " + path.string()); !fits)
    return tl::unexpected(fits.error());
  return parse_shard_index(file->text(), path.string());
}

std::string shard_index_text(const std::map<std::string, std::string>& shard_of_tensor, std::int64_t total_size) {
  std::vector<Json::Member> map;
  for (const auto& [tensor, shard] : shard_of_tensor) map.push_back({tensor, shard});
  return Json::object(
             {{"metadata", Json::object({{"total_size", total_size}})}, {"weight_map", Json::object(std::move(map))}})
             .dump() +
         "\n";
}

}  // namespace cachalot
