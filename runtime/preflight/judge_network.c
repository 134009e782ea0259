/* judge_network.c -- judges the lines about the network of all nodes together: wrong bytes,
 * exchanges that do not return, slow pairs and nodes, and the rate that the plan assumes. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_place.h"
#include "runtime/preflight/line.h"
#include "runtime/preflight/preflight.h"
#include "runtime/process/text.h"

enum { MEETINGS_TO_COMPARE = 3, NAME_BYTES = 128 };

typedef struct NetworkMeeting {
  int32_t node;
  char other[NAME_BYTES];
  bool is_open; /* it has not returned */
  int64_t mbs, wrong;
} NetworkMeeting;

typedef struct NetworkJudge {
  const Plan *plan;
  const Preflight *node;
  NetworkMeeting *meeting;
  int64_t *rate; /* room to sort in */
  int32_t count, meetings, room, bad;
  int64_t sum_mbs; /* rate of the all-reduce on the slowest node; 0: none was measured */
  FILE *out;
} NetworkJudge;

/* ---- reading */

static bool add_meeting(NetworkJudge *j, int32_t node, const char *line) {
  NetworkMeeting m = {.node = node};
  bool is_named = sscanf(line, "pair %127s", m.other) == 1;
  if (j->meetings == j->room) {
    j->room = 2 * j->room + 64;
    NetworkMeeting *more = realloc(j->meeting, sizeof *more * (size_t)j->room);
    if (more == NULL) return false;
    j->meeting = more;
  }
  m.mbs = number_of(line, " mbs=");
  m.wrong = number_of(line, " wrong=");
  m.is_open = m.mbs < 0 || m.wrong < 0;
  if (is_named) j->meeting[j->meetings++] = m;
  return true;
}

static void say_bad(NetworkJudge *j, const char *node, const char *what) {
  fprintf(j->out, "bad %s: %s\n", node, what);
  j->bad++;
}

static void read_sum(NetworkJudge *j, int32_t node, const char *line) {
  int64_t mbs = number_of(line, " mbs="), wrong = number_of(line, " wrong=");
  if (mbs < 0 || wrong < 0) return;
  if (wrong > 0) say_bad(j, j->node[node].node, "a sum over all nodes is wrong there");
  if (j->sum_mbs == 0 || mbs < j->sum_mbs) j->sum_mbs = mbs;
}

static bool read_lines(NetworkJudge *j, int32_t node, const char *path) {
  char line[512];
  bool good = true;
  FILE *file = fopen(path, "r");
  while (good && file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "network ", strlen("network ")) == 0) read_sum(j, node, line);
    if (strncmp(line, "pair ", strlen("pair ")) == 0) good = add_meeting(j, node, line);
  }
  if (file != NULL) (void)fclose(file);
  return good;
}

/* ---- exchanges that do not return, and wrong bytes */

static const char *name_of(const NetworkJudge *j, const NetworkMeeting *m) {
  return j->node[m->node].node;
}

/* The exchange that a node is in, or NULL. */
static const NetworkMeeting *open_of(const NetworkJudge *j, const char *node) {
  for (int32_t i = 0; i < j->meetings; i++)
    if (j->meeting[i].is_open && strcmp(name_of(j, &j->meeting[i]), node) == 0)
      return &j->meeting[i];
  return NULL;
}

/* A node that waits for a node which itself waits is not to blame, nor is the one it waits for. */
static void judge_open(NetworkJudge *j, const NetworkMeeting *m) {
  char what[NAME_BYTES + 64];
  const NetworkMeeting *others = open_of(j, m->other);
  if (others != NULL && strcmp(others->other, name_of(j, m)) != 0) return;
  const char *blamed = others != NULL ? name_of(j, m) : m->other;
  (void)snprintf(what, sizeof what, "its exchange with %s does not return",
                 others != NULL ? m->other : name_of(j, m));
  say_bad(j, blamed, what);
}

static void judge_wrong(NetworkJudge *j, const NetworkMeeting *m) {
  char what[NAME_BYTES + 64];
  (void)snprintf(what, sizeof what, "what it gets from %s is wrong", m->other);
  say_bad(j, name_of(j, m), what);
}

/* ---- rates */

