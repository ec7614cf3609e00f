// SPDX-License-Identifier: Apache-2.0
#include "ops/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "ops/backend.h"

namespace cachalot::operands_test {
namespace {

// How many fields an argument struct has: the most initialisers it takes.
template <class Args>
struct Anything {
  template <class T>
  requires(!std::is_same_v<T, Args>) operator T() const;
};
template <class Args, class... Some>
constexpr int field_count() {
  if constexpr (requires { Args{Some{}..., Anything<Args>{}}; }) {
    return field_count<Args, Some..., Anything<Args>>();
  } else {
    return sizeof...(Some);
  }
}

// All of them.
template <class Args>
auto fields(Args& args) {
  constexpr int n = field_count<Args>();
  static_assert(n >= 2 && n <= 12, "one line more below");
  // clang-format off
  if constexpr (n == 2) { auto& [a, b] = args; return std::tie(a, b); }
  else if constexpr (n == 3) { auto& [a, b, c] = args; return std::tie(a, b, c); }
  else if constexpr (n == 4) { auto& [a, b, c, d] = args; return std::tie(a, b, c, d); }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = args; return std::tie(a, b, c, d, e); }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = args; return std::tie(a, b, c, d, e, f); }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = args; return std::tie(a, b, c, d, e, f, g); }
  else if constexpr (n == 8) { auto& [a, b, c, d, e, f, g, h] = args; return std::tie(a, b, c, d, e, f, g, h); }
  else if constexpr (n == 9) { auto& [a, b, c, d, e, f, g, h, i] = args; return std::tie(a, b, c, d, e, f, g, h, i); }
  else if constexpr (n == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = args; return std::tie(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (n == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = args; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
  else { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = args; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
  // clang-format on
}

template <class Operand>
const void* address(const Operand& operand) {
  return &operand;
}
template <class Byte>
const void* address(const RowSets<Byte>& sets) {
  return &sets.rows;
}

// Every field that is no plain number is memory.
template <class Args>
std::vector<const void*> memory_fields(Args& args) {
  std::vector<const void*> all;
  std::apply(
      [&]<class... Field>(Field&... field) {
        const auto add = [&]<class F>(F& f) {
          if (!std::is_arithmetic_v<F> && !std::is_enum_v<F>) all.push_back(&f);
        };
        (add(field), ...);
      },
      fields(args));
  return all;
}

template <class Args>
std::vector<const void*> named_fields(Args& args) {
  std::vector<const void*> all;
  for_each_operand(args, [&](Direction, auto& operand) { all.push_back(address(operand)); });
  return all;
}

template <class Args>
void expect_all_named(std::string_view name) {
  Args args{};
  auto named = named_fields(args), fields = memory_fields(args);
  std::ranges::sort(named);
  std::ranges::sort(fields);
  EXPECT_EQ(named, fields) << name << ": each() names " << named.size() << " of " << fields.size() << " fields";
}

TEST(Operands, EveryArgumentThatIsMemoryIsNamedOnce) {
  each_operator([]<class E>(std::string_view name, E) { expect_all_named<typename E::Args>(name); });
  expect_all_named<ExpertWeights>("expert_ffn's weights");
}

struct ForgetfulArgs {
  View<const float, 1> x;
  float eps;
  PagedRows rows;
  std::span<const ExpertWeights> list;
  Values<2> out;

  template <class S>
  void each(S&& s) {
    s.in(x, list);
    s.out(out);
  }
};

TEST(Operands, AForgottenArgumentIsNoticed) {
  static_assert(field_count<ForgetfulArgs>() == 5);
  static_assert(field_count<SparseAttentionArgs>() == 11 && field_count<ExpertFfnArgs>() == 6);
  ForgetfulArgs args{};
  EXPECT_EQ(memory_fields(args).size(), 4u);
  EXPECT_EQ(named_fields(args).size(), 3u);
}

struct Range {
  Direction direction;
  std::ptrdiff_t at;  // from a place given
  std::int64_t bytes;
  bool operator==(const Range&) const = default;
};
template <class Operand>
std::vector<Range> ranges(Operand operand, const void* from) {
  std::vector<Range> all;
  relocate(operand, [&](const std::byte* first, std::int64_t bytes) {
    all.push_back({Direction::in, first - static_cast<const std::byte*>(from), bytes});
    return first;
  });
  return all;
}

TEST(Operands, RangesGoFromTheFirstByteToTheLast) {
  std::vector<float> v(60);
  const View<float, 2> whole(v.data(), {5, 12});
  EXPECT_EQ(ranges(whole, v.data()), (std::vector<Range>{{Direction::in, 0, 240}}));
  const auto columns = Values<2>(whole).columns(3, 4);
  EXPECT_EQ(ranges(columns, v.data()), (std::vector<Range>{{Direction::in, 12, 4 * (4 * 12 + 4)}}));
  EXPECT_EQ(bytes(columns), 80);
  EXPECT_TRUE(ranges(whole.part(2, 0), v.data()).empty());
  EXPECT_TRUE(ranges(View<float, 2>(), v.data()).empty());
  EXPECT_TRUE(ranges(ConstValues<1>(), v.data()).empty());
}

TEST(Operands, RangesOfWeightsAreCodesAndScales) {
  const std::vector<std::uint8_t> v(4096);
  const Weight f16{WeightFormat::f16, 3, 5, v.data(), nullptr};
  EXPECT_EQ(ranges(f16, v.data()), (std::vector<Range>{{Direction::in, 0, 30}}));
  const Weight blocks{WeightFormat::e4m3_block32, 33, 40, v.data(), v.data() + 2000};
  EXPECT_EQ(ranges(blocks, v.data()), (std::vector<Range>{{Direction::in, 0, 1320}, {Direction::in, 2000, 4}}));
  const Weight rows{WeightFormat::e2m1_row32, 33, 40, v.data(), v.data() + 2000};
  EXPECT_EQ(ranges(rows, v.data()), (std::vector<Range>{{Direction::in, 0, 660}, {Direction::in, 2000, 66}}));
  EXPECT_EQ(bytes(rows), 726);
  EXPECT_TRUE(ranges(Weight{}, v.data()).empty());
}

// e4m3 rows of 64: 64 codes, 2 scales.
TEST(Operands, RangesOfPackedRowsAreAllPlanesPagesAndSets) {
  const std::vector<std::uint8_t> v(4096);
  constexpr auto format = RowFormat::e4m3_e8m0_32;
  PackedRows r = packed_rows(format, 64, 5, v.data(), RowLayout::planes);
  EXPECT_EQ(ranges(r, v.data()), (std::vector<Range>{{Direction::in, 0, 320}, {Direction::in, 320, 10}}));
  EXPECT_EQ(bytes(r), 330);
  r = packed_rows(format, 64, 5, v.data(), RowLayout::records);
  EXPECT_EQ(ranges(r, v.data()), (std::vector<Range>{{Direction::in, 0, 328}, {Direction::in, 64, 266}}));
  EXPECT_EQ(ranges(RowSets{r, 3, 400}, v.data()),
            (std::vector<Range>{{Direction::in, 0, 1128}, {Direction::in, 64, 1066}}));
  r = packed_rows(format, 64, 5, v.data(), RowLayout::planes);
  r.rows = 15;
  r.page_rows = 5;
  r.page_step = 340;
  EXPECT_EQ(ranges(r, v.data()), (std::vector<Range>{{Direction::in, 0, 1000}, {Direction::in, 320, 690}}));
  const PackedRows plain = packed_rows(RowFormat::f32, 8, 2, v.data(), RowLayout::records);
  EXPECT_EQ(ranges(plain, v.data()), (std::vector<Range>{{Direction::in, 0, 64}}));
  EXPECT_TRUE(ranges(PackedRows{}, v.data()).empty());
}

TEST(Operands, RelocatedArgumentsNameOnlyTheCopy) {
  std::vector<std::byte> v(4096);
  auto* at = reinterpret_cast<float*>(v.data());
  ExpertWeights e;
  e.w1 = {WeightFormat::f32, 2, 3, at, nullptr};
  e.w2 = e.w3 = {WeightFormat::e2m1_row32, 2, 32, at + 20, reinterpret_cast<const std::uint8_t*>(at + 40)};
  const ExpertWeights experts[] = {e, e};
  const ExpertFfnArgs args{.x = Values<2>(at + 100, DType::bf16, {3, 4}),
                           .experts = experts,
                           .expert = {},
                           .weight = {at + 200, {2, 2}, {7, 1}},
                           .limit = 3,
                           .out = Values<3>(at + 300, DType::f32, {1, 2, 3})};
  const std::ptrdiff_t step = 1024;
  const auto copy = relocated(args, [&](const std::byte* first, std::int64_t) { return first + step; });
  const auto where = [](const ExpertFfnArgs& a) {
    std::vector<std::pair<const std::byte*, std::int64_t>> all;
    for_each_range(a, [&](Direction, const std::byte* first, std::int64_t bytes) { all.emplace_back(first, bytes); });
    return all;
  };
  auto want = where(args);
  EXPECT_EQ(want.size(), 13u);
  for (auto& [first, bytes] : want) first += step;
  EXPECT_EQ(where(copy.args), want);
  EXPECT_NE(copy.args.experts.data(), experts);
  EXPECT_EQ(copy.args.weight.strides(), args.weight.strides());
  EXPECT_EQ(copy.args.x.type(), DType::bf16);
  EXPECT_EQ(copy.args.limit, 3);
}

}  // namespace
}  // namespace cachalot::operands_test
