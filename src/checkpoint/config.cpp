// SPDX-License-Identifier: Apache-2.0
// Reads both spellings of the config through one table of keys.
#include "checkpoint/config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

namespace cachalot {
namespace {

enum class Need {
  always,
  drafts,
  engram,
  candidates,
  nested
};  // when a key must be there; `nested`: in that spelling only

// `nested` may be a path: "rope_scaling.factor". Most widths end at 2^20 and heads at 2^16, so that no size overflows.
struct Integer {
  const char* nested;
  const char* flat;
  std::int64_t Config::*field;
  std::int64_t least, most;
  Need need = Need::always;
};
struct Real {
  const char* nested;
  const char* flat;
  double Config::*field;
  double least;  // may be reached
};
struct List {
  const char* nested;
  const char* flat;
  std::vector<std::int64_t> Config::*field;
  std::int64_t least, most;
  Need need = Need::always;
};
struct VisionInteger {
  const char* nested;
  const char* flat;
  const char* flat_too;  // the nested name behind "vision_" is understood as well
  std::int64_t VisionConfig::*field;
  std::int64_t least, most;
};

constexpr std::int64_t width = 1 << 20, heads = 1 << 16, layers = 4096, tokens = 1 << 24;
constexpr std::int64_t rows = std::int64_t{1} << 40;
using C = Config;

constexpr Integer top_integers[] = {
    {"bos_token_id", "bos_token_id", &C::bos_token_id, 0, tokens, Need::nested},
    {"eos_token_id", "eos_token_id", &C::eos_token_id, 0, tokens, Need::nested},
    {"pad_token_id", "pad_token_id", &C::pad_token_id, 0, tokens, Need::nested},
};
constexpr Integer integers[] = {
    {"vocab_size", "vocab_size", &C::vocab_size, 1, tokens},
    {"hidden_size", "dim", &C::dim, 1, width},
    {"num_hidden_layers", "n_layers", &C::n_layers, 1, layers},
    {"num_nextn_predict_layers", "n_mtp_layers", &C::n_mtp_layers, 0, layers},
    {"max_position_embeddings", "max_seq_len", &C::max_seq_len, 1, 1 << 30},
    {"num_attention_heads", "n_heads", &C::n_heads, 1, heads},
    {"head_dim", "head_dim", &C::head_dim, 1, heads},
    {"qk_rope_head_dim", "rope_head_dim", &C::rope_head_dim, 2, heads},
    {"q_lora_rank", "q_lora_rank", &C::q_lora_rank, 1, width},
    {"o_lora_rank", "o_lora_rank", &C::o_lora_rank, 1, heads},
    {"o_groups", "o_groups", &C::o_groups, 1, heads},
    {"sliding_window", "window_size", &C::window_size, 1, width},
    {"index_n_heads", "index_n_heads", &C::index_n_heads, 1, heads},
    {"index_head_dim", "index_head_dim", &C::index_head_dim, 1, heads},
    {"index_topk", "index_topk", &C::index_topk, 1, 1 << 30},
    {"candidate_topk_blocks", "candidate_topk_blocks", &C::candidate_topk_blocks, 1, 1 << 30, Need::candidates},
    {"candidate_block_size", "candidate_block_size", &C::candidate_block_size, 1, 1 << 30, Need::candidates},
    {"rope_scaling.original_max_position_embeddings", "original_seq_len", &C::original_seq_len, 1, 1 << 30},
    {"n_routed_experts", "n_routed_experts", &C::n_routed_experts, 1, heads},
    {"num_experts_per_tok", "n_activated_experts", &C::n_activated_experts, 1, heads},
    {"moe_intermediate_size", "moe_inter_dim", &C::moe_inter_dim, 1, width},
    {"hc_mult", "hc_mult", &C::hc_mult, 1, 64},
    {"hc_sinkhorn_iters", "hc_sinkhorn_iters", &C::hc_sinkhorn_iters, 1, 1000},
    {"engram_max_ngram_size", "engram_max_ngram_size", &C::engram_max_ngram_size, 2, 16, Need::engram},
    {"engram_vocab_size", "engram_vocab_size", &C::engram_vocab_size, 2, std::int64_t{1} << 31, Need::engram},
    {"engram_n_heads", "engram_n_heads", &C::engram_n_heads, 1, 1024, Need::engram},
    {"engram_head_dim", "engram_head_dim", &C::engram_head_dim, 1, heads, Need::engram},
    {"engram_pad_token_id", "engram_pad_id", &C::engram_pad_id, 0, tokens, Need::engram},
    {"engram_compressed_vocab_size", "engram_compressed_vocab_size", &C::engram_compressed_vocab_size, 1, tokens,
     Need::engram},
    {"dspark_block_size", "dspark_block_size", &C::dspark_block_size, 1, 1024, Need::drafts},
    {"dspark_noise_token_id", "dspark_noise_token_id", &C::dspark_noise_token_id, 0, tokens, Need::drafts},
    {"dspark_markov_rank", "dspark_markov_rank", &C::dspark_markov_rank, 1, width, Need::drafts},
    {"dspark_n_routed_experts", "dspark_n_routed_experts", &C::dspark_n_routed_experts, 1, heads, Need::drafts},
    {"dspark_num_experts_per_tok", "dspark_n_activated_experts", &C::dspark_n_activated_experts, 1, heads,
     Need::drafts},
};
constexpr Real reals[] = {
    {"rms_norm_eps", "norm_eps", &C::norm_eps, 0},
    {"rope_theta", "rope_theta", &C::rope_theta, 1.000001},
    {"compress_rope_theta", "compress_rope_theta", &C::compress_rope_theta, 1.000001},
    {"rope_scaling.factor", "rope_factor", &C::rope_factor, 1},
    {"rope_scaling.beta_fast", "beta_fast", &C::beta_fast, 1e-6},
    {"rope_scaling.beta_slow", "beta_slow", &C::beta_slow, 1e-6},
    {"routed_scaling_factor", "route_scale", &C::route_scale, 1e-6},
    {"swiglu_limit", "swiglu_limit", &C::swiglu_limit, 0},
    {"hc_eps", "hc_eps", &C::hc_eps, 0},
};
constexpr List lists[] = {
    {"compress_ratios", "compress_ratios", &C::compress_ratios, 0, width},
    {"kv_source_layer_ids", "kv_source_layers", &C::kv_source_layers, 0, layers},
    {"index_source_layer_ids", "index_source_layers", &C::index_source_layers, 0, layers},
    {"engram_layer_ids", "engram_layer_ids", &C::engram_layer_ids, 0, layers},
    {"engram_num_embeddings", "engram_num_embeddings", &C::engram_num_embeddings, 1, rows, Need::engram},
    {"dspark_target_layer_ids", "dspark_target_layer_ids", &C::dspark_target_layer_ids, 0, layers, Need::drafts},
};
constexpr VisionInteger vision_integers[] = {
    {"num_hidden_layers", "vision_n_layers", "vision_num_hidden_layers", &VisionConfig::n_layers, 1, layers},
    {"hidden_size", "vision_dim", "vision_hidden_size", &VisionConfig::dim, 1, width},
    {"num_attention_heads", "vision_n_heads", "vision_num_attention_heads", &VisionConfig::n_heads, 1, heads},
    {"intermediate_size", "vision_inter_dim", "vision_intermediate_size", &VisionConfig::inter_dim, 1, width},
    {"patch_size", "vision_patch_size", "vision_patch_size", &VisionConfig::patch_size, 1, 1024},
    {"downsample_ratio", "vision_downsample_ratio", "vision_downsample_ratio", &VisionConfig::downsample_ratio, 1, 64},
    {"max_image_tokens", "vision_max_n_token", "vision_max_image_tokens", &VisionConfig::max_image_tokens, 1, 1 << 24},
    {"min_pixels", "vision_min_pixels", "vision_min_pixels", &VisionConfig::min_pixels, 0, 1 << 30},
};
// Keys that may hold these JSON texts only: anything else is a model this engine does not compute.
struct Fixed {
  const char* key;
  std::initializer_list<const char*> values;
};
const Fixed fixed_top[] = {{"expert_dtype", {"\"fp4\"", "null"}},
                           {"quantization_config.quant_method", {"\"fp8\""}},
                           {"quantization_config.activation_scheme", {"\"dynamic\""}},
                           {"quantization_config.weight_block_size", {"[32,32]"}},
                           {"quantization_config.scale_fmt", {"\"ue8m0\""}}};
const Fixed fixed_text[] = {{"hidden_act", {"\"silu\""}},       {"norm_topk_prob", {"true"}},
                            {"n_shared_experts", {"1"}},        {"num_key_value_heads", {"1"}},
                            {"attention_bias", {"false"}},      {"tie_word_embeddings", {"false"}},
                            {"topk_method", {"\"noaux_tc\""}},  {"rope_scaling.rope_type", {"\"yarn\""}},
                            {"rope_scaling.type", {"\"yarn\""}}};
const Fixed fixed_flat[] = {{"scale_fmt", {"\"ue8m0\"", "null"}}, {"expert_dtype", {"\"fp4\"", "null"}}};
// Known, and nothing here depends on them.
constexpr const char* ignored_top[] = {"architectures",        "torch_dtype", "dtype",
                                       "transformers_version", "auto_map",    "_name_or_path"};
constexpr const char* ignored_text[] = {"model_type",        "torch_dtype",       "dtype",
                                        "attention_dropout", "initializer_range", "use_cache"};
constexpr const char* ignored_flat[] = {"max_batch_size", "dtype", "scale_dtype"};

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
    return inner ? inner->find(path.substr(dot + 1)) : nullptr;
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
      error_ = Error{Errc::missing, fmt::format("{}: key \"{}{}\" is missing", file_, prefix_, key)};
    }
    return value;
  }
  void wrong(std::string_view key, const Json& found, std::string_view wanted) {
    if (error_) return;
    error_ = Error{Errc::format, fmt::format("{}: \"{}{}\" is {}, expected {}", file_, prefix_, key,
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

}  // namespace

Expected<LoadedConfig> parse_config(std::string_view text, std::string_view what) {
  const auto json = parse_json(text, what, {.max_depth = 16, .unique_keys = true});
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
  if (Status good = check_config(loaded.config, what); !good) return tl::unexpected(good.error());
  return loaded;
}

}  // namespace cachalot