static int compare_rates(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The median rate of one node's exchanges, or of all (-1); 0: there are none. */
static int64_t middle_rate(const NetworkJudge *j, int32_t node) {
  int32_t count = 0;
  for (int32_t i = 0; i < j->meetings; i++)
    if (!j->meeting[i].is_open && (node < 0 || j->meeting[i].node == node))
      j->rate[count++] = j->meeting[i].mbs;
  if (count == 0) return 0;
  qsort(j->rate, (size_t)count, sizeof *j->rate, compare_rates);
  return j->rate[count / 2];
}

static bool is_slow(int64_t rate, int64_t middle) {
  return rate < middle / 2;
}

static void judge_pairs(const NetworkJudge *j, int32_t node, int64_t middle) {
  char rate[QUANTITY_BYTES], most[QUANTITY_BYTES];
  for (int32_t i = 0; i < j->meetings; i++) {
    const NetworkMeeting *m = &j->meeting[i];
    if (m->node != node || m->is_open || !is_slow(m->mbs, middle)) continue;
    if (strcmp(name_of(j, m), m->other) < 0) /* the other node reports the same pair */
      fprintf(j->out, "slow %s and %s: %s/s between them, %s/s between most\n", name_of(j, m),
              m->other, text_bytes(rate, (double)m->mbs * 1e6),
              text_bytes(most, (double)middle * 1e6));
  }
}

static void judge_rates(const NetworkJudge *j) {
  int64_t middle = middle_rate(j, -1);
  for (int32_t i = 0; j->meetings >= MEETINGS_TO_COMPARE && i < j->count; i++) {
    int64_t own = middle_rate(j, i);
    if (own > 0 && is_slow(own, middle))
      fprintf(j->out, "slow %s: exchanges at %lld %% of the middle pair's rate\n", j->node[i].node,
              (long long)(100 * own / middle));
    else
      judge_pairs(j, i, middle);
  }
}

/* True if ranks along the axis are on more than one node. */
static bool leaves_node(const Plan *plan, uint32_t axis) {
  bool leaves = false;
  for (uint32_t at = 1; at < plan->axes[axis].size && !leaves; at++)
    leaves = plan_place(plan, plan_rank_along(plan, 0, axis, at)).node != plan_place(plan, 0).node;
  return leaves;
}

/* The rate that the plan assumes between nodes, over all NICs of a node; 0: unknown. */
static double planned_bytes_per_s(const Plan *plan) {
  double most = 0;
  for (uint32_t i = 0; i < plan->links_count; i++) {
    uint32_t mask = plan->comms[plan->links[i].comm].axes_mask;
    bool crosses = false;
    for (uint32_t axis = 0; axis < plan->axes_count; axis++)
      if ((mask & 1u << axis) != 0) crosses |= leaves_node(plan, axis);
    if (crosses && plan->links[i].bytes_per_s > most) most = plan->links[i].bytes_per_s;
  }
  return most;
}

static void judge_sum(const NetworkJudge *j) {
  char rate[QUANTITY_BYTES], planned_text[QUANTITY_BYTES];
  double planned = planned_bytes_per_s(j->plan), have = (double)j->sum_mbs * 1e6;
  if (j->sum_mbs == 0) return;
  (void)text_bytes(rate, have);
  if (planned == 0)
    fprintf(j->out, "a sum over %d nodes runs at %s/s\n", j->count, rate);
  else
    fprintf(j->out, "%sa sum over %d nodes, through MPI, runs at %s/s; the plan counts on %s/s\n",
            have < planned / 2 ? "slow all: " : "", j->count, rate,
            text_bytes(planned_text, planned));
}

bool preflight_judge_network(const Plan *plan, const Preflight *node, char *const *paths,
                             int32_t count, FILE *out, int32_t *bad) {
  NetworkJudge j = {.plan = plan, .node = node, .count = count, .out = out};
  bool good = true;
  for (int32_t i = 0; good && i < count; i++)
    good = read_lines(&j, i, paths[i]);
  j.rate = malloc(sizeof *j.rate * (size_t)(j.meetings + 1));
  good = good && j.rate != NULL;
  for (int32_t i = 0; good && i < j.meetings; i++) {
    if (j.meeting[i].is_open) judge_open(&j, &j.meeting[i]);
    if (j.meeting[i].wrong > 0) judge_wrong(&j, &j.meeting[i]);
  }
  if (good) judge_rates(&j);
  if (good) judge_sum(&j);
  free(j.meeting);
  free(j.rate);
  *bad += j.bad;
  return good;
}
