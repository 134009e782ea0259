/* preflight_offload_test.c -- a node's line about the disk of offload.path. LINK: runtime */
#include <stdlib.h>
#include <string.h>

#include "runtime/preflight/offload.h"
#include "tests/unit/check.h"

static OffloadDisk round_trip(const OffloadDisk *disk) {
  char line[1024] = "";
  OffloadDisk back = {0};
  FILE *out = fmemopen(line, sizeof line, "w");
  CHECK(out != NULL);
  offload_print(disk, out);
  (void)fclose(out);
  line[strcspn(line, "\n")] = '\0';
  CHECK(offload_read_line(line, &back));
  return back;
}

int main(void) {
  TEST("a disk of the node") {
    const OffloadDisk disk = {
        .free_bytes = 1234567890123, .read_mbs = 900, .write_mbs = 700, .is_direct = true};
    const OffloadDisk back = round_trip(&disk);
    CHECK(back.free_bytes == disk.free_bytes && back.is_direct);
    CHECK(back.read_mbs == 900 && back.write_mbs == 700);
    CHECK(back.apart[0] == '\0' && back.why[0] == '\0');
  }
  TEST("memory, and a folder that takes no file") {
    const OffloadDisk disk = {
        .free_bytes = -1, .apart = "memory (tmpfs)", .why = "offload.path: /x: no file; a = b"};
    const OffloadDisk back = round_trip(&disk);
    CHECK(back.free_bytes == -1 && !back.is_direct);
    CHECK(strcmp(back.apart, "memory (tmpfs)") == 0);
    CHECK(strcmp(back.why, "offload.path: /x: no file; a = b") == 0);
  }
  TEST("other lines are none of it") {
    OffloadDisk back;
    CHECK(!offload_read_line("checkpoints in_memory=0 why=", &back));
  }
  CHECK_DONE();
}
