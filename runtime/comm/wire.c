/* wire.c -- MPI counts in int, so what is larger goes as several messages. */
#include "runtime/comm/wire.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGE_MOST_BYTES = 1 << 30, YIELDS = 32, SLEEP_FIRST_NS = 5000, SLEEP_MOST_NS = 200000 };

bool wire_open(Wire *wire, int32_t messages, int32_t spins, const atomic_bool *is_aborted) {
  *wire = (Wire){.room = messages, .spins = spins, .is_aborted = is_aborted};
  wire->request = calloc((size_t)messages, sizeof(MPI_Request));
  return wire->request != NULL;
}

void wire_close(Wire *wire) {
  free(wire->request);
}

MPI_Request *wire_request(Wire *wire) {
  if (wire->count == wire->room) {
    MPI_Request *more = realloc(wire->request, 2 * (size_t)wire->room * sizeof *more);
    if (!more) {
      wire->is_broken = true;
      return NULL;
    }
    wire->request = more;
    wire->room *= 2;
  }
  wire->request[wire->count] = MPI_REQUEST_NULL;
  return &wire->request[wire->count++];
}

void wire_note(Wire *wire, int result) {
  if (result != MPI_SUCCESS) wire->is_broken = true;
}

static int message_bytes(int64_t left_bytes) {
  return (int)(left_bytes < MESSAGE_MOST_BYTES ? left_bytes : MESSAGE_MOST_BYTES);
}

void wire_send(Wire *wire, MPI_Comm comm, int32_t member, const void *bytes, int64_t size_bytes) {
  for (int64_t done = 0; done < size_bytes && !wire->is_broken; done += MESSAGE_MOST_BYTES) {
    MPI_Request *request = wire_request(wire);
    if (!request) return;
    wire_note(wire, MPI_Isend((const char *)bytes + done, message_bytes(size_bytes - done),
                              MPI_BYTE, member, 0, comm, request));
  }
  wire->sent_bytes += size_bytes;
}

void wire_receive(Wire *wire, MPI_Comm comm, int32_t member, void *bytes, int64_t size_bytes) {
  for (int64_t done = 0; done < size_bytes && !wire->is_broken; done += MESSAGE_MOST_BYTES) {
    MPI_Request *request = wire_request(wire);
    if (!request) return;
    wire_note(wire, MPI_Irecv((char *)bytes + done, message_bytes(size_bytes - done), MPI_BYTE,
                              member, 0, comm, request));
  }
}

/* A peer on another core answers within microseconds; a peer that computes needs this core. */
static void back_off(const Wire *wire, int32_t tries, long *sleep_ns) {
  if (tries < wire->spins) return;
  if (tries < wire->spins + YIELDS) {
    (void)sched_yield();
    return;
  }
  struct timespec pause = {0, *sleep_ns};
  (void)nanosleep(&pause, NULL);
  *sleep_ns = *sleep_ns * 3 / 2 < SLEEP_MOST_NS ? *sleep_ns * 3 / 2 : SLEEP_MOST_NS;
}

bool wire_finish(Wire *wire) {
  int done = 0;
  long sleep_ns = SLEEP_FIRST_NS;
  for (int32_t tries = 0; !done && !wire->is_broken && !atomic_load(wire->is_aborted); tries++) {
    wire_note(wire, MPI_Testall(wire->count, wire->request, &done, MPI_STATUSES_IGNORE));
    if (!done) back_off(wire, tries, &sleep_ns);
  }
  wire->count = 0;
  return done && !wire->is_broken;
}
