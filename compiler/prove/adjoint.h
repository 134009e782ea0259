/* adjoint.h -- values by what they are instead of where they stand, for adjoint.c. Private to
 * compiler/prove.
 *
 * A value has a name: a hash of what made it and from which values, so that what is computed again
 * has the name it had. A gradient has a sum: of the uses of a value whose gradients are in it. */
#ifndef LOCKSTEP_PROVE_ADJOINT_H
#define LOCKSTEP_PROVE_ADJOINT_H

#include "compiler/prove/events.h"

typedef enum Nature { NATURE_UNKNOWN, NATURE_VALUE, NATURE_GRADIENT } Nature;

typedef struct Worth {
  uint64_t name;
  uint64_t sum;   /* of a gradient */
  uint64_t whole; /* name of what it is a slice of; 0: of nothing */
  Nature nature;
  bool known;     /* the sum is */
  uint32_t input; /* 1 + the plan's input that it is, or a part of; 0: none */
} Worth;

typedef struct Stand {
  uint64_t first, end;
  uint32_t call, record; /* who wrote it, in which iteration of a loop */
  Worth worth;
} Stand;

/* Of one buffer: disjoint, by offset. */
typedef struct Stands {
  Stand *at;
  uint32_t count, capacity;
} Stands;

/* The first that ends after `offset`. */
uint32_t stands_find(const Stands *stands, uint64_t offset);
/* False: out of memory. */
bool stands_put(Stands *stands, Stand stand);
void stands_remove(Stands *stands, uint64_t first, uint64_t end);

static inline uint64_t adjoint_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u + value;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/* What has been computed, by name, and who used it. */
typedef struct Known {
  uint64_t key;         /* 0: free */
  uint64_t sum;         /* uses: what the gradient will be made of */
  uint32_t alias_first; /* names whose gradients are part of it: 1 + index into aliases, 0: none */
  bool unclear;         /* used in a way that is not followed */
} Known;

typedef struct Alias {
  uint64_t of;
  uint32_t next;
} Alias;

/* One operation going forward. */
enum { FORWARD_OPERANDS = 6 };
typedef struct Forward {
  uint64_t place;                       /* path, layer and micro-batch */
  uint64_t name[FORWARD_OPERANDS];      /* of what it read and wrote */
  uint64_t parameter[FORWARD_OPERANDS]; /* tensor_at; 1: a gathered one, 0: none */
  uint32_t record;                      /* index into plan->records */
  uint32_t output;                      /* operand */
  uint32_t turned; /* bits of operands, parameters, whose gradients were made */
  uint32_t next;   /* 1 + index of another of this place */
} Forward;

typedef struct Uses {
  Known *known; /* a hash table */
  size_t known_count, known_capacity;
  Alias *aliases;
  size_t alias_count, alias_capacity;
  Forward *forwards;
  size_t forward_count, forward_capacity;
  Known *places; /* a hash table: alias_first is 1 + index of a Forward */
  size_t place_count, place_capacity;
  bool failed;
} Uses;

/* False in `*fresh`: it was known. NULL: out of memory. */
Known *uses_of(Uses *uses, uint64_t name, bool *fresh);
void uses_add(Uses *uses, uint64_t name, uint64_t use);
void uses_alias(Uses *uses, uint64_t name, uint64_t of);
void uses_unclear(Uses *uses, uint64_t name);
/* What the gradient of the value is the sum of; false: not known. */
bool uses_sum(const Uses *uses, uint64_t name, uint64_t *sum);
/* True: it is new. */
bool uses_forward(Uses *uses, Forward forward);
Forward *uses_find(const Uses *uses, uint64_t place); /* the first of them, or NULL */
Forward *uses_next(const Uses *uses, const Forward *forward);
void uses_close(Uses *uses);

/* ---- places.c: operands of the current record */

typedef struct ForwardKernel ForwardKernel;
typedef struct BackwardKernel BackwardKernel;

typedef struct Adjoint {
  const View *view;
  Walk walk_now;
  const Walk *walk;
  uint32_t record_index;
  const PlanRecord *record;
  Stands *stands; /* by buffer of the class */
  Uses uses;
  const ForwardKernel **forward; /* by kernel */
  const BackwardKernel **backward;
  bool failed;
} Adjoint;

typedef struct Place {
  Stands *stands; /* NULL: a persistent buffer */
  uint32_t buffer;
  uint64_t first, end;
  Access access;
} Place;

static inline const PlanOperand *operand_of(const Adjoint *a, uint32_t index) {
  return &a->view->plan->operands[a->record->operands_first + index];
}

Place adjoint_place(const Adjoint *a, uint32_t index);
Worth adjoint_worth(const Place *p, bool *exact);
void adjoint_unclear(Adjoint *a, const Place *p);
void adjoint_use(Adjoint *a, const Place *p, bool exact, bool parts, uint64_t use);
void adjoint_write(Adjoint *a, const Place *p, Worth worth);
void adjoint_drop(Adjoint *a, const Place *p);
uint64_t adjoint_tensor(const Adjoint *a, const Place *p);
uint64_t adjoint_parameter(const Adjoint *a, const Place *p);

#endif
