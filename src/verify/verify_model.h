// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "base/expected.h"
#include "model/model.h"
#include "ops/backend.h"
#include "verify/report.h"

namespace cachalot {

struct VerifyModelOptions {
  std::vector<Numerics> numerics = {Numerics::released, Numerics::f32};  // cases of others are left alone
  const Backend* backend = nullptr;                                      // null: the reference backend
  MemorySpace* memory = nullptr;                                         // of the backend's; null: of its device 0
  int threads = 1;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

// Runs the golden cases of a folder through a model: those of its manifest.json, or, where there is none, the long text
// of <numerics>.safetensors. What a case holds is judged in the report, and a case whose files can't be used is a
// failed one. Errors: the manifest itself.
Status verify_model(const std::filesystem::path& model, const std::filesystem::path& golden,
                    const VerifyModelOptions& options, Report& report);

}  // namespace cachalot
