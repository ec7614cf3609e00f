// SPDX-License-Identifier: Apache-2.0
#include "kv/snapshot_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "base/test_folder.h"
#include "kv/test_sequence.h"

namespace cachalot::snapshot_file_test {
namespace {

constexpr int plenty = 600;

std::vector<TokenId> ids_of(std::int64_t n) {
  std::vector<TokenId> ids;
  for (std::int64_t i = 0; i < n; ++i) ids.push_back(TokenId{static_cast<std::int32_t>(i * 7919 % 1000)});
  return ids;
}

Sequence at(std::int64_t length) {
  Sequence s(small_shape());
  run(s, length);
  return s;
}

SnapshotHeader header_of(const Sequence& s) {
  return {{"whale", "0123456789abcdef", "cpu avx2"}, SnapshotKind::header, s.numbers()};
}

std::string written(const Sequence& s, const SnapshotHeader& header) {
  const TestFolder folder;
  const auto path = folder.path() / "snapshot";
  const Status done = write_snapshot(path, header, ids_of(s.length()), s);
  EXPECT_TRUE(done) << done.error().message;
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Snapshot {
  SnapshotHeader header;
  std::vector<TokenId> ids;
  Sequence sequence;
};

Expected<Snapshot> read(const std::string& bytes, const StateShape& shape = small_shape()) {
  std::istringstream in(bytes);
  auto reader = SnapshotReader::open(in, std::ssize(bytes), "it");
  if (!reader) return tl::unexpected(reader.error());
  auto ids = reader->ids();
  if (!ids) return tl::unexpected(ids.error());
  auto state = reader->state(shape);
  if (!state) return tl::unexpected(state.error());
  return Snapshot{reader->header(), std::move(*ids), std::move(*state)};
}

Status verified(const std::string& bytes) {
  std::istringstream in(bytes);
  auto reader = SnapshotReader::open(in, std::ssize(bytes), "it");
  if (!reader) return tl::unexpected(reader.error());
  return reader->verify();
}

TEST(SnapshotFile, ComesBackToTheBitAtOddAndEvenLengths) {
  for (const std::int64_t length : {1, 2, 3, 17, 40, 263, 264, 265, plenty}) {
    Sequence s = at(length);
    ASSERT_TRUE(s.truncate(length == 40 ? 31 : length));
    const std::string bytes = written(s, header_of(s));
    EXPECT_EQ(std::ssize(bytes), snapshot_bytes(header_of(s), s));
    EXPECT_TRUE(verified(bytes));
    auto again = read(bytes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->ids, ids_of(s.length()));
    EXPECT_TRUE(again->header.key.same_state(header_of(s).key));
    EXPECT_EQ(again->header.key.model, "whale");
    EXPECT_EQ(again->header.kind, SnapshotKind::header);
    EXPECT_EQ(again->sequence.length(), s.length());
    EXPECT_EQ(again->sequence.reachable(), s.reachable());
    EXPECT_EQ(bytes_of(again->sequence), bytes_of(s));
    run(s, 50);
    run(again->sequence, 50);
    EXPECT_EQ(bytes_of(again->sequence), bytes_of(s));
  }
}

TEST(SnapshotFile, TheSameStateGivesTheSameBytes) {
  const Sequence a = at(300), b = at(300);
  EXPECT_EQ(written(a, header_of(a)), written(b, header_of(b)));
}

TEST(SnapshotFile, AnyByteChangedIsNoticed) {
  const Sequence s = at(40);
  const std::string good = written(s, header_of(s));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    ASSERT_FALSE(read(bad)) << i;
    ASSERT_FALSE(verified(bad)) << i;
  }
}

TEST(SnapshotFile, AnyEndThatIsMissingAndAnythingMoreIsNoticed) {
  const Sequence s = at(40);
  const std::string good = written(s, header_of(s));
  for (std::size_t n = 0; n < good.size(); ++n) ASSERT_FALSE(read(good.substr(0, n))) << n;
  const auto more = read(good + '\0');
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("1 bytes more"), std::string::npos) << more.error().message;
  EXPECT_FALSE(verified(good + '\0'));
}

TEST(SnapshotFile, EachFaultIsNamed) {
  const Sequence s = at(40);
  const std::string good = written(s, header_of(s));
  const auto error = [&](const std::string& bytes, const StateShape& shape = small_shape()) {
    const auto got = read(bytes, shape);
    EXPECT_FALSE(got);
    return got ? Error{} : got.error();
  };
  const auto changed = [&](std::size_t at_byte) {
    std::string bad = good;
    bad[at_byte] = static_cast<char>(bad[at_byte] + 1);
    return bad;
  };
  EXPECT_NE(error("").message.find("it is cut short"), std::string::npos);
  EXPECT_NE(error(changed(0)).message.find("it is no snapshot"), std::string::npos);
  EXPECT_EQ(error(changed(0)).code, Errc::format);
  EXPECT_EQ(error(changed(8)).message, "it has version 3 of the format, this program reads version 2");
  EXPECT_EQ(error(changed(8)).code, Errc::range);
  EXPECT_NE(error(changed(15)).message.find("header of"), std::string::npos);
  EXPECT_NE(error(changed(20)).message.find("its header has another checksum"), std::string::npos);
  EXPECT_NE(error(changed(good.size() - 1)).message.find("bytes have another checksum"), std::string::npos);
  StateShape larger = small_shape();
  larger.window = 100000;
  EXPECT_NE(error(good, larger).message.find("of a model of another shape"), std::string::npos);
  StateShape other = small_shape();
  other.rings = 0;
  EXPECT_NE(error(good, other).message.find("a section has 660 bytes, expected 76"), std::string::npos)
      << error(good, other).message;
}

// What a checksum does not keep out: a header that lies.
TEST(SnapshotFile, AHeaderWithNumbersThatCannotBeIsRefusedBeforeAnythingIsAllocated) {
  const Sequence s = at(40);
  const auto with = [&](const StateNumbers& numbers) {
    SnapshotHeader header = header_of(s);
    header.numbers = numbers;
    return read(written(s, header));
  };
  EXPECT_TRUE(with({40, 24, -1}));
  for (const StateNumbers& bad : {StateNumbers{0, 0, -1},
                                  {-5, 0, -1},
                                  {41, 25, -1},
                                  {std::int64_t{1} << 62, 0, -1},
                                  {40, 23, -1},
                                  {40, 41, -1},
                                  {40, 24, 2},
                                  {40, 24, -2}}) {
    const auto got = with(bad);
    ASSERT_FALSE(got) << bad.length << " " << bad.reachable << " " << bad.published;
    EXPECT_EQ(got.error().code, Errc::format) << got.error().message;
  }
}

TEST(SnapshotFile, WhereItCannotBeWrittenThereIsAnError) {
  const Sequence s = at(3);
  const auto done = write_snapshot("no/such/folder/at/all", header_of(s), ids_of(3), s);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::io);
}

}  // namespace
}  // namespace cachalot::snapshot_file_test
