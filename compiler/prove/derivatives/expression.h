/* expression.h -- values of the model as what they are made of: 64 bits that are equal for what is
 * computed alike. A sum's number is the sum of its parts' numbers, whatever their order, so that
 * gradients can be compared with what they should be. Private to derivatives/. */
#ifndef LOCKSTEP_PROVE_EXPRESSION_H
#define LOCKSTEP_PROVE_EXPRESSION_H

#include "runtime/plan/plan.h"

typedef uint64_t Sum; /* 0: zero */

enum { EXPRESSION_INPUTS_MAX = 16, EXPRESSION_ATTRS_MAX = 8 };

/* One op applied to inputs. */
typedef struct Applied {
  const char *op;
  uint32_t input_count, output;
  Sum inputs[EXPRESSION_INPUTS_MAX];
  double attrs[EXPRESSION_ATTRS_MAX];
  uint32_t path;     /* of the node: names its random numbers */
  uint32_t from, to; /* layouts of input 0 and of the result */
  bool broadcasts;   /* inputs 0 and 1 have other dims */
} Applied;

Sum expression_apply(const Plan *plan, const Applied *applied);

/* Sums and multiples: results that need not be asked for, they count where they are used. */
bool expression_is_sum(const char *op);

/* A forward node as a rule sees it. */
typedef struct Around {
  const Plan *plan;
  const PlanNode *node;
  const Sum *name;   /* by value */
  const Sum *wanted; /* by value: its whole gradient */
  /* Told of every op in an expression. */
  void (*made)(void *context, Sum sum);
  void *context;
} Around;

/* What `text` of derivatives.def stands for. False: it cannot be read, or asks for what the node
 * does not have. */
bool expression_read(const Around *around, const char *text, uint32_t input, Sum *out);

/* Same names and sizes. */
bool layouts_alike(const Plan *plan, uint32_t a, uint32_t b);
double node_attr(const Plan *plan, const PlanNode *node, uint32_t attr); /* 0 behind the last */

#endif
