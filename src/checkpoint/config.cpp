// SPDX-License-Identifier: Apache-2.0
// Reads both spellings of the config through the tables of config_keys.h.
#include "checkpoint/config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/mapped_file.h"
#include "checkpoint/config_keys.h"

namespace cachalot {
namespace {

using namespace config_keys;

constexpr std::size_t most_values = 1 << 16;  // lists are as long as there are layers

// One JSON object being read: remembers which members were asked for, and the first error.
class Section {
 public:
  Section(const Json& object, std::string prefix, std::string_view file)
      : object_(object), prefix_(std::move(prefix)), file_(file) {}

  const Json* find(std::string_view path) {
    used_.emplace(path);
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return object_.find(path);
    used_.emplace(path.substr(0, dot));
    const Json* inner = object_.find(path.substr(0, dot));
    if (inner == nullptr || inner->is_null()) return nullptr;
    if (!inner->is_object()) wrong(path.substr(0, dot), *inner, "an object");
    return inner->find(path.substr(dot + 1));
  }

  void integer(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most, bool required) {
    if (const Json* value = get(key, required)) {
      const auto number = value->as_int64();
      if (!number || *number < least || *number > most) {
        return wrong(key, *value, fmt::format("a whole number from {} to {}", least, most));
      }
      out = *number;
    }
  }
  void real(std::string_view key, double& out, double least) {
    if (const Json* value = get(key, true)) {
      const auto number = value->as_double();
      if (!number || *number < least || *number > 1e12)
        return wrong(key, *value, fmt::format("a number of at least {}", least));
      out = *number;
    }
  }
  void list(std::string_view key, std::vector<std::int64_t>& out, std::int64_t least, std::int64_t most,
            bool required) {
    if (const Json* value = get(key, required)) {
      if (!value->is_array()) return wrong(key, *value, "a list of whole numbers");
      for (const Json& item : value->items()) {
        const auto number = item.as_int64();
        if (!number || *number < least || *number > most) {
          return wrong(key, *value, fmt::format("a list of whole numbers from {} to {}", least, most));
        }
        out.push_back(*number);
      }
    }
  }
  void fixed(const Fixed& rule) {
    const Json* value = find(rule.key);
    if (value && std::ranges::none_of(rule.values, [&](const char* text) { return value->dump() == text; })) {
      wrong(rule.key, *value, *rule.values.begin());
    }
  }
  const Json* get(std::string_view key, bool required) {
    const Json* value = find(key);
    if (!value && required && !error_) {
      error_ = Error{Errc::missing, message("{}: key \"{}{}\" is missing", file_, prefix_, key)};
    }
    return value;
  }
  void wrong(std::string_view key, const Json& found, std::string_view wanted) {
    if (error_) return;
    error_ = Error{Errc::format, message("{}: \"{}{}\" is {}, expected {}", file_, prefix_, key,
                                         found.dump().substr(0, 200), wanted)};
  }

  const std::optional<Error>& error() const { return error_; }
  void list_unknown(std::vector<std::string>& out) const { list_unknown(object_, "", out); }

 private:
  void list_unknown(const Json& object, const std::string& path, std::vector<std::string>& out) const {
    for (const Json::Member& member : object.members()) {
      const std::string key = path + member.key;
      if (!used_.contains(key)) {
        out.push_back(prefix_ + key);
      } else if (path.empty() && inside(key)) {
        list_unknown(member.value, key + ".", out);
      }
    }
  }
  bool inside(const std::string& key) const {  // some member of it was asked for by name
    const auto next = used_.lower_bound(key + ".");
    return next != used_.end() && next->starts_with(key + ".");
  }

