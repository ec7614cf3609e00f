// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "base/lost_pages.h"
#include "base/test_folder.h"

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

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, AFileThatIsCutWhileItIsMappedEndsWithItsNameAndPlace) {
  const auto other = MappedFile::open(write("other", std::string(10000, 'y')));
  const auto path = write("cut", std::string(3 * 4096, 'x'));
  const auto read_behind_the_end = [&](std::uintmax_t left, bool gone) {
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, left);
    if (gone) std::filesystem::remove(path);
    std::exit(file->text()[2 * 4096 + 5] == 'x' ? 0 : 2);
  };
  EXPECT_EXIT(read_behind_the_end(3 * 4096, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(read_behind_the_end(4096, false), testing::ExitedWithCode(1),
              "cut: byte 8197 can't be read any more: the file had 12288 bytes when it was opened and has 4096 now");
  write("cut", std::string(3 * 4096, 'x'));
  EXPECT_EXIT(read_behind_the_end(0, true), testing::ExitedWithCode(1), "and is not there now");
}

TEST_F(MappedFileDeathTest, APlaceThatIsNoMappingOfOursIsABusErrorStill) {
  const auto path = write("cut", std::string(4096, 'x'));
  const auto read = [&] {
    std::uintptr_t address = 0;
    {
      const auto file = MappedFile::open(path);
      address = reinterpret_cast<std::uintptr_t>(file->bytes().data());
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    void* place = reinterpret_cast<void*>(address);
    const void* data = ::mmap(place, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0);
    std::filesystem::resize_file(path, 0);
    std::exit(*static_cast<const volatile char*>(data));
  };
  EXPECT_DEATH(read(), "");
}

TEST_F(MappedFileDeathTest, TheFirstByteAndTheLastAreOfTheMappingAndTheNextIsNot) {
  constexpr std::size_t page = 4096;
  const auto path = write("cut", std::string(3 * page, 'x'));
  const auto read = [&](std::size_t at) {
    std::filesystem::resize_file(path, 3 * page);
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    const void* data = ::mmap(nullptr, 3 * page, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) std::exit(3);
    const auto* bytes = static_cast<const std::byte*>(data);
    watch_mapping(bytes, 2 * page, path);  // what lies behind is another's
    std::filesystem::resize_file(path, 0);
    std::exit(std::to_integer<int>(*static_cast<const volatile std::byte*>(bytes + at)));
  };
  EXPECT_EXIT(read(0), testing::ExitedWithCode(1), "cut: byte 0 can't be read any more");
  EXPECT_EXIT(read(2 * page - 1), testing::ExitedWithCode(1), "cut: byte 8191 can't be read any more");
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(read(2 * page), "AddressSanitizer: BUS") << "the handler before ours has it";
#else
  EXPECT_EXIT(read(2 * page), testing::KilledBySignal(SIGBUS), "^[^:]*$") << "which is not told as one of ours";
#endif
}

TEST_F(MappedFileDeathTest, AFilesNameIsShownWithoutControlCharacters) {
  const auto path = write("\x1b]0;owned\a", std::string(4096, 'x'));
  const auto read = [&] {
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, 0);
    std::exit(file->text()[0]);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(1), "x1b.0;owned.x07: byte 0 can't be read any more");
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
