/* tune.h -- the screens of lockstep tune. Private to the verb. */
#ifndef LOCKSTEP_CLI_TUNE_H
#define LOCKSTEP_CLI_TUNE_H

#include "compiler/search/fit.h"
#include "compiler/show/cli/cli.h"

/* The result for one number of nodes. */
typedef struct Tune {
  Compile *compile; /* owned; results and errors of this number of nodes */
  const Job *job;
  Machine machine;
  Tuned tuned;
  int32_t row; /* of tuned, that fits when packed; -1: none */
} Tune;

typedef enum Goal { GOAL_FASTEST, GOAL_CHEAPEST, GOAL_FEWEST, GOAL_DEADLINE } Goal;

enum { NODE_COUNTS_MOST = 32 };

typedef struct TuneScreen {
  const Options *options;
  Goal goal;
  double deadline_s;
  Tune *all; /* by number of nodes, the most last */
  int32_t count, best;
  const Compiled *compiled; /* all's best: its plan, proven */
} TuneScreen;

static inline const TuneRow *tune_row(const Tune *tune) {
  return &tune->tuned.row[tune->row];
}

/* Time of all steps; 0: unknown. */
double tune_seconds(const Tune *tune);

void tune_print(const TuneScreen *screen, FILE *out);
void tune_print_json(const TuneScreen *screen, FILE *out);
bool tune_draw(const void *screen, FILE *out); /* memory against time, as SVG */

/* The five questions from which people choose degrees by hand, with this job's numbers. */
void tune_print_steps(const TuneScreen *screen, FILE *out);

#endif
