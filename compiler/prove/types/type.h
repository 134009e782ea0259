/* type.h -- what a span of memory holds, said in terms of the model: the proof by types.
 *
 * A type says which value of the model stands somewhere, of which layer and micro-batch, in what
 * parts along the axes of the mesh. Types are hash-consed: equal types have equal numbers. Layers
 * and micro-batches are relative to a call while a call is looked at, so that what repeats is
 * looked at once. Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPE_H
#define LOCKSTEP_PROVE_TYPE_H

#include "compiler/prove/types/pool.h"
#include "runtime/plan/limits.h"
#include "runtime/plan/plan.h"

enum {
  TYPE_AXES_MAX = 8,
  TYPE_USES_MAX = 4,
  TYPE_TEXT_BYTES = 120,
  /* of layer and microbatch: it has none */
  TYPE_ANY = INT32_MIN,
  /* of a use: from the first micro-batch of the step, whatever the call's is */
  USE_FROM_START = INT32_MIN,
};

typedef enum TypeKind {
  TYPE_NOTHING, /* may not be read; always type 0 */
  TYPE_ZERO,    /* the unit of sums; every part of it is one */
  TYPE_VALUE,   /* a value that a node makes, or an input */
  TYPE_STATE,   /* what lasts: a parameter, its master, a moment */
  TYPE_SUM,     /* a sum over micro-batches: a gradient of a parameter, a loss */
  TYPE_SQUARES, /* a sum of squares of gradients */
  TYPE_CONTROL, /* not memory: which control values are made */
} TypeKind;

typedef enum PlaceKind {
  PLACE_WHOLE,
  PLACE_CUT,  /* ranks have parts of a dim */
  PLACE_FLAT, /* ranks have pieces of the row of all elements */
  PLACE_OWED, /* ranks have summands */
  PLACE_ROW,  /* a whole, of which only the rank's own piece is what the type says */
} PlaceKind;

/* What the ranks along one axis have of it. */
typedef struct Place {
  uint8_t kind;
  uint8_t dim;   /* cut: which of the value's dims */
  uint8_t style; /* cut: CutStyle; owed: ReduceOp */
  uint8_t order; /* cut: how many cuts of this dim are outside this one */
} Place;

/* Of a value along the axis that divides tokens: whose it is, and of whom it is made. Members of a
 * ring are counted back from the rank's own, modulo their number. */
typedef struct Ring {
  uint16_t turn;         /* it is the part of the member so many places back */
  uint16_t first, count; /* what attention makes of these members' blocks only; count 0: of all */
  uint16_t pad;
} Ring;

/* Micro-batches [first, end) as some nodes add them to a sum. */
typedef struct TypeUse {
  uint64_t nodes; /* bits: by their order among all that add to it */
  int32_t first, end;
} TypeUse;

/* What is missing in a value that is not all there yet, or what it is instead: VALUE. */
typedef enum TypePart {
  PART_ALL,
  PART_NO_BIAS,    /* of a linear: the bias is still to be added */
  PART_STATISTICS, /* of a loss: what ranks tell each other of their classes */
  PART_VIEWS,      /* of a joined value: the views of the mask stand in it */
} TypePart;

typedef struct Type {
  uint8_t kind, dtype;
  uint8_t is_new;    /* STATE: after the update of this step */
  uint8_t state;     /* STATE: BufferKind */
  uint8_t part;      /* VALUE: TypePart */
  uint8_t use_count; /* SUM */
  uint16_t pad;
  uint32_t ref;  /* value of the plan; CONTROL: ControlMade bits */
  uint32_t mask; /* PART_VIEWS: which */
  int32_t layer, microbatch;
  Place place[TYPE_AXES_MAX];
  Ring ring; /* VALUE */
  TypeUse use[TYPE_USES_MAX];
  int64_t piece;    /* PLACE_FLAT: elements of one rank's */
  uint64_t squares; /* SQUARES: sum of the hashes of what is in it, seen from `layer` */
} Type;

/* All types, and what buffers hold. */
typedef struct Types {
  Type *type; /* by number; moves when one more comes */
  Pool types, contents;
  bool out_of_memory;
} Types;

bool types_open(Types *types);
void types_close(Types *types);

static inline bool is_turned(const Type *type) {
  return type->ring.turn != 0 || type->ring.count != 0;
}

/* The number of this type. 0, and out_of_memory, when there is no room. */
uint32_t type_of(Types *types, const Type *type);

/* The number of the same type of another layer and micro-batch. */
uint32_t type_shifted(Types *types, uint32_t number, int32_t layers, int32_t microbatches);

/* For people: "h.*.ln_1, micro-batch +0, Shard(seq)@cp". Returns `bytes`. */
const char *type_text(const Plan *plan, const Type *type, char bytes[TYPE_TEXT_BYTES]);

/* ---- what a buffer holds */

/* Bytes [first, end) of a buffer. */
typedef struct Span {
  uint64_t first, end;
  uint32_t type, pad;
} Span;

/* Sorted, disjoint; what is in no span is TYPE_NOTHING. */
typedef struct Spans {
  Span *at;
  size_t capacity;
  uint32_t count;
} Spans;

/* The type of exactly these bytes, of any part of zeros; 0: several, or nothing. */
uint32_t spans_read(const Types *types, const Spans *spans, uint64_t first, uint64_t end);

/* What was there is gone, but for the rest of zeros. False: out of memory. */
bool spans_write(const Types *types, Spans *spans, Span span);

/* The number of spans before the first that ends after `offset`. */
uint32_t spans_find(const Spans *spans, uint64_t offset);

/* What a buffer holds: spans whose types are relative to a layer and a micro-batch. Equal ones have
 * equal numbers; all zero is an empty buffer. */
typedef struct Held {
  uint32_t content;
  int32_t layer, microbatch;
  uint32_t pad;
} Held;

/* Shifts the spans' types so that their least layer and micro-batch are 0. */
Held contents_keep(Types *types, Spans *spans);

/* Fills `spans` with what stands in a buffer, as seen from a call. */
void contents_spans(Types *types, Held held, int32_t layer, int32_t microbatch, Spans *spans);

#endif
