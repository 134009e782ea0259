/* typing.h -- one call of one class: the record at hand, its operands, and what stands in them.
 * Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPING_H
#define LOCKSTEP_PROVE_TYPING_H

#include "compiler/prove/types/meaning.h"
#include "compiler/prove/types/type.h"

enum { TYPING_BASES_MAX = 64 };

/* Control values that records make, in the order of a step: bits of `made`. */
enum { MADE_NORM = 1u << 0, MADE_UPDATE = 1u << 1, MADE_TOTALS = 1u << 2 };

/* A buffer that the call reaches. */
typedef struct Reached {
  uint32_t buffer; /* of the plan */
  Spans spans;     /* types relative to the call */
} Reached;

typedef struct Typing {
  const View *view;
  const Plan *plan;
  const KernelContract **contract; /* by kernel of the plan */
  Meaning meaning;
  Types types;
  Contents contents;

  Walk walk;            /* program, call, position */
  int64_t microbatches; /* of the program */
  uint32_t made;        /* MADE_* so far */
  Reached reached[TYPING_BASES_MAX];
  uint32_t reached_count;
  uint32_t base_reached[TYPING_BASES_MAX]; /* by base of the segment */
  uint64_t base_offset[TYPING_BASES_MAX];  /* from the start of its buffer */

  uint32_t record; /* within the segment */
  const PlanRecord *at;
  bool refused; /* a finding says why: nothing more is said of this class */
} Typing;

/* An operand: which bytes of which buffer. */
typedef struct Where {
  Reached *reached;
  uint64_t first, end;
  const PlanOperand *operand;
} Where;

Where where(Typing *t, uint32_t operand);

/* The type of exactly the operand's bytes. */
const Type *read_type(Typing *t, uint32_t operand);
void write_type(Typing *t, uint32_t operand, const Type *type);

/* The first reason stands. */
void refuse(Typing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "operand 2 (weight) holds FOUND, wanted WANTED" */
void refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted);

static inline const int64_t *record_dims(const Typing *t) {
  return t->plan->ints + t->at->dims_first;
}

static inline const double *record_attrs(const Typing *t) {
  return t->plan->reals + t->at->attrs_first;
}

/* NULL: a communication or a load. */
static inline const KernelContract *record_contract(const Typing *t) {
  return t->at->kind == RECORD_KERNEL ? t->contract[t->at->kernel] : NULL;
}

/* ---- rules, by what the record is for; each reads operands, refuses, or writes results */

void type_node(Typing *t);       /* nodes.c: a node of the model, or a part of one */
void type_conversion(Typing *t); /* conversions.c: the same value in another layout */
void type_init(Typing *t);       /* states.c */
void type_clear(Typing *t);
void type_norm(Typing *t);
void type_update(Typing *t);

/* Adds what a node makes of this micro-batch to a sum, or begins one: record's `accumulate`. */
void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node);

/* Whether every use of the value is in the sum, over all micro-batches. */
bool sum_is_complete(const Typing *t, const Type *sum);

/* The persistent tensor that begins there in the call's layer; NULL: none. */
const PlanTensor *tensor_at(const Typing *t, const Where *at);

#endif
