/* gradients.h -- each value of the model as a hash of the computation that makes it: equal
 * computations have equal hashes. The hash of a sum is the sum of its parts' hashes, so that their
 * order does not matter and gradients can be compared with what they should be. Private to
 * derivatives/. */
#ifndef LOCKSTEP_PROVE_GRADIENTS_H
#define LOCKSTEP_PROVE_GRADIENTS_H

#include "compiler/plan/prove/pool.h"
#include "runtime/plan/plan.h"

typedef uint64_t Sum; /* 0: zero */

enum { APPLIED_INPUTS_MAX = 16, APPLIED_ATTRS_MAX = 8 };

/* One op applied to inputs. */
typedef struct Applied {
  const char *op;
  uint32_t input_count, output;
  Sum inputs[APPLIED_INPUTS_MAX];
  double attrs[APPLIED_ATTRS_MAX];
  uint64_t key;      /* of the node, */
  uint32_t path;     /* and its path: both determine its random numbers */
  uint32_t from, to; /* layouts of input 0 and of the result */
  bool broadcasts;   /* inputs 0 and 1 have different dims */
  bool is_sum;       /* set by the function: a sum of its inputs, or a multiple of one */
} Applied;

/* The hash of a node whose inputs have these hashes (`name`, by value). */
Applied applied_of(const Plan *plan, const PlanNode *node, uint32_t output, const Sum *name);

Sum apply(const Plan *plan, Applied *applied);

/* The sums that rows ask for. */
typedef struct WantedSums {
  Arena *arena;
  Pool sums; /* tags are what asked_for returns */
} WantedSums;

/* `value`: whose gradient it is; PLAN_NONE: a part of a gradient. */
void ask(WantedSums *asked, Sum sum, uint32_t value);

/* The first value that has this gradient, counted from 1; PLAN_NONE: it is only a part of one; 0:
 * no row asks for it. */
uint32_t asked_for(WantedSums *asked, Sum sum);

/* One use of a value: an input of a forward node. */
typedef struct Use {
  const Plan *plan;
  const PlanNode *node;
  uint32_t input;
  const Sum *name;   /* by value */
  const Sum *wanted; /* by value: its whole gradient so far */
  WantedSums *asked; /* gets every op of the row */
  bool lacks;        /* the row needs something that the node does not have */
} Use;

/* The term that this use adds to the gradient of its value, by derivatives.def; 0 for ids. False:
 * there is no row. */
bool gradient_of(Use *use, Sum *sum);

/* The hash of what makes this output of the node once more in backward; 0: nothing does. */
Sum again_of(Use *use, uint32_t output);

/* Training regions come first. */
static inline uint32_t regions_trained(const Plan *plan) {
  uint32_t count = 0;
  while (count < plan->regions_count && plan->regions[count].program == PROGRAM_TRAIN_STEP)
    count++;
  return count;
}

/* The regions of the program that the plan is for come first: one chain. */
static inline uint32_t regions_main(const Plan *plan) {
  uint32_t count = 0;
  while (count < plan->regions_count && plan_is_main(plan, &plan->regions[count]))
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
