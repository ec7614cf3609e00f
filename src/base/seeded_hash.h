// SPDX-License-Identifier: Apache-2.0
// Hash tables for keys that come from a file or a client. std::hash is known to everybody, so that keys can be chosen
// which all land in one bucket; here every process has a secret of its own. Other unordered containers are not used in
// this source (tools/check_hashing.py). The order in which a table lists its entries differs from run to run.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace cachalot {

struct HashSecret {
  std::uint64_t first, second;
};
const HashSecret& hash_secret();  // of this process, from the system's random numbers

// SipHash-c-d: made to keep its secret from whoever chooses the text. Tables use 1-3; 2-4 is what its authors' vectors
// are of.
template <int c, int d>
std::uint64_t sip_hash(const HashSecret& secret, std::string_view text);
extern template std::uint64_t sip_hash<1, 3>(const HashSecret&, std::string_view);
extern template std::uint64_t sip_hash<2, 4>(const HashSecret&, std::string_view);

// A number, by the two halves of its product with the secret.
std::uint64_t mix(const HashSecret& secret, std::uint64_t number);

struct SeededHash {
  std::size_t operator()(std::string_view text) const { return sip_hash<1, 3>(hash_secret(), text); }
  std::size_t operator()(std::unsigned_integral auto number) const { return mix(hash_secret(), number); }
  template <class T>
  requires(!std::same_as<T, char>) std::size_t operator()(const T* place) const {  // a text is no place
    return mix(hash_secret(), reinterpret_cast<std::uintptr_t>(place));
  }
};

template <class Key, class Value>
using HashMap = std::unordered_map<Key, Value, SeededHash>;
template <class Key, class Value>
using HashMultimap = std::unordered_multimap<Key, Value, SeededHash>;
template <class Key>
using HashSet = std::unordered_set<Key, SeededHash>;

}  // namespace cachalot
