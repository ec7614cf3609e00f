// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/test_folder.h"
#include "kv/test_sequence.h"

namespace cachalot::prefix_store_test {
namespace {

namespace fs = std::filesystem;

std::vector<TokenId> text(std::int64_t n, std::int32_t which = 0) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(TokenId{static_cast<std::int32_t>(i * 31 % 97 + 1000 * which)});
  return ids;
}

std::vector<TokenId> fork(std::int64_t common, std::int64_t n, std::int32_t which) {
  auto ids = text(n, which);
  std::ranges::copy(text(common), ids.begin());
  return ids;
}

Sequence at(std::int64_t length, std::uint8_t seed = 0) {
  Sequence s(small_shape());
  run(s, length, seed);
  return s;
}

class PrefixStores : public testing::Test {
 protected:
  PrefixStore store(std::int64_t budget = 1 << 30, const std::string& mode = "cpu avx2") {
    auto opened = PrefixStore::open({.folder = folder_,
                                     .key = {"whale", "f1", mode},
                                     .pools = small_shape(),
                                     .budget = budget,
                                     .tell = [this](std::string_view line) { told_.emplace_back(line); }});
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  static void keep(PrefixStore& to, const std::vector<TokenId>& ids, SnapshotKind kind = SnapshotKind::end) {
    const Status saved = to.save(ids, at(std::ssize(ids)), kind);
    EXPECT_TRUE(saved) << saved.error().message;
  }
  static std::int64_t hit(PrefixStore& from, const std::vector<TokenId>& prompt, std::int64_t longer_than = 0) {
    const auto found = from.find(prompt, longer_than);
    return found ? found->length : 0;
  }
  std::vector<StoredSnapshot> files() const { return *stored_snapshots(folder_); }
  // As if it had last been used so many hours ago.
  static void age(const fs::path& path, int hours) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  fs::path file_of(std::int64_t tokens) const {
    const auto all = files();
    return std::ranges::find(all, tokens, [](const StoredSnapshot& s) { return s.name.tokens; })->path;
  }

  const TestFolder home_;
  const fs::path folder_ = home_.path() / "states";  // not there yet
  std::vector<std::string> told_;
};

TEST_F(PrefixStores, WhatOneKeepsTheNextFindsToTheBit) {
  for (const std::int64_t length : {1, 2, 39, 40, 265}) {
    PrefixStore first = store();
    keep(first, text(length), SnapshotKind::header);
    PrefixStore second = store();
    const auto found = second.find(text(length + 1), 0);
    ASSERT_TRUE(found) << length;
    EXPECT_EQ(found->length, length);
    EXPECT_EQ(found->ids, text(length));
    EXPECT_EQ(found->kind, SnapshotKind::header);
    EXPECT_EQ(bytes_of(found->sequence), bytes_of(at(length)));
  }
  EXPECT_TRUE(told_.empty());
}

TEST_F(PrefixStores, ServesEveryBeginningWithinTheSlackAndTheLongestThereIs) {
  PrefixStore s = store();
  for (const std::int64_t n : {60, 90}) keep(s, text(n));
  EXPECT_EQ(hit(s, text(200)), 90);
  EXPECT_EQ(hit(s, text(90)), 89);
  EXPECT_EQ(hit(s, fork(74, 100, 1)), 74);
  EXPECT_EQ(hit(s, fork(73, 100, 1)), 60);
  EXPECT_EQ(hit(s, fork(44, 100, 1)), 44);
  EXPECT_EQ(hit(s, fork(43, 100, 1)), 0);
  EXPECT_EQ(hit(s, text(1)), 0);
  EXPECT_EQ(hit(s, text(200), 89), 90);
  EXPECT_EQ(hit(s, text(200), 90), 0) << "memory has as much";
}

TEST_F(PrefixStores, PeriodicOnesAndStatesWithImagesAreNotKept) {
  PrefixStore s = store();
  keep(s, text(60), SnapshotKind::periodic);
  Sequence image = at(20);
  Leftovers step(image, 1);
  step.dead = {1};
  image.commit(step.state());
  EXPECT_TRUE(s.save(text(21), image, SnapshotKind::end));
  EXPECT_TRUE(s.save({}, at(0), SnapshotKind::end));
  EXPECT_TRUE(files().empty());
}

TEST_F(PrefixStores, TheSameAgainIsOneFileUsedJustNow) {
  PrefixStore s = store();
  keep(s, text(60));
  age(file_of(60), 5);
  const auto before = files().at(0).last_use;
  keep(s, text(60));
  ASSERT_EQ(files().size(), 1u);
  EXPECT_GT(files()[0].last_use, before + std::chrono::hours(4));
}

TEST_F(PrefixStores, OfTwoWithTheSameIdsTheOneThatReachesFurtherBackStays) {
  Sequence near = at(70);
  ASSERT_TRUE(near.truncate(60));  // goes back to 54
  for (const bool near_first : {true, false}) {
    PrefixStore s = store();
    if (near_first) {
      EXPECT_TRUE(s.save(text(60), near, SnapshotKind::end));
    }
    keep(s, text(60));
    EXPECT_TRUE(s.save(text(60), near, SnapshotKind::end));
    ASSERT_EQ(files().size(), 1u);
    EXPECT_EQ(hit(s, fork(44, 80, 2)), 44);
    EXPECT_TRUE(remove_snapshots(folder_));
  }
}

TEST_F(PrefixStores, AnotherModelOrModeFindsNothingAndHarmsNothing) {
  PrefixStore one = store(), other = store(1 << 30, "cpu portable");
  keep(one, text(60));
  EXPECT_EQ(hit(other, text(61)), 0);
  EXPECT_TRUE(told_.empty()) << "its name says so already";
  // Under a name of the other's, it is told once and stays.
  keep(other, text(50));
  const fs::path there =
      folder_ / SnapshotName{files()[0].name.tokens == 50 ? files()[0].name : files()[1].name}.text();
  fs::copy_file(file_of(60), there, fs::copy_options::overwrite_existing);
  EXPECT_EQ(hit(other, text(61)), 0);
  EXPECT_EQ(hit(other, text(61)), 0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("is of another model or mode (whale, cpu avx2); it is passed over"), std::string::npos)
      << told_[0];
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(hit(one, text(61)), 60);
  keep(other, text(50));
  EXPECT_EQ(hit(other, text(51)), 50) << "what was passed over is written anew";
}

TEST_F(PrefixStores, ADamagedOrCutFileIsRemovedAndTold) {
  PrefixStore s = store();
  for (const bool cut : {true, false}) {
    told_.clear();
    keep(s, text(60));
    keep(s, text(30));
    const fs::path path = file_of(60);
    if (cut) {
      fs::resize_file(path, fs::file_size(path) / 2);
    } else {
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-9, std::ios::end).put('\x55');
    }
    EXPECT_EQ(hit(s, text(61)), 30) << "the next best serves";
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_NE(told_[0].find(cut ? "cut short" : "checksum"), std::string::npos) << told_[0];
    EXPECT_NE(told_[0].find("; it is removed"), std::string::npos) << told_[0];
    EXPECT_EQ(told_[0].find(folder_.string()), told_[0].rfind(folder_.string())) << "named once: " << told_[0];
    EXPECT_FALSE(fs::exists(path));
    keep(s, text(60));
    EXPECT_EQ(hit(s, text(61)), 60);
  }
}

TEST_F(PrefixStores, OfTwoUsedAtTheSameMomentTheOneWhoseNameComesFirstGoesFirst) {
  PrefixStore s = store();
  for (const int which : {1, 2, 3, 4, 5}) keep(s, text(60, which));
  const auto moment = files()[0].last_use;
  std::vector<fs::path> names;
  for (const StoredSnapshot& f : files()) {
    fs::last_write_time(f.path, moment);
    names.push_back(f.path);
  }
  std::ranges::sort(names);
  std::vector<fs::path> listed;
  for (const StoredSnapshot& f : files()) listed.push_back(f.path);
  EXPECT_EQ(listed, names);
}

TEST_F(PrefixStores, ANewerVersionIsPassedOverAndStays) {
  PrefixStore s = store();
  keep(s, text(60));
  std::fstream(file_of(60), std::ios::in | std::ios::out | std::ios::binary).seekp(8).put('\x07');
  EXPECT_EQ(hit(s, text(61)), 0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("version 7"), std::string::npos) << told_[0];
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(PrefixStores, ANameThatLiesIsNoHit) {
  PrefixStore s = store();
  keep(s, text(60, 1));
  keep(s, text(60, 2));
  const auto all = files();
  fs::path one = all[0].path, two = all[1].path;
  fs::rename(one, folder_ / "kept");
  fs::rename(two, one);
  fs::rename(folder_ / "kept", two);
  EXPECT_EQ(hit(s, text(61, 1)), 0);
  EXPECT_EQ(hit(s, text(61, 2)), 0);
}

TEST_F(PrefixStores, AFileThatVanishesOrAFolderThatDoesIsAMiss) {
  PrefixStore s = store();
  keep(s, text(60));
  fs::remove(file_of(60));
  EXPECT_EQ(hit(s, text(61)), 0);
  fs::remove_all(folder_);
  EXPECT_EQ(hit(s, text(61)), 0);
  const Status saved = s.save(text(60), at(60), SnapshotKind::end);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Errc::io);
  EXPECT_TRUE(told_.empty());
}

TEST_F(PrefixStores, TheBudgetHoldsTheOneUsedLongestAgoGoesAndTheNewStays) {
  std::int64_t one = 0;
  {
    PrefixStore s = store();
    keep(s, text(60));
    one = files()[0].bytes;
  }
  PrefixStore s = store(2 * one);
  keep(s, text(60, 1));
  age(folder_ / files().back().path, 3);
  age(file_of(60), 5);
  for (const StoredSnapshot& f : files()) age(f.path, 9);
  EXPECT_EQ(hit(s, text(61, 1)), 60);
  keep(s, text(60, 2));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(hit(s, text(61, 1)), 60) << "used just now";
  EXPECT_EQ(hit(s, text(61, 2)), 60) << "written just now";
  EXPECT_EQ(hit(s, text(61)), 0);
  PrefixStore tight = store(one - 1);
  keep(tight, text(60, 3));
  EXPECT_EQ(files().size(), 2u) << "alone larger than the budget: not kept, and nothing goes for it";
  PrefixStore single = store(one);
  for (const int which : {4, 5, 4, 5}) {
    keep(single, text(60, which));
    EXPECT_EQ(files().size(), 1u);
    EXPECT_EQ(hit(single, text(61, which)), 60);
  }
}

TEST_F(PrefixStores, TheFolderIsMadeForItsOwnerAloneAndOnlyOurFilesAreTouched) {
  PrefixStore s = store(1);
  EXPECT_EQ(fs::status(folder_).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
  const std::vector<std::string> others = {"notes.txt", "0-1-2.cachalot-snapshot", "x.part"};
  for (const std::string& name : others) std::ofstream(folder_ / name) << "mine";
  PrefixStore large = store();
  keep(large, text(60));
  EXPECT_EQ(fs::status(file_of(60)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file_of(60), folder_ / SnapshotName{.key = 1, .tokens = 1}.text());
  EXPECT_EQ(files().size(), 1u);
  const auto removed = remove_snapshots(folder_);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->files, 1);
  EXPECT_GT(removed->bytes, 0);
  EXPECT_TRUE(files().empty());
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

TEST_F(PrefixStores, WhatAnEndedProcessLeftHalfWrittenGoesAfterHours) {
  PrefixStore s = store();
  keep(s, text(60));
  const fs::path young = name_while_writing(file_of(60)), old = name_while_writing(file_of(60));
  EXPECT_NE(young, old);
  for (const fs::path& path : {young, old}) std::ofstream(path) << "half";
  age(old, 7);
  (void)store();
  EXPECT_TRUE(fs::exists(young)) << "another process may be writing it";
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(hit(s, text(61)), 60);

  EXPECT_EQ(unfinished_snapshots(folder_)->files, 1);
  EXPECT_EQ(unfinished_snapshots(folder_)->bytes, 4);
  age(young, 2);
  EXPECT_EQ(remove_snapshots(folder_, std::chrono::hours(24 * 3))->unfinished, 0);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_EQ(remove_snapshots(folder_)->unfinished, 1);
  EXPECT_FALSE(fs::exists(young));
}

TEST_F(PrefixStores, OnlyWhatWasNotUsedForAWhileIsRemovedIfThatIsAskedFor) {
  PrefixStore s = store();
  keep(s, text(60));
  keep(s, text(50));
  age(file_of(50), 30);
  const auto removed = remove_snapshots(folder_, std::chrono::hours(24));
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->files, 1);
  EXPECT_EQ(files().at(0).name.tokens, 60);
}

TEST_F(PrefixStores, VerifyTellsTheHeaderOrWhatIsWrong) {
  PrefixStore s = store();
  keep(s, text(60));
  const auto good = verify(files()[0]);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->key.model, "whale");
  EXPECT_EQ(good->numbers.length, 60);
  std::fstream(file_of(60), std::ios::in | std::ios::out | std::ios::binary).seekp(-20, std::ios::end).put('\x55');
  EXPECT_EQ(verify(files()[0]).error().code, Errc::format);
  StoredSnapshot gone = files()[0];
  fs::remove(gone.path);
  EXPECT_EQ(verify(gone).error().code, Errc::missing);
}

TEST_F(PrefixStores, APlaceThatIsNoFolderIsAnError) {
  std::ofstream(folder_) << "a file";
  for (const fs::path& place : {folder_, folder_ / "below"}) {
    const auto opened = PrefixStore::open({.folder = place, .key = {}, .pools = small_shape()});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::io);
    EXPECT_NE(opened.error().message.find(folder_.string()), std::string::npos) << opened.error().message;
  }
  EXPECT_FALSE(stored_snapshots(folder_));
  EXPECT_FALSE(remove_snapshots(folder_ / "below"));
}

TEST(SnapshotName, ReadsBackAndAnythingElseIsNoFileOfOurs) {
  const SnapshotName name{.key = 0xFFFFFFFFFFFFFFFF, .reachable = 24, .reach_hash = 7, .tokens = 40, .ids_hash = 0};
  const std::string good = name.text();
  EXPECT_EQ(SnapshotName::parse(good), name);
  EXPECT_EQ(good, "ffffffffffffffff-24-0000000000000007-40-0000000000000000.cachalot-snapshot");
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(SnapshotName::parse(good.substr(0, i)), std::nullopt);
    std::string bad = good;
    bad[i] = 'X';
    EXPECT_EQ(SnapshotName::parse(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(SnapshotName::parse(good + "x"), std::nullopt);
  EXPECT_EQ(SnapshotName::parse("0-24-0000000000000007-40-0.cachalot-snapshot"), std::nullopt);
}

}  // namespace
}  // namespace cachalot::prefix_store_test
