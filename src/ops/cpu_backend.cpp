// SPDX-License-Identifier: Apache-2.0
#include "ops/backend.h"

namespace cachalot {

const Backend& cpu_backend() {
  static constexpr Backend table = {.name = "cpu",
                                    .open = [](int device) { return open_host("cpu", host_memory(), device); },
                                    .linear = linear_cpu,
                                    .rms_norm = rms_norm_cpu,
                                    .rope = rope_cpu,
                                    .lookup = lookup_cpu,
                                    .encode_rows = encode_rows_cpu,
                                    .take_rows = take_rows_cpu,
                                    .commit_rows = commit_rows_cpu,
                                    .argmax = argmax_cpu,
                                    .compressor = compressor_cpu,
                                    .indexer = indexer_cpu,
                                    .candidates = candidates_cpu,
                                    .selection = selection_cpu,
                                    .sparse_attention = sparse_attention_cpu,
                                    .output_projection = output_projection_cpu,
                                    .router = router_cpu,
                                    .expert_ffn = expert_ffn_cpu,
                                    .combine = combine_cpu,
                                    .mix = mix_cpu,
                                    .sinkhorn = sinkhorn_cpu,
                                    .fold = fold_cpu,
                                    .unfold = unfold_cpu,
                                    .engram_gate = engram_gate_cpu,
                                    .markov_head = markov_head_cpu,
                                    .confidence_head = confidence_head_cpu};
  return table;
}

}  // namespace cachalot
