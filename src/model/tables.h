// SPDX-License-Identifier: Apache-2.0
// Numbers that the host knows and operators read: put together in one staging buffer, uploaded in one copy.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "ops/context.h"
#include "tensor/view.h"

namespace cachalot {

// Where a table lies; what is in it, Tables says.
template <class T, int N>
struct Table {
  std::int64_t at = 0;
  std::array<std::int64_t, N> shape{};

  std::int64_t extent(int axis) const { return shape[static_cast<std::size_t>(axis)]; }
};

class Tables {
 public:
  explicit Tables(Context& context) : context_(context) { context_.staging.clear(); }

  // A table of zeros, given to fill(View<T, N>) before it is added.
  template <class T, int N, class Fill>
  Table<T, N> add(std::array<std::int64_t, N> shape, Fill fill) {
    constexpr std::size_t alignment = 16;
    std::vector<std::byte>& staging = context_.staging;
    const std::size_t at = (staging.size() + alignment - 1) / alignment * alignment;
    const auto bytes = static_cast<std::size_t>(View<T, N>(nullptr, shape).size()) * sizeof(T);
    staging.resize(at + bytes);
    const Table<T, N> table{static_cast<std::int64_t>(at), shape};
    fill(View<T, N>(reinterpret_cast<T*>(staging.data() + at), shape));
    return table;
  }

  // Into scratch, where it stays until the frame it is called in ends.
  void upload() {
    device_ = static_cast<std::byte*>(context_.scratch.take_bytes(std::ssize(context_.staging)));
    context_.memory.upload(device_, context_.staging);
  }

  // As operators read it, once uploaded.
  template <class T, int N>
  View<const T, N> operator[](const Table<T, N>& t) const {
    return {reinterpret_cast<const T*>(device_ + t.at), t.shape};
  }
  // As the host reads it, until the context's next tables.
  template <class T, int N>
  View<const T, N> host(const Table<T, N>& t) const {
    return {reinterpret_cast<const T*>(context_.staging.data() + t.at), t.shape};
  }

 private:
  Context& context_;
  std::byte* device_ = nullptr;
};

}  // namespace cachalot
