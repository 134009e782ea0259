/* The last-level caches of made-up machines.
 * LINK: process */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/process/caches.h"
#include "tests/unit/check.h"

static char root[64];

static void put(int processor, int cache, const char *level, const char *shared, const char *size) {
  const char *const names[] = {"level", "shared_cpu_list", "size"};
  const char *const texts[] = {level, shared, size};
  for (int i = 0; i < 3; i++) {
    char path[256], command[1024];
    (void)snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/cache/index%d", root,
                   processor, cache);
    (void)snprintf(command, sizeof command, "mkdir -p %s && echo %s > %s/%s", path, texts[i], path,
                   names[i]);
    CHECK_INT(system(command), 0);
  }
}

int main(void) {
  (void)snprintf(root, sizeof root, "/tmp/caches_test_%d", (int)getpid());
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", root);
  TEST("a machine that says nothing") {
    CHECK_INT(caches_bytes(root), 0);
  }
  TEST("each shared cache is counted once, and of a processor the last one") {
    for (int p = 0; p < 4; p++) {
      put(p, 0, "1", p == 0 ? "0" : p == 1 ? "1" : p == 2 ? "2" : "3", "32K");
      put(p, 1, "3", p < 2 ? "0-1" : "2-3", "32768K");
    }
    CHECK_INT(caches_bytes(root), 64 << 20);
  }
  TEST("a size that no cache has counts nothing") {
    put(2, 1, "3", "2-3", "99999999999999K");
    CHECK_INT(caches_bytes(root), 32 << 20);
  }
  CHECK_INT(system(command), 0);
  return check_failures != 0;
}
