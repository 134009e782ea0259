/* Memory limits of control groups, read from made-up trees of files.
 * LINK: process */
#include <stdio.h>
#include <stdlib.h>
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
  CHECK_DONE();
}
