// SPDX-License-Identifier: Apache-2.0
// A whole model whose value lies next to a tie between two codes: what is told apart is a rounding and a fault.
#include <gtest/gtest.h>

#include <cmath>

#include "verify/end_to_end.h"
#include "verify/lab/tries.h"
#include "verify/model_run.h"

namespace cachalot::verify_tries_test {
namespace {

constexpr std::int64_t length = 24;

// The engine of these tests: every run of it finds one value of a tensor where it is put.
class Put : public RunObserver {
 public:
  Put(const NearTie& at, float value, Observer* next) : at_(at), value_(value), next_(next) {}
  void begin(std::int64_t first, std::int64_t count) override {
    RunObserver::begin(first, count);
    if (auto* watcher = dynamic_cast<RunObserver*>(next_)) watcher->begin(first, count);
  }
  void values(std::string_view name, std::int64_t first_row, Values<2> rows) override {
    if (name == at_.tensor && at_.place.at >= first_row && at_.place.at < first_row + rows.extent(0)) {
      rows[at_.place.at - first_row].store(at_.value, value_);
    }
    if (next_ != nullptr) next_->values(name, first_row, rows);
  }

 private:
  NearTie at_;
  float value_;
  Observer* next_;
};

struct Engine {
  ModelSource source{std::filesystem::path(CACHALOT_BUILD_DIR "/golden/mini-a"), nullptr};
  const Model* model = nullptr;
  std::vector<std::int64_t> ids;

  Engine() {
    auto loaded = source.get(Numerics::f32, IndexKeys::owner, false);
    check(loaded.has_value(), "mini-a loads");
    model = *loaded;
    for (std::int64_t i = 0; i < length; ++i) ids.push_back(3 + (i * 37) % 400);
  }
  std::vector<float> run(RunObserver& watcher) const {
    auto logits = ModelRun(*model, 1, 1, &watcher).step(ids, Wanted::all);
    check(logits.has_value(), "a prompt runs");
    return *logits;
  }
  const Config& config() const { return model->config(); }
};

// A value of compressed KV, and the tie between its code and the one above.
struct Place {
  NearTie at;
  double tie = 0;
};
Place choose(const Engine& engine, const std::string& tensor, std::int64_t group) {
  TieFinder look(engine.config());
  engine.run(look);
  const std::vector<float>& row = look.stored(0).at({tensor, group});
  const auto to = rounded_to(tensor, engine.config());
  const CodeGroup codes(to->format, std::span(row).first(static_cast<std::size_t>(group_size(to->format))));
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    if (codes.magnitude(i) == 3 || codes.magnitude(i) == 4) {
      return {{tensor, {0, group}, static_cast<std::int64_t>(i), 0}, std::copysign(*codes.tie(i, true), row[i])};
    }
  }
  ADD_FAILURE() << "no code in the middle of the range";
  return {};
}

// The golden run has the value at `golden`, the engine at `own`; whether the golden codes are known. Times of the tie.
CaseReport judge(double own, double golden, bool known) {
  const Engine engine;
  const Place place = choose(engine, "layers.4.attn.compress_kv", 3);
  TieFinder golden_look(engine.config());
  Put golden_put(place.at, static_cast<float>(place.tie * golden), &golden_look);
  const std::vector<float> want = engine.run(golden_put);
  CodeWitness witness;
  if (known) {
    CodeRows rows;
    for (const auto& [at, row] : golden_look.stored(0)) {
      const auto to = rounded_to(at.first, engine.config());
      const auto width = static_cast<std::int64_t>(row.size());
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(code_bytes(to->format, width)));
      std::vector<std::uint8_t> scales(static_cast<std::size_t>(scale_bytes(to->format, width)));
      encode_row(to->format, row, codes.data(), scales.data());
      rows[at].resize(row.size());
      decode_row(to->format, codes.data(), scales.data(), rows[at]);
    }
    witness.add(engine.ids, std::move(rows));
  }
  const Attempt attempt = [&](RunObserver& watcher, CaseReport& report) -> Status {
    Put put(place.at, static_cast<float>(place.tie * own), &watcher);
    const std::vector<float> got = engine.run(put);
    const auto width = static_cast<std::size_t>(engine.config().vocab_size);
    EndToEndRows table{.width = engine.config().vocab_size, .rows = {}, .got = {}, .want = {}};
    for (std::size_t r = 0; r < static_cast<std::size_t>(length); ++r) {
      table.add({.where = fmt::format("position {}", r)}, std::span(got).subspan(r * width, width),
                std::span(want).subspan(r * width, width));
    }
    judge_end_to_end("logits", table, Numerics::f32, report);
    return {};
  };
  CaseReport report("case");
  const TryRules all{.ties = true, .nudged = true};
  EXPECT_TRUE(judge_with_tries(engine.config(), all, {witness, engine.ids, length}, attempt, report));
  return report;
}

const std::string& error_of(const CaseReport& report) { return report.findings()[0].error; }
constexpr double below = 1 - 1e-6, above = 1 + 1e-6;

TEST(VerifyTries, CodeThatFellToTheOtherSideOfItsTieIsAFlip) {
  for (const bool known : {true, false}) {
    const CaseReport report = judge(below, above, known);
    EXPECT_EQ(report.verdict(), Verdict::pass) << error_of(report);
    EXPECT_NE(error_of(report).find(known ? "the flipped code is the golden one" : "is moved across it"),
              std::string::npos)
        << error_of(report);
  }
}

TEST(VerifyTries, ValueThatIsFarFromTheTieIsAFault) {
  const CaseReport report = judge(0.99, above, true);
  EXPECT_EQ(report.verdict(), Verdict::fail);
  EXPECT_NE(error_of(report).find("too far for a flip"), std::string::npos) << error_of(report);
}

TEST(VerifyTries, FlipDoesNotExcuseAFaultBesideIt) {
  // The golden value lies two codes above, the engine's next to the tie to the first of them.
  const CaseReport report = judge(below, 2.4, true);
  EXPECT_EQ(report.verdict(), Verdict::fail);
  EXPECT_NE(error_of(report).find("more than one code step"), std::string::npos) << error_of(report);
}

}  // namespace
}  // namespace cachalot::verify_tries_test
