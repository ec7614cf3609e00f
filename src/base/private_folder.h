// SPDX-License-Identifier: Apache-2.0
// Folders whose content is believed: nobody but their owner may put anything there.
#pragma once

#include <filesystem>
#include <optional>

#include "base/expected.h"

namespace cachalot {

// Makes the folder, and those it lies in, where there is none: for its owner alone from its first moment on. One that
// is there stays as it is. Errors: Errc::io.
Status make_private_folder(const std::filesystem::path& folder);

// Why others than this user and the system's administrator may decide what lies in a folder that is there: it is
// another user's, its group or everybody may write to it (the sticky bit keeps nobody from adding files), a link that
// another user made leads there, or everybody may put another folder in the place of one that it lies in. Nothing
// where they may not. Errors: Errc::io.
Expected<std::optional<ShownText>> why_not_private(const std::filesystem::path& folder);

}  // namespace cachalot
