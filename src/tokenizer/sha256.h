// SPDX-License-Identifier: Apache-2.0
// For this room's tests: goldens too long to keep are given as hashes.
#pragma once

#include <fmt/core.h>
#include <openssl/sha.h>

#include <string>
#include <string_view>

namespace cachalot {

inline std::string sha256_hex(std::string_view bytes) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash);
  std::string hex;
  for (const unsigned char byte : hash) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace cachalot
