/* gradients.h -- values of the model as what they are made of: 64 bits that are equal for what is
 * computed alike. A sum's number is the sum of its parts' numbers, whatever their order, so that
 * gradients can be compared with what they should be. Private to derivatives/. */
#ifndef LOCKSTEP_PROVE_GRADIENTS_H
#define LOCKSTEP_PROVE_GRADIENTS_H

#include "runtime/plan/plan.h"

typedef uint64_t Sum; /* 0: zero */

enum { APPLIED_INPUTS_MAX = 16, APPLIED_ATTRS_MAX = 8 };

/* One op applied to inputs. */
typedef struct Applied {
  const char *op;
  uint32_t input_count, output;
  Sum inputs[APPLIED_INPUTS_MAX];
  double attrs[APPLIED_ATTRS_MAX];
  uint32_t path;     /* of the node: names its random numbers */
  uint32_t from, to; /* layouts of input 0 and of the result */
  bool broadcasts;   /* inputs 0 and 1 have other dims */
  bool is_sum;       /* out: of its inputs, or a multiple of one */
} Applied;

/* A node, whose inputs have these numbers, by value. */
Applied applied_of(const Plan *plan, const PlanNode *node, uint32_t output, const Sum *name);

Sum apply(const Plan *plan, Applied *applied);

/* What rules ask for: of each use two ops, their gradient, and the sum so far. */
enum { ASKED_OF_USE = 4 };

typedef struct Asked {
  struct AskedSum {
    Sum sum;
    uint32_t value;  /* whose gradient it is; PLAN_NONE: a part of one */
    uint32_t number; /* as they were asked for */
  } * at;
  uint32_t count, most;
} Asked;

void ask(Asked *asked, Sum sum, uint32_t value);

/* When all is asked for; then asked_for finds: NULL, nobody has. */
void asked_sort(Asked *asked);
const struct AskedSum *asked_for(const Asked *asked, Sum sum);

/* One use of a value: an input of a forward node. */
typedef struct Use {
  const Plan *plan;
  const PlanNode *node;
  uint32_t input;
  const Sum *name;   /* by value */
  const Sum *wanted; /* by value: its whole gradient */
  Asked *asked;      /* every op of the row is */
  bool lacks;        /* the row wants what the node does not have */
} Use;

/* What this use adds to the gradient of its value, as derivatives.def says; 0 for ids. False: there
 * is no row. */
bool gradient_of(Use *use, Sum *sum);

/* Regions that are trained come first. */
static inline uint32_t regions_trained(const Plan *plan) {
  uint32_t count = 0;
  while (count < plan->regions_count && plan->regions[count].program == PROGRAM_TRAIN_STEP)
    count++;
  return count;
}

static inline uint32_t node_input(const Plan *plan, const PlanNode *node, uint32_t i) {
  return plan->uses[node->inputs_first + i].value;
}

static inline uint32_t node_output(const Plan *plan, const PlanNode *node, uint32_t i) {
  return plan->uses[node->outputs_first + i].value;
}

#endif
