// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_index.h"

#include <set>

#include "base/json.h"

namespace cachalot {

std::vector<std::string> ShardIndex::shards() const {
  std::set<std::string> names;
  for (const Entry& entry : entries) names.insert(entry.shard);
  return {names.begin(), names.end()};
}

Expected<ShardIndex> parse_shard_index(std::string_view text, std::string_view what) {
  const auto json = parse_json(text, what, {.max_depth = 8, .unique_keys = true});
  if (!json) return tl::unexpected(json.error());
  const Json* map = json->find("weight_map");
  if (!map || !map->is_object()) return fail(Errc::format, "{}: no \"weight_map\" object", what);
  ShardIndex index;
  index.entries.reserve(map->members().size());
  for (const Json::Member& member : map->members()) {
    const std::string* shard = member.value.as_string();
    if (!shard || shard->empty() || *shard == "." || *shard == ".." ||
        shard->find_first_of(std::string_view("/\\\0", 3)) != shard->npos) {
      return fail(Errc::format, "{}: tensor {} is in {}, expected the name of a file beside the index", what,
                  member.key, member.value.dump().substr(0, 200));
    }
    index.entries.push_back({member.key, *shard});
  }
  if (const Json* metadata = json->find("metadata")) {
    if (const Json* size = metadata->find("total_size")) index.total_size = size->as_int64();
  }
  return index;
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
