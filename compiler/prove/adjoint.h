/* adjoint.h -- values by what they are instead of where they stand, for adjoint.c. Private to
 * compiler/prove.
 *
 * A value has a name: a hash of what made it and from which values, so that what is computed again
 * has the name it had. A part of a value is named by the value and by which elements it is,
 * wherever it is copied. A gradient has a sum: of the uses of a value whose gradients are in it,
 * those of a part times a number that stands for the part. */
#ifndef LOCKSTEP_PROVE_ADJOINT_H
#define LOCKSTEP_PROVE_ADJOINT_H

#include "compiler/prove/events.h"
#include "compiler/prove/hash.h"
#include "compiler/prove/rules.h"

typedef enum Nature { NATURE_UNKNOWN, NATURE_VALUE, NATURE_GRADIENT } Nature;

typedef struct Worth {
  uint64_t name;
  uint64_t sum;    /* of a gradient */
  uint64_t whole;  /* name of what it is a slice of; 0: of nothing */
  uint64_t tensor; /* adjoint_tensor: the parameter that it is, or is the gradient of; 0: of none */
  Nature nature;
  bool known;     /* the sum is */
  uint32_t input; /* 1 + the plan's input that it is, or a part of; POSITIONS; 0: none */
  uint32_t came;  /* 1 + index of a gradient from another class that is in it; 0: none */
} Worth;

enum { POSITIONS = INT32_MAX };
enum { CAME_SEVERAL = INT32_MAX }; /* or not as a whole: not judged */

/* Rows of `inner`, each `stride` behind the one before; what is dense is one row. In bytes where
 * something stands, in elements where it is a part of a value. */
typedef struct Tile {
  uint64_t rows, inner, stride;
} Tile;

typedef struct Part {
  uint64_t of; /* name of a value that is no part itself */
  uint64_t offset;
  Tile tile; /* of the value's elements, as if it stood dense */
} Part;

typedef struct Stand {
  uint64_t first, end;
  Tile tile;
  Worth worth;
} Stand;

/* Of one buffer, by offset. They share no bytes, but rows of some may stand between rows of others
 * of equal stride; the ends are in order, too. */
typedef struct Stands {
  Stand *at;
  uint32_t count, capacity;
} Stands;

/* The first that ends after `offset`. */
uint32_t stands_find(const Stands *stands, uint64_t offset);
bool stands_insert(Stands *stands, Stand stand); /* false: out of memory */
void stands_remove(Stands *stands, uint32_t index);

/* What has been computed, by name, and who used it. */
typedef struct Known {
  uint64_t key;         /* 0: free */
  uint64_t sum;         /* uses: what the gradient will be made of */
  uint64_t total;       /* with those of names that are part of it, once `summed` */
  uint32_t alias_first; /* names whose gradients are part of it: 1 + index into aliases, 0: none */
  uint32_t part;        /* 1 + index into parts; 0: a value of its own */
  bool unclear;         /* used in a way that is not followed */
  bool summed;
  bool sent, returned; /* a token: uses_send */
} Known;

typedef struct Alias {
  uint64_t of;
  uint64_t factor; /* odd: of the part */
  uint32_t next;
} Alias;

/* One operation going forward. */
enum { FORWARD_OPERANDS = 6 };
typedef struct Forward {
  uint64_t place;                    /* path, layer and micro-batch */
  uint64_t op;                       /* a name of its own */
  uint64_t name[FORWARD_OPERANDS];   /* of what it read and wrote */
  uint64_t tensor[FORWARD_OPERANDS]; /* parameters that it read */
  uint32_t record;                   /* index into plan->records */
  uint32_t output;                   /* operand */
  uint32_t turned;                   /* bits of operands, parameters, whose gradients were made */
  uint32_t next;                     /* 1 + index of another of this place */
} Forward;

typedef struct Uses {
  Known *known; /* a hash table */
  size_t known_count, known_capacity;
  Alias *aliases;
  size_t alias_count, alias_capacity;
  Part *parts;
  size_t part_count, part_capacity;
  Forward *forwards;
  size_t forward_count, forward_capacity;
  Known *places; /* a hash table: alias_first is 1 + index of a Forward */
  size_t place_count, place_capacity;
  bool failed;
} Uses;

/* The number that stands for a part of a value: odd, so that nothing is lost in a product. */
uint64_t part_factor(uint64_t offset, Tile tile);

/* ---- uses.c */

