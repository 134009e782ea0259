/* rules.h -- what adjoint.c knows of kernels. Private to compiler/prove. */
#ifndef LOCKSTEP_PROVE_RULES_H
#define LOCKSTEP_PROVE_RULES_H

#include "compiler/prove/walk.h"
#include "runtime/plan/limits.h"

enum { NO_OPERAND = 255, READS_MAX = 5, MAKES_MAX = 3, PARAMETERS_MAX = 2 };

/* Operations that go forward: what they make; operands that have the gradient of one of the results
 * for theirs, and of which. */
typedef struct ForwardRule {
  const char *name;
  uint8_t output;
  uint8_t handed_on[4][2];
} ForwardRule;

/* Pairs are (operand backward, operand forward). */
typedef struct BackwardRule {
  const char *name, *forward, *other; /* kernels */
  uint8_t gradient;                   /* operand: of what the operation made */
  uint8_t reads[READS_MAX][2], makes[MAKES_MAX][2], parameters[PARAMETERS_MAX][2];
  uint8_t dims, attrs; /* that are those of the operation */
} BackwardRule;

typedef enum Motion {
  MOTION_NONE,
  MOTION_ADD,
  MOTION_SAME,  /* gradients are handed on: cast, sum_to, slice */
  MOTION_COPY,  /* what comes out is what went in */
  MOTION_AGAIN, /* goes backward as it went forward: rope, dropout */
  MOTION_SCALE, /* affine: as well, but may be zero */
  MOTION_MULTIPLY
} Motion;

typedef struct Rule {
  const ForwardRule *forward;
  const BackwardRule *backward;
  Motion motion;
  uint32_t scratch;    /* bits of operands */
  uint32_t parameters; /* bits of operands whose gradients backward kernels make for a tensor */
  uint32_t views;      /* bits of operands that are rows with something between them */
  uint8_t view[KERNEL_OPERANDS_MAX][5]; /* dims: rows, rows, inner, inner, stride; NO_OPERAND: 1 */
  bool slices, casts, subtracts;
  bool differs;                  /* of squared differences */
  bool silent;                   /* uses nothing that has a gradient */
  bool slope;                    /* a loss that leaves the gradient */
  bool wants_targets, wants_ids; /* of operand 1 */
  bool counts;                   /* makes positions */
  bool turns;                    /* by an angle that goes backward the other way */
  uint8_t in_place;              /* the result that may stand where operand 0 does */
  uint32_t backward_of[2];       /* kernels of backward->forward and other, or PLAN_NONE */
  bool biased;                   /* a backward rule whose bias an add may have added */
} Rule;

/* By kernel; NULL and a finding: out of memory. */
Rule *rules_find(const View *view);

#endif
