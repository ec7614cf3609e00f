// SPDX-License-Identifier: Apache-2.0
#include "base/machine_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/test_folder.h"

namespace cachalot::machine_memory_test {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr const char* meminfo = "MemTotal:       16777216 kB\nMemFree:          100 kB\nMemAvailable:    8388608 kB\n";

// A proc/ and a sys/ of our own.
class MachineMemoryTest : public testing::Test {
 protected:
  MachineMemoryTest() {
    write("proc/meminfo", meminfo);
    write("proc/self/status", "Name:\tx\nVmSize:\t   2048 kB\nVmData:\t   1024 kB\n");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units\n"
          "Max data size             unlimited            unlimited            bytes\n"
          "Max stack size            8388608              unlimited            bytes\n"
          "Max address space         unlimited            unlimited            bytes\n");
  }
  void write(const std::string& name, std::string_view text) const { folder_.write(name, text); }
  // A group of cgroup 2, in MiB.
  void group(const std::string& path, const std::string& limit, std::int64_t used, std::int64_t files) const {
    const std::string folder = "sys/fs/cgroup" + path;
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(used * mib) + "\n");
    write(folder + "/memory.stat",
          "anon 1\nfile 99\ninactive_file " + std::to_string(files * mib) + "\nactive_file 0\n");
  }
  MachineMemory read() const { return machine_memory(folder_.path()); }

  const TestFolder folder_;
};

TEST_F(MachineMemoryTest, WithoutLimitsTheMachineSays) {
  const MachineMemory m = read();
  EXPECT_EQ(m.limit->bytes, 16384 * mib);
  EXPECT_EQ(m.available->bytes, 8192 * mib);
  EXPECT_EQ(m.available->from, "this machine, MemAvailable");
  EXPECT_FALSE(m.address_space.has_value());
  EXPECT_FALSE(m.data.has_value());
  EXPECT_EQ(m.thread_stack, 8 * mib);
}

TEST_F(MachineMemoryTest, NothingToReadSetsNoBound) {
  std::filesystem::remove_all(folder_.path());
  const MachineMemory m = read();
  EXPECT_FALSE(m.limit || m.available || m.address_space || m.data);
  EXPECT_GT(m.thread_stack, 0);
}

TEST_F(MachineMemoryTest, TheLeastLimitOfTheGroupsAroundCounts) {
  write("proc/self/cgroup", "0::/service/worker\n");
  group("/service/worker", "max", 10, 0);
  group("/service", std::to_string(1000 * mib), 700, 100);
  const MachineMemory m = read();
  EXPECT_EQ(m.limit->bytes, 1000 * mib);
  EXPECT_EQ(m.limit->from, "cgroup /service, memory.max");
  EXPECT_EQ(m.available->bytes, 400 * mib);  // pages of files can be read again
  EXPECT_EQ(m.available->from, "cgroup /service, memory.max");
}

TEST_F(MachineMemoryTest, TheGroupItselfCountsToo) {
  write("proc/self/cgroup", "0::/service/worker\n");
  group("/service/worker", std::to_string(500 * mib), 100, 30);
  group("/service", std::to_string(1000 * mib), 100, 0);
  const MachineMemory m = read();
  EXPECT_EQ(m.limit->bytes, 500 * mib);
  EXPECT_EQ(m.available->bytes, 430 * mib);
}

TEST_F(MachineMemoryTest, AHighMarkIsALimit) {
  write("proc/self/cgroup", "0::/a\n");
  group("/a", std::to_string(1000 * mib), 100, 0);
  write("sys/fs/cgroup/a/memory.high", std::to_string(600 * mib));
  EXPECT_EQ(read().limit->from, "cgroup /a, memory.high");
  EXPECT_EQ(read().available->bytes, 500 * mib);
}

TEST_F(MachineMemoryTest, InAContainerTheLimitLiesAtTheMount) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  group("", std::to_string(300 * mib), 100, 0);
  EXPECT_EQ(read().limit->bytes, 300 * mib);
  EXPECT_EQ(read().available->bytes, 200 * mib);
}

