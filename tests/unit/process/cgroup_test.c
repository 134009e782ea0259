/* Limits of control groups, read from made-up trees of files.
 * LINK: process */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/cgroup.h"
#include "tests/unit/check.h"

static char root[64];

static void put(const char *folder, const char *name, const char *text) {
  char command[512], path[256];
  (void)snprintf(command, sizeof command, "mkdir -p %s%s", root, folder);
  CHECK_INT(system(command), 0);
  (void)snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void start_over(const char *groups) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK_INT(system(command), 0);
  put("/proc/self", "cgroup", groups);
}

static void check(uint64_t limit_bytes, uint64_t available_bytes) {
  CgroupMemory memory = cgroup_memory(root);
  CHECK(memory.limit_bytes == limit_bytes);
  CHECK(memory.available_bytes == available_bytes);
}

static void check_cpus(double quota, const char *set, int32_t of_16) {
  CgroupCpus cpus = cgroup_cpus(root);
  CHECK(isinf(quota) ? isinf(cpus.quota) : fabs(cpus.quota - quota) < 1e-9);
  CHECK_TEXT(cpus.set, set);
  CHECK_INT(cgroup_processors(root, 16), of_16);
}

static void test_cpus(void) {
  TEST("version 2: the smallest quota of all levels, and the nearest set") {
    start_over("0::/kubepods/pod1/box\n");
    put("/sys/fs/cgroup/kubepods/pod1/box", "cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/kubepods/pod1/box", "cpuset.cpus.effective", "0-3,8\n");
    put("/sys/fs/cgroup/kubepods", "cpuset.cpus.effective", "0-15\n");
    check_cpus(INFINITY, "0-3,8", 16);
    put("/sys/fs/cgroup/kubepods", "cpu.max", "350000 50000\n");
    check_cpus(7, "0-3,8", 7);
    put("/sys/fs/cgroup/kubepods/pod1", "cpu.max", "250000 100000\n");
    check_cpus(2.5, "0-3,8", 2);
    put("/sys/fs/cgroup/kubepods/pod1/box", "cpu.max", "50000\n"); /* without its period */
    check_cpus(2.5, "0-3,8", 2);
    put("/sys/fs/cgroup/kubepods/pod1/box", "cpu.max", "50000 100000\n");
    check_cpus(0.5, "0-3,8", 1);
    CHECK_INT(cgroup_processors(root, 1), 1);
  }
  TEST("version 1: the groups of two controllers; the quota -1 is none") {
    start_over("3:cpuset:/docker/7\n4:cpu,cpuacct:/docker/7\n0::/x\n");
    put("/sys/fs/cgroup/cpu/docker/7", "cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/docker/7", "cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuset", "cpuset.cpus", "0-1\n"); /* in the container: its own group */
    check_cpus(INFINITY, "0-1", 16);
    put("/sys/fs/cgroup/cpu/docker", "cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu/docker", "cpu.cfs_period_us", "100000\n");
    check_cpus(4, "0-1", 4);
    put("/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "300000\n");
    put("/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    check_cpus(3, "0-1", 3);
  }
  TEST("no group, and what is not a number") {
    start_over("0::/\n");
    put("/sys/fs/cgroup", "cpu.max", "much\n");
    check_cpus(INFINITY, "", 16);
    put("/sys/fs/cgroup", "cpu.max", "100000 0\n");
    check_cpus(INFINITY, "", 16);
  }
  TEST("what changed is named, and nothing where nothing did") {
    char text[CGROUP_CHANGE_BYTES];
    CgroupCpus before = {INFINITY, "0-7"}, now = before;
    CHECK(!cgroup_cpus_changed(&before, &now, text));
    now = (CgroupCpus){2.5, "0-3"};
    CHECK(cgroup_cpus_changed(&before, &now, text));
    CHECK_TEXT(text, "set of processors 0-3, was 0-7; quota of processors 2.5, was none");
    before = (CgroupCpus){4, "0-3"};
    CHECK(cgroup_cpus_changed(&before, &now, text));
    CHECK_TEXT(text, "quota of processors 2.5, was 4");
    memset(now.set, '1', sizeof now.set - 1);
    CHECK(cgroup_cpus_changed(&before, &now, text) && strlen(text) < sizeof text - 1);
  }
}

int main(void) {
  (void)snprintf(root, sizeof root, "/tmp/lockstep_cgroup_%d", (int)getpid());
  TEST("version 2: the process's own group, not the root's") {
    start_over("0::/slurm/job_7/step_0\n");
    put("/sys/fs/cgroup/slurm/job_7/step_0", "memory.max", "4000\n");
    put("/sys/fs/cgroup/slurm/job_7/step_0", "memory.current", "1500\n");
    check(4000, 2500);
  }
  TEST("a group above may leave less, and what is only cached counts as free") {
    put("/sys/fs/cgroup/slurm/job_7", "memory.max", "5000\n");
    put("/sys/fs/cgroup/slurm/job_7", "memory.current", "4000\n");
    put("/sys/fs/cgroup/slurm/job_7", "memory.stat", "anon 3\ninactive_file 700\nfile 900\n");
    put("/sys/fs/cgroup/slurm", "memory.max", "max\n");
    check(4000, 1700);
  }
  TEST("more than its limit leaves nothing") {
    put("/sys/fs/cgroup/slurm/job_7/step_0", "memory.current", "4001\n");
    check(4000, 0);
  }
  TEST("version 1: the group of the memory controller") {
    start_over("5:cpu,memoryish:/other\n9:pids,memory:/user/job\n0::/x\n");
    put("/sys/fs/cgroup/memory/user/job", "memory.limit_in_bytes", "3000\n");
    put("/sys/fs/cgroup/memory/user/job", "memory.usage_in_bytes", "1000\n");
    put("/sys/fs/cgroup/memory/user/job", "memory.stat",
        "inactive_file 1\ntotal_inactive_file 200\n");
    put("/sys/fs/cgroup/memory/other", "memory.limit_in_bytes", "10\n");
    put("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    check(3000, 2200);
  }
  TEST("a container that knows its group by its host's name has the mount's limit") {
    start_over("0::/docker/0123\n");
    put("/sys/fs/cgroup", "memory.max", "800\n");
    put("/sys/fs/cgroup", "memory.current", "300\n");
    check(800, 500);
  }
  TEST("no limit, no group and no file are no limit") {
    start_over("0::/\n");
    put("/sys/fs/cgroup", "memory.max", "max\n");
    check(UINT64_MAX, UINT64_MAX);
    start_over("nonsense\n");
    check(UINT64_MAX, UINT64_MAX);
    (void)snprintf(root, sizeof root, "/tmp/lockstep_cgroup_%d", (int)getpid());
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK_INT(system(command), 0);
    check(UINT64_MAX, UINT64_MAX);
  }
  test_cpus();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
