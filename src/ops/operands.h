// SPDX-License-Identifier: Apache-2.0
// The memory that an operator's arguments name. XArgs::each(s) tells s.in, s.out or s.in_out of every view, weight and
// set of packed rows once. From that come the ranges of bytes an operator may touch (a guard gives the bytes behind
// them), how many it moves (benchmarks count them), and arguments that name a copy (mirror.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensor/packed_rows.h"
#include "tensor/values.h"
#include "tensor/view.h"
#include "tensor/weight.h"

namespace cachalot {

enum class Direction : std::uint8_t {
  in,      // read
  out,     // written, every number of it, and not read
  in_out,  // what was there counts: it is read, or stays where nothing is written
};

// The same rows in `sets` places, `step` bytes from one to the next.
template <class Byte>
struct RowSets {
  BasicPackedRows<Byte>& rows;
  std::int64_t sets;
  std::int64_t step;
};
template <class Byte>
RowSets(BasicPackedRows<Byte>&, std::int64_t, std::int64_t) -> RowSets<Byte>;

// ---- bytes(operand): what it holds, without the gaps between its rows.

template <class T, int N>
std::int64_t bytes(const View<T, N>& v) {
  return v.size() * static_cast<std::int64_t>(sizeof(T));
}
template <int N, bool writable>
std::int64_t bytes(const BasicValues<N, writable>& v) {
  return v.size() * bytes_of(v.type());
}
inline std::int64_t bytes_of_codes(const Weight& w) {
  switch (w.format) {
    case WeightFormat::f32:
      return 4 * w.out * w.in;
    case WeightFormat::f16:
    case WeightFormat::bf16:
      return 2 * w.out * w.in;
    case WeightFormat::e4m3_block32:
      return w.out * w.in;
    case WeightFormat::e2m1_row32:
      return w.out * (w.in / 2);
  }
  return 0;
}
inline std::int64_t bytes_of_scales(const Weight& w) {
  if (!w.quantized()) return 0;
  return (w.format == WeightFormat::e4m3_block32 ? (w.out + 31) / 32 : w.out) * w.scale_columns();
}
inline std::int64_t bytes(const Weight& w) { return bytes_of_codes(w) + bytes_of_scales(w); }
template <class Byte>
std::int64_t bytes(const BasicPackedRows<Byte>& r) {
  return r.rows * row_bytes(r.format, r.width);
}
template <class Byte>
std::int64_t bytes(const RowSets<Byte>& s) {
  return s.sets * bytes(s.rows);
}
inline std::int64_t bytes(const PagedRows& r) { return bytes(r.pool) + bytes(r.page) + bytes(r.readable); }

// ---- relocate(operand, to): to(first, bytes) is told of each stretch from the operand's first byte to its last, gaps
// included, and answers where its first byte is from now on. An empty operand names no memory any more.

template <class T, class To>
void relocate_pointer(T*& at, std::int64_t bytes, To&& to) {
  at = bytes == 0 ? nullptr
                  : reinterpret_cast<T*>(const_cast<std::byte*>(to(reinterpret_cast<const std::byte*>(at), bytes)));
}

template <class Shape>
std::int64_t covered(const Shape& shape, const Shape& stride) {  // elements
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * stride[i];
  }
  return last + 1;
}

template <class T, int N, class To>
void relocate(View<T, N>& v, To&& to) {
  T* at = v.data();
  relocate_pointer(at, covered(v.shape(), v.strides()) * static_cast<std::int64_t>(sizeof(T)), to);
  v = v.empty() ? View<T, N>(at, v.shape()) : View<T, N>(at, v.shape(), v.strides());
}
template <int N, bool writable, class To>
void relocate(BasicValues<N, writable>& v, To&& to) {
  auto* at = static_cast<typename BasicValues<N, writable>::Byte*>(v.data());
  relocate_pointer(at, covered(v.shape(), v.strides()) * bytes_of(v.type()), to);
  v = v.size() == 0 ? BasicValues<N, writable>(at, v.type(), v.shape())
                    : BasicValues<N, writable>(at, v.type(), v.shape(), v.strides());
}
template <class To>
void relocate(Weight& w, To&& to) {
  const auto* codes = static_cast<const std::byte*>(w.data);
  relocate_pointer(codes, codes == nullptr ? 0 : bytes_of_codes(w), to);
  w.data = codes;
  relocate_pointer(w.scale, w.scale == nullptr ? 0 : bytes_of_scales(w), to);
}
template <class Byte, class To>
void relocate(const RowSets<Byte>& s, To&& to) {
  BasicPackedRows<Byte>& r = s.rows;
  if (r.rows == 0 || s.sets == 0) {
    r.codes = r.scales = nullptr;
    return;
  }
  const std::int64_t rows = r.page_rows > 0 ? r.page_rows : r.rows;  // of a page
  const std::int64_t before = (r.page_rows > 0 ? (r.rows - 1) / rows * r.page_step : 0) + (s.sets - 1) * s.step;
  const std::int64_t code = code_bytes(r.format, r.width), scale = scale_bytes(r.format, r.width);
  const bool together = r.layout == RowLayout::records;
  relocate_pointer(r.codes, before + (together ? (rows - 1) * (code + scale) + code : rows * code), to);
  if (scale == 0) {
    r.scales = r.codes;  // is not read
  } else {
    relocate_pointer(r.scales, before + (together ? (rows - 1) * (code + scale) + scale : rows * scale), to);
  }
}
template <class Byte, class To>
void relocate(BasicPackedRows<Byte>& r, To&& to) {
  relocate(RowSets{r, 1, 0}, to);
}
template <class To>
void relocate(PagedRows& r, To&& to) {
  relocate(r.pool, to);
  relocate(r.page, to);
  relocate(r.readable, to);
}

