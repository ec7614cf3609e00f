// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/key_decoder.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace cachalot::key_decoder_test {
namespace {

// What comes of some bytes, in pieces of `size`; a paste stands between braces.
std::string keys_of(std::string_view bytes, std::size_t size = 1000) {
  KeyDecoder decoder;
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    decoder.push(bytes.substr(at, size));
    while (const auto key = decoder.next()) {
      if (key->character != 0) append_utf8(all, key->character);
      if (key->character == 0) all += '{' + key->pasted + '}';
    }
  }
  return all;
}

void expect_keys(std::string_view bytes, std::string_view keys) {
  for (const std::size_t size : {1, 2, 3, 7, 1000}) EXPECT_EQ(keys_of(bytes, size), keys) << bytes << " by " << size;
}

TEST(KeyDecoder, CharactersAreThemselves) {
  expect_keys("Wal \xf0\x9f\x90\x8b\x03\n\t", "Wal \xf0\x9f\x90\x8b\x03\n\t");
  expect_keys("a\xff\xc3z", "a\uFFFD\uFFFDz");
  EXPECT_EQ(keys_of("\xf0\x9f"), "") << "its end may come";
}

TEST(KeyDecoder, SequencesThatAreKnownPassAndOthersLeaveNothing) {
  for (const KeySequence& known : key_sequences()) {
    const std::string sequence = std::string("\x1b") + known.sequence;
    expect_keys("a" + sequence + "b", "a" + sequence + "b");
  }
  for (const char* other : {"\x1b[1;2C", "\x1b[15~", "\x1b[15;5~", "\x1b[Z", "\x1bOP", "\x1b[[A", "\x1b[I",
                            "\x1b[?1;2c", "\x1b[<0;10;20M", "\x1b[24;80R", "\x1b[201~", "\x1b[27;5;13~", "\x1b[ q"})
    expect_keys(std::string("a") + other + "b", "ab");
}

TEST(KeyDecoder, MetaAndAKeyPassAndEscapeAloneWaits) {
  expect_keys(
      "\x1b"
      "bx",
      "\x1b"
      "bx");
  expect_keys(
      "\x1b\x1b"
      "b",
      "\x1b\x1b"
      "b");
  EXPECT_EQ(keys_of("\x1b"), "");
  expect_keys("\x1b[1;\x03x", "\x03x");
}

TEST(KeyDecoder, WhatIsPastedIsOneThing) {
  expect_keys("a\x1b[200~one\rtwo\r\n\x1b[1;5Cthree\n\x1b[201~b", "a{one\ntwo\n\x1b[1;5Cthree}b");
  expect_keys("\x1b[200~\x1b[201~\x1b[200~\t/quit\r\r\x1b[201~", "{}{\t/quit\n}");
  EXPECT_EQ(keys_of("\x1b[200~half"), "");
  expect_keys("\x1b[200~half\x03x", "\x03x");
}

TEST(KeyDecoder, ALargePasteTakesALinearTime) {
  const std::string text(std::size_t{2} << 20, 'x');
  EXPECT_EQ(keys_of("\x1b[200~" + text + "\x1b[201~", 100), '{' + text + '}');
}

}  // namespace
}  // namespace cachalot::key_decoder_test
