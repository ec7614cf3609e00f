// SPDX-License-Identifier: Apache-2.0
// A bit is a bit on the cpu backend: sequences in random company, random chunks, with rejected drafts and truncations
// in between, on any number of threads.
#include "bits_settings.h"

namespace cachalot::bits_schedules_test {
namespace {

constexpr std::int64_t longest = 150;

void any_schedule_is_one_by_one(Levels levels, std::uint32_t schedules) {
  in_every_setting(levels, [&](const Model& model, const std::string& setting) {
    std::vector<std::vector<Row>> texts;
    std::vector<Outcome> want;
    for (std::uint32_t s = 0; s < 4; ++s) {
      texts.push_back(random_rows(longest, 20 + s, model.config().vocab_size, s == 3 ? 4 : 0));
      Runner alone(model, {texts.back()});
      alone.one_by_one(longest, true);
      want.push_back(alone.outcome(0));
    }
    for (std::uint32_t schedule = 0; schedule < schedules; ++schedule) {
      std::mt19937 random(schedule);
      std::vector<std::vector<Row>> rows(texts.begin(), texts.begin() + 1 + static_cast<std::ptrdiff_t>(random() % 4));
      // Most are short: what goes wrong goes wrong at a border, and there are borders below 10.
      for (auto& r : rows) r.resize(1 + random() % (random() % 8 == 0 ? longest : 24));
      const int threads = 1 + static_cast<int>(random() % 4);
      Runner run(model, rows, threads);
      run_random_schedule(run, rows.size(), random, model.state_shape().slack, true);
      for (std::size_t s = 0; s < rows.size(); ++s) {
        EXPECT_EQ(first_difference(run.outcome(s), want[s], static_cast<std::int64_t>(rows[s].size())), -1)
            << "schedule " << schedule << ", sequence " << s << ", " << setting << ", " << threads << " threads";
      }
    }
  });
}

TEST(Bits, AnyScheduleIsOneByOne) { any_schedule_is_one_by_one(Levels::vector, 2); }

TEST(SlowBits, AnyScheduleIsOneByOne) { any_schedule_is_one_by_one(Levels::vector, 90); }
TEST(SlowBits, AnyScheduleIsOneByOneAtThePortableLevel) { any_schedule_is_one_by_one(Levels::portable, 12); }

}  // namespace
}  // namespace cachalot::bits_schedules_test