/* True the first time. */
bool uses_first(Uses *uses, uint64_t name);
void uses_add(Uses *uses, uint64_t name, uint64_t use);
void uses_alias(Uses *uses, uint64_t name, uint64_t of, uint64_t factor);
void uses_unclear(Uses *uses, uint64_t name);
/* The name of a part; of a part of a part, too. */
uint64_t uses_part(Uses *uses, uint64_t of, uint64_t offset, Tile tile);
/* What the gradient of the value is the sum of; false: not known. */
bool uses_sum(Uses *uses, uint64_t name, uint64_t *sum);
/* A use by another class, which will send a gradient back, once. */
void uses_send(Uses *uses, uint64_t name, uint64_t token);
bool uses_return(Uses *uses, uint64_t token); /* false: nothing such was sent */
/* Is `to` the value itself, or what it was handed on as? */
bool uses_reach(const Uses *uses, uint64_t from, uint64_t to);
/* True: it is new. */
bool uses_forward(Uses *uses, Forward forward);
Forward *uses_find(const Uses *uses, uint64_t place); /* the first of them, or NULL */
Forward *uses_next(const Uses *uses, const Forward *forward);
void uses_close(Uses *uses);
/* Room for one more item; false: out of memory. */
bool make_room(void **items, size_t count, size_t *capacity, size_t item_bytes);

/* A gradient that another class sent, and the use of which it is one, once that is known. */
typedef struct Came {
  uint64_t use;
  bool bound;
} Came;

/* A value that another class sent. */
typedef struct Guest {
  uint64_t name;
  bool returned; /* its gradient was sent back */
} Guest;

/* ---- places.c: operands of the current record */

/* One layer of one persistent tensor. */
typedef struct Home {
  uint64_t first, end, tensor;
} Home;

typedef struct Place {
  Stands *stands; /* NULL: a persistent buffer */
  uint32_t buffer;
  uint64_t first, end, unit;
  Tile tile;
  Access access;
} Place;

typedef struct Adjoint {
  const View *view;
  Walk walk_now;
  const Walk *walk;
  uint32_t record_index;
  const PlanRecord *record;
  Stands *stands; /* by buffer of the class */
  Home *homes;    /* by offset */
  uint32_t home_count;
  Uses uses;
  Came *came;
  size_t came_count, came_capacity;
  Guest *guests;
  size_t guest_count, guest_capacity;
  Rule *rules;                      /* by kernel */
  Place place[KERNEL_OPERANDS_MAX]; /* of the record */
  bool failed;
} Adjoint;

#define ADJOINT_FINDING(a, ...)                                                                    \
  prove_finding((a)->view, (a)->walk, (a)->record_index, "adjoint", __VA_ARGS__)

static inline const PlanOperand *operand_of(const Adjoint *a, uint32_t index) {
  return &a->view->plan->operands[a->record->operands_first + index];
}

bool homes_open(Adjoint *a);
/* Fills a->place. */
void adjoint_places(Adjoint *a);
/* What a record writes is nothing else that it reads or writes. */
void adjoint_check_apart(const Adjoint *a);
/* What stands there. `followed`: it is one value, or a part of one, whose uses can be told. */
Worth adjoint_worth(Adjoint *a, const Place *p, bool *followed);
/* Uses of it are not followed. */
void adjoint_unclear(Adjoint *a, const Place *p, const Worth *worth, bool followed);
void adjoint_write(Adjoint *a, const Place *p, Worth worth);
void adjoint_drop(Adjoint *a, const Place *p);
/* The tensor that stands there, with its layer: 0 when there is none, or a part of one. Parameter
 * and gradient of one tensor have one number. */
uint64_t adjoint_tensor(const Adjoint *a, uint64_t first, uint64_t end);

/* ---- carried.c: what moves without being changed */

/* Gradients of parameters in rows of a block, `from`, come to stand in `to`, element by element:
 * each in the tensor that it is of, or in a row of its own. False: there are none. */
bool carry_rows(Adjoint *a, const Place *from, const Place *to);
/* Such rows are added only to those of the same tensors. False: there are none. */
bool carry_sum(Adjoint *a, const Place *sum, const Place *more);
/* Is the gradient the sum, as far as that can be known? What other classes sent to it is given its
 * meaning by the first that is right. */
bool carry_right_sum(Adjoint *a, const Worth *gradient, uint64_t sum);
/* What two gradients have from other classes, together. */
uint32_t carry_came(const Worth *a, const Worth *b);
void carry_exchange(Adjoint *a);
void carry_collective(Adjoint *a);

#endif
