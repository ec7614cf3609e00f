// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "checkpoint/released_config.h"
#include "checkpoint/test_checkpoint.h"
#include "engine/load_model.h"
#include "kv/state_bytes.h"
#include "model/scratch_bytes.h"

namespace cachalot::memory_plan_test {
namespace {

constexpr std::int64_t mib = 1 << 20, gib = 1 << 30;

ModelFiles released() {
  ModelFiles files;
  auto loaded = parse_config(released_config_text(), "released");
  check(loaded.has_value(), "the released config is one");
  files.config = std::move(loaded->config);
  return files;
}
ModelFiles mini() { return *look_at_model(mini_a()); }

std::int64_t all_bytes(const MemoryPlan& plan) {
  return std::accumulate(plan.weights.begin(), plan.weights.end(), std::int64_t{0},
                         [](std::int64_t sum, const WeightsPlan& w) { return sum + w.bytes; });
}

MachineMemory machine_with(std::int64_t available) {
  MachineMemory machine;
  machine.available = MemoryBound{available, "a test"};
  machine.thread_stack = 8 * mib;
  return machine;
}

TEST(MemoryPlan, EveryByteOfACheckpointIsInOneGroup) {
  const auto checkpoint = Checkpoint::open(mini_a());
  ASSERT_TRUE(checkpoint);
  const MemoryPlan plan = plan_memory(mini(), {}, &*checkpoint);
  EXPECT_EQ(all_bytes(plan), checkpoint->bytes());
  for (const WeightGroup group : {WeightGroup::dense, WeightGroup::experts, WeightGroup::engram, WeightGroup::drafts})
    EXPECT_GT(plan.of(group).bytes, 0) << name(group);
  EXPECT_EQ(plan.mapped, mini().shard_bytes);
}

TEST(MemoryPlan, AConfigAloneGivesWhatItsFilesWouldHave) {
  const auto checkpoint = Checkpoint::open(mini_a());
  ASSERT_TRUE(checkpoint);
  const MemoryPlan said = plan_memory(*look_at_model(mini_a() / "config.json"), {.drafts = true});
  const MemoryPlan real = plan_memory(mini(), {.drafts = true}, &*checkpoint);
  for (std::size_t i = 0; i < weight_groups; ++i)
    EXPECT_NEAR(static_cast<double>(said.weights[i].bytes), static_cast<double>(real.weights[i].bytes), 4096);
  EXPECT_EQ(said.mapped, said.used_bytes());
}

TEST(MemoryPlan, OfTheReleasedShapeHasItsInventory) {
  const MemoryPlan plan = plan_memory(released(), {.context = 1 << 20, .chunk = 256, .threads = 16});
  const Config c = released().config;
  // An expert: three matrices of half a byte a value, and a byte of scale for 32.
  const std::int64_t expert = 3 * c.dim * c.moe_inter_dim * 17 / 32;
  EXPECT_EQ(plan.of(WeightGroup::experts).bytes, c.n_layers * 384 * expert);
  EXPECT_NEAR(static_cast<double>(plan.of(WeightGroup::experts).step_bytes),
              static_cast<double>(c.n_layers * 6 * expert), 100000);
  const std::int64_t row = c.engram_head_dim * 33 / 32;
  EXPECT_EQ(plan.of(WeightGroup::engram).bytes, (384006168 + 384016682) * row);
  EXPECT_NEAR(static_cast<double>(plan.of(WeightGroup::engram).step_bytes), static_cast<double>(2 * 24 * row), 10);
  // Of the dense weights all but the embedding, of which a step of one row reads a row.
  EXPECT_NEAR(static_cast<double>(plan.of(WeightGroup::dense).bytes - plan.of(WeightGroup::dense).step_bytes),
              static_cast<double>(c.vocab_size * c.dim * 2), 20000);
  EXPECT_GT(plan.own.state.pages(), 890 * mib - 1);
  EXPECT_LT(plan.own.peak(), 2 * gib);
}

TEST(MemoryPlan, DraftsCountWhereTheyAreWantedAndVisionNever) {
  const MemoryPlan without = plan_memory(released(), {}), with = plan_memory(released(), {.drafts = true});
  EXPECT_FALSE(without.of(WeightGroup::drafts).used);
  EXPECT_FALSE(with.of(WeightGroup::vision).used);
  EXPECT_EQ(with.used_bytes(), without.used_bytes() + with.of(WeightGroup::drafts).bytes);
  EXPECT_EQ(with.used_bytes() + with.of(WeightGroup::vision).bytes, all_bytes(with));
  EXPECT_GT(with.step_bytes(), without.step_bytes());
  EXPECT_GT(with.own.scratch, without.own.scratch);
}

TEST(MemoryPlan, StateAndScratchAreThoseOfTheRequest) {
  const ModelFiles files = mini();
  const MemoryPlan one = plan_memory(files, {.context = 400, .chunk = 64, .threads = 3});
  EXPECT_EQ(one.own.state.all(), state_bytes(state_shape_of(files.config), 400).all());
  EXPECT_EQ(one.own.scratch, scratch_bytes(files.config, {.rows = 64, .positions = 400, .threads = 3}));
  const MemoryPlan five = plan_memory(files, {.context = 400, .chunk = 64, .sequences = 5, .threads = 3});
  EXPECT_EQ(five.own.state.all(), 5 * one.own.state.all());
  EXPECT_EQ(five.own.scratch, one.own.scratch);  // a chunk of 64 rows is the larger step
  const MemoryPlan many = plan_memory(files, {.context = 400, .chunk = 64, .sequences = 100, .threads = 3});
  EXPECT_GT(many.own.scratch, one.own.scratch);
  const MemoryPlan brief = plan_memory(files, {.context = 10, .chunk = 64, .threads = 3});
  EXPECT_EQ(brief.own.scratch, scratch_bytes(files.config, {.rows = 10, .positions = 10, .threads = 3}));
}

TEST(MemoryPlan, LogitsOfEveryRowOfAChunkCountWhereTheyAreWanted) {
  const ModelFiles files = mini();
  const std::int64_t row = files.config.vocab_size * 4;
  const OwnMemory last = plan_memory(files, {.context = 400, .chunk = 64}).own;
  const OwnMemory every = plan_memory(files, {.context = 400, .chunk = 64, .all_logits = true}).own;
  EXPECT_EQ(every.logits, last.logits + 64 * row);
  EXPECT_EQ(every.scratch, scratch_bytes(files.config, {.rows = 64, .positions = 400, .logits = 64}));
  const OwnMemory brief = plan_memory(files, {.context = 10, .chunk = 64, .all_logits = true}).own;
  EXPECT_EQ(brief.logits, last.logits + 10 * row);  // no chunk is longer than the text
}

// Where sequences draft, each holds the logits of its block twice: from the stages, and from the model that checks it.
TEST(MemoryPlan, LogitsOfADraftBlockCountTwiceForEverySequence) {
  const ModelFiles files = mini();
  const std::int64_t row = files.config.vocab_size * 4, block = files.config.dspark_block_size;
  for (const std::int64_t sequences : {1, 3}) {
    const OwnMemory plain = plan_memory(files, {.context = 400, .sequences = sequences}).own;
    const OwnMemory drafts = plan_memory(files, {.context = 400, .sequences = sequences, .drafts = true}).own;
    EXPECT_EQ(drafts.logits, plain.logits + 2 * sequences * block * row);
  }
}

TEST(MemoryPlan, TheWholeIsTheSumOfItsParts) {
  const OwnMemory own = plan_memory(mini(), {.context = 100, .chunk = 100}).own;
  EXPECT_EQ(own.running(),
            own.state.all() + own.scratch + own.logits + own.tensors + own.copies + own.tokenizer + own.program);
  EXPECT_EQ(own.peak(), std::max(own.running(), own.loading));
}

TEST(MemoryPlan, TensorsThatAreCopiedIntoMemoryCountAsItsOwn) {
  const std::filesystem::path prototype = CACHALOT_TEST_DATA "/../../models/prototype";
  const auto checkpoint = Checkpoint::open(prototype);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(plan_memory(*look_at_model(prototype), {}, &*checkpoint).own.copies, checkpoint->copied_bytes());
}

TEST(MemoryPlan, WhatIsReadMostOftenStaysInMemoryFirst) {
  const MemoryPlan plan = plan_memory(released(), {.drafts = true});
  const auto of = [&](std::int64_t room, WeightGroup group) {
    return resident_bytes(plan, room)[static_cast<std::size_t>(group)];
  };
  const std::int64_t dense = plan.of(WeightGroup::dense).bytes, drafts = plan.of(WeightGroup::drafts).bytes;
  EXPECT_EQ(of(-1, WeightGroup::dense), 0);
  EXPECT_EQ(of(dense - 1, WeightGroup::dense), dense - 1);
  EXPECT_EQ(of(dense - 1, WeightGroup::drafts), 0);
  EXPECT_EQ(of(dense + drafts + 7, WeightGroup::experts), 7);
  EXPECT_EQ(of(dense + drafts + 7, WeightGroup::engram), 0);
  EXPECT_EQ(of(1000 * gib, WeightGroup::engram), plan.of(WeightGroup::engram).bytes);
  EXPECT_EQ(of(1000 * gib, WeightGroup::vision), 0);  // nobody reads it
}

TEST(CheckMemory, ItsOwnMemoryMustFitAndWeightsNeedNot) {
  const MemoryPlan plan = plan_memory(released(), {.context = 1 << 20, .chunk = 256, .threads = 16});
  EXPECT_TRUE(check_memory(plan, machine_with(plan.own.peak())));
  const Status refused = check_memory(plan, machine_with(plan.own.peak() - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::memory);
  for (const char* part :
       {"1.1 GiB", "893.3 MiB of 1 sequence at 1048576 positions", "256 rows", "16 threads", "a test", "--chunk"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << part << " in: " << refused.error().message;
}

TEST(CheckMemory, MappedFilesCountForTheAddressSpaceAlone) {
  const MemoryPlan plan = plan_memory(released(), {.threads = 2});
  MachineMemory machine = machine_with(100 * gib);
  const std::int64_t own = plan.own.peak() + 2 * machine.thread_stack;
  machine.data = MemoryBound{own, "a limit on data"};
  machine.address_space = MemoryBound{plan.mapped + own, "a limit on addresses"};
  EXPECT_TRUE(check_memory(plan, machine));
  machine.address_space->bytes -= 1;
  const Status addresses = check_memory(plan, machine);
  ASSERT_FALSE(addresses);
  EXPECT_NE(addresses.error().message.find("maps 466.9 GiB"), std::string::npos) << addresses.error().message;
  EXPECT_NE(addresses.error().message.find("a limit on addresses"), std::string::npos) << addresses.error().message;
  machine.data->bytes -= 1;
  const Status data = check_memory(plan, machine);
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("a limit on data"), std::string::npos) << data.error().message;
}

TEST(CheckMemory, AMachineThatSaysNothingRefusesNothing) {
  EXPECT_TRUE(check_memory(plan_memory(released(), {.context = 1 << 20}), MachineMemory{}));
}

TEST(LoadModel, RefusesForWantOfMemoryBeforeAnythingIsMapped) {
  std::vector<std::string> stages;
  const auto tell = [&](std::string_view stage) { stages.emplace_back(stage); };
  const MemoryRequest request{.context = 512, .chunk = 256};
  const auto with = [&](std::int64_t bytes, bool drafts) {
    return load_model(mini_a(), {.drafts = drafts}, tell, request, machine_with(bytes));
  };
  const std::int64_t enough = plan_memory(mini(), request).own.peak();
  const auto refused = with(enough - 1, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::memory);
  EXPECT_NE(refused.error().message.find("mini-a"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(stages.empty());
  EXPECT_TRUE(with(enough, false));
  EXPECT_FALSE(stages.empty());
  // What drafts will need is counted with the rest, before either is loaded.
  EXPECT_FALSE(with(enough, true));
}

TEST(SetAside, TakesTheScratchOfTheLargestStepAtOnce) {
  const auto loaded = load_model(mini_a(), {.backend = &cpu_backend()});
  ASSERT_TRUE(loaded);
  const MemoryRequest request{.context = 300, .chunk = 64, .threads = 2};
  Context context(2);
  ASSERT_TRUE(set_aside(*loaded, context, request));
  const std::int64_t foreseen = plan_memory(loaded->files, request).own.scratch;
  EXPECT_EQ(context.scratch.peak_bytes(), foreseen);
  const Arena::Frame frame(context.scratch);
  const auto* first = static_cast<const std::byte*>(context.scratch.take_bytes(foreseen - 64));
  EXPECT_EQ(context.scratch.take_bytes(64), first + foreseen - 64);  // one piece of memory
}

TEST(SetAside, CountsOnlyWhatIsStillToBeTaken) {
  const auto loaded = load_model(mini_a(), {});
  ASSERT_TRUE(loaded);
  const MemoryRequest request{.context = 300, .chunk = 64};
  const OwnMemory own = plan_memory(loaded->files, request).own;
  const std::int64_t rest = own.state.all() + own.scratch + own.logits;
  Context context;
  EXPECT_TRUE(set_aside(*loaded, context, request, machine_with(rest)));
  const Status refused = set_aside(*loaded, context, request, machine_with(rest - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::memory);
  EXPECT_NE(refused.error().message.find("after loading"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("1 sequence at 300 positions"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace cachalot::memory_plan_test
