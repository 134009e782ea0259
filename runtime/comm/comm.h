/* comm.h -- communication of a rank with its peers. Every implementation has every entry.
 *
 * A communicator of the plan is a sub-mesh; `comm` is its index in the plan's table. All members
 * call the same entries in the same order. A Comm belongs to one lane and is called by the works of
 * its queue. On processors a communication has finished when its call returns; on a GPU it is then
 * in the lane's stream, in order with work issued there before and after.
 *
 * Sums run in member order whatever the sizes: results are bitwise equal on all members and from
 * run to run. bf16 is summed in f32 and rounded once. False = the job is being aborted: leave
 * quietly. */
#ifndef LOCKSTEP_COMM_H
#define LOCKSTEP_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

typedef struct Comm Comm;

enum { COMM_POSTS_MAX = 16 };

typedef struct CommElements {
  int64_t count;
  DType dtype;
} CommElements;

/* The pieces that a gather or scatter moves: a member's share is, pair after pair, pair[2i] pieces
 * of pair[2i + 1] elements; the whole holds, piece by piece, that piece of every member in member
 * order. */
typedef struct CommPieces {
  const int64_t *pair;
  int32_t pair_count;
  DType dtype;
} CommPieces;

/* An all-to-all over n members: x [outer, a, middle, b*n, inner] becomes y [outer, a*n, middle, b,
 * inner], or with `back` the other way round. */
typedef struct CommTurn {
  int64_t outer, a, middle, b, inner;
  bool back;
  DType dtype;
} CommTurn;

/* One operand of an exchange: to, or from, the member `distance` ahead along the communicator's
 * axis. */
typedef struct CommPost {
  void *at; /* memory that is only read if it is sent */
  int64_t size_bytes;
  int64_t distance; /* modulo the number of members */
  bool is_sent;
} CommPost;

typedef struct CommOps {
  /* y[count] = sum or max over members of x[count]; x may be y, otherwise they do not overlap. */
  bool (*all_reduce)(Comm *self, uint32_t comm, const void *x, void *y, CommElements elements,
                     ReduceOp reduce);
  /* y = the whole, x a share; x NULL: this member's pieces are in y already. */
  bool (*all_gather)(Comm *self, uint32_t comm, const void *x, void *y, const CommPieces *pieces);
  /* y = this member's share of the reduction of the wholes x; y NULL: it is written to these
   * pieces' place in x, and the rest of x is unchanged. */
  bool (*reduce_scatter)(Comm *self, uint32_t comm, void *x, void *y, const CommPieces *pieces,
                         ReduceOp reduce);
  /* x and y do not overlap. */
  bool (*all_to_all)(Comm *self, uint32_t comm, const void *x, void *y, const CommTurn *turn);
  /* Starts all sends and receives together and returns when all are done. The k-th send of one
   * member to another matches the k-th receive there, of the same size. At most COMM_POSTS_MAX. */
  bool (*exchange)(Comm *self, uint32_t comm, const CommPost *post, int32_t count);
  /* Returns when every rank of the job has called it. */
  bool (*barrier)(Comm *self);
  /* Over all ranks of the job, which call it with the same size: `to` gets the bytes that each has
   * at `from`, in rank order. */
  bool (*gather_bytes)(Comm *self, const void *from, void *to, size_t size_bytes);
  /* Over all ranks of the job: `bytes` of every rank become those of `root`. */
  bool (*broadcast_bytes)(Comm *self, int32_t root, void *bytes, size_t size_bytes);
  /* Among the ranks that differ only along `axes`, one of the plan's mesh_shares or 0: `bytes` of
   * all become those of `member`. Ranks of a group make the same calls in the same order. */
  bool (*share_bytes)(Comm *self, uint32_t axes, int32_t member, void *bytes, size_t size_bytes);
  /* The last call of a rank, also after an abort, while none of its threads is in another call.
   * Returns when no peer reads this rank's memory any more. A rank that fails calls abort first. */
  void (*leave)(Comm *self);
  /* Makes every present and future call of every rank return false. */
  void (*abort)(Comm *self);
  /* True if some rank has aborted, as far as this one knows. May be called by any thread. */
  bool (*is_aborted)(const Comm *self);
  /* How many ranks this rank's group of communicator `comm` has. */
  int32_t (*members)(const Comm *self, uint32_t comm);
} CommOps;

/* The first member of every implementation's struct. */
struct Comm {
  const CommOps *ops;
  /* Bytes of this rank's memory that other ranks have copied or reduced, counted where they are
   * copied; complete when a call returns. Bytes that a rank copies from itself are not sent. */
  int64_t sent_bytes;
  /* Why a call returned false, if it was this rank's own failure; code 0: it was not. */
  Status problem;
};

/* The comms of one rank for lanes beside the main lane; NULL: the lane has none.
 */
typedef struct CommLanes {
  Comm *at[PLAN_LANES_MAX];
} CommLanes;

#endif
