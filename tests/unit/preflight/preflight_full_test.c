/* The full preflight of a node: ports of its network cards as sysfs shows them, and a file that
 * is written and read back.
 * LINK: runtime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/preflight/full.h"
#include "runtime/preflight/scratch.h"
#include "tests/unit/check.h"

static char root[] = "/tmp/lockstep-full.XXXXXX";

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file) (void)fputs(text, file);
  if (file) (void)fclose(file);
}

/* A port of a card below root, as the system shows it. */
static void make_port(const char *card, const char *number, const char *state, const char *rate) {
  char path[512];
  const char *parts[] = {"class", "infiniband", card, "ports", number};
  int length = snprintf(path, sizeof path, "%s", root);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    length += snprintf(path + length, sizeof path - (size_t)length, "/%s", parts[i]);
    (void)mkdir(path, 0777);
  }
  (void)snprintf(path + length, sizeof path - (size_t)length, "/state");
  write_text(path, state);
  (void)snprintf(path + length, sizeof path - (size_t)length, "/rate");
  write_text(path, rate);
}

static void check_ports(void) {
  char ports[FULL_PORTS_BYTES];
  TEST("a node without cards") {
    full_ports(root, ports);
    CHECK(strcmp(ports, "none") == 0);
  }
  make_port("mlx5_0", "1", "4: ACTIVE\n", "200 Gb/sec (4X HDR)\n");
  make_port("mlx5_1", "1", "1: DOWN\n", "10 Gb/sec (4X)\n");
  make_port("mlx5_2", "1", "4: ACTIVE\n", "100 Gb/sec (2X HDR)\n");
  TEST("ports that are up, in order") {
    full_ports(root, ports);
    CHECK(strcmp(ports, "mlx5_0/1:200,mlx5_2/1:100") == 0);
  }
  for (int i = 3; i < 60; i++) {
    char card[16];
    (void)snprintf(card, sizeof card, "mlx5_%d", i);
    make_port(card, "1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
  }
  TEST("more than there is room for") {
    full_ports(root, ports);
    CHECK(strlen(ports) == FULL_PORTS_BYTES - 1);
  }
}

static void check_scratch(void) {
  char why[200];
  TEST("a file is written and read back, and is gone") {
    ScratchFolder scratch = {.bytes = 16 << 20};
    CHECK(scratch_use(root, &scratch, why));
    CHECK(scratch.bytes == 16 << 20 && scratch.wrong == 0 && scratch.mbs > 0);
    char command[128];
    (void)snprintf(command, sizeof command, "test -z \"$(find %s -name '.preflight*')\"", root);
    CHECK(system(command) == 0);
  }
  TEST("a folder that is not there") {
    ScratchFolder scratch = {.bytes = 1 << 20};
    CHECK(!scratch_use("/nowhere", &scratch, why));
    CHECK(strcmp(why, "/nowhere: No such file or directory") == 0 && scratch.bytes == 0);
  }
  TEST("a folder that takes no files") {
    ScratchFolder scratch = {.bytes = 1 << 20};
    CHECK(!scratch_use("/proc", &scratch, why));
    CHECK(strncmp(why, "/proc: ", strlen("/proc: ")) == 0);
  }
}

int main(void) {
  if (!mkdtemp(root)) return 77;
  check_ports();
  check_scratch();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", root);
  CHECK(system(command) == 0);
  return check_failures != 0;
}
