// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/config.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/test_config.h"

namespace cachalot::config_test {
namespace {

std::string error_of(const Json& json) {
  const auto config = parse_config(json.dump(), "c");
  return config ? "no error" : config.error().message;
}

Json without(const Json& object, std::string_view key) {
  std::vector<Json::Member> kept;
  for (const Json::Member& member : object.members()) {
    if (member.key != key) kept.push_back(member);
  }
  return Json::object(std::move(kept));
}

// The error after one key of text_config was set.
std::string error_with(const char* key, Json value) {
  Json json = mini_json();
  json.find("text_config")->set(key, std::move(value));
  return error_of(json);
}

Json numbers(std::vector<std::int64_t> list) { return Json::array({list.begin(), list.end()}); }

TEST(Config, MiniAReadsInFull) {
  const auto loaded = parse_config(mini_json().dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_FALSE(loaded->flat);
  EXPECT_TRUE(loaded->unknown_keys.empty());
  const Config& c = loaded->config;
  EXPECT_EQ(c.vocab_size, 497);
  EXPECT_EQ(c.dim, 128);
  EXPECT_EQ(c.n_layers, 10);
  EXPECT_EQ(c.n_mtp_layers, 3);
  EXPECT_EQ(c.norm_eps, 1e-20);
  EXPECT_EQ(c.original_seq_len, 64);
  EXPECT_EQ(c.rope_factor, 16);
  EXPECT_EQ(c.window_size, 56);
  EXPECT_EQ(c.compress_ratios.size(), 13u);
  EXPECT_EQ(c.candidate_source_layer, 6);
  EXPECT_EQ(c.score_func, ScoreFunc::sqrtsoftplus);
  EXPECT_EQ(c.image_token_id, 494);
  EXPECT_EQ(c.engram_width(), 384);
  ASSERT_TRUE(c.vision.has_value());
  EXPECT_EQ(c.vision->inter_dim, 96);
  EXPECT_EQ(c.vision->max_wh_ratio, std::nullopt);
}

TEST(Config, RolesFollowTheLists) {
  const Config c = parse_config(mini_json().dump(), "c")->config;
  EXPECT_EQ(c.kv_source(0), -1);
  EXPECT_EQ(c.kv_source(2), 2);
  EXPECT_EQ(c.kv_source(3), 2);
  EXPECT_EQ(c.kv_source(5), 4);
  EXPECT_EQ(c.kv_source(9), 6);
  EXPECT_EQ(c.index_source(9), 8);
  EXPECT_EQ(c.kv_source(10), -1);
  EXPECT_TRUE(c.is_index_source(8));
  EXPECT_FALSE(c.owns_index_keys(8));
  EXPECT_TRUE(c.owns_index_keys(6));
  EXPECT_FALSE(c.uses_candidates(6));
  EXPECT_TRUE(c.uses_candidates(8));
  EXPECT_EQ(c.engram_index(4), 1);
  EXPECT_EQ(c.engram_index(5), -1);
  EXPECT_EQ(c.experts(9), 8);
  EXPECT_EQ(c.experts(10), 4);
}

TEST(Config, MessagesNameAKeyInBothSpellings) {
  Json flat = flat_json();
  flat.set("o_groups", 3);
  EXPECT_NE(error_of(flat).find("n_heads (num_attention_heads) is 4, expected"), std::string::npos) << error_of(flat);
  const std::string nested = error_with("o_groups", 3);
  EXPECT_NE(nested.find("num_attention_heads (n_heads) is 4, expected"), std::string::npos) << nested;
}

TEST(Config, NestsSixteenLevelsDeepAndNoDeeper) {
  const auto levels = [](std::size_t n) {  // the object itself is the first of them
    const std::string text = mini_json().dump();
    return text.substr(0, text.size() - 1) + ",\"note\":" + std::string(n - 1, '[') + std::string(n - 1, ']') + "}";
  };
  EXPECT_TRUE(parse_config(levels(16), "c").has_value());
  const auto deeper = parse_config(levels(17), "c");
  ASSERT_FALSE(deeper.has_value());
  EXPECT_NE(deeper.error().message.find("nested deeper than 16"), std::string::npos) << deeper.error().message;
}

TEST(Config, FlatSpellingGivesTheSameNumbers) {
  const auto loaded = parse_config(flat_json().dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(loaded->flat);
  EXPECT_TRUE(loaded->unknown_keys.empty()) << loaded->unknown_keys[0];
  const Config flat = loaded->config, nested = parse_config(mini_json().dump(), "c")->config;
  EXPECT_EQ(flat.dim, nested.dim);
  EXPECT_EQ(flat.moe_inter_dim, nested.moe_inter_dim);
  EXPECT_EQ(flat.n_activated_experts, nested.n_activated_experts);
  EXPECT_EQ(flat.dspark_n_activated_experts, nested.dspark_n_activated_experts);
  EXPECT_EQ(flat.rope_head_dim, nested.rope_head_dim);
  EXPECT_EQ(flat.original_seq_len, nested.original_seq_len);
  EXPECT_EQ(flat.compress_ratios, nested.compress_ratios);
  EXPECT_EQ(flat.candidate_source_layer, nested.candidate_source_layer);
  EXPECT_EQ(flat.norm_eps, nested.norm_eps);
  EXPECT_EQ(flat.vision->max_image_tokens, nested.vision->max_image_tokens);
  EXPECT_EQ(flat.eos_token_id, -1);
}

TEST(Config, EveryRequiredKeyIsNamedWhenItIsGone) {
  const std::set<std::string> may_be_absent = {"model_type",     "num_key_value_heads", "hidden_act",
                                               "attention_bias", "tie_word_embeddings", "topk_method",
                                               "norm_topk_prob", "n_shared_experts"};
  const Json whole = mini_json(), text = *whole.find("text_config");
  int tried = 0;
  for (const Json::Member& member : text.members()) {
    // Without a candidate source no later indexer is restricted: legal, so it is tested elsewhere.
    if (may_be_absent.contains(member.key) || member.key == "candidate_source_layer_id") continue;
    Json json = whole;
    json.set("text_config", without(text, member.key));
    const std::string error = error_of(json);
    EXPECT_NE(error.find("\"text_config." + member.key), std::string::npos) << member.key << ": " << error;
    EXPECT_NE(error.find("is missing"), std::string::npos) << error;
    ++tried;
  }
  EXPECT_EQ(tried, 47);
  for (const Json::Member& member : text.find("rope_scaling")->members()) {
    if (member.key == "rope_type") continue;
    Json json = whole;
    json.find("text_config")->set("rope_scaling", without(*text.find("rope_scaling"), member.key));
    EXPECT_NE(error_of(json).find("rope_scaling." + member.key), std::string::npos) << member.key;
  }
  for (const Json::Member& member : whole.find("vision_config")->members()) {
    if (member.key == "model_type" || member.key == "max_wh_ratio") continue;
    Json json = whole;
    json.set("vision_config", without(*whole.find("vision_config"), member.key));
    EXPECT_NE(error_of(json).find("\"vision_config." + member.key + "\" is missing"), std::string::npos) << member.key;
  }
  for (const char* key :
       {"model_type", "text_config", "bos_token_id", "eos_token_id", "pad_token_id", "image_token_id"}) {
    EXPECT_EQ(error_of(without(whole, key)), fmt::format("c: key \"{}\" is missing", key));
  }
}

TEST(Config, EveryRequiredFlatKeyIsNamedWhenItIsGone) {
  const Json flat = flat_json();
  for (const Json::Member& member : flat.members()) {
    if (member.key == "n_shared_experts" || member.key == "candidate_source_layer" ||
        member.key == "vision_max_wh_ratio")
      continue;
    if (member.key == "n_layers") continue;  // it tells the flat spelling from no config at all
    EXPECT_EQ(error_of(without(flat, member.key)), fmt::format("c: key \"{}\" is missing", member.key));
  }
  EXPECT_NE(error_of(without(flat, "n_layers")), "no error");
}

TEST(Config, FamilyIsTheWholeName) {
  for (const char* type : {"deepseek_v4", "deepseek_v41x", "deepseek_v3", "DEEPSEEK_V41", "", " deepseek_v41"}) {
    Json json = mini_json();
    json.set("model_type", type);
    EXPECT_EQ(error_of(json), fmt::format("c: model_type is \"{}\", only \"deepseek_v41\" is run here", type));
    Json flat = flat_json();
    flat.set("model_type", type);
    EXPECT_NE(error_of(flat).find("model_type"), std::string::npos);
  }
}

TEST(Config, UnknownKeysAreListed) {
  Json json = mini_json();
  json.set("new_top", 1);
  json.find("text_config")->set("new_text", Json::object({{"a", 1}}));
  json.find("text_config")->find("rope_scaling")->set("attention_factor", 1);
  json.find("vision_config")->set("new_vision", nullptr);
  const auto loaded = parse_config(json.dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->unknown_keys, (std::vector<std::string>{"new_top", "text_config.rope_scaling.attention_factor",
                                                            "text_config.new_text", "vision_config.new_vision"}));
}

TEST(Config, ValuesThatMeanAnotherModelAreRefused) {
  EXPECT_NE(error_with("norm_topk_prob", false).find("\"text_config.norm_topk_prob\" is false, expected true"),
            std::string::npos);
  EXPECT_NE(error_with("hidden_act", "gelu").find("hidden_act"), std::string::npos);
  EXPECT_NE(error_with("scoring_func", "tanh").find("scoring_func"), std::string::npos);
  EXPECT_NE(error_with("n_shared_experts", 2).find("n_shared_experts"), std::string::npos);
  EXPECT_NE(error_with("num_key_value_heads", 4).find("num_key_value_heads"), std::string::npos);
  EXPECT_NE(error_with("tie_word_embeddings", true).find("tie_word_embeddings"), std::string::npos);
  for (const char* score : {"sqrtsoftplus", "softmax", "sigmoid"})
    EXPECT_EQ(error_with("scoring_func", score), "no error");
  Json json = mini_json();
  json.set("expert_dtype", "fp8");
  EXPECT_NE(error_of(json).find("expert_dtype"), std::string::npos);
  json = mini_json();
  json.find("quantization_config")->set("weight_block_size", numbers({128, 128}));
  EXPECT_NE(error_of(json).find("weight_block_size"), std::string::npos);
}

TEST(Config, NumbersOfTheWrongKindOrSizeAreRefusedByName) {
  for (const Json& bad : {Json(0), Json(-128), Json("128"), Json(128.5), Json(true), Json(nullptr), Json::number("1e3"),
                          Json::number("99999999999999999999"), Json(std::int64_t{1} << 40), Json::array({128})}) {
    EXPECT_NE(error_with("hidden_size", bad).find("\"text_config.hidden_size\" is "), std::string::npos) << bad.dump();
  }
  for (const Json& bad : {Json(0), Json("x"), Json::array(), Json::number("1e999"), Json::number("-1.5")}) {
    EXPECT_NE(error_with("rope_theta", bad).find("rope_theta"), std::string::npos) << bad.dump();
  }
  EXPECT_NE(error_with("compress_ratios", 2).find("compress_ratios"), std::string::npos);
  EXPECT_NE(error_with("kv_source_layer_ids", Json::array({"2"})).find("kv_source_layer_ids"), std::string::npos);
  EXPECT_NE(error_of(Json::array()).find("object"), std::string::npos);
  EXPECT_NE(error_of(Json::object({{"model_type", "deepseek_v41"}, {"text_config", 1}})).find("text_config"),
            std::string::npos);
}

TEST(Config, WidthsMustHoldWholeGroups) {
  for (const char* key : {"hidden_size", "q_lora_rank", "head_dim", "o_lora_rank", "moe_intermediate_size",
                          "index_head_dim", "engram_head_dim"}) {
    EXPECT_NE(error_with(key, 48).find("expected a multiple of 32"), std::string::npos) << key;
  }
  EXPECT_NE(error_with("o_groups", 3).find("num_attention_heads (n_heads) is 4, expected a multiple of 3"),
            std::string::npos);
  EXPECT_NE(error_with("qk_rope_head_dim", 31).find("rope_head_dim"), std::string::npos);
  EXPECT_NE(error_with("qk_rope_head_dim", 96).find("qk_rope_head_dim (rope_head_dim) 96"), std::string::npos);
  for (const char* key : {"head_dim", "index_head_dim"}) {  // either alone is a bound
    Json json = mini_json();
    json.find("text_config")->set("qk_rope_head_dim", 34).set(key, 32);
    EXPECT_NE(error_of(json).find("qk_rope_head_dim (rope_head_dim) 34 is more than"), std::string::npos) << key;
  }
}

TEST(Config, SourcesMustServeTheirLayers) {
  const auto ratios = [](std::vector<std::int64_t> list) {
    return error_with("compress_ratios", numbers(std::move(list)));
  };
  EXPECT_NE(ratios({0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0}).find("has 12 entries, expected 13"), std::string::npos);
  EXPECT_NE(ratios({0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 0, 1, 0}).find("draft stage 1 is 1"), std::string::npos);
  EXPECT_NE(ratios({0, 1, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0}).find("layer 1 has compress_ratio 1, but no KV source"),
            std::string::npos);
  EXPECT_NE(ratios({0, 0, 2, 1, 2, 2, 1, 1, 1, 1, 0, 0, 0})
                .find("layer 3 has compress_ratio 1, but its KV source, layer 2, has 2"),
            std::string::npos);
  EXPECT_NE(ratios({0, 0, 2, 2, 0, 0, 1, 1, 1, 1, 0, 0, 0}).find("layer 4 is a KV source, but"), std::string::npos);
  EXPECT_NE(ratios({0, 0, 2, 2, 2, 2, 1, 1, 0, 1, 0, 0, 0}).find("layer 8 is an index source, but"), std::string::npos);
  EXPECT_EQ(ratios({0, 0, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0, 0}), "no error");
  EXPECT_EQ(ratios({0, 0, 3, 0, 7, 7, 1, 0, 1, 1, 0, 0, 0}), "no error");
  EXPECT_NE(error_with("kv_source_layer_ids", numbers({2, 6, 4})).find("must ascend, but 4 comes after 6"),
            std::string::npos);
  EXPECT_NE(error_with("kv_source_layer_ids", numbers({2, 4, 6, 6})).find("must ascend"), std::string::npos);
  EXPECT_NE(error_with("kv_source_layer_ids", numbers({2, 4, 6, 10})).find("names layer 10, but there are 10"),
            std::string::npos);
  EXPECT_NE(error_with("index_source_layer_ids", numbers({2, 4, 8})).find("its index source, layer 4, has 2"),
            std::string::npos);
  EXPECT_NE(
      error_with("kv_source_layer_ids", numbers({2, 4, 6, 7})).find("layer 7 is a KV source, but no index source"),
      std::string::npos);
  EXPECT_NE(error_with("index_source_layer_ids", numbers({2, 6, 8})).find("layer 4 is a KV source, but no index"),
            std::string::npos);
}

TEST(Config, PagesThatHoldWholeGroupsOfEverySourceStaySmall) {
  EXPECT_EQ(error_with("candidate_block_size", 1 << 19), "no error");
  EXPECT_NE(error_with("candidate_block_size", 1 << 20).find("pages of more than 1048576 tokens at layer 2"),
            std::string::npos);
  const auto ratios = [](std::int64_t a, std::int64_t b) {
    return error_with("compress_ratios", numbers({0, 0, a, a, b, b, 1, 1, 1, 1, 0, 0, 0}));
  };
  EXPECT_EQ(ratios(509, 512), "no error");
  EXPECT_NE(ratios(509, 521).find("pages of more than 1048576 tokens at layer 4"), std::string::npos);
}

TEST(Config, SwigluLimitMayBeZeroWhichClampsNothing) {
  EXPECT_EQ(error_with("swiglu_limit", 0), "no error");
  EXPECT_NE(error_with("swiglu_limit", -1).find("at least 0"), std::string::npos);
}

TEST(Config, CandidateSourceIsAnIndexSourceOrNone) {
  EXPECT_NE(error_with("candidate_source_layer_id", 7)
                .find("candidate_source_layer_id (candidate_source_layer) 7 is no index source"),
            std::string::npos);
  EXPECT_NE(
      error_with("candidate_source_layer_id", 4).find("index source 6 has compress_ratio 1, but the candidate source"),
      std::string::npos);
  for (const Json& none : {Json(-1), Json(nullptr)}) {
    Json json = mini_json();
    Json text = without(without(*json.find("text_config"), "candidate_topk_blocks"), "candidate_block_size");
    text.set("candidate_source_layer_id", none);
    json.set("text_config", std::move(text));
    const auto loaded = parse_config(json.dump(), "c");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(loaded->config.candidate_source_layer, -1);
    EXPECT_FALSE(loaded->config.uses_candidates(8));
  }
}

TEST(Config, CountsAndIdsMustLieInside) {
  EXPECT_NE(error_with("num_experts_per_tok", 9).find("num_experts_per_tok (n_activated_experts) 9 of only 8"),
            std::string::npos);
  EXPECT_NE(error_with("dspark_num_experts_per_tok", 5)
                .find("dspark_num_experts_per_tok (dspark_n_activated_experts) 5 of only 4"),
            std::string::npos);
  EXPECT_EQ(error_with("num_experts_per_tok", 8), "no error");
  EXPECT_NE(error_with("dspark_noise_token_id", 497).find("outside the vocabulary of 497"), std::string::npos);
  EXPECT_NE(error_with("engram_pad_token_id", 497).find("engram_pad_token_id"), std::string::npos);
  EXPECT_NE(error_with("dspark_target_layer_ids", numbers({8, 9, 10})).find("names layer 10"), std::string::npos);
  EXPECT_NE(error_with("dspark_target_layer_ids", Json::array()).find("dspark_target_layer_ids is empty"),
            std::string::npos);
  EXPECT_NE(error_with("engram_num_embeddings", numbers({660})).find("has 1 entries for 2 layers"), std::string::npos);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "image_token_id"}) {
    Json json = mini_json();
    json.set(key, 497);
    EXPECT_NE(error_of(json).find(fmt::format("{} is 497", key)), std::string::npos);
  }
  Json json = mini_json();
  json.find("vision_config")->set("num_attention_heads", 3);
  EXPECT_NE(error_of(json).find("hidden_size (vision_dim) is 64, expected a multiple of 3"), std::string::npos);
  json.find("vision_config")->set("num_attention_heads", 32);
  EXPECT_NE(error_of(json).find("head_dim is 2, expected a multiple of 4"), std::string::npos) << error_of(json);
}

TEST(Config, FileOfAnotherSizeOrWithTooManyValuesIsRefused) {
  const TestFolder folder;
  const std::string good = mini_json().dump();
  EXPECT_TRUE(load_config(folder.write("good", good + std::string(most_config_bytes - good.size(), ' '))).has_value());
  const auto long_one = load_config(folder.write("long", good + std::string(most_config_bytes - good.size() + 1, ' ')));
  ASSERT_FALSE(long_one.has_value());
  EXPECT_EQ(long_one.error().code, Errc::range);
  EXPECT_NE(long_one.error().message.find("1048577 bytes, expected at most 1048576"), std::string::npos);
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 1 << 16; ++i) many += ",0";
  const auto values = parse_config(many + "]}", "c");
  ASSERT_FALSE(values.has_value());
  EXPECT_NE(values.error().message.find("more than the 65536 values"), std::string::npos) << values.error().message;
}

TEST(Config, EngramTablesHaveTheRowsThatTheirPrimesMake) {
  const Json config = mini_json();
  const auto right = config.find("text_config")->find("engram_num_embeddings")->items();
  const std::int64_t first = *right[0].as_int64(), second = *right[1].as_int64();
  EXPECT_EQ(error_with("engram_num_embeddings", numbers({first, second})), "no error");
  EXPECT_EQ(
      error_with("engram_num_embeddings", numbers({first - 1, second})),
      fmt::format("c: engram_num_embeddings of layer 1 is {}, but 6 columns from engram_vocab_size 101 on make {}",
                  first - 1, first));
  EXPECT_NE(error_with("engram_num_embeddings", numbers({first, second + 1})).find("of layer 4 is"), std::string::npos);
  EXPECT_NE(error_with("engram_vocab_size", 102).find("from engram_vocab_size 102 on make"), std::string::npos);
  EXPECT_EQ(error_with("engram_n_heads", 683), "c: 2 Engram layers of 2049 columns are more than 4096 columns in all");
}

TEST(Config, ModelWithoutDraftsEngramOrVisionNeedsNoKeysOfThem) {
  Json json = without(mini_json(), "vision_config");
  Json text = Json::object();
  for (const Json::Member& member : json.find("text_config")->members()) {
    if (!member.key.starts_with("dspark_") && !member.key.starts_with("engram_")) text.set(member.key, member.value);
  }
  text.set("num_nextn_predict_layers", 0).set("engram_layer_ids", Json::array());
  text.set("compress_ratios", numbers({0, 0, 2, 2, 2, 2, 1, 1, 1, 1}));
  json.set("text_config", std::move(text));
  const auto loaded = parse_config(json.dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_FALSE(loaded->config.vision.has_value());
}

TEST(Config, SizesOfPartsThatAreNotThereCountForNothing) {
  Json json = mini_json();
  Json& text = *json.find("text_config");
  text.set("num_nextn_predict_layers", 0).set("engram_layer_ids", Json::array());
  text.set("compress_ratios", numbers({0, 0, 2, 2, 2, 2, 1, 1, 1, 1}));
  text.set("dspark_block_size", 1000);
  const auto loaded = parse_config(json.dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->config.dspark_block_size, 0);
  EXPECT_EQ(loaded->config.engram_max_ngram_size, 0);
  EXPECT_TRUE(loaded->config.engram_num_embeddings.empty() && loaded->config.dspark_target_layer_ids.empty());
}

TEST(Config, NoMoreIsSelectedThanTheContextHolds) {
  Json json = mini_json();
  json.find("text_config")->set("index_topk", 1 << 30).set("candidate_topk_blocks", 1 << 30);
  const auto loaded = parse_config(json.dump(), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->config.index_topk, 512);
  EXPECT_EQ(loaded->config.candidate_topk_blocks, 512);
}

TEST(Config, BundledPrototypeIsAccepted) {
  const auto loaded = parse_config(text_of(CACHALOT_TEST_DATA "/../../models/prototype/config.json"), "c");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(loaded->unknown_keys.empty());
  EXPECT_FALSE(loaded->config.vision.has_value());
}

}  // namespace
}  // namespace cachalot::config_test
