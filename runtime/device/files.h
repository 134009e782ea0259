/* files.h -- a tier that is a file: one for each rank, without a name, as large as the plan says.
 *
 * The file is made and given its blocks before the first step, so a full disk is found then. It has
 * no name from the start (O_TMPFILE, or unlinked at once): nothing collides, and nothing remains
 * however the process ends. Addresses of the tier are those of a mapping that nobody can touch;
 * whoever reads or writes there names an address, and the file is found by it.
 *
 * Bytes pass in runs of PLAN_FILE_ALIGN_BYTES. Each run that was written has a sum in memory, with
 * which it is compared when it is read. Threads read and write parts of a request at once, each
 * several of them by io_uring, where the system allows it; past the page cache where the file
 * system allows that, and elsewhere pages are dropped from it. */
#ifndef LOCKSTEP_FILES_H
#define LOCKSTEP_FILES_H

#include <stddef.h>
#include <sys/types.h>

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

typedef struct TierFileSetup {
  const char *directory;
  size_t size_bytes;
  /* bytes that are read are compared with the checksums of the bytes that were written */
  bool verifies;
} TierFileSetup;

/* Makes a file in a directory. `base` is the tier's first address. A warning, such as a network's
 * file system, is printed. */
bool tier_file_open(const TierFileSetup *setup, uint8_t **base, Status *status);
void tier_file_close(uint8_t *base);

/* The way in which bytes pass: "io_uring, O_DIRECT", or what is used instead and why. */
bool tier_file_is_direct(const uint8_t *base);
/* The name of the file system of a directory that is no disk of this node; else NULL. */
const char *tier_file_apart(const char *directory);
enum { TIER_WAY_BYTES = 320 };
void tier_file_way(const uint8_t *base, char way[TIER_WAY_BYTES]);

/* From and to addresses of a tier; whole runs. A failure names file, offset and bytes. */
bool tier_file_read(const uint8_t *at, void *to, uint64_t size_bytes, Status *status);
bool tier_file_write(uint8_t *at, const void *from, uint64_t size_bytes, Status *status);

/* Any bytes of a tier, for as long as the window is open; one at a time in a file. */
void *tier_file_window(uint8_t *at, uint64_t size_bytes, Access access, Status *status);
bool tier_file_window_close(const uint8_t *at, Status *status);

/* The calls that files are made of; tests put faults in their place. */
typedef struct FileCalls {
  int (*open)(const char *path, int flags, mode_t mode);
  int (*allocate)(int file, int mode, off_t first, off_t size_bytes);
  bool rings;         /* io_uring is asked for */
  int (*await)(void); /* before each wait for it: 0, or the errno with which the wait fails */
  /* At the end of each read and write: the bytes that it moved, or -1 with errno. */
  int64_t (*moved)(bool reads, void *memory, int64_t moved, off_t at);
  /* Writes pages of the page cache to the disk, and waits: 0, or -1 with errno. */
  int (*flush)(int file, off_t first, off_t size_bytes);
} FileCalls;
extern FileCalls file_calls;

#endif
