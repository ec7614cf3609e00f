// SPDX-License-Identifier: Apache-2.0
// Weights that are lent by number, as a place that streams would, and places that fail. On the golden model mini-a.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "checkpoint/test_checkpoint.h"
#include "ops/backend.h"
#include "sequence_runner.h"
#include "weights/mapped_places.h"

namespace cachalot::weight_places_test {
namespace {

const std::shared_ptr<const Checkpoint>& mini() {
  static const auto checkpoint = std::make_shared<const Checkpoint>(*Checkpoint::open(mini_a()));
  return checkpoint;
}

// The mapped files, but experts and rows of Engram tables have bytes only where they are lent, and only those asked
// for. What lies between lent rows is no number.
class LentPlaces : public MappedPlaces {
 public:
  using MappedPlaces::MappedPlaces;

  std::int64_t no_experts_of = -1, no_rows_of = -1;            // layers that can't be read
  std::map<std::int64_t, std::set<std::int32_t>> experts;      // lent, by layer
  std::map<std::int64_t, std::vector<std::int64_t>> expected;  // rows, since experts were last lent
  std::int64_t rows_lent = 0;

  Expected<const TensorInfo*> place(const std::string& name, WeightRole role) override {
    const auto there = MappedPlaces::place(name, role);
    const bool lent = role == WeightRole::expert || role == WeightRole::engram_table;
    if (!there || *there == nullptr || !lent) return there;
    bytes_[name] = (*there)->data;
    empty_.push_back(**there);
    empty_.back().data = nullptr;
    return &empty_.back();
  }
  bool leases_by_number() const override { return true; }

  Expected<ExpertLease> lease_experts(std::int64_t layer, std::span<const ExpertWeights> bound,
                                      std::span<const std::int32_t> expert) override {
    if (layer == no_experts_of) return fail(Errc::io, "experts of layer {} can't be read", layer);
    EXPECT_TRUE(std::ranges::is_sorted(expert)) << "and each is named once";
    EXPECT_EQ(std::ranges::adjacent_find(expert), expert.end());
    auto table = std::make_shared<std::vector<ExpertWeights>>(bound.begin(), bound.end());
    const std::int64_t layers = mini()->config().n_layers;
    const std::string block = layer < layers ? fmt::format("layers.{}", layer) : fmt::format("mtp.{}", layer - layers);
    for (const std::int32_t e : expert) {
      experts[layer].insert(e);
      ExpertWeights& it = table->at(static_cast<std::size_t>(e));
      const std::string name = fmt::format("{}.ffn.experts.{}", block, e);
      fill(it.w1, name + ".w1");
      fill(it.w2, name + ".w2");
      fill(it.w3, name + ".w3");
    }
    return ExpertLease{*table, table};
  }
  void expect_rows(std::int64_t layer, const PackedRows&, std::span<const std::int64_t> row) override {
    expected[layer].assign(row.begin(), row.end());
  }
  Expected<RowLease> lease_rows(std::int64_t layer, const PackedRows& bound,
                                std::span<const std::int64_t> row) override {
    if (layer == no_rows_of) return fail(Errc::io, "rows of layer {} can't be read", layer);
    EXPECT_TRUE(std::ranges::equal(expected[layer], row)) << "rows that nobody had told of";
    rows_lent += std::ssize(row);
    PackedRows from = bound;
    from.codes = bytes<std::uint8_t>(fmt::format("layers.{}.engram.embed.weight", layer));
    from.scales = bytes<std::uint8_t>(fmt::format("layers.{}.engram.embed.scale", layer));
    const std::int64_t size = bound.rows * row_bytes(bound.format, bound.width);
    auto memory = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(size), std::uint8_t{0xFF});
    const PackedRowsOut to = packed_rows(bound.format, bound.width, bound.rows, memory->data(), RowLayout::planes);
    for (const std::int64_t r : row) {
      std::memcpy(to[r].codes, from[r].codes, static_cast<std::size_t>(code_bytes(bound.format, bound.width)));
      std::memcpy(to[r].scales, from[r].scales, static_cast<std::size_t>(scale_bytes(bound.format, bound.width)));
    }
    return RowLease{to, memory};
  }

 private:
  template <class T>
  const T* bytes(const std::string& name) const {
    return reinterpret_cast<const T*>(bytes_.at(name));
  }
  void fill(Weight& weight, const std::string& name) const {
    weight.data = bytes_.at(name + ".weight");
    weight.scale = bytes<std::uint8_t>(name + ".scale");
  }

