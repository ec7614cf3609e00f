// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>

#include "base/test_folder.h"
#include "base/watched_mappings.h"

namespace cachalot::mapped_file_test {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    return folder_.write(name, text);
  }
  const TestFolder folder_;
  const std::filesystem::path dir_ = folder_.path();
};

TEST_F(MappedFileTest, ShowsTheBytesOfTheFile) {
  const auto file = MappedFile::open(write("a", std::string_view("one\0two", 7)));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->text(), std::string_view("one\0two", 7));
  EXPECT_EQ(file->size(), 7u);
  EXPECT_EQ(file->path(), dir_ / "a");
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  const auto file = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, AbsentFileIsMissingAndNamed) {
  const auto file = MappedFile::open(dir_ / "absent");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, Errc::missing);
  EXPECT_NE(file.error().message.find((dir_ / "absent").string() + ": No such file"), std::string::npos);
}

TEST_F(MappedFileTest, FolderIsNoFile) {
  const auto file = MappedFile::open(dir_);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, Errc::io);
}

TEST_F(MappedFileTest, NamedPipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  const auto file = MappedFile::open(dir_ / "pipe");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("is a pipe, expected a regular file"), std::string::npos) << file.error().message;
}

TEST_F(MappedFileTest, MovedFileKeepsItsAddress) {
  auto first = MappedFile::open(write("a", "abc"));
  ASSERT_TRUE(first.has_value());
  const std::byte* at = first->bytes().data();
  MappedFile second = std::move(*first);
  EXPECT_EQ(second.bytes().data(), at);
  EXPECT_EQ(second.text(), "abc");
  auto third = MappedFile::open(write("b", "xyz"));
  ASSERT_TRUE(third.has_value());
  *third = std::move(second);
  EXPECT_EQ(third->text(), "abc");
}

TEST_F(MappedFileTest, EveryByteOfAMappingIsKnownToBeOfItAndTheNextIsNot) {
  const auto path = write("a", std::string(5000, 'x'));
  const std::byte* data = nullptr;
  {
    const auto file = MappedFile::open(path);
    data = file->bytes().data();
    for (const std::size_t at : {0, 4999}) {
      const auto found = mapping_at(data + at);
      ASSERT_TRUE(found) << at;
      EXPECT_EQ(found->data, data);
      EXPECT_EQ(found->size, 5000u);
      EXPECT_EQ(found->path, path);
    }
    EXPECT_FALSE(mapping_at(data + 5000));
  }
  EXPECT_FALSE(mapping_at(data)) << "once it is gone";
}

TEST_F(MappedFileTest, BytesThatAreExpectedAreReadAsEver) {
  const auto file = MappedFile::open(write("a", std::string(10000, 'x')));
  ASSERT_TRUE(file.has_value());
  expect_read(file->bytes().data(), 0);
  expect_read(file->bytes().data() + 4090, 10);
  expect_read(file->bytes().data() + 9999, 1);
  EXPECT_EQ(file->text(), std::string(10000, 'x'));
}

TEST_F(MappedFileTest, APlaceInTheListOfMappingsIsUsedAgain) {
  const auto path = write("a", "abc");
  const auto held = MappedFile::open(path);
  { const auto second = MappedFile::open(path); }
  const std::size_t places = mapping_places();
  for (int i = 0; i < 100; ++i) (void)MappedFile::open(path);
  EXPECT_EQ(mapping_places(), places);
}

}  // namespace
}  // namespace cachalot::mapped_file_test