  const Json& object_;
  std::string prefix_, file_;
  std::set<std::string, std::less<>> used_;
  std::optional<Error> error_;
};

bool needed(Need need, const Config& config, bool flat) {
  switch (need) {
    case Need::always:
      return true;
    case Need::drafts:
      return config.n_mtp_layers > 0;
    case Need::engram:
      return !config.engram_layer_ids.empty();
    case Need::candidates:
      return config.candidate_source_layer >= 0;
    case Need::nested:
      return !flat;
  }
  return true;
}

// A config may give sizes of parts that the model does not have, or list more than the context can hold: nothing that
// depends on them may be reserved.
void drop_what_is_not_there(Config& config) {
  for (const Need part : {Need::engram, Need::drafts, Need::candidates}) {
    if (needed(part, config, false)) continue;
    for (const Integer& key : integers) {
      if (key.need == part) config.*key.field = 0;
    }
    for (const List& key : lists) {
      if (key.need == part) (config.*key.field).clear();
    }
  }
  config.index_topk = std::min(config.index_topk, config.max_seq_len);
  config.candidate_topk_blocks = std::min(config.candidate_topk_blocks, config.max_seq_len);
}

void read_text(Section& section, Config& config, bool flat) {
  // First what decides whether other keys are needed.
  const char* candidate = flat ? "candidate_source_layer" : "candidate_source_layer_id";
  if (const Json* value = section.find(candidate); value && !value->is_null()) {
    section.integer(candidate, config.candidate_source_layer, -1, layers, true);
  }
  for (const List& key : lists) {
    section.list(flat ? key.flat : key.nested, config.*key.field, key.least, key.most, key.need == Need::always);
  }
  for (const Integer& key : integers) {
    const bool required = needed(key.need, config, flat);  // n_mtp_layers comes early in the table
    section.integer(flat ? key.flat : key.nested, config.*key.field, key.least, key.most, required);
  }
  for (const List& key : lists) {
    if (needed(key.need, config, flat)) (void)section.get(flat ? key.flat : key.nested, true);
  }
  for (const Real& key : reals) section.real(flat ? key.flat : key.nested, config.*key.field, key.least);
  const char* score = flat ? "score_func" : "scoring_func";
  if (const Json* value = section.get(score, true)) {
    const std::string text = value->is_string() ? *value->as_string() : "";
    if (text == "sqrtsoftplus") {
      config.score_func = ScoreFunc::sqrtsoftplus;
    } else if (text == "softmax") {
      config.score_func = ScoreFunc::softmax;
    } else if (text == "sigmoid") {
      config.score_func = ScoreFunc::sigmoid;
    } else {
      section.wrong(score, *value, "\"sqrtsoftplus\", \"softmax\" or \"sigmoid\"");
    }
  }
  for (const Fixed& rule : fixed_text) section.fixed(rule);
  for (const char* key : ignored_text) (void)section.find(key);
  drop_what_is_not_there(config);
}

VisionConfig read_vision(Section& section, bool flat) {
  VisionConfig vision;
  for (const VisionInteger& key : vision_integers) {
    const bool other = flat && !section.find(key.flat) && section.find(key.flat_too);
    section.integer(!flat ? key.nested : other ? key.flat_too : key.flat, vision.*key.field, key.least, key.most, true);
  }
  section.real(flat ? "vision_rope_theta" : "rope_theta", vision.rope_theta, 1.000001);
  const char* ratio = flat ? "vision_max_wh_ratio" : "max_wh_ratio";
  if (const Json* value = section.find(ratio); value && !value->is_null()) {
    section.real(ratio, vision.max_wh_ratio.emplace(), 1);
  }
  if (!flat) (void)section.find("model_type");
  return vision;
}

Status read_flat(const Json& json, std::string_view what, LoadedConfig& loaded) {
  Section section(json, "", what);
  read_text(section, loaded.config, true);
  const bool vision =
      std::ranges::any_of(json.members(), [](const Json::Member& m) { return m.key.starts_with("vision_"); });
  if (vision) loaded.config.vision = read_vision(section, true);
  for (const Integer& key : top_integers)
    section.integer(key.flat, loaded.config.*key.field, key.least, key.most, false);
  section.integer("image_token_id", loaded.config.image_token_id, 0, tokens, false);
  for (const Fixed& rule : fixed_flat) section.fixed(rule);
  for (const char* key : ignored_flat) (void)section.find(key);
  if (section.error()) return tl::unexpected(*section.error());
  section.list_unknown(loaded.unknown_keys);
  return {};
}

Status read_nested(const Json& json, std::string_view what, LoadedConfig& loaded) {
  Section top(json, "", what);
  const Json* text = top.get("text_config", true);
  if (text && !text->is_object()) top.wrong("text_config", *text, "an object");
  const Json* vision = top.find("vision_config");
  const bool has_vision = vision && !vision->is_null();
  if (has_vision && !vision->is_object()) top.wrong("vision_config", *vision, "an object or null");
  if (top.error()) return tl::unexpected(*top.error());

  Section text_section(*text, "text_config.", what);
  read_text(text_section, loaded.config, false);
  if (text_section.error()) return tl::unexpected(*text_section.error());
  for (const Integer& key : top_integers) top.integer(key.nested, loaded.config.*key.field, key.least, key.most, true);
  top.integer("image_token_id", loaded.config.image_token_id, 0, tokens, has_vision);
  for (const Fixed& rule : fixed_top) top.fixed(rule);
  for (const char* key : ignored_top) (void)top.find(key);
  (void)top.find("model_type");
  if (top.error()) return tl::unexpected(*top.error());
  top.list_unknown(loaded.unknown_keys);
  text_section.list_unknown(loaded.unknown_keys);
  if (has_vision) {
    Section vision_section(*vision, "vision_config.", what);
    loaded.config.vision = read_vision(vision_section, false);
    if (vision_section.error()) return tl::unexpected(*vision_section.error());
    vision_section.list_unknown(loaded.unknown_keys);
  }
  return {};
}

// A message about keys in the flat spelling, for whoever has the file: each key as the file spells it and, the first
// time, as the other spelling does, which is that of the code and its documents.
std::string in_both_spellings(std::string_view message, bool flat_file) {
  const auto nested = [](std::string_view word) -> std::string_view {
    for (const Integer& key : integers) {
      if (word == key.flat) return key.nested;
    }
    for (const Real& key : reals) {
      if (word == key.flat) return key.nested;
    }
    for (const List& key : lists) {
      if (word == key.flat) return key.nested;
    }
    for (const VisionInteger& key : vision_integers) {
      if (word == key.flat) return key.nested;
    }
    return word == "candidate_source_layer" ? "candidate_source_layer_id" : word;
  };
  const auto in_word = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::string out;
  std::set<std::string_view> told;
  while (!message.empty()) {
    const auto end = std::ranges::find_if_not(message, in_word);
    const auto length = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, end - message.begin()));
    const std::string_view word = message.substr(0, length), other = nested(word);
    out += flat_file ? word : other;
    if (word != other && told.insert(word).second) out += fmt::format(" ({})", flat_file ? other : word);
    message.remove_prefix(length);
  }
  return out;
}

}  // namespace

