/* Collectives between processes that share memory, against their definitions, in one pass and in
 * many; and who waits for a process that is gone.
 * LINK: runtime */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/comm/near_moves.h"
#include "runtime/comm/pieces.h"
#include "runtime/comm/window.h"
#include "tests/unit/check.h"

enum { RANKS = 3, ELEMENTS = 10007, WINDOW_MOST_BYTES = 1 << 20, BARRIER_BYTES = 4096 };

/* One process: its own memory, and what it sees of the others. */
typedef struct Member {
  NearGroup group;
  NearMover mover;
  const void *source[RANKS];
  char *window[RANKS];
  atomic_bool is_aborted;
  float x[RANKS * ELEMENTS];
  float y[RANKS * ELEMENTS];
} Member;

static WindowKey keys[RANKS];
static Window own[RANKS];

static void make_windows(void) {
  for (int32_t i = 0; i < RANKS; i++)
    CHECK(window_make(&own[i], &keys[i], BARRIER_BYTES + WINDOW_MOST_BYTES));
  barrier_open(own[0].at, RANKS, 10);
}

static void close_windows(void) {
  for (int32_t i = 0; i < RANKS; i++) {
    window_hide(&keys[i]);
    window_close(&own[i]);
  }
}

/* Every member maps all anew, as processes that have not inherited them do. */
static bool join(Member *self, int32_t member, int64_t window_bytes) {
  Window seen[RANKS];
  for (int32_t i = 0; i < RANKS; i++) {
    if (!window_see(&seen[i], &keys[i])) return false;
    self->window[i] = (char *)seen[i].at + BARRIER_BYTES;
  }
  self->group = (NearGroup){seen[0].at, self->window, RANKS, member};
  self->mover = (NearMover){
      .window_bytes = window_bytes, .source = self->source, .is_aborted = &self->is_aborted};
  return true;
}

static float value_of(int32_t rank, int64_t i) {
  return (float)((i * 7919 + rank * 104729) % 2003 - 1000) / 7;
}

static void fill(Member *self, int64_t count) {
  for (int64_t i = 0; i < RANKS * ELEMENTS; i++)
    self->x[i] = i < count ? value_of(self->group.member, i) : 0, self->y[i] = -1;
  self->mover.sent_bytes = 0;
}

/* In member order, as sums are made. */
static float sum_of(int64_t i) {
  float sum = value_of(0, i);
  for (int32_t rank = 1; rank < RANKS; rank++)
    sum += value_of(rank, i);
  return sum;
}

static bool reduces(Member *self, bool in_place) {
  fill(self, ELEMENTS);
  float *y = in_place ? self->x : self->y;
  CommElements elements = {ELEMENTS, DTYPE_F32};
  bool good = near_all_reduce(&self->mover, self->group, self->x, y, elements, REDUCE_SUM);
  for (int64_t i = 0; i < ELEMENTS; i++)
    good = good && y[i] == sum_of(i);
  CommPart mine = comm_part(ELEMENTS, RANKS, self->group.member);
  return good && self->mover.sent_bytes == 4 * (ELEMENTS - mine.count + (RANKS - 1) * mine.count);
}

/* 2 pieces of 1000 elements, and one of 1501. */
static const CommPieces pieces = {(const int64_t[]){2, 1000, 1, 1501}, 2, DTYPE_F32};
enum { SHARE = 3501 };

static bool gathers(Member *self, bool in_place) {
  fill(self, SHARE);
  PieceSpan all = {&pieces, RANKS, {0, SHARE}};
  if (in_place) piece_span_copy(&all, self->y, self->group.member, self->x, false);
  bool good =
      near_all_gather(&self->mover, self->group, in_place ? NULL : self->x, self->y, &pieces);
  for (int32_t rank = 0; rank < RANKS; rank++) {
    PieceWalk walk = pieces_walk(&pieces, 0, SHARE);
    for (Piece piece; pieces_next(&walk, &piece);)
      for (int64_t i = 0; i < piece.count; i++)
        good = good && self->y[piece_whole_at(&piece, RANKS, rank) + i] ==
                           value_of(rank, piece.share_at + i);
  }
  return good && self->mover.sent_bytes == (int64_t)4 * (RANKS - 1) * SHARE;
}

