// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace cachalot {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
  std::array<char32_t, 256> code{};      // of each byte
  std::array<std::int16_t, 324> byte{};  // of each character up to U+0143; -1 for none
};

constexpr Alphabet make_alphabet() {
  Alphabet a;
  a.byte.fill(-1);
  char32_t spare = 0x100;  // the other 68 bytes, ascending
  for (unsigned byte = 0; byte < 256; ++byte) {
    a.code[byte] = stands_for_itself(byte) ? char32_t{byte} : spare++;
    a.byte[a.code[byte]] = static_cast<std::int16_t>(byte);
  }
  return a;
}

constexpr Alphabet alphabet = make_alphabet();

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const Utf8Char c = read_utf8(spelling);
    if (c.kind != Utf8Kind::good || c.code >= alphabet.byte.size() || alphabet.byte[c.code] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet.byte[c.code]);
    spelling.remove_prefix(c.bytes);
  }
  return bytes;
}

std::string spelling_of_bytes(std::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes) append_utf8(spelling, alphabet.code[static_cast<unsigned char>(byte)]);
  return spelling;
}

}  // namespace cachalot
