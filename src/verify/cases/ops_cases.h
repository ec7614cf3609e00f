// SPDX-License-Identifier: Apache-2.0
// One function per kind of golden operator file: it reads every tensor, runs the operator, and compares. The kind goes
// by the file's name; shapes and counts are the file's own.
#pragma once

#include <optional>
#include <string_view>

#include "base/expected.h"
#include "ops/backend.h"
#include "verify/golden_file.h"
#include "verify/report.h"

namespace cachalot {

struct OpsCase {
  std::string_view name;  // the file's name without its extension
  GoldenFile& golden;
  const Backend& backend;
  CaseReport& report;
};

struct OpsFamily {
  std::string_view prefix;
  bool per_backend;  // false: whole-number functions and formats that all backends share
  Status (*run)(OpsCase&);
};

// The family of a file's name; nothing for a name that belongs to none.
std::optional<OpsFamily> family_of(std::string_view name);

Status verify_formats(OpsCase& c);        // e2m1, e4m3, e8m0: the value of every code
Status verify_quant(OpsCase& c);          // spec 7: codes, scales and round trips of the three quantizers
Status verify_gemm(OpsCase& c);           // spec 7: y8 and y4, the fp8 and fp4 linears of a
Status verify_rms_norm(OpsCase& c);       // spec 1
Status verify_expert_swiglu(OpsCase& c);  // spec 4
Status verify_gate(OpsCase& c);           // spec 4; the scoring function is the rest of the name
Status verify_hc_sinkhorn(OpsCase& c);    // spec 2
Status verify_rope(OpsCase& c);           // spec 3.7
Status verify_sparse_attn(OpsCase& c);    // spec 3.5
Status verify_candidates(OpsCase& c);     // spec 3.4
Status verify_window_idxs(OpsCase& c);    // spec 3.2; names of tensors are W_S_start

}  // namespace cachalot
