// SPDX-License-Identifier: Apache-2.0
#include "ops/backend.h"

namespace cachalot {

const Backend& reference_backend() {
  static constexpr Backend table = {.name = "reference",
                                    .open = [](int device) { return open_host("reference", host_memory(), device); },
                                    .linear = linear_ref,
                                    .rms_norm = rms_norm_ref,
                                    .rope = rope_ref,
                                    .lookup = lookup_ref,
                                    .encode_rows = encode_rows_ref,
                                    .take_rows = take_rows_ref,
                                    .commit_rows = commit_rows_ref,
                                    .argmax = argmax_ref,
                                    .compressor = compressor_ref,
                                    .indexer = indexer_ref,
                                    .candidates = candidates_ref,
                                    .selection = selection_ref,
                                    .sparse_attention = sparse_attention_ref,
                                    .output_projection = output_projection_ref,
                                    .router = router_ref,
                                    .expert_ffn = expert_ffn_ref,
                                    .combine = combine_ref,
                                    .mix = mix_ref,
                                    .sinkhorn = sinkhorn_ref,
                                    .fold = fold_ref,
                                    .unfold = unfold_ref,
                                    .engram_gate = engram_gate_ref,
                                    .markov_head = markov_head_ref,
                                    .confidence_head = confidence_head_ref};
  return table;
}

}  // namespace cachalot