static bool scatters(Member *self, bool in_place) {
  int32_t member = self->group.member;
  fill(self, (int64_t)RANKS * SHARE);
  bool good = near_reduce_scatter(&self->mover, self->group, self->x, in_place ? NULL : self->y,
                                  &pieces, REDUCE_SUM);
  for (int32_t rank = 0; rank < RANKS; rank++) {
    PieceWalk walk = pieces_walk(&pieces, 0, SHARE);
    for (Piece piece; pieces_next(&walk, &piece);)
      for (int64_t i = 0; i < piece.count; i++) {
        int64_t at = piece_whole_at(&piece, RANKS, rank) + i;
        if (rank == member && !in_place) good = good && self->y[piece.share_at + i] == sum_of(at);
        bool is_sum = in_place && rank == member;
        good = good && self->x[at] == (is_sum ? sum_of(at) : value_of(member, at));
      }
  }
  return good && self->mover.sent_bytes == (int64_t)4 * (RANKS - 1) * SHARE;
}

static bool turns(Member *self, bool back) {
  CommTurn turn = {2, 5, 3, 7, 4, back, DTYPE_F32};
  int32_t member = self->group.member;
  int64_t run_elements = turn.b * turn.inner, one = turn_runs(&turn) * run_elements;
  fill(self, RANKS * one);
  bool good = near_all_to_all(&self->mover, self->group, self->x, self->y, &turn);
  for (int32_t from = 0; from < RANKS; from++)
    for (int64_t run = 0; run < turn_runs(&turn); run++) {
      TurnRun at = turn_run(&turn, RANKS, from, member, run);
      for (int64_t i = 0; i < run_elements; i++)
        good = good && self->y[at.y_at + i] == value_of(from, at.x_at + i);
    }
  return good && self->mover.sent_bytes == 4 * (RANKS - 1) * one;
}

/* In windows that take all at once, and in such that take many passes; different collectives one
 * after the other, so that one which goes ahead spoils what another reads. */
static bool moves(Member *self, int32_t member) {
  static const int64_t window_bytes[] = {WINDOW_MOST_BYTES, 4096, 3 * 64};
  bool good = true;
  for (int32_t i = 0; i < 3 && good; i++) {
    good = join(self, member, window_bytes[i]);
    for (int32_t round = 0; round < 20 && good; round++) {
      bool in_place = round % 2 == 0;
      good = reduces(self, in_place) && gathers(self, in_place) && scatters(self, in_place) &&
             turns(self, in_place);
    }
  }
  return good;
}

static void *give_up(void *context) {
  struct timespec pause = {.tv_nsec = 50000000};
  (void)nanosleep(&pause, NULL);
  atomic_store((atomic_bool *)context, true);
  return NULL;
}

/* The last member is killed where it waits for the others, who come later and are told to stop
 * waiting, as the watchdog does. */
static bool loses(Member *self, int32_t member) {
  if (!join(self, member, 4096)) return false;
  if (member == RANKS - 1) (void)raise(SIGKILL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, give_up, &self->is_aborted) != 0) return false;
  fill(self, ELEMENTS);
  CommElements elements = {ELEMENTS, DTYPE_F32};
  bool met = near_all_reduce(&self->mover, self->group, self->x, self->y, elements, REDUCE_SUM);
  bool again = near_all_reduce(&self->mover, self->group, self->x, self->y, elements, REDUCE_SUM);
  pthread_join(thread, NULL);
  return !met && !again;
}

/* How many of the members ended well. */
static int32_t run_all(bool (*body)(Member *self, int32_t member)) {
  pid_t child[RANKS];
  int32_t good = 0;
  for (int32_t i = 0; i < RANKS; i++) {
    child[i] = fork();
    if (child[i] != 0) continue;
    (void)alarm(900); /* ends a member that would wait for ever */
    Member *self = calloc(1, sizeof *self);
    _exit(self && body(self, i) ? 0 : 1);
  }
  for (int32_t i = 0; i < RANKS; i++) {
    int state = 0;
    CHECK_INT(waitpid(child[i], &state, 0), child[i]);
    good += WIFEXITED(state) && WEXITSTATUS(state) == 0;
  }
  return good;
}

static void test_keys(void) {
  TEST("a window is seen by its key, and not by another's, and not when it is hidden") {
    Window seen;
    WindowKey wrong = keys[0];
    wrong.inode++;
    CHECK(window_see(&seen, &keys[0]));
    ((char *)own[0].at)[BARRIER_BYTES] = 7;
    CHECK_INT(((char *)seen.at)[BARRIER_BYTES], 7);
    window_close(&seen);
    CHECK(!window_see(&seen, &wrong));
    window_hide(&keys[0]);
    CHECK(!window_see(&seen, &keys[0]));
  }
}

int main(void) {
  make_windows();
  TEST("collectives are as they are defined, and count what is sent")
  CHECK_INT(run_all(moves), RANKS);
  TEST("who waits for one that was killed returns when told")
  CHECK_INT(run_all(loses), RANKS - 1);
  test_keys();
  close_windows();
  CHECK_DONE();
}
