// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cachalot {

// A table for people: a heading over every column, numbers to the right. Where it is wider than the terminal, a row
// becomes two or more lines: a last cell of text stands below the others; where that is not enough, all but the first.
class TextTable {
 public:
  struct Column {
    std::string_view heading;
    bool right = false;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns. What others wrote in them is made visible, and cut like a name in a list.
  void row(std::vector<std::string> cells);
  std::string text(int terminal_columns) const;

 private:
  std::vector<std::string> headings() const;
  std::vector<int> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cachalot
