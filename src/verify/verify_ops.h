// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include "base/expected.h"
#include "ops/backend.h"
#include "verify/report.h"

namespace cachalot {

// Runs every file of a folder laid out like golden/ops-a through the operators of the backends, a case per file and
// backend. What a file holds is judged in the report; a file that cannot be read or belongs to no family is a failed
// case. Errors: Errc::io or Errc::missing for the folder itself.
Status verify_ops(const std::filesystem::path& folder, std::span<const Backend* const> backends, Report& report);

}  // namespace cachalot