  std::map<std::string, const std::byte*> bytes_;
  std::deque<TensorInfo> empty_;
};

Model load(std::shared_ptr<WeightPlaces> places, const Backend& backend = cpu_backend(),
           MemorySpace* memory = nullptr) {
  const Config& c = mini()->config();
  std::vector<std::int32_t> class_of;
  for (std::int64_t t = 0; t < c.vocab_size; ++t) {
    class_of.push_back(static_cast<std::int32_t>(t * 7 % c.engram_compressed_vocab_size));
  }
  auto model = Model::load(c, std::move(places), std::move(class_of), c.engram_compressed_vocab_size,
                           {.backend = &backend, .drafts = true, .memory = memory});
  check(model.has_value(), model ? "" : model.error().message.c_str());
  return std::move(*model);
}

struct Lent {
  std::shared_ptr<LentPlaces> places = std::make_shared<LentPlaces>(mini());
  Model model;

  explicit Lent(const Backend& backend = cpu_backend(), MemorySpace* memory = nullptr)
      : model(load(places, backend, memory)) {}
};

std::vector<Row> rows_of(std::int64_t n, std::uint32_t seed) {
  return random_rows(n, seed, mini()->config().vocab_size);
}

Status step(const Model& model, Sequence& sequence, std::span<const Row> rows, std::vector<float>& logits,
            Observer* observer = nullptr) {
  Context context(1, model.memory());
  Sequence* const one[] = {&sequence};
  return model.forward(context, {.sequences = one, .rows = rows, .observer = observer}, logits);
}

Expected<Drafts> draft(const Model& model, Sequence& sequence) {
  Context context(1, model.memory());
  Sequence* const one[] = {&sequence};
  const TokenId next[] = {TokenId{5}};
  return model.draft(context, one, next);
}

// Logits of a prompt, of a step behind it, and of the drafts behind that. The prompt's first rows may be for the global
// state only.
std::vector<float> run(const Model& model, std::size_t global_only) {
  Sequence sequence = model.new_sequence();
  std::vector<float> all, logits;
  for (const std::int64_t n : {40, 1}) {
    std::vector<Row> rows = rows_of(n, 3);
    for (std::size_t i = 0; n > 1 && i < global_only; ++i) rows[i].global_only = true, rows[i].wants_logits = false;
    const Status ran = step(model, sequence, rows, logits);
    EXPECT_TRUE(ran) << ran.error().message;
    all.insert(all.end(), logits.begin(), logits.end());
  }
  const auto drafts = draft(model, sequence);
  EXPECT_TRUE(drafts) << drafts.error().message;
  if (drafts) all.insert(all.end(), drafts->logits.begin(), drafts->logits.end());
  return all;
}

TEST(WeightPlaces, WhatIsLentByNumberGivesTheBitsOfWhatIsAlwaysThere) {
  for (const Backend* backend : {&reference_backend(), &cpu_backend(), &guarded_backend()}) {
    const Lent lent(*backend);
    const Model mapped = load(std::make_shared<MappedPlaces>(mini()), *backend);
    for (const std::size_t global_only : {0, 15}) {
      EXPECT_TRUE(same_bits(run(lent.model, global_only), run(mapped, global_only))) << backend->name;
    }
    EXPECT_GT(lent.places->rows_lent, 0);
  }
}

// What the router chose, and other rows of an Engram table in place of the hashed ones.
struct Chosen : Observer {
  std::map<std::string, std::set<std::int32_t>, std::less<>> experts;
  std::function<void(View<std::int64_t, 2>)> rows;

