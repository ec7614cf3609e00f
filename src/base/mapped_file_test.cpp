// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace cachalot {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(dir_); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(dir_ / name, std::ios::binary) << text;
    return dir_ / name;
  }
  std::filesystem::path dir_ = std::filesystem::temp_directory_path() / fmt::format("mapped_file_test.{}", ::getpid());
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
  EXPECT_NE(file.error().message.find("is not a regular file"), std::string::npos) << file.error().message;
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

}  // namespace
}  // namespace cachalot
