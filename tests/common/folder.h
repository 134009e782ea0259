/* folder.h -- a folder for what a test writes: in memory where the system has that, because a plan
 * is synced to the disk when it is written, and some tests write thousands. */
#ifndef LOCKSTEP_TESTS_FOLDER_H
#define LOCKSTEP_TESTS_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEST_FOLDER_BYTES = 64 };

static inline bool test_folder(char folder[TEST_FOLDER_BYTES], const char *name) {
  (void)snprintf(folder, TEST_FOLDER_BYTES, "%s/lockstep_%s.XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name);
  return mkdtemp(folder) != NULL;
}

#endif
