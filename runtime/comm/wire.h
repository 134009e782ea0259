/* wire.h -- messages of one thread through MPI: all are posted, then it waits for all.
 *
 * No thread blocks inside MPI, which would spin beside the computation: a waiting thread tests,
 * first at once, then with growing sleeps. The k-th message from one member to another meets the
 * k-th receive there. */
#ifndef LOCKSTEP_COMM_WIRE_H
#define LOCKSTEP_COMM_WIRE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Wire {
  MPI_Request *request;
  int32_t count;
  int32_t room;
  int32_t spins;  /* tests before a waiter sleeps */
  bool is_broken; /* a call of MPI failed: nothing more is posted */
  const atomic_bool *is_aborted;
  int64_t sent_bytes; /* to other ranks, so far */
} Wire;

/* Has room for `messages` at first, and grows. False: out of memory. */
bool wire_open(Wire *wire, int32_t messages, int32_t spins, const atomic_bool *is_aborted);
void wire_close(Wire *wire);

/* `member` is a member of `comm`; the bytes must not change until wire_finish. 0 bytes send no
 * message. */
void wire_send(Wire *wire, MPI_Comm comm, int32_t member, const void *bytes, int64_t size_bytes);
void wire_receive(Wire *wire, MPI_Comm comm, int32_t member, void *bytes, int64_t size_bytes);

/* Where a nonblocking MPI collective puts its request. */
MPI_Request *wire_request(Wire *wire);
/* Records the result of such a call. */
void wire_note(Wire *wire, int result);

/* Waits for all that was posted. False: the job is being aborted, or MPI failed. */
bool wire_finish(Wire *wire);

#endif
