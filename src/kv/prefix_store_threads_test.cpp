// SPDX-License-Identifier: Apache-2.0
// Several stores over one folder, as several processes have them.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "base/test_folder.h"
#include "kv/prefix_store.h"
#include "kv/test_sequence.h"

namespace cachalot::prefix_store_threads_test {
namespace {

namespace fs = std::filesystem;

std::vector<TokenId> text(std::int64_t n, std::int32_t which) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(TokenId{static_cast<std::int32_t>(i * 31 % 97 + 1000 * which)});
  return ids;
}

TEST(PrefixStoreThreads, StoresThatShareAFolderFindWhatIsGoodOrNothing) {
  const TestFolder home;
  const fs::path folder = home.path() / "states";
  std::vector<Sequence> states;
  for (std::int32_t which = 0; which < 6; ++which) {
    states.emplace_back(small_shape());
    run(states.back(), 40 + which, static_cast<std::uint8_t>(which));
  }
  std::atomic<int> hits = 0, wrong = 0, told = 0, failed = 0;
  const auto work = [&](std::uint32_t seed) {
    auto store = PrefixStore::open({.folder = folder,
                                    .key = {"whale", "f", "m"},
                                    .pools = small_shape(),
                                    .budget = 60000,  // of three states
                                    .tell = [&](std::string_view) { ++told; }});
    if (!store) return void(++failed);
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) {
      const auto which = static_cast<std::int32_t>(random() % states.size());
      const Sequence& state = states[static_cast<std::size_t>(which)];
      if (random() % 2 == 0 && !store->save(text(state.length(), which), state, SnapshotKind::end)) ++failed;
      const auto found = store->find(text(state.length() + 1, which), 0);
      if (!found) continue;
      ++hits;
      if (bytes_of(found->sequence) != bytes_of(state)) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (const std::uint32_t seed : {1u, 2u, 3u}) threads.emplace_back(work, seed);
  for (std::thread& t : threads) t.join();
  EXPECT_GT(hits, 50);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(told, 0) << "nothing half-written was seen";
  EXPECT_EQ(failed, 0);
  std::int64_t bytes = 0;
  const auto left = stored_snapshots(folder);
  ASSERT_TRUE(left);
  for (const StoredSnapshot& s : *left) bytes += s.bytes;
  EXPECT_LE(bytes, 60000 + 2 * 20000) << "two may have been written at once";
}

}  // namespace
}  // namespace cachalot::prefix_store_threads_test
