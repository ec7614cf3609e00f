// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/nearest_name.h"

#include <algorithm>
#include <cstddef>

namespace cachalot {
namespace {

// Of Damerau and Levenshtein, where no letter is moved twice.
std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

}  // namespace

std::string nearest_name(std::string_view written, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 40;  // no name is longer, and the table grows with the square
  const std::string_view meant = without_dashes(written);
  if (meant.empty() || meant.size() > longest) return {};
  std::string best;
  std::size_t least = std::max<std::size_t>(1, meant.size() / 3) + 1;  // as many letters are another word
  for (const std::string& name : names) {
    const std::string_view bare = without_dashes(name);
    if (meant.size() >= 2 && bare.starts_with(meant)) return name;
    if (const std::size_t apart = letters_apart(meant, bare); apart < least) {
      least = apart;
      best = name;
    }
  }
  return best;
}

}  // namespace cachalot
