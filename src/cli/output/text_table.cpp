// SPDX-License-Identifier: Apache-2.0
#include "cli/output/text_table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/shown_text.h"
#include "cli/command_line/help_text.h"

namespace cachalot {
namespace {

constexpr int between = 2, indent = 4;

std::string spaces(int n) { return std::string(static_cast<std::size_t>(std::max(0, n)), ' '); }

std::string padded(const std::string& cell, int width, bool right) {
  const std::string space = spaces(width - shown_width(cell));
  return right ? space + cell : cell + space;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  check(cells.size() == columns_.size(), "a row of a table has a cell for every column");
  for (std::string& cell : cells) cell = shown_name(cell);  // of a checkpoint, a state, a path
  rows_.push_back(std::move(cells));
}

std::vector<std::string> TextTable::headings() const {
  std::vector<std::string> cells;
  for (const Column& column : columns_) cells.emplace_back(column.heading);
  return cells;
}

std::vector<int> TextTable::widths() const {
  std::vector<int> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(shown_width(columns_[c].heading));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], shown_width(row[c]));
  }
  return widths;
}

std::string TextTable::text(int terminal_columns) const {
  const std::vector<int> widths = this->widths();
  const int all = std::accumulate(widths.begin(), widths.end(), between * (static_cast<int>(widths.size()) - 1));
  // The column that begins the second line: none, or a last one of text where that is enough, or the second.
  std::size_t below = columns_.size();
  if (all > terminal_columns)
    below = !columns_.back().right && all - widths.back() - between <= terminal_columns ? columns_.size() - 1 : 1;
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    int used = 0;  // of the line that is being written
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const bool over = used + between + widths[c] > terminal_columns && used > indent;
      if (c > 0 && (c == below || over)) {
        end_line(text);
        out += text;
        text = spaces(indent);
        used = indent;
      } else if (c > 0) {
        text += spaces(between);
        used += between;
      }
      text += padded(cells[c], widths[c], columns_[c].right);
      used += widths[c];
    }
    end_line(text);
    out += text;
  };
  line(headings());
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace cachalot
