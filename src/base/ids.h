// SPDX-License-Identifier: Apache-2.0
// Numbers that must not be mixed get their own type; raw() is the way out.
#pragma once

#include <cstdint>
#include <type_traits>

namespace cachalot {

enum class TokenId : std::int32_t {};
enum class Layer : std::int32_t {};     // 0 .. layers - 1, then the draft stages
enum class Position : std::int64_t {};  // from 0 at the sequence's start

template <class E>
constexpr auto raw(E e) {
  return static_cast<std::underlying_type_t<E>>(e);
}

template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace cachalot
