// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/expected.h"

namespace cachalot {

// The model a command works on: `given` when it names one, else $CACHALOT_MODEL, else the bundled model, which lies in
// share/ beside an installed program or in models/ above a build folder. Errors: Errc::missing saying where it was
// looked for.
Expected<std::filesystem::path> resolve_model(const std::string& given);

}  // namespace cachalot
