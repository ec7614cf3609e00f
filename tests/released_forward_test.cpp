// SPDX-License-Identifier: Apache-2.0
// A forward of a few tokens at the full released shape: sparse files with random weights in layers 1, 2 and 20, and in
// the Engram rows that the tokens read. The backends agree on every tensor. Run on request (tests/README.md): it makes
// 24 GiB of weights, and the reference takes minutes.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/process_memory.h"
#include "checkpoint/make_checkpoint.h"
#include "checkpoint/released_config.h"
#include "engine/engram_rows_of_text.h"
#include "engine/load_model.h"
#include "twin.h"

namespace cachalot::released_forward_test {
namespace {

const std::vector<TokenId> text = {TokenId{0}, TokenId{377}, TokenId{1950}, TokenId{21}};

// Made where it is not there yet; left there, for a second run.
std::filesystem::path released_model(const std::filesystem::path& parent) {
  const std::filesystem::path folder = parent / "cachalot-released";
  if (std::filesystem::exists(folder / "tokenizer.json")) return folder;  // what is written last
  const std::filesystem::path tokenizer_file = CACHALOT_BUILD_DIR "/golden/released_tokenizer/tokenizer.json";
  const auto tokenizer = Tokenizer::load(tokenizer_file);
  const auto config = parse_config(released_config_text(), "released");
  check(tokenizer.has_value() && config.has_value(), "the released tokenizer and config are there");
  auto rows = engram_rows_of_text(config->config, token_classes(*tokenizer), text);
  check(rows.has_value(), "the text has ids of the vocabulary");
  const auto made = make_checkpoint({.out = folder,
                                     .tokenizer = tokenizer_file,
                                     .force = true,
                                     .sparse = SparseFill{.layers = {1, 2, 20}, .engram_rows = std::move(*rows)}});
  check(made.has_value(), made ? "" : made.error().message.c_str());
  return folder;
}

Expected<LoadedModel> load(const std::filesystem::path& folder, const Backend& backend, Numerics numerics) {
  return load_model(folder, {.backend = &backend, .numerics = numerics});
}

std::vector<Row> rows_of_text() {
  std::vector<Row> rows;
  for (const TokenId token : text) rows.push_back({.token = token, .wants_logits = true});
  return rows;
}

// Every operator of the cpu backend on the reference's inputs. Errors are shares of the tensor's root mean square.
void backends_agree(Numerics numerics, double most) {
  const char* parent = std::getenv("CACHALOT_RELEASED_DIR");
  if (parent == nullptr) GTEST_SKIP() << "CACHALOT_RELEASED_DIR names no folder with 24 GiB free";
  const std::filesystem::path folder = released_model(parent);
  const auto rows = rows_of_text();
  Twin truth;
  std::vector<float> want;
  {
    const auto reference = load(folder, reference_backend(), numerics);
    ASSERT_TRUE(reference.has_value()) << reference.error().message;
    want = run_with(reference->model, rows, truth);
  }
  MemoryPeak peak;
  const auto cpu = load(folder, cpu_backend(), numerics);
  ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
  Twin fed(truth, true);
  const auto got = run_with(cpu->model, rows, fed);
  const ProcessMemory memory = peak.so_far();

  const std::int64_t vocab = cpu->model.config().vocab_size;
  ASSERT_EQ(std::ssize(want), std::ssize(text) * vocab);
  EXPECT_TRUE(std::ranges::all_of(want, [](float v) { return std::isfinite(v); }));
  EXPECT_GT(rms_of(want), 0.5);  // zeros would agree as well
  EXPECT_LE(quantile(row_errors(got, want, vocab).max, 1), 1e-5);
  EXPECT_TRUE(fed.flips().empty()) << fmt::format("{}", fmt::join(fed.flips(), ", "));
  std::vector<double> errors;
  for (const auto& [error, place] : fed.errors()) errors.push_back(error);
  EXPECT_LE(errors.front(), most) << fed.errors().front().second;
  // The layers with weights change the stream, each in its attention and in its experts, and so does the Engram.
  for (const char* name : {"layers.1.engram.embed", "layers.1.attn.out", "layers.1.ffn.out", "layers.2.attn.out",
                           "layers.2.ffn.out", "layers.20.attn.out", "layers.20.ffn.out"}) {
    const auto& values = truth.seen_values().at(fmt::format("{} row 3 of step 0", name));
    EXPECT_GT(*std::ranges::max_element(values), 0.01f) << name;
  }
  EXPECT_LT(memory.anonymous, std::int64_t{1} << 30);
  EXPECT_LT(memory.anonymous + memory.file, std::int64_t{20} << 30);
  std::printf("%zu tensor rows: largest error %.2g (%s); logits %.2g; own memory %.0f MB, mapped %.1f GB\n",
              errors.size(), errors.front(), fed.errors().front().second.c_str(),
              quantile(row_errors(got, want, vocab).max, 1), static_cast<double>(memory.anonymous) / 1e6,
              static_cast<double>(memory.file) / 1e9);
}

TEST(ReleasedForward, BackendsAgreeInF32) { backends_agree(Numerics::f32, 2e-5); }
// Inside an operator (the experts' w2) an input's fp8 code may fall to the other side of a tie: a step of 1/16.
TEST(ReleasedForward, BackendsAgreeInReleased) { backends_agree(Numerics::released, 0.1); }

}  // namespace
}  // namespace cachalot::released_forward_test
