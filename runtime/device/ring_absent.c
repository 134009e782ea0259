/* ring_absent.c -- a build without liburing. */
#include <stdio.h>

#include "runtime/device/ring.h"

FileRing *file_ring_open(int file, uint8_t *memory, int32_t slots, size_t slot_bytes,
                         char why[RING_WHY_BYTES]) {
  (void)file, (void)memory, (void)slots, (void)slot_bytes;
  (void)snprintf(why, RING_WHY_BYTES, "this build has no liburing");
  return NULL;
}

void file_ring_close(FileRing *ring) {
  (void)ring;
}

bool file_ring_start(FileRing *ring, int32_t slot, bool reads, size_t done, size_t size_bytes,
                     uint64_t at) {
  (void)ring, (void)slot, (void)reads, (void)done, (void)size_bytes, (void)at;
  return false;
}

int32_t file_ring_wait(FileRing *ring, int64_t *moved) {
  (void)ring, (void)moved;
  return -1;
}

int32_t file_ring_look(FileRing *ring, int64_t *moved) {
  (void)ring, (void)moved;
  return -1;
}
