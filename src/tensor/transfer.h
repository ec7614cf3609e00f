// SPDX-License-Identifier: Apache-2.0
// Numbers between the host and where operators have them, of views without gaps.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "tensor/memory_space.h"
#include "tensor/view.h"

namespace cachalot {

template <class T, int N>
void download(const MemorySpace& memory, std::span<std::type_identity_t<std::remove_const_t<T>>> to, View<T, N> from) {
  check(std::ssize(to) == from.size(), "a place for every number");
  memory.download(std::as_writable_bytes(to), reinterpret_cast<const std::byte*>(from.data()));
}
template <class T, int N>
std::vector<std::remove_const_t<T>> downloaded(const MemorySpace& memory, View<T, N> from) {
  std::vector<std::remove_const_t<T>> to(static_cast<std::size_t>(from.size()));
  download(memory, to, from);
  return to;
}
template <class T, int N>
void upload(MemorySpace& memory, View<T, N> to, std::span<const std::type_identity_t<T>> from) {
  check(std::ssize(from) == to.size(), "a number for every place");
  memory.upload(reinterpret_cast<std::byte*>(to.data()), std::as_bytes(from));
}

}  // namespace cachalot
