// SPDX-License-Identifier: Apache-2.0
// For tests: the config of the golden mini-a checkpoint, in both spellings.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "checkpoint/test_checkpoint.h"

namespace cachalot {

inline Json mini_json() { return *parse_json(text_of(mini_a() / "config.json"), "config.json"); }

// The same model in the flat spelling, which has no token ids such as bos_token_id.
inline Json flat_json() {
  const Json nested = mini_json();
  const Json &text = *nested.find("text_config"), &vision = *nested.find("vision_config");
  const std::pair<const char*, const char*> renamed[] = {{"hidden_size", "dim"},
                                                         {"moe_intermediate_size", "moe_inter_dim"},
                                                         {"num_hidden_layers", "n_layers"},
                                                         {"num_nextn_predict_layers", "n_mtp_layers"},
                                                         {"num_attention_heads", "n_heads"},
                                                         {"qk_rope_head_dim", "rope_head_dim"},
                                                         {"rms_norm_eps", "norm_eps"},
                                                         {"sliding_window", "window_size"},
                                                         {"kv_source_layer_ids", "kv_source_layers"},
                                                         {"index_source_layer_ids", "index_source_layers"},
                                                         {"candidate_source_layer_id", "candidate_source_layer"},
                                                         {"num_experts_per_tok", "n_activated_experts"},
                                                         {"scoring_func", "score_func"},
                                                         {"routed_scaling_factor", "route_scale"},
                                                         {"max_position_embeddings", "max_seq_len"},
                                                         {"engram_pad_token_id", "engram_pad_id"},
                                                         {"dspark_num_experts_per_tok", "dspark_n_activated_experts"}};
  const std::set<std::string> left_out = {"model_type",  "rope_scaling",   "num_key_value_heads", "hidden_act",
                                          "topk_method", "attention_bias", "tie_word_embeddings", "norm_topk_prob"};
  Json flat = Json::object();
  for (const Json::Member& member : text.members()) {
    if (left_out.contains(member.key)) continue;
    std::string key = member.key;
    for (const auto& [from, to] : renamed) {
      if (key == from) key = to;
    }
    flat.set(key, member.value);
  }
  const Json& rope = *text.find("rope_scaling");
  flat.set("rope_factor", *rope.find("factor")).set("original_seq_len", *rope.find("original_max_position_embeddings"));
  flat.set("beta_fast", *rope.find("beta_fast")).set("beta_slow", *rope.find("beta_slow"));
  flat.set("vision_n_layers", *vision.find("num_hidden_layers")).set("vision_dim", *vision.find("hidden_size"));
  flat.set("vision_n_heads", *vision.find("num_attention_heads"))
      .set("vision_inter_dim", *vision.find("intermediate_size"));
  for (const char* key : {"patch_size", "rope_theta", "downsample_ratio", "min_pixels", "max_wh_ratio"}) {
    flat.set(fmt::format("vision_{}", key), *vision.find(key));
  }
  flat.set("vision_max_n_token", *vision.find("max_image_tokens"));
  return flat;
}

}  // namespace cachalot
