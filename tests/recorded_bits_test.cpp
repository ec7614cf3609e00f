// SPDX-License-Identifier: Apache-2.0
// The bits that were: digests of all logits and drafts of three models, against tests/golden/bits.txt. What is built
// otherwise inside may not move one of them. Who moves a bit on purpose puts the line that the test shows in place of
// the old one, and says in the commit why.
#include <fmt/core.h>

#include <fstream>

#include "bits_settings.h"
#include "kv/checksum.h"

namespace cachalot::recorded_bits_test {
namespace {

// "model backend numerics" to the digest in the file.
std::map<std::string, std::string> recorded() {
  std::ifstream in(CACHALOT_TEST_DATA "/bits.txt");
  std::map<std::string, std::string> all;
  for (std::string model, backend, numerics, digest; in >> model >> backend >> numerics >> digest;)
    all[fmt::format("{} {} {}", model, backend, numerics)] = digest;
  return all;
}

std::uint64_t digest_of(const Outcome& outcome, std::uint64_t before) {
  for (const auto& logits : outcome.logits) before = checksum(std::as_bytes(std::span(logits)), before);
  for (const auto& [length, draft] : outcome.draft) before = checksum(std::as_bytes(std::span(draft)), before);
  return before;
}

// Three sequences, in chunks, alone and together: text; images among it, some with embeddings of their own; and one
// that replays a part of its prompt.
// Rejected drafts are taken back and blocks are drafted on the way.
std::uint64_t digest_of(const Model& model, std::int64_t length) {
  const std::int64_t vocab = model.config().vocab_size;
  std::vector<std::vector<Row>> texts;
  for (std::uint32_t s = 0; s < 3; ++s) texts.push_back(random_rows(length, 30 + s, vocab, s == 1 ? 5 : 0));
  for (std::int64_t p = 0; p < length / 2; ++p) {
    texts[2][static_cast<std::size_t>(p)].global_only = true;
    texts[2][static_cast<std::size_t>(p)].wants_logits = false;
  }
  std::vector<float> embedding(static_cast<std::size_t>(model.config().dim));
  for (std::size_t i = 0; i < embedding.size(); ++i) embedding[i] = static_cast<float>(i % 13) / 7 - 1;
  for (Row& row : texts[1]) row.embedding = row.image && raw(row.token) % 2 == 0 ? embedding.data() : nullptr;
  Runner run(model, {texts[0], texts[1]}, 2);
  const std::int64_t chunk = length / 3;
  run.step({chunk, 0});
  run.step({1, chunk + 1}, {3, 0});
  run.draft();
  while (run.left() > 0) {
    run.step({std::min<std::int64_t>(run.left(0), 2), std::min<std::int64_t>(run.left(1), chunk)}, {2, 1});
  }
  run.draft();
  std::uint64_t digest = digest_of(run.outcome(1), digest_of(run.outcome(0), 0));

  Context context(1, model.memory());
  Sequence sequence = model.new_sequence();
  Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  for (const auto part : {std::span(texts[2]).first(static_cast<std::size_t>(chunk)),
                          std::span(texts[2]).subspan(static_cast<std::size_t>(chunk))}) {
    const Status ran = model.forward(context, {one, part, nullptr}, logits);
    EXPECT_TRUE(ran) << ran.error().message;
    digest = checksum(std::as_bytes(std::span(logits)), digest);
  }
  return digest;
}

void expect_recorded(const std::string& setting, const Model& model, std::int64_t length) {
  static const auto want = recorded();
  const std::string digest = fmt::format("{:016x}", digest_of(model, length));
  const auto at = want.find(setting);
  EXPECT_TRUE(at != want.end() && at->second == digest) << setting << " " << digest << " is not in bits.txt";
}

Model load(const std::string& name, ModelOptions options) {
  if (name == "mini-a-slot") options.index_keys = IndexKeys::published_slot;
  if (name.starts_with("mini-a")) return load_mini_a(options);
  auto loaded = load_model(CACHALOT_TEST_DATA "/../../models/" + name, options);
  check(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
  return std::move(loaded->model);
}

// Lengths of mini-a turn its rings; the reference is slow on the larger models.
void reference(const std::string& name, std::int64_t length) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model model = load(name, {.numerics = numerics, .drafts = true});
    expect_recorded(name + " reference " + (numerics == Numerics::f32 ? "f32" : "released"), model, length);
  }
}

// All levels with a fused multiply-add have the same bits, on any machine.
void cpu(const std::string& name, std::int64_t length, Levels levels) {
  for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
    const Model model = load(name, {.backend = &cpu_backend(), .numerics = numerics, .drafts = true});
    for (const SimdLevel& level : simd_levels()) {
      if (is_portable(level) != (levels == Levels::portable)) continue;
      const AtLevel at(level);
      SCOPED_TRACE(level.name);
      expect_recorded(name + (levels == Levels::portable ? " portable " : " cpu ") +
                          (numerics == Numerics::f32 ? "f32" : "released"),
                      model, length);
    }
  }
}

TEST(RecordedBits, OfTheTinyModelOnTheReference) { reference("mini-a", 84); }
TEST(RecordedBits, OfTheTinyModelAtEveryLevel) { cpu("mini-a", 120, Levels::vector); }
// The same operators over memory that the host can't look into.
TEST(RecordedBits, WhereTheHostSeesNoByte) {
  for (const auto& [name, length] :
       {std::pair("mini-a", 120), std::pair("mini-a-slot", 84), std::pair("demo", 96), std::pair("prototype", 96)}) {
    for (const Numerics numerics : {Numerics::released, Numerics::f32}) {
      const Model model = load(name, {.backend = &guarded_backend(), .numerics = numerics, .drafts = true});
      expect_recorded(std::string(name) + " cpu " + (numerics == Numerics::f32 ? "f32" : "released"), model, length);
    }
  }
}
TEST(RecordedBits, OfTheTinyModelWithPublishedKeys) { cpu("mini-a-slot", 84, Levels::vector); }
TEST(RecordedBits, OfTheBundledModelsAtEveryLevel) {
  cpu("demo", 96, Levels::vector);
  cpu("prototype", 96, Levels::vector);
}
TEST(SlowRecordedBits, OfTheBundledModelsOnTheReference) {
  reference("demo", 12);
  reference("prototype", 12);
}
TEST(SlowRecordedBits, AtThePortableLevel) {
  cpu("mini-a", 120, Levels::portable);
  cpu("demo", 48, Levels::portable);
  cpu("prototype", 48, Levels::portable);
}

}  // namespace
}  // namespace cachalot::recorded_bits_test
