// SPDX-License-Identifier: Apache-2.0
#include "ops/rows/commit_rows/commit_rows.h"

#include "ops/test_backends.h"

namespace cachalot::commit_rows_test {
namespace {

using CommitRows = OnEveryBackend;
INSTANTIATE_TEST_SUITE_P(, CommitRows, each_backend(), place_name);

// Some layers' rows of `own`, and rings in two pages with something else between them.
struct Case {
  std::int64_t layers, rows, slots, width;
  std::vector<std::uint8_t> own;
  std::vector<std::int32_t> row, place;

  Case(std::int64_t l, std::int64_t r, std::int64_t s, std::int64_t w)
      : layers(l), rows(r), slots(s), width(w), own(static_cast<std::size_t>(l * r * bytes())) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::uint8_t>(i % 251);
  }
  std::int64_t bytes() const { return row_bytes(RowFormat::e4m3_e8m0_32, width); }

  std::vector<std::uint8_t> rings(const On& on) const {
    const std::int64_t page = layers * slots * bytes() + 16;
    std::vector<std::uint8_t> memory(static_cast<std::size_t>(2 * page), 0xEE);
    PackedRowsOut to = packed_rows(RowFormat::e4m3_e8m0_32, width, slots, memory.data(), RowLayout::records);
    to.rows = 2 * slots;
    to.page_rows = slots;
    to.page_step = page;
    const PackedRows from = packed_rows(RowFormat::e4m3_e8m0_32, width, rows, own.data(), RowLayout::records);
    const auto count = std::ssize(row);
    on(&Backend::commit_rows,
       {from, to, {row.data(), {count}}, {place.data(), {count}}, layers, rows * bytes(), slots * bytes()});
    return memory;
  }
};

TEST_P(CommitRows, EachRowOfEachSetLandsInItsPlaceAndNowhereElse) {
  Case c(2, 3, 4, 32);
  c.row = {2, 0};
  c.place = {1, 7};  // in the first page, in the second one
  const auto memory = c.rings(on);
  const std::int64_t page = 2 * 4 * 33 + 16;
  std::vector<std::uint8_t> want(memory.size(), 0xEE);
  for (std::int64_t i = 0; i < 2 * 33; ++i) {
    const std::int64_t layer = i / 33, byte = i % 33;
    const auto own = [&](std::int64_t row) { return c.own[static_cast<std::size_t>((layer * 3 + row) * 33 + byte)]; };
    want[static_cast<std::size_t>((layer * 4 + 1) * 33 + byte)] = own(2);
    want[static_cast<std::size_t>(page + (layer * 4 + 3) * 33 + byte)] = own(0);
  }
  EXPECT_EQ(memory, want);
}

TEST_P(CommitRows, ARowOrPlaceThatDoesNotExistIsRefused) {
  Case c(1, 3, 4, 32);
  c.row = {3};
  c.place = {0};
  EXPECT_DEATH(c.rings(on), "exists");
  c.row = {0};
  c.place = {8};
  EXPECT_DEATH(c.rings(on), "exists");
}

TEST(CommitRowsAgreement, AtEverySize) {
  Random random(1);
  Agreement agreement;
  for (const std::int64_t layers : {0, 1, 5, 43}) {
    for (const std::int64_t moved : {0, 1, 13, 40}) {
      Case c(layers, 50, 20, 64);
      for (std::int64_t i = 0; i < moved; ++i) {
        c.row.push_back(static_cast<std::int32_t>(random.below(50)));
        c.place.push_back(static_cast<std::int32_t>((i * 7 + 3) % 40));
      }
      agreement.add([&](const On& on) {
        const auto memory = c.rings(on);
        return std::vector<float>(memory.begin(), memory.end());
      });
    }
  }
  EXPECT_EQ(agreement.unequal, 0) << agreement;
}

}  // namespace
}  // namespace cachalot::commit_rows_test
