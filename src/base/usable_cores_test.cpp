// SPDX-License-Identifier: Apache-2.0
#include "base/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "base/test_folder.h"

namespace cachalot::usable_cores_test {
namespace {

// What cores this process may run on, without any quota: 2 or more on all but the smallest machines.
int affinity() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(UsableCores, IsAtLeastOneAndNoMoreThanTheAffinity) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), affinity());
  EXPECT_EQ(usable_cores("/no/such/root"), affinity());
}

TEST(UsableCores, HeedsTheQuotaOfEveryGroupAroundTheProcess) {
  const TestFolder root;
  root.write("proc/self/cgroup", "0::/service/worker\n");
  EXPECT_EQ(usable_cores(root.path()), affinity());
  root.write("sys/fs/cgroup/service/worker/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/service/cpu.max", "900000000 100000\n");
  EXPECT_EQ(usable_cores(root.path()), affinity());
  root.write("sys/fs/cgroup/service/cpu.max", "50000 100000\n");
  EXPECT_EQ(usable_cores(root.path()), 1);
  root.write("sys/fs/cgroup/service/cpu.max", "100001 100000\n");  // a little more than one core is two
  EXPECT_EQ(usable_cores(root.path()), std::min(2, affinity()));
  root.write("sys/fs/cgroup/cpu.max", "1 100000\n");  // a container's own, at the mount
  EXPECT_EQ(usable_cores(root.path()), 1);
}

TEST(UsableCores, HeedsTheQuotaOfCgroupOne) {
  const TestFolder root;
  root.write("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/box\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable_cores(root.path()), affinity());
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(usable_cores(root.path()), 1);
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "nonsense\n");
  EXPECT_EQ(usable_cores(root.path()), affinity());
}

}  // namespace
}  // namespace cachalot::usable_cores_test