TEST_F(MachineMemoryTest, AnOverfullGroupLeavesNothingAndNotLess) {
  write("proc/self/cgroup", "0::/a\n");
  group("/a", std::to_string(100 * mib), 200, 0);
  EXPECT_EQ(read().available->bytes, 0);
}

TEST_F(MachineMemoryTest, TheOlderKindOfCgroupCounts) {
  write("proc/self/cgroup", "11:cpu,cpuacct:/x\n7:hugetlb,memory:/job:1\n0::/\n");
  write("sys/fs/cgroup/memory/job:1/memory.limit_in_bytes", std::to_string(2000 * mib));
  write("sys/fs/cgroup/memory/job:1/memory.usage_in_bytes", std::to_string(1500 * mib));
  write("sys/fs/cgroup/memory/job:1/memory.stat", "inactive_file 5\ntotal_inactive_file " + std::to_string(200 * mib) +
                                                      "\ntotal_active_file " + std::to_string(100 * mib) + "\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  const MachineMemory m = read();
  EXPECT_EQ(m.limit->bytes, 2000 * mib);
  EXPECT_EQ(m.available->bytes, 800 * mib);
  EXPECT_EQ(m.available->from, "cgroup /job:1, memory.limit_in_bytes");
}

TEST_F(MachineMemoryTest, AShellsLimitsLeaveWhatTheProcessHasNotTaken) {
  write("proc/self/limits",
        "Max data size             104857600            unlimited            bytes\n"
        "Max stack size            unlimited            unlimited            bytes\n"
        "Max address space         209715200            unlimited            bytes\n");
  const MachineMemory m = read();
  EXPECT_EQ(m.address_space->bytes, 198 * mib);
  EXPECT_EQ(m.address_space->from, "ulimit -v");
  EXPECT_EQ(m.data->bytes, 99 * mib);
  EXPECT_EQ(m.thread_stack, 8 * mib);
}

TEST_F(MachineMemoryTest, ASystemThatPromisesOnlyWhatItHasIsBelieved) {
  const std::string more = std::string(meminfo) + "CommitLimit: 3000 kB\nCommitted_AS: 1000 kB\n";
  write("proc/meminfo", more);
  EXPECT_EQ(read().available->bytes, 8192 * mib);
  write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(read().available->bytes, 2000 * 1024);
}

TEST_F(MachineMemoryTest, DamagedFilesSetNoBound) {
  write("proc/meminfo", "MemTotal:\nMemAvailable: 99999999999999999999999 kB\n");
  write("proc/self/cgroup", "0:\nnonsense\n0::relative/../../x\n");
  write("sys/fs/cgroup/memory.max", "-1\n");
  write("sys/fs/cgroup/memory.high", "-\n");
  const MachineMemory m = read();
  EXPECT_FALSE(m.limit || m.available);
}

TEST(MachineMemory, WorkOfASizeThatSomebodyElseDecidesIsRefusedBeforeItIsDone) {
  MachineMemory m;
  EXPECT_TRUE(expect_room(1000 * mib, "reading x", m).has_value());
  m.available = MemoryBound{100 * mib, "MemAvailable"};
  EXPECT_TRUE(expect_room(100 * mib, "reading x", m).has_value());
  const Status refused = expect_room(101 * mib, "reading x", m);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::memory);
  EXPECT_EQ(refused.error().message,
            "not enough memory: reading x may take 101.0 MiB, and 100.0 MiB are left (MemAvailable)");
  m.available->bytes = 1000 * mib;
  m.address_space = MemoryBound{50 * mib, "ulimit -v"};
  EXPECT_NE(expect_room(51 * mib, "x", m).error().message.find("ulimit -v"), std::string::npos);
  m.address_space.reset();
  m.data = MemoryBound{50 * mib, "ulimit -d"};
  EXPECT_NE(expect_room(51 * mib, "x", m).error().message.find("ulimit -d"), std::string::npos);
}

TEST(MachineMemory, ThisMachineHasSome) {
  const MachineMemory m = machine_memory();
  ASSERT_TRUE(m.limit && m.available);
  EXPECT_GT(m.available->bytes, 0);
  EXPECT_LE(m.available->bytes, m.limit->bytes);
}

}  // namespace
}  // namespace cachalot::machine_memory_test