  void numbers(std::string_view name, std::int64_t, View<std::int64_t, 2> of) override {
    const std::span<std::int64_t> all(of.data(), static_cast<std::size_t>(of.size()));
    if (name.ends_with("ffn.gate_indices")) {
      for (const std::int64_t e : all) experts[std::string(name)].insert(static_cast<std::int32_t>(e));
    }
    if (name.ends_with("engram.hash_ids") && rows) rows(of);
  }
};

TEST(WeightPlaces, ExpertsThatRowsChoseAreLentAndNoOthers) {
  const Lent lent;
  Sequence sequence = lent.model.new_sequence();
  std::vector<float> logits;
  Chosen chosen;
  ASSERT_TRUE(step(lent.model, sequence, rows_of(2, 9), logits, &chosen));
  const Config& c = mini()->config();
  for (std::int64_t l = 0; l < c.n_layers; ++l) {
    const auto& experts = lent.places->experts[l];
    EXPECT_EQ(experts, chosen.experts[fmt::format("layers.{}.ffn.gate_indices", l)]) << l;
    EXPECT_LE(std::ssize(experts), 2 * c.active_experts(l));
  }
  ASSERT_TRUE(draft(lent.model, sequence));
  EXPECT_EQ(std::ssize(lent.places->experts), c.n_layers + c.n_mtp_layers);
}

TEST(WeightPlaces, RowsThatAnObserverPutInTheirPlaceAreTheOnesLent) {
  const Lent lent;
  Sequence sequence = lent.model.new_sequence();
  std::vector<float> logits;
  Chosen chosen;
  chosen.rows = [&](View<std::int64_t, 2> of) {
    std::ranges::fill(std::span(of.data(), static_cast<std::size_t>(of.size())), 17);
    for (auto& [layer, rows] : lent.places->expected) rows.assign(static_cast<std::size_t>(of.size()), 17);
  };
  EXPECT_TRUE(step(lent.model, sequence, rows_of(3, 9), logits, &chosen));
  for (const float logit : logits) ASSERT_TRUE(std::isfinite(logit));
}

TEST(WeightPlaces, AStepThatAPlaceFailsIsAnErrorAndLeavesTheSequencesAsTheyWere) {
  const Lent lent;
  const Config& c = mini()->config();
  Sequence sequence = lent.model.new_sequence(), never_failed = lent.model.new_sequence();
  std::vector<float> logits, wanted;
  ASSERT_TRUE(step(lent.model, sequence, rows_of(37, 1), logits));
  ASSERT_TRUE(step(lent.model, never_failed, rows_of(37, 1), wanted));
  const auto fails = [&](std::string_view what) {
    const Status ran = step(lent.model, sequence, rows_of(20, 2), logits);
    ASSERT_FALSE(ran) << what;
    EXPECT_EQ(ran.error().code, Errc::io);
    EXPECT_EQ(ran.error().message, what);
    EXPECT_EQ(sequence.length(), 37);
  };
  for (std::int64_t l = 0; l < c.n_layers; ++l) {
    lent.places->no_experts_of = l;
    fails(fmt::format("experts of layer {} can't be read", l));
  }
  lent.places->no_experts_of = -1;
  for (const std::int64_t l : c.engram_layer_ids) {
    lent.places->no_rows_of = l;
    fails(fmt::format("rows of layer {} can't be read", l));
  }
  lent.places->no_rows_of = -1;
  ASSERT_TRUE(step(lent.model, sequence, rows_of(20, 2), logits));
  ASSERT_TRUE(step(lent.model, never_failed, rows_of(20, 2), wanted));
  EXPECT_TRUE(same_bits(logits, wanted));
  EXPECT_EQ(hash_of(sequence), hash_of(never_failed));
}

TEST(WeightPlaces, DraftsThatAPlaceFailsAreAnErrorAndLeaveTheSequenceAsItWas) {
  const Lent lent;
  const Config& c = mini()->config();
  Sequence sequence = lent.model.new_sequence();
  std::vector<float> logits;
  ASSERT_TRUE(step(lent.model, sequence, rows_of(37, 1), logits));
  const std::uint64_t before = hash_of(sequence);
  for (std::int64_t s = 0; s < c.n_mtp_layers; ++s) {
    lent.places->no_experts_of = c.n_layers + s;
    const auto drafts = draft(lent.model, sequence);
    ASSERT_FALSE(drafts);
    EXPECT_EQ(drafts.error().message, fmt::format("experts of layer {} can't be read", c.n_layers + s));
    EXPECT_EQ(hash_of(sequence), before);
  }
  lent.places->no_experts_of = -1;
  EXPECT_TRUE(draft(lent.model, sequence));
}

// The host's memory, and how often something of it was asked for.
class CountedSpace : public MemorySpace {
 public:
  mutable int downloads = 0;

  std::byte* take(std::int64_t bytes) override { return host_memory().take(bytes); }
  std::byte* grow(std::byte* at, std::int64_t bytes, std::int64_t to) override {
    return host_memory().grow(at, bytes, to);
  }
  void give(std::byte* at, std::int64_t bytes) noexcept override { host_memory().give(at, bytes); }
  void clear(std::byte* at, std::int64_t bytes) override { host_memory().clear(at, bytes); }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override { host_memory().copy(to, from, bytes); }
  void upload(std::byte* to, std::span<const std::byte> from) override { host_memory().upload(to, from); }
  void download(std::span<std::byte> to, const std::byte* from) const override {
    ++downloads;
    host_memory().download(to, from);
  }
};

TEST(WeightPlaces, WhereExpertsAreAlwaysThereNothingThatARouterWroteIsTakenToTheHost) {
  CountedSpace space;
  const auto downloads = [&](const Model& model) {
    space.downloads = 0;
    Context context(1, space);
    Sequence sequence = model.new_sequence();
    Sequence* const one[] = {&sequence};
    std::vector<float> logits;
    EXPECT_TRUE(model.forward(context, {.sequences = one, .rows = rows_of(5, 1)}, logits));
    return space.downloads;
  };
  EXPECT_EQ(downloads(load(std::make_shared<MappedPlaces>(mini()), cpu_backend(), &space)), 1) << "the logits";
  EXPECT_EQ(downloads(Lent(cpu_backend(), &space).model), 1 + mini()->config().n_layers) << "and what each layer chose";
}

}  // namespace
}  // namespace cachalot::weight_places_test
