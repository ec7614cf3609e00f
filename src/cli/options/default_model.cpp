// SPDX-License-Identifier: Apache-2.0
#include "cli/options/default_model.h"

#include <cstdlib>

namespace cachalot {

Expected<std::filesystem::path> resolve_model(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code none;
  const auto there = [&](const fs::path& p) { return fs::exists(p, none); };
  if (!given.empty()) {
    if (there(given)) return fs::path(given);
    return fail(Errc::missing, "model {}: there is no such folder", given);
  }
  if (const char* named = std::getenv("CACHALOT_MODEL"); named != nullptr && *named != '\0') {
    if (there(named)) return fs::path(named);
    return fail(Errc::missing, "model {} (from CACHALOT_MODEL): there is no such folder", named);
  }
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  const fs::path bundled[] = {bin / "../share/cachalot/models/demo", bin / "../../models/demo"};
  for (const fs::path& p : bundled) {
    if (there(p / "config.json")) return fs::canonical(p, none);
  }
  return fail(Errc::missing,
              "no model: give --model DIR or set CACHALOT_MODEL; the bundled one is neither in {} nor in {}",
              bundled[0].lexically_normal().string(), bundled[1].lexically_normal().string());
}

}  // namespace cachalot
