// SPDX-License-Identifier: Apache-2.0
// Every operator with the arguments of its benchmark: does each() tell the truth about them?
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "bench/operators.h"

namespace cachalot::operator_arguments_test {
namespace {

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

}  // namespace
}  // namespace cachalot::operator_arguments_test
