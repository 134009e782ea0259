#include "runtime/device/ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct FileRing {
  struct io_uring ring;
  int file;
  uint8_t *memory;
  size_t slot_bytes;
  bool is_registered; /* its memory is pinned once, not for each transfer */
};

/* Containers and careful systems refuse it, in different ways. */
static void say_refusal(int error, char why[RING_WHY_BYTES]) {
  char setting[16] = "";
  FILE *file = error == EPERM ? fopen("/proc/sys/kernel/io_uring_disabled", "r") : NULL;
  const bool is_known = file != NULL && fgets(setting, sizeof setting, file) != NULL;
  if (file != NULL) (void)fclose(file);
  setting[strcspn(setting, "\n")] = '\0';
  if (is_known && strcmp(setting, "0") != 0)
    (void)snprintf(why, RING_WHY_BYTES, "kernel.io_uring_disabled is %s", setting);
  else
    (void)snprintf(why, RING_WHY_BYTES, "the system refuses io_uring%s: %s",
                   error == EPERM ? ", probably a container's filter" : "", strerror(error));
}

FileRing *file_ring_open(int file, uint8_t *memory, int32_t slots, size_t slot_bytes,
                         char why[RING_WHY_BYTES]) {
  FileRing *ring = calloc(1, sizeof *ring);
  const int error = ring == NULL ? -ENOMEM : io_uring_queue_init((unsigned)slots, &ring->ring, 0);
  if (error < 0) {
    say_refusal(-error, why);
    free(ring);
    return NULL;
  }
  const struct iovec all = {memory, (size_t)slots * slot_bytes};
  ring->file = file, ring->memory = memory, ring->slot_bytes = slot_bytes;
  ring->is_registered = io_uring_register_buffers(&ring->ring, &all, 1) == 0; /* else memlock */
  return ring;
}

void file_ring_close(FileRing *ring) {
  if (ring == NULL) return;
  io_uring_queue_exit(&ring->ring);
  free(ring);
}

bool file_ring_start(FileRing *ring, int32_t slot, bool reads, size_t done, size_t size_bytes,
                     uint64_t at) {
  struct io_uring_sqe *entry = io_uring_get_sqe(&ring->ring);
  uint8_t *memory = ring->memory + (size_t)slot * ring->slot_bytes + done;
  errno = EBUSY;
  if (entry == NULL) return false;
  if (ring->is_registered && reads)
    io_uring_prep_read_fixed(entry, ring->file, memory, (unsigned)size_bytes, at, 0);
  else if (ring->is_registered)
    io_uring_prep_write_fixed(entry, ring->file, memory, (unsigned)size_bytes, at, 0);
  else if (reads)
    io_uring_prep_read(entry, ring->file, memory, (unsigned)size_bytes, at);
  else
    io_uring_prep_write(entry, ring->file, memory, (unsigned)size_bytes, at);
  io_uring_sqe_set_data64(entry, (uint64_t)slot);
  int result;
  do
    result = io_uring_submit(&ring->ring);
  while (result == -EINTR || result == -EAGAIN);
  if (result < 0) errno = -result;
  return result >= 0;
}

static int32_t end_of(FileRing *ring, struct io_uring_cqe *entry, int64_t *moved) {
  const int32_t slot = (int32_t)io_uring_cqe_get_data64(entry);
  *moved = entry->res < 0 ? -1 : entry->res;
  const int error = entry->res < 0 ? -entry->res : 0;
  io_uring_cqe_seen(&ring->ring, entry);
  errno = error;
  return slot;
}

int32_t file_ring_wait(FileRing *ring, int64_t *moved) {
  struct io_uring_cqe *entry = NULL;
  int result;
  do
    result = io_uring_wait_cqe(&ring->ring, &entry);
  while (result == -EINTR || result == -EAGAIN);
  if (result < 0) {
    errno = -result;
    return -1;
  }
  return end_of(ring, entry, moved);
}

int32_t file_ring_look(FileRing *ring, int64_t *moved) {
  static const struct timespec pause = {.tv_nsec = 100000};
  struct io_uring_cqe *entry = NULL;
  while (io_uring_peek_cqe(&ring->ring, &entry) != 0 || entry == NULL)
    (void)nanosleep(&pause, NULL);
  return end_of(ring, entry, moved);
}
