// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <gtest/gtest.h>

namespace cachalot::machine_test {
namespace {

TEST(Machine, TheCpuIsNamedByTheFirstLineThatHasAName) {
  EXPECT_EQ(cpu_model_of("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\n"
                         "model name\t: AMD EPYC 9B14: two\nprocessor\t: 1\nmodel name\t: another\n"),
            "AMD EPYC 9B14: two");
  EXPECT_EQ(cpu_model_of("model name\t:\nmodel name\t: late"), "late");
  for (const char* without : {"", "processor\t: 0\nBogoMIPS\t: 50.00\n", "model name", "the model name\t: x"})
    EXPECT_EQ(cpu_model_of(without), "") << without;
}

TEST(Machine, CacheSizesAreInTheUnitBehindTheNumber) {
  EXPECT_EQ(cache_bytes_of("48K\n"), 49152);
  EXPECT_EQ(cache_bytes_of("32768K\n"), 33554432);
  EXPECT_EQ(cache_bytes_of("32M"), 33554432);
  for (const char* other : {"", "K", "32", "-4K", "4T", "unknown", "9223372036854775807M", "99999999999999999999K"})
    EXPECT_EQ(cache_bytes_of(other), 0) << other;
}

TEST(Machine, LoadAveragesAreTheFirstThreeNumbers) {
  EXPECT_EQ(load_average_of("0.10 2.20 13.30 2/345 6789\n"), "0.10 2.20 13.30");
  for (const char* other : {"", "0.10", "0.10 0.20\n"}) EXPECT_EQ(load_average_of(other), "unknown") << other;
}

TEST(Machine, WhatTheSystemDoesNotTellHasAValueAllTheSame) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.last_cache_bytes, 1024);
  EXPECT_FALSE(load_average().empty());
}

}  // namespace
}  // namespace cachalot::machine_test
