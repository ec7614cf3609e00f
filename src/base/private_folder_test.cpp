// SPDX-License-Identifier: Apache-2.0
#include "base/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace cachalot::private_folder_test {
namespace {

namespace fs = std::filesystem;

class PrivateFolder : public testing::Test {
 protected:
  static mode_t mode_of(const fs::path& path) {
    struct stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  // Empty where nobody else may decide.
  static std::string why(const fs::path& path) {
    const auto found = why_not_private(path);
    EXPECT_TRUE(found) << found.error().message;
    if (!found || !*found) return {};
    return **found;
  }
  const TestFolder home_;
  const fs::path folder_ = home_.path() / "a" / "states";
};

TEST_F(PrivateFolder, IsItsOwnersAloneFromTheStartWhateverTheUmask) {
  for (const mode_t mask : {0000, 0002, 0022, 0077}) {
    const mode_t before = ::umask(mask);
    const Status made = make_private_folder(folder_.string() + "/");
    ::umask(before);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(mode_of(folder_), 0700u);
    fs::remove(folder_);
  }
}

TEST_F(PrivateFolder, OneThatIsThereStaysAsItIs) {
  ASSERT_TRUE(make_private_folder(folder_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(make_private_folder(folder_));
  EXPECT_EQ(mode_of(folder_), 0755u);
  EXPECT_EQ(why(folder_), "") << "others may read, which is the owner's to say";
}

TEST_F(PrivateFolder, IsNoneWhereGroupOrEverybodyMayWrite) {
  ASSERT_TRUE(make_private_folder(folder_));
  EXPECT_EQ(why(folder_), "");
  for (const auto& [mode, who] : {std::pair(0720, "its group"), {0702, "everybody"}, {01777, "everybody"}}) {
    ASSERT_EQ(::chmod(folder_.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(why(folder_).starts_with(who)) << why(folder_);
    EXPECT_NE(why(folder_).find("chmod go-w"), std::string::npos);
    EXPECT_NE(why(folder_.string() + "/"), "") << "however it is written";
  }
}

TEST_F(PrivateFolder, IsNoneWhereEverybodyMayReplaceWhatItLiesIn) {
  ASSERT_TRUE(make_private_folder(folder_));
  ASSERT_EQ(::chmod(folder_.parent_path().c_str(), 0777), 0);
  EXPECT_NE(why(folder_).find("another folder in the place"), std::string::npos) << why(folder_);
  ASSERT_EQ(::chmod(folder_.parent_path().c_str(), 01777), 0);
  EXPECT_EQ(why(folder_), "") << "as in the common temporary folder";
}

TEST_F(PrivateFolder, IsNoneThatIsAnothersOrThatAnothersLinkLeadsTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_TRUE(make_private_folder(folder_));
  const fs::path link = home_.path() / "link";
  fs::create_directory_symlink(folder_, link);
  EXPECT_EQ(why(link), "");
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_NE(why(link).find("is a link that user 12345 made"), std::string::npos) << why(link);
  ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_NE(why(folder_).find("belongs to user 12345"), std::string::npos) << why(folder_);
}

TEST_F(PrivateFolder, WhatIsNoFolderOrNotThereIsAnError) {
  EXPECT_FALSE(why_not_private(folder_));
  const fs::path file = home_.write("file", "text");
  EXPECT_NE(why_not_private(file).error().message.find("it is no folder"), std::string::npos);
  EXPECT_FALSE(make_private_folder(file / "below"));
}

}  // namespace
}  // namespace cachalot::private_folder_test
