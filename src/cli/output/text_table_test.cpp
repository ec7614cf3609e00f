// SPDX-License-Identifier: Apache-2.0
#include "cli/output/text_table.h"

#include <gtest/gtest.h>

namespace cachalot::text_table_test {
namespace {

TextTable whales() {
  TextTable table({{"whale"}, {"tons", true}, {"seen", true}, {"where"}});
  table.row({"cachalot", "45", "1,204", "deep water"});
  table.row({"Blauwal – größter", "150", "7", "far out"});
  return table;
}

TEST(TextTable, LinesUpUnderItsHeadings) {
  EXPECT_EQ(whales().text(80),
            "whale              tons   seen  where\n"
            "cachalot             45  1,204  deep water\n"
            "Blauwal – größter   150      7  far out\n");
}

TEST(TextTable, BreaksEachRowWhereTheTerminalIsTooNarrow) {
  EXPECT_EQ(whales().text(42), whales().text(80));
  EXPECT_EQ(whales().text(41),
            "whale              tons   seen\n"
            "    where\n"
            "cachalot             45  1,204\n"
            "    deep water\n"
            "Blauwal – größter   150      7\n"
            "    far out\n");
  EXPECT_EQ(whales().text(28),
            "whale\n"
            "    tons   seen  where\n"
            "cachalot\n"
            "      45  1,204  deep water\n"
            "Blauwal – größter\n"
            "     150      7  far out\n");
  EXPECT_EQ(whales().text(20),
            "whale\n"
            "    tons   seen\n"
            "    where\n"
            "cachalot\n"
            "      45  1,204\n"
            "    deep water\n"
            "Blauwal – größter\n"
            "     150      7\n"
            "    far out\n");
}

TEST(TextTable, WithoutARowIsItsHeading) { EXPECT_EQ(TextTable({{"a"}, {"b", true}}).text(80), "a  b\n"); }

}  // namespace
}  // namespace cachalot::text_table_test
