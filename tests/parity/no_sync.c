/* no_sync.c -- fsync and its relatives do nothing in tests that train: they compare numbers, not
 * what a crash leaves on the disk, and thousands of synced files are most of their time. The
 * executable's definitions come before libc's. */
#include <fcntl.h>
#include <unistd.h>

int fsync(int file) {
  (void)file;
  return 0;
}

int fdatasync(int file) {
  (void)file;
  return 0;
}
