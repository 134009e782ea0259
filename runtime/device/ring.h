/* ring.h -- reads and writes of a file that the kernel does beside this thread: io_uring, by
 * liburing. One thread uses a ring. */
#ifndef LOCKSTEP_DEVICE_RING_H
#define LOCKSTEP_DEVICE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FileRing FileRing;

enum { RING_WHY_BYTES = 160 };

/* A ring for `slots` transfers at once, from and to the memory of the slots, which are adjacent and
 * of slot_bytes each. NULL: it is refused, or this build has none; `why` says which. */
FileRing *file_ring_open(int file, uint8_t *memory, int32_t slots, size_t slot_bytes,
                         char why[RING_WHY_BYTES]);
void file_ring_close(FileRing *ring);

/* Starts a transfer of bytes [done, done + size_bytes) of a slot at `at` of the file. False: errno
 * says why not. */
bool file_ring_start(FileRing *ring, int32_t slot, bool reads, size_t done, size_t size_bytes,
                     uint64_t at);
/* Waits for any of them: its slot; and bytes moved, or -1 with errno. -1: the ring itself fails,
 * and errno says why; transfers continue, and file_ring_look finds those that end. */
int32_t file_ring_wait(FileRing *ring, int64_t *moved);
/* The same without the system's help: looks again and again until one has ended. */
int32_t file_ring_look(FileRing *ring, int64_t *moved);

#endif
