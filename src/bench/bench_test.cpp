// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "bench/operators.h"
#include "bench/report.h"

namespace cachalot::bench_test {
namespace {

// All tiny shapes of the operators named, one run each.
std::vector<BenchReport> run_tiny(const Backend& backend, int threads, std::vector<std::string> names,
                                  std::vector<std::int64_t> rows = {1, 3}) {
  std::vector<BenchReport> reports;
  Bench bench({.backend = &backend,
               .threads = threads,
               .rows = std::move(rows),
               .tiny = true,
               .seconds = 0,
               .working_set = 1 << 14,
               .report = [&](const BenchReport& r) { reports.push_back(r); }});
  const auto benches = find_benches(names);
  EXPECT_TRUE(benches);
  for (const OperatorBench& b : *benches) {
    bench.begin(b.op);
    b.run(bench);
  }
  return reports;
}

BenchReport first_of(std::string op, std::int64_t rows) {
  return run_tiny(cpu_backend(), 1, {std::move(op)}, {rows}).at(0);
}

void expect_work(const BenchReport& r, std::int64_t read, std::int64_t written, std::int64_t flops) {
  EXPECT_EQ(r.work.read, read) << r.op << ' ' << r.shape;
  EXPECT_EQ(r.work.written, written) << r.op << ' ' << r.shape;
  EXPECT_EQ(r.work.flops, flops) << r.op << ' ' << r.shape;
}

TEST(Bench, EveryOperatorRunsItsTinyShapesOnEveryBackend) {
  for (const Backend* backend : all_backends()) {
    std::map<std::string, std::int64_t> shapes;
    for (const BenchReport& r : run_tiny(*backend, 2, {})) {
      ++shapes[r.op];
      EXPECT_GE(r.runs, 1) << r.op;
      EXPECT_GT(r.seconds, 0) << r.op;
      EXPECT_GT(r.work.read, 0) << r.op;
      EXPECT_GT(r.work.written, 0) << r.op;
      EXPECT_TRUE(std::isfinite(r.share()) && r.share() > 0) << r.op;
    }
    for (const std::string_view op : operator_names) {
      EXPECT_GE(shapes[std::string(op)], 2) << backend->name << ' ' << op;
    }
  }
}

// Bytes and operations counted by hand, for the tiny shapes.
TEST(Work, LinearReadsInputsCodesAndScalesAndTakesTwoOperationsAWeight) {
  // 3 rows of 96 bf16; 40 x 96 codes of a byte and 2 x 3 block scales; 3 x 40 bf16.
  expect_work(first_of("linear", 3), 3 * 96 * 2 + 40 * 96 + 6, 3 * 40 * 2, 2 * 3 * 40 * 96);
}

TEST(Work, PackedFp4WeightsTakeHalfAByteAndAScaleOf32) {
  EXPECT_EQ(bytes(Weight{WeightFormat::e2m1_row32, 10, 96, nullptr, nullptr}), 10 * 48 + 10 * 3);
  EXPECT_EQ(bytes(Weight{WeightFormat::e4m3_block32, 33, 33, nullptr, nullptr}), 33 * 33 + 4);
  EXPECT_EQ(bytes(Weight{WeightFormat::bf16, 10, 96, nullptr, nullptr}), 1920);
  EXPECT_EQ(bytes(Weight{WeightFormat::f32, 10, 96, nullptr, nullptr}), 3840);
}

TEST(Work, AttentionReadsASlotOnceButPaysForEveryListedOne) {
  // 2 heads of 64; 8 window slots of 64 + 2 bytes, the same for all rows, and 20 groups of 32 + 4 bytes.
  const std::int64_t own = 2 * 64 * 2 + 4 + 28 * 4;  // query, sequence, list
  expect_work(first_of("sparse_attention", 1), own + 2 * 4 + 8 * 66 + 20 * 36, 2 * 64 * 2, 28 * 2 * 64 * 4);
  const BenchReport three = first_of("sparse_attention", 3);
  EXPECT_EQ(three.work.flops, 3 * 28 * 2 * 64 * 4);
  EXPECT_LE(three.work.read, 3 * own + 2 * 4 + 8 * 66 + 3 * 20 * 36);
  EXPECT_GE(three.work.read, 3 * own + 2 * 4 + 8 * 66 + 20 * 36);
}

TEST(Work, ExpertsThatSeveralRowsShareAreReadOnce) {
  // 12 rows x 6 of 8 experts reach all: three matrices of 64 x 32, half a byte a weight and 1/32 byte of scales.
  const BenchReport r = first_of("expert_ffn", 12);
  const std::int64_t matrix = 64 * 32 / 2 + 64 * 32 / 32;
  expect_work(r, 12 * 64 * 2 + 12 * 6 * 8 + 8 * 3 * matrix, 12 * 6 * 64 * 2, 12 * 6 * 3 * 2 * 64 * 32);
}

TEST(Work, IndexerReadsKeysOnceAndScoresThemForEveryRow) {
  // 2 heads of 32 values (16 + 1 bytes), 37 keys of 17 bytes.
  expect_work(first_of("indexer", 3), 3 * 2 * 2 + 3 * 4 + 3 * 8 + 3 * 2 * 17 + 37 * 17, 3 * 37 * 4,
              3 * 37 * 2 * (2 * 32 + 3));
}

TEST(Work, SelectionInsideCandidateBlocksReadsOnlyThose) {
  const auto reports = run_tiny(cpu_backend(), 1, {"selection"}, {1});
  ASSERT_EQ(reports.size(), 2u);
  expect_work(reports[0], 8 + 96 * 4, 5 * 4, 0);
  expect_work(reports[1], 8 + 3 * 4 + 24 * 4, 5 * 4, 0);
}

TEST(Memory, OutputsThatNobodyWroteAreFound) {
  Memory m;
  m.bf16_out<1>({4});
  m.float_out<1>({4});
  m.whole_out<1>({4});
  m.packed_out(RowFormat::e2m1_e4m3_16, 32, 2);
  ASSERT_EQ(m.outputs(), 4u);
  m.poison(0, 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FALSE(m.filled(i, i + 1)) << i;
}

TEST(Memory, OnePlaceLeftOutIsFoundAndAllWrittenIsGood) {
  Memory m;
  const Values<1> half = m.bf16_out<1>({5});
  const View<float, 1> single = m.float_out<1>({5});
  const View<std::int32_t, 1> whole = m.whole_out<1>({5});
  m.poison(0, 3);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_FALSE(m.filled(0, 1) || m.filled(1, 2) || m.filled(2, 3)) << i;
    half.store(i, 1.0);
    single[i] = 1;
    whole[i] = -1;  // "nothing here" is a result
  }
  EXPECT_TRUE(m.filled(0, 3));
  single[2] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(m.filled(0, 3));
}

TEST(Memory, InPlaceNumbersAreFiniteAgainAfterEachPoisoning) {
  Memory m;
  const Values<1> x = m.bf16_in_place<1>({40});
  x.store(7, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(m.filled(0, 1));
  m.poison(0, 1);
  EXPECT_TRUE(m.filled(0, 1));
}

TEST(Memory, RandomNumbersOfEveryFormatAreFiniteAndNotAllTheSame) {
  Memory m;
  for (const RowFormat f :
       {RowFormat::f32, RowFormat::bf16, RowFormat::e4m3_e8m0_32, RowFormat::e2m1_e4m3_16, RowFormat::e2m1_e8m0_32}) {
    const PackedRows rows = m.packed(f, 64, 50);
    std::vector<float> v(64);
    float low = 0, high = 0;
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      rows.decode(r, v);
      for (const float x : v) {
        ASSERT_TRUE(std::isfinite(x)) << name(f);
        low = std::min(low, x);
        high = std::max(high, x);
      }
    }
    EXPECT_TRUE(low < 0 && high > 0) << name(f);
  }
}

void writes_nothing(Context&, const RmsNormArgs&) {}

TEST(BenchDeathTest, AnOperatorThatWritesNothingIsNotMeasured) {
  Backend lazy = cpu_backend();
  lazy.rms_norm = writes_nothing;
  EXPECT_DEATH(run_tiny(lazy, 1, {"rms_norm"}), "rms_norm .dim 40., 1 rows: every output written");
}

TEST(Bench, StopsBeforeTheNextShapeWhenAsked) {
  int reports = 0;
  Bench bench({.rows = {1, 2, 3},
               .tiny = true,
               .seconds = 0,
               .report = [&](const BenchReport&) { ++reports; },
               .stopped = [&] { return reports == 2; }});
  bench.begin("fold");
  fold_bench(bench);
  EXPECT_EQ(reports, 2);
}

TEST(Bench, StopsBetweenTheRunsOfAShapeAndReportsNothingOfIt) {
  int reports = 0, asked = 0;
  Bench bench({.rows = {1},
               .tiny = true,
               .seconds = 3600,
               .report = [&](const BenchReport&) { ++reports; },
               .stopped = [&] { return ++asked == 20; }});
  bench.begin("fold");
  fold_bench(bench);
  EXPECT_EQ(reports, 0);
}

TEST(Bench, NamesThatNoOperatorHasAreAnsweredWithThoseThereAre) {
  const auto found = find_benches(std::vector<std::string>{"rope", "ropes"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::usage);
  EXPECT_NE(found.error().message.find("ropes; there are linear, rms_norm"), std::string::npos)
      << found.error().message;
}

TEST(Bench, NamedOperatorsComeOnceAndInTheTablesOrder) {
  const auto found = find_benches(std::vector<std::string>{"mix", "linear", "mix"});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].op, "linear");
  EXPECT_EQ((*found)[1].op, "mix");
}

TEST(BenchReport, TheRoofThatAllowsLeastBinds) {
  BenchReport r{.op = "x", .shape = "s", .rows = 1, .work = {.read = 900, .written = 100, .flops = 10}, .seconds = 2};
  r.roofs = {.read = 1000, .copy = 500, .flops = 100};
  EXPECT_STREQ(r.roof(), "read");
  EXPECT_DOUBLE_EQ(r.share(), 0.5);  // one second of two
  r.work.flops = 150;
  EXPECT_STREQ(r.roof(), "fma");
  EXPECT_DOUBLE_EQ(r.share(), 0.75);
  r.work = {.read = 700, .written = 300, .flops = 150};
  EXPECT_STREQ(r.roof(), "copy");
  EXPECT_DOUBLE_EQ(r.share(), 1.0);
}

TEST(BenchReport, WhoseWritesAreAQuarterOfItsBytesIsBoundByTheCopy) {
  BenchReport r{.op = "x", .shape = "s", .rows = 1, .work = {.read = 750, .written = 250}, .seconds = 1};
  r.roofs = {.read = 1000, .copy = 500, .flops = 1};
  EXPECT_STREQ(r.roof(), "copy");
  r.work = {.read = 751, .written = 249};
  EXPECT_STREQ(r.roof(), "read");
}

TEST(BenchReport, CsvLinesHaveAFieldForEachName) {
  const BenchRun run{.command = "cachalot bench", .backend = "cpu", .simd = "avx2", .machine = this_machine()};
  BenchReport r{.op = "x", .shape = "two words", .rows = 1, .work = {.read = 1, .written = 1}, .runs = 1, .seconds = 1};
  r.roofs = {.read = 1, .copy = 1, .flops = 1};
  const std::string header = csv_header(run);
  EXPECT_TRUE(header.starts_with("# cachalot bench\n# ")) << header;
  const std::string names = header.substr(header.rfind('\n', header.size() - 2) + 1);
  const std::string line = csv_line(run, r);
  EXPECT_EQ(std::ranges::count(names, ','), std::ranges::count(line, ',')) << names << line;
}

}  // namespace
}  // namespace cachalot::bench_test
