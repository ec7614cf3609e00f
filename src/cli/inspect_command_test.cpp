// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_command.h"

#include <gtest/gtest.h>

#include "base/byte_text.h"
#include "checkpoint/released_config.h"
#include "checkpoint/test_checkpoint.h"
#include "cli/output/backend_table.h"
#include "cli/output/inspect_report.h"
#include "cli/test_command.h"
#include "model/model.h"

namespace cachalot::inspect_command_test {
namespace {

Ran run(std::vector<std::string> arguments) { return run_line(std::move(arguments), {add_inspect_command}); }

TEST(InspectCommand, TextShowsLayersRolesPartsAndTotals) {
  const Ran ran = run({"inspect", mini_a().string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.error;
  for (const char* line :
       {"layers.1 0 - - ", "window only, Engram", "KV source, index source, candidate source", "layers.9 1 6 8 ",
        "mtp.2 0 ", "draft stage, window only", "layers.*.attn.wq_a.weight F8_E4M3 [64, 128] 10 ",
        "layers.*.ffn.experts.*.w1.weight I8 [64, 64] 80 ", "vision", "total"}) {
    EXPECT_NE(one_spaced(ran.out).find(line), std::string::npos) << line << "\n" << ran.out;
  }
}

TEST(InspectCommand, JsonSumsToTheWholeAndListsTensorsOnlyWhenAsked) {
  const auto checkpoint = Checkpoint::open(mini_a());
  const auto json = parse_json(run({"inspect", mini_a().string(), "--json"}).out, "out");
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(json->find("tensors"), nullptr);
  EXPECT_EQ(json->find("bytes")->as_int64(), checkpoint->bytes());
  std::int64_t parts = 0, kinds = 0, tensors = 0;
  for (const Json& part : json->find("parts")->items()) parts += *part.find("bytes")->as_int64();
  for (const Json& kind : json->find("kinds")->items()) kinds += *kind.find("bytes")->as_int64();
  EXPECT_EQ(parts, checkpoint->bytes());
  EXPECT_EQ(kinds, checkpoint->bytes());
  ASSERT_EQ(json->find("layers")->items().size(), 13u);
  const Json& layer = json->find("layers")->items()[8];
  EXPECT_EQ(layer.find("kv_source")->as_int64(), 6);
  EXPECT_EQ(layer.find("roles")->dump(), R"(["index source"])");
  const auto full = parse_json(run({"inspect", mini_a().string(), "--json", "--tensors"}).out, "out");
  for (const Json& tensor : full->find("tensors")->items()) tensors += *tensor.find("bytes")->as_int64();
  EXPECT_EQ(tensors, checkpoint->bytes());
  EXPECT_EQ(full->find("tensors")->items().size(), 1016u);
}

TEST(InspectCommand, TensorsAreListedOneALine) {
  const Ran ran = run({"inspect", "--tensors", mini_a().string()});
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 1017);  // and the headings
  EXPECT_NE(ran.out.find("embed.weight"), std::string::npos);
  EXPECT_NE(one_spaced(ran.out).find("[497, 128] 127232 model-00001-of-00002.safetensors"), std::string::npos);
}

TEST(InspectCommand, MissingTensorIsToldAndFails) {
  EditedCheckpoint edited;
  edited["mtp.2.norm.weight"].name = "mtp.2.norm.gain";
  ASSERT_TRUE(edited.open().has_value());
  const Ran ran = run({"inspect", edited.path().string()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.error.find("1 tensors are missing: mtp.2.norm.weight"), std::string::npos);
  EXPECT_NE(ran.out.find("not used"), std::string::npos);
}

TEST(InspectCommand, FolderThatIsNoModelFails) {
  const TestFolder folder;
  const Ran ran = run({"inspect", folder.path().string()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.error.find("config.json"), std::string::npos);
  EXPECT_EQ(run({"inspect", "--backends", folder.path().string()}).exit_code, 2);
  EXPECT_EQ(run({"inspect", "--nonsense"}).exit_code, 2);
  EXPECT_NE(run({"inspect", "--help"}).out.find("cachalot inspect models/demo"), std::string::npos);
}

TEST(InspectCommand, StateOfTheReleasedModelIs890BytesATokenFromItsConfigAlone) {
  const TestFolder folder;
  const std::string config = folder.write("config.json", released_config_text()).string();
  const auto json = parse_json(run({"inspect", config, "--state", "--json"}).out, "out");
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(json->find("bytes_per_token")->as_double(), 890);
  EXPECT_EQ(json->find("positions")->as_int64(), 1048576);
  EXPECT_EQ(json->find("page_bytes")->as_int64(), 890 * 1048576);
  // 43 rings of 144 positions; 3 sources with 18 inputs of two vectors; 19 positions of history.
  EXPECT_EQ(json->find("fixed_bytes")->as_int64(), 43 * 144 * 528 + 3 * 18 * 2 * 512 * 4 + 19 * 5);
  const Ran text = run({"inspect", config, "--state", "--context", "256"});
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_NE(one_spaced(text.out).find("in pages 890 222.5 KiB"), std::string::npos) << text.out;
}

TEST(InspectCommand, StateIsWhatASequenceOfTheModelSays) {
  const auto checkpoint = Checkpoint::open(mini_a());
  const Sequence sequence(state_shape_of(checkpoint->config()));
  const auto json = parse_json(run({"inspect", mini_a().string(), "--state", "--json", "--context", "1"}).out, "out");
  ASSERT_TRUE(json.has_value()) << json.error().message;
  EXPECT_EQ(json->find("fixed_bytes")->as_int64(), sequence.fixed_bytes());
  std::int64_t parts = 0;
  for (const Json& part : json->find("parts")->items()) parts += *part.find("bytes")->as_int64();
  EXPECT_EQ(json->find("bytes")->as_int64(), parts);
}

TEST(InspectCommand, StateOfWhatIsNotThereIsRefused) {
  const TestFolder folder;
  EXPECT_EQ(run({"inspect", "--state", folder.path().string()}).exit_code, 1);
  EXPECT_EQ(run({"inspect", "--state", folder.write("config.json", "{}").string()}).exit_code, 1);
  EXPECT_EQ(run({"inspect", "--state", "--context", "513", mini_a().string()}).exit_code, 2);
  EXPECT_EQ(run({"inspect", "--state", "--context", "0", mini_a().string()}).exit_code, 2);
  EXPECT_EQ(run({"inspect", "--context", "5", mini_a().string()}).exit_code, 2);
  EXPECT_EQ(run({"inspect", "--state", "--tensors", mini_a().string()}).exit_code, 2);
}

TEST(BackendTable, EachBackendHasEveryOperatorOfItsOwn) {
  const auto json = backend_table_json(all_backends());
  ASSERT_FALSE(json.find("backends")->items().empty());
  for (const Json& backend : json.find("backends")->items()) {
    ASSERT_EQ(backend.find("operators")->members().size(), operator_names.size());
    for (const Json::Member& op : backend.find("operators")->members()) {
      EXPECT_EQ(*op.value.as_string(), "own") << *backend.find("name")->as_string() << " " << op.key;
    }
  }
  EXPECT_NE(run({"inspect", "--backends"}).out.find("sparse_attention     own"), std::string::npos);
}

TEST(BackendTable, BorrowedAndAbsentEntriesShow) {
  Backend borrowed = reference_backend();
  borrowed.name = "borrowed";
  borrowed.rope = nullptr;
  const Backend* both[] = {&reference_backend(), &borrowed};
  const Json json = backend_table_json(both);
  const Json& operators = *json.find("backends")->items()[1].find("operators");
  EXPECT_EQ(*operators.find("rope")->as_string(), "none");
  EXPECT_EQ(*operators.find("linear")->as_string(), "= reference");
  EXPECT_EQ(*operators.find("confidence_head")->as_string(), "= reference");
}

TEST(ByteText, UnitsChangeAtTheirBorders) {
  EXPECT_EQ(byte_text(0), "0 B");
  EXPECT_EQ(byte_text(1023), "1023 B");
  EXPECT_EQ(byte_text(1024), "1.0 KiB");
  EXPECT_EQ(byte_text(std::int64_t{3} << 29), "1.5 GiB");
}

}  // namespace
}  // namespace cachalot::inspect_command_test