Expected<LoadedConfig> load_config(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, most_config_bytes);
  if (!file) return tl::unexpected(file.error());
  return parse_config(file->text(), path.string());
}

Expected<LoadedConfig> parse_config(std::string_view text, std::string_view what) {
  const auto json = parse_json(text, what, {.max_depth = 16, .unique_keys = true, .max_values = most_values});
  if (!json) return tl::unexpected(json.error());
  if (!json->is_object()) return fail(Errc::format, "{}: a JSON object is expected", what);
  LoadedConfig loaded;
  const Json* type = json->find("model_type");
  loaded.flat = !type && !json->find("text_config") && json->find("n_layers");
  if (!loaded.flat) {
    if (!type) return fail(Errc::missing, "{}: key \"model_type\" is missing", what);
    // The whole name, for "deepseek_v4" is another model.
    if (!type->is_string() || *type->as_string() != "deepseek_v41") {
      return fail(Errc::format, "{}: model_type is {}, only \"deepseek_v41\" is run here", what, type->dump());
    }
  }
  const Status read = loaded.flat ? read_flat(*json, what, loaded) : read_nested(*json, what, loaded);
  if (!read) return tl::unexpected(read.error());
  if (const auto problem = problem_of(loaded.config)) {
    return fail(Errc::format, "{}: {}", what, ShownText(in_both_spellings(*problem, loaded.flat)));
  }
  return loaded;
}

}  // namespace cachalot
