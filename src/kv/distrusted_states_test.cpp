// SPDX-License-Identifier: Apache-2.0
// What a folder of states holds is not believed whatever it is, nor wherever it lies.
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "kv/prefix_store.h"
#include "kv/state_numbers.h"
#include "kv/test_sequence.h"

namespace cachalot::distrusted_states_test {
namespace {

namespace fs = std::filesystem;

std::vector<TokenId> text(std::int64_t n) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(TokenId{static_cast<std::int32_t>(i * 31 % 97)});
  return ids;
}

Sequence at(std::int64_t length) {
  Sequence s(small_shape());
  run(s, length);
  return s;
}

class DistrustedStates : public testing::Test {
 protected:
  PrefixStoreOptions options() {
    return {.folder = folder_,
            .key = {"whale", "f1", "cpu"},
            .pools = small_shape(),
            .tell = [this](std::string_view line) { told_.emplace_back(line); }};
  }
  PrefixStore store() { return std::move(*PrefixStore::open(options())); }
  static void keep(PrefixStore& to) { EXPECT_TRUE(to.save(text(60), at(60), SnapshotKind::end)); }
  std::vector<StoredSnapshot> files() const { return *stored_snapshots(folder_); }

  const TestFolder home_;
  const fs::path folder_ = home_.path() / "states";  // not there yet
  std::vector<std::string> told_;
};

// The parts of a state, one byte of it another; under checksums that are right.
TEST_F(DistrustedStates, AStateWithWhatIsNoNumberIsAMissAndNamed) {
  PrefixStore s = store();
  const std::vector<std::byte> good = bytes_of(at(60));
  const std::size_t scale = 32;  // of a ring's first record, behind its codes
  for (const auto& [place, byte] : {std::pair<std::size_t, int>(0, 0x7F), {31, 0xFF}, {scale, 0xFF}, {scale, 247}}) {
    SCOPED_TRACE(place);
    told_.clear();
    std::vector<std::byte> forged = good;
    forged[place] = static_cast<std::byte>(byte);
    const auto state = restored(small_shape(), at(60).numbers(), forged);
    ASSERT_TRUE(state);
    EXPECT_FALSE(holds_numbers(*state));
    EXPECT_TRUE(s.save(text(60), *state, SnapshotKind::end));
    EXPECT_EQ(files().size(), 0u) << "we keep no such state ourselves";
    const SnapshotHeader header{s.options().key, SnapshotKind::end, state->numbers()};
    keep(s);
    const fs::path path = files().at(0).path;
    ASSERT_TRUE(write_snapshot(path, header, text(60), *state));
    EXPECT_FALSE(s.find(text(61), 0));
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_NE(told_[0].find(path.string() + ": its state has values that are no numbers; it is removed"),
              std::string::npos)
        << told_[0];
  }
  EXPECT_TRUE(holds_numbers(at(60)));
}

TEST_F(DistrustedStates, AStateThatWasFoundAndTakenForABadOneIsNotFoundAgain) {
  PrefixStore s = store();
  keep(s);
  const auto found = s.find(text(61), 0);
  ASSERT_TRUE(found);
  s.distrust(found->file, "it lies");
  EXPECT_EQ(told_, std::vector<std::string>{found->file.string() + ": it lies; it is removed"});
  EXPECT_FALSE(s.find(text(61), 0));
}

TEST_F(DistrustedStates, AFolderThatOthersMayWriteToIsRefusedUnlessItIsTrusted) {
  (void)store();
  fs::permissions(folder_, fs::perms::group_write, fs::perm_options::add);
  PrefixStoreOptions asked = options();
  const auto refused = PrefixStore::open(asked);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its group may write to " + folder_.string()), std::string::npos);
  EXPECT_NE(refused.error().message.find("--trust-cache"), std::string::npos) << refused.error().message;
  asked.trusted = true;
  EXPECT_TRUE(PrefixStore::open(asked));
}

}  // namespace
}  // namespace cachalot::distrusted_states_test
