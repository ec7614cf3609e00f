// SPDX-License-Identifier: Apache-2.0
// Every operator with the arguments of its benchmark: does each() tell the truth about them, and can the reference run
// where they lie out of its reach?
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "bench/operators.h"
#include "ops/mirror.h"

namespace cachalot::operator_arguments_test {
namespace {

// The host's memory under addresses that no program has: whoever reads or writes there, crashes.
class FarMemory final : public MemorySpace {
 public:
  static constexpr std::ptrdiff_t away = std::ptrdiff_t{1} << 55;

  std::byte* take(std::int64_t bytes) override { return bytes == 0 ? nullptr : host_memory().take(bytes) + away; }
  std::byte* grow(std::byte* at, std::int64_t bytes, std::int64_t to) override {
    return at == nullptr ? take(to) : host_memory().grow(at - away, bytes, to) + away;
  }
  void give(std::byte* at, std::int64_t bytes) noexcept override {
    if (at != nullptr) host_memory().give(at - away, bytes);
  }
  void clear(std::byte* at, std::int64_t bytes) override { host_memory().clear(at - away, bytes); }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    host_memory().copy(to - away, from - away, bytes);
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { host_memory().upload(to - away, from); }
  void download(std::span<std::byte> to, const std::byte* from) const override {
    host_memory().download(to, from - away);
  }
};

using Bytes = std::vector<std::vector<std::byte>>;

template <class Args>
Bytes contents(const Args& args, bool written) {
  Bytes all;
  for_each_range(args, [&](Direction direction, const std::byte* first, std::int64_t bytes) {
    if ((direction != Direction::in) == written) all.emplace_back(first, first + bytes);
  });
  return all;
}
template <class Args>
void restore(const Args& args, const Bytes& kept) {
  auto from = kept.begin();
  for_each_range(args, [&](Direction direction, const std::byte* first, std::int64_t) {
    if (direction != Direction::in) std::ranges::copy(*from++, const_cast<std::byte*>(first));
  });
}
template <class Args>
void fill(const Args& args, Direction which, int byte) {
  for_each_range(args, [&](Direction direction, const std::byte* first, std::int64_t bytes) {
    if (direction == which) std::memset(const_cast<std::byte*>(first), byte, static_cast<std::size_t>(bytes));
  });
}

// A benchmark's run of every operator on `table`.
void run_all(const Backend& table) {
  std::int64_t reports = 0;
  Bench bench({.backend = &table, .rows = {1, 3}, .tiny = true, .seconds = 0, .report = [&](const BenchReport&) {
                 ++reports;
               }});
  for (const OperatorBench& b : operator_benches()) b.run(bench);
  EXPECT_GE(reports, 2 * std::ssize(operator_benches()));
}
// The table of what stands in for each operator: Run<member>::run.
template <template <auto> class Run>
Backend table_of() {
  Backend table = reference_backend();
  table.name = "test";
  each_operator([&]<class E>(std::string_view, E) { E::of(table) = Run<E::pointer>::run; });
  return table;
}
template <auto member>
std::string_view name_of() {
  std::string_view found;
  each_operator([&]<class E>(std::string_view name, E) {
    if (std::is_same_v<E, Entry<member>>) found = name;
  });
  return found;
}

template <auto member>
struct Directions {
  static void run(Context& context, const typename Entry<member>::Args& args) {
    const auto inputs = contents(args, false), before = contents(args, true);
    fill(args, Direction::out, 0x00);
    (reference_backend().*member)(context, args);
    const auto after = contents(args, true);
    EXPECT_EQ(contents(args, false), inputs) << name_of<member>() << " writes what it names an input";
    restore(args, before);
    fill(args, Direction::out, 0x5A);
    (reference_backend().*member)(context, args);
    EXPECT_EQ(contents(args, true), after) << name_of<member>() << " reads or leaves what it names an output";
  }
};

TEST(OperatorArguments, InputsStayAndOutputsAreWrittenWholeAndNotRead) { run_all(table_of<Directions>()); }

template <auto member>
struct FarAway {
  static void run(Context& context, const typename Entry<member>::Args& args) {
    const auto before = contents(args, true);
    (reference_backend().*member)(context, args);
    const auto after = contents(args, true);
    restore(args, before);
    fill(args, Direction::out, 0x5A);

    static FarMemory memory;
    static Context far(2, memory);
    const std::string name(name_of<member>());
    const auto table = with_reference(cpu_backend(), std::span(&name, 1));
    const auto there = relocated(args, [](const std::byte* at, std::int64_t) { return at + FarMemory::away; });
    ((*table).*member)(far, there.args);
    EXPECT_EQ(contents(args, true), after) << name;
  }
};

TEST(OperatorArguments, AReferenceOperatorReachesMemoryThatIsNotTheHosts) { run_all(table_of<FarAway>()); }

void add_one(Context& context, const FoldArgs& args) {
  EXPECT_TRUE(context.memory.on_host());
  for (std::int64_t r = 0; r < args.out.extent(0); ++r) {
    for (std::int64_t i = 0; i < args.out.extent(1); ++i) args.out[r].store(i, args.h[r][0].load(i) + 1);
  }
}

// In place, and then beside its input in the same rows: what is one number stays one, and what lies between stays.
TEST(OperatorArguments, CopiesKeepWhatOverlapsAndWhatLiesBetween) {
  std::vector<float> v(30);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  const Values<2> rows(View<float, 2>(v.data(), {3, 10}));
  const ConstValues<3> h(v.data(), DType::f32, {3, 1, 4}, {10, 10, 1});
  static FarMemory memory;
  Context far(1, memory);
  const auto run = [&](Values<2> out) {
    const auto there = relocated(FoldArgs{.h = h, .mix = {}, .out = out},
                                 [](const std::byte* at, std::int64_t) { return at + FarMemory::away; });
    run_on_host(far, there.args, add_one);
  };
  run(rows.columns(0, 4));
  run(rows.columns(5, 4));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto at = static_cast<float>(i);
    EXPECT_EQ(v[i], i % 10 < 4 ? at + 1 : i % 10 == 4 || i % 10 == 9 ? at : at - 5 + 2) << i;
  }
}

TEST(OperatorArguments, OnTheHostTheOperatorGetsItsArgumentsThemselves) {
  Context context;
  const FoldArgs args{};
  static const FoldArgs* got;
  static Context* used;
  run_on_host<FoldArgs>(context, args, [](Context& c, const FoldArgs& a) {
    got = &a;
    used = &c;
  });
  EXPECT_EQ(got, &args);
  EXPECT_EQ(used, &context);
}

}  // namespace
}  // namespace cachalot::operator_arguments_test
