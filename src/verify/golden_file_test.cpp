// SPDX-License-Identifier: Apache-2.0
#include "verify/golden_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/test_folder.h"
#include "checkpoint/safetensors_writer.h"

namespace cachalot::golden_file_test {
namespace {

std::filesystem::path written(const TestFolder& folder) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> ids = {-1, 7};
  const TensorData tensors[] = {{{"x", DType::f32, {1, 3, 2}}, std::as_bytes(std::span(x))},
                                {{"ids", DType::i32, {2}}, std::as_bytes(std::span(ids))}};
  const auto path = folder.path() / "golden.safetensors";
  EXPECT_TRUE(write_safetensors(path, tensors).has_value());
  return path;
}

TEST(GoldenFile, DecodesRealAndWholeNumbers) {
  const TestFolder folder;
  auto golden = GoldenFile::open(written(folder));
  ASSERT_TRUE(golden) << golden.error().message;
  const auto x = golden->read({"x", 'f', 3});
  ASSERT_TRUE(x) << x.error().message;
  EXPECT_EQ(x->values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(x->rows(), 3);
  EXPECT_EQ(x->width(), 2);
  EXPECT_EQ(x->rows(2), 1);
  EXPECT_EQ(x->width(2), 6);
  const auto ids = golden->read({"ids", 'n', 1});
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->numbers, (std::vector<std::int64_t>{-1, 7}));
}

TEST(GoldenFile, TensorThatNobodyReadsIsAFailureByName) {
  const TestFolder folder;
  auto golden = GoldenFile::open(written(folder));
  ASSERT_TRUE(golden);
  ASSERT_TRUE(golden->read({"x", 'r', -1}));
  CaseReport report("case");
  golden->close(report);
  EXPECT_EQ(report.verdict(), Verdict::fail);
  EXPECT_EQ(report.worst()->tensor, "ids");
  EXPECT_EQ(report.present(), 2);
}

TEST(GoldenFile, TensorThatIsLeftOutAloudIsNone) {
  const TestFolder folder;
  auto golden = GoldenFile::open(written(folder));
  ASSERT_TRUE(golden);
  ASSERT_TRUE(golden->read({"x", 'r', -1}));
  golden->leave_out("ids");
  EXPECT_TRUE(golden->unread().empty());
}

TEST(GoldenFile, OtherTypeRankOrNameIsAnErrorThatNamesIt) {
  const TestFolder folder;
  auto golden = GoldenFile::open(written(folder));
  ASSERT_TRUE(golden);
  for (const GoldenWant& want :
       {GoldenWant{"y", 'f', 1}, {"x", 'n', 3}, {"x", 'b', 3}, {"x", 'f', 2}, {"ids", 'f', 1}}) {
    const auto tensor = golden->read(want);
    ASSERT_FALSE(tensor) << want.name;
    EXPECT_NE(tensor.error().message.find(want.name), std::string::npos) << tensor.error().message;
  }
  EXPECT_EQ(golden->unread().size(), 2u) << "what could not be read stays unread";
}

TEST(GoldenFile, ShapesAndRangesAreHeld) {
  const TestFolder folder;
  auto golden = GoldenFile::open(written(folder));
  ASSERT_TRUE(golden);
  const auto ids = golden->read({"ids", 'n', 1});
  EXPECT_TRUE(golden->expect_shape(*ids, {2}));
  EXPECT_FALSE(golden->expect_shape(*ids, {3}));
  EXPECT_TRUE(golden->expect_range(*ids, -1, 8));
  EXPECT_FALSE(golden->expect_range(*ids, 0, 8));
  EXPECT_FALSE(golden->expect_range(*ids, -1, 7));
}

TEST(GoldenFile, FileCutOffIsAnErrorThatNamesTheFile) {
  const TestFolder folder;
  const auto path = written(folder);
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t keep : {size - 1, size / 2, std::uintmax_t{8}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, keep);
    const auto golden = GoldenFile::open(path);
    ASSERT_FALSE(golden) << keep;
    EXPECT_NE(golden.error().message.find(path.string()), std::string::npos) << golden.error().message;
  }
}

}  // namespace
}  // namespace cachalot::golden_file_test
