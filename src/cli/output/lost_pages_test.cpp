// SPDX-License-Identifier: Apache-2.0
#include "cli/output/lost_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "base/mapped_file.h"
#include "base/test_folder.h"
#include "base/watched_mappings.h"

namespace cachalot::lost_pages_test {
namespace {

class LostPagesDeathTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    return folder_.write(name, text);
  }
  const TestFolder folder_;
};

TEST_F(LostPagesDeathTest, AFileThatIsCutWhileItIsMappedEndsWithItsNameAndPlace) {
  const auto other = MappedFile::open(write("other", std::string(10000, 'y')));
  const auto path = write("cut", std::string(3 * 4096, 'x'));
  const auto read_behind_the_end = [&](std::uintmax_t left, bool gone) {
    tell_lost_pages();
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

TEST_F(LostPagesDeathTest, APlaceThatIsNoMappingOfOursIsABusErrorStill) {
  const auto path = write("cut", std::string(4096, 'x'));
  const auto read = [&] {
    tell_lost_pages();
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

TEST_F(LostPagesDeathTest, TheFirstByteAndTheLastAreOfTheMappingAndTheNextIsNot) {
  constexpr std::size_t page = 4096;
  const auto path = write("cut", std::string(3 * page, 'x'));
  const auto read = [&](std::size_t at) {
    tell_lost_pages();
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

TEST_F(LostPagesDeathTest, AFilesNameIsShownWithoutControlCharacters) {
  const auto path = write("\x1b]0;owned\a", std::string(4096, 'x'));
  const auto read = [&] {
    tell_lost_pages();
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, 0);
    std::exit(file->text()[0]);
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(1), "x1b.0;owned.x07: byte 0 can't be read any more");
}

TEST_F(LostPagesDeathTest, WithoutTheProgramsHandlerItIsABusError) {
  const auto path = write("cut", std::string(4096, 'x'));
  const auto read = [&] {
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, 0);
    std::exit(file->text()[0]);
  };
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(read(), "AddressSanitizer: BUS");
#else
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGBUS), "^$");
#endif
}

}  // namespace
}  // namespace cachalot::lost_pages_test
