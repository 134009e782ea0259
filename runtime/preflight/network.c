/* network.c -- sums and exchanges between nodes, through MPI. */
#include "runtime/preflight/network.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/boot/pmix.h"
#include "runtime/comm/mpi.h"
#include "runtime/process/deadline.h"

enum {
  SUM_ELEMENTS = 4 << 20,
  PAIR_ELEMENTS = 1 << 20,
  TRIES = 3,
  ROUNDS_MOST =
      64, /* with more nodes, each exchanges with this many others, unless told otherwise */
  NAME_BYTES = 128,
  START_S = 15,
  NAMES_S = 5,
  SUM_S = 10,
  PAIRS_S = 15,
  FINISH_S = 5
};

typedef struct Network {
  const char *node;
  FILE *out;
  int rank, count;
  int rounds_most;          /* of exchanges between pairs */
  char (*name)[NAME_BYTES]; /* of every process's node */
  float *sent, *got;
} Network;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Small integers, whose sums are exact in any order. */
static float element(int rank, int64_t i) {
  return (float)((rank % 7 + 1) * (1 + i % 13));
}

static void fill(const Network *n, int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    n->sent[i] = element(n->rank, i);
}

static double rate_mbs(double bytes, double time_s) {
  return time_s > 0 ? bytes / time_s / 1e6 : 0;
}

/* ---- the sum of all */

static int64_t count_wrong_sums(const Network *n) {
  int64_t wrong = 0, ranks = 0;
  for (int rank = 0; rank < n->count; rank++)
    ranks += rank % 7 + 1;
  for (int64_t i = 0; i < SUM_ELEMENTS; i++)
    wrong += n->got[i] != (float)(ranks * (1 + i % 13));
  return wrong;
}

static bool sum_all(Network *n) {
  double best_s = 0;
  int64_t wrong = 0;
  fill(n, SUM_ELEMENTS);
  for (int try = 0; try < TRIES; try++) {
    double from_s = now_s();
    if (MPI_Allreduce(n->sent, n->got, SUM_ELEMENTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD))
      return false;
    double took_s = now_s() - from_s;
    if (try == 0 || took_s < best_s) best_s = took_s;
    wrong += count_wrong_sums(n);
  }
  double bytes = 2.0 * (n->count - 1) / n->count * SUM_ELEMENTS * sizeof(float);
  fprintf(n->out, "network nodes=%d wrong=%lld mbs=%.0f\n", n->count, (long long)wrong,
          rate_mbs(bytes, best_s));
  return fflush(n->out) == 0;
}

/* ---- pairs: as in a round-robin tournament, all exchange at once in each round */

/* The partner of this process; -1: it pauses. One process keeps its seat, the others rotate. */
static int partner_of(int rank, int count, int round) {
  int seats = count + count % 2, last = seats - 1, other;
  if (rank == last) /* the partner's seat: twice the seat is the round */
    other = round % 2 == 0 ? round / 2 : (round + last) / 2;
  else
    other = ((round - rank) % last + last) % last;
  if (other == rank) other = last;
  return other < count ? other : -1;
}

static bool meet(const Network *n, int other) {
  double best_s = 0;
  int64_t wrong = 0;
  fprintf(n->out, "pair %s", n->name[other]);
  (void)fflush(n->out);
  for (int try = 0; try < TRIES; try++) {
    memset(n->got, 0, PAIR_ELEMENTS * sizeof(float));
    double from_s = now_s();
    if (MPI_Sendrecv(n->sent, PAIR_ELEMENTS, MPI_FLOAT, other, 0, n->got, PAIR_ELEMENTS, MPI_FLOAT,
                     other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
      return false;
    double took_s = now_s() - from_s;
    if (try == 0 || took_s < best_s) best_s = took_s;
    for (int64_t i = 0; i < PAIR_ELEMENTS; i++)
      wrong += n->got[i] != element(other, i);
  }
  fprintf(n->out, " mbs=%.0f wrong=%lld\n", rate_mbs(PAIR_ELEMENTS * sizeof(float), best_s),
          (long long)wrong);
  return fflush(n->out) == 0;
}

static bool meet_all(Network *n) {
  int rounds = n->count + n->count % 2 - 1,
      shown = rounds < n->rounds_most ? rounds : n->rounds_most;
  fill(n, PAIR_ELEMENTS);
  for (int i = 0; i < shown; i++) {
    int other = partner_of(n->rank, n->count, (int)((int64_t)i * rounds / shown));
    if (other >= 0 && !meet(n, other)) return false;
  }
  return true;
}

/* ---- the whole test */

static bool within(Network *n, const char *what, int32_t limit_s, bool (*part)(Network *n)) {
  Deadline *deadline = deadline_begin(n->node, what, limit_s, deadline_of_others);
  bool good = part(n);
  deadline_end(deadline);
  return good;
}

static bool start(Network *n) {
  mpi_prepare_environment();
  if (MPI_Init(NULL, NULL)) return false;
  (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  (void)n;
  return true;
}

static bool learn_names(Network *n) {
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &n->rank);
  (void)MPI_Comm_size(MPI_COMM_WORLD, &n->count);
  n->name = calloc((size_t)n->count, sizeof *n->name);
  n->sent = calloc(SUM_ELEMENTS, sizeof(float));
  n->got = calloc(SUM_ELEMENTS, sizeof(float));
  if (!n->name || !n->sent || !n->got) return false;
  (void)snprintf(n->name[n->rank], NAME_BYTES, "%s", n->node);
  return !MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, n->name, NAME_BYTES, MPI_CHAR,
                        MPI_COMM_WORLD);
}

static bool finish(Network *n) {
  (void)n;
  return !MPI_Finalize();
}

bool network_is_there(void) {
  return boot_pmix_is_launched();
}

bool network_look(const char *node, bool all_pairs, FILE *out, Status *status) {
  Network n = {.node = node, .out = out, .rounds_most = all_pairs ? INT_MAX : ROUNDS_MOST};
  bool good = within(&n, "MPI_Init", START_S, start) &&
              within(&n, "the nodes' names", NAMES_S, learn_names) &&
              (n.count == 1 || (within(&n, "a sum over all nodes", SUM_S, sum_all) &&
                                within(&n, "an exchange of two nodes", PAIRS_S, meet_all)));
  free(n.name);
  free(n.sent);
  free(n.got);
  good = good && within(&n, "MPI_Finalize", FINISH_S, finish);
  return good || status_fail(status, STATUS_WORLD, "%s: MPI fails between the nodes", node);
}