// ---- May an operator write it? Then it is named by out or in_out, else by in.

template <class Operand>
inline constexpr bool writable_operand = false;
template <class T, int N>
inline constexpr bool writable_operand<View<T, N>> = !std::is_const_v<T>;
template <int N, bool writable>
inline constexpr bool writable_operand<BasicValues<N, writable>> = writable;
template <class Byte>
inline constexpr bool writable_operand<BasicPackedRows<Byte>> = !std::is_const_v<Byte>;
template <class Byte>
inline constexpr bool writable_operand<RowSets<Byte>> = !std::is_const_v<Byte>;

// What each(s) is given: calls visit(direction, operand) for every one named.
template <class Visit>
class OperandVisitor {
 public:
  explicit OperandVisitor(Visit& visit) : visit_(visit) {}

  template <class... Operands>
  void in(Operands&&... operands) {
    static_assert((!writable_operand<std::remove_cvref_t<Operands>> && ...), "what is only read can't be written");
    (visit_(Direction::in, operands), ...);
  }
  template <class... Operands>
  void out(Operands&&... operands) {
    static_assert((writable_operand<std::remove_cvref_t<Operands>> && ...), "what is written can be written");
    (visit_(Direction::out, operands), ...);
  }
  template <class... Operands>
  void in_out(Operands&&... operands) {
    static_assert((writable_operand<std::remove_cvref_t<Operands>> && ...), "what is written can be written");
    (visit_(Direction::in_out, operands), ...);
  }

 private:
  Visit& visit_;
};

template <class Args, class Visit>
void for_each_operand(Args& args, Visit visit) {
  args.each(OperandVisitor(visit));
}

// visit(direction, first, bytes) for every stretch of memory that the arguments name: const std::byte*, std::int64_t.
// Stretches may overlap; what is empty is not told of.
template <class Args, class Visit>
void for_each_range(Args args, Visit visit) {
  for_each_operand(args, [&]<class Operand>(Direction direction, Operand& operand) {
    if constexpr (requires { operand.front(); }) {
      for (const auto& part : operand) for_each_range(part, visit);
    } else {
      relocate(operand, [&](const std::byte* first, std::int64_t bytes) {
        visit(direction, first, bytes);
        return first;
      });
    }
  });
}

// Arguments whose memory is elsewhere, and the lists they point at.
template <class Args>
struct RelocatedArgs {
  Args args;
  std::vector<std::shared_ptr<void>> lists;
};

// to(first, bytes) answers where a stretch is, as above.
template <class Args, class To>
RelocatedArgs<Args> relocated(const Args& args, To to) {
  RelocatedArgs<Args> copy{args, {}};
  for_each_operand(copy.args, [&]<class Operand>(Direction, Operand& operand) {
    if constexpr (requires { operand.front(); }) {
      using Element = typename Operand::value_type;
      auto list = std::make_shared<std::vector<Element>>(operand.begin(), operand.end());
      for (Element& part : *list) part = relocated(part, to).args;
      operand = *list;
      copy.lists.push_back(std::move(list));
    } else {
      relocate(operand, to);
    }
  });
  return copy;
}

// How many bytes a run reads and writes that touches each operand once: the benchmarks' count where nothing is skipped.
struct MovedBytes {
  std::int64_t read = 0;
  std::int64_t written = 0;
};
template <class Args>
MovedBytes bytes_moved(Args args) {
  MovedBytes sum;
  for_each_operand(args, [&](Direction direction, const auto& operand) {
    if (direction != Direction::out) sum.read += bytes(operand);
    if (direction != Direction::in) sum.written += bytes(operand);
  });
  return sum;
}

}  // namespace cachalot
