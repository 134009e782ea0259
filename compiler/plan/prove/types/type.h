/* type.h -- the proof by types: what a span of memory holds, in terms of the model.
 *
 * A type says which value of the model a span holds, of which layer and micro-batch, and how it is
 * laid out along each axis of the mesh. While a call is checked, layers and micro-batches are
 * relative to it, so that repeated calls are checked once.
 *
 * Memory holds types by number. A table has each type once, for layer 0 and micro-batch 0; a span
 * adds its own layer and micro-batch:
 *
 *   table   17  parameter h.*.attn.c_proj.weight (old) bf16, in pieces by dp
 *   spans   [0, 8192)  17, layer 0      [8192, 16384)  17, layer 1      ...
 *
 * A stack of 126 layers therefore adds as many types as one layer, and the next call adds none.
 * Rules see whole types: type_at puts the three together, type_of takes them apart. Private to
 * compiler/plan/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPE_H
#define LOCKSTEP_PROVE_TYPE_H

#include "compiler/plan/prove/pool.h"
#include "runtime/plan/limits.h"
#include "runtime/plan/plan.h"

enum {
  TYPE_AXES_MAX = 8,
  TYPE_USES_MAX = 4,
  TYPE_TEXT_BYTES = 120,
  /* as layer or microbatch: it has none */
  TYPE_ANY = INT32_MIN,
  /* as `first` of a use: the first micro-batch of the step, not that of the call */
  USE_FROM_START = INT32_MIN,
};

typedef enum TypeKind {
  TYPE_NOTHING, /* may not be read; always type 0 */
  TYPE_ZERO,    /* zeros, neutral in sums; any part of zeros is zeros */
  TYPE_VALUE,   /* the result of a node, or an input */
  TYPE_STATE,   /* persistent: a parameter, its master, a moment */
  TYPE_SUM,     /* a sum over micro-batches: the gradient of a parameter, a loss */
  TYPE_SQUARES, /* a sum of squares of gradients */
  TYPE_CONTROL, /* not memory: which control values have been computed */
} TypeKind;

typedef enum PlaceKind {
  PLACE_WHOLE,
  PLACE_CUT,  /* each rank has a part of one dim */
  PLACE_FLAT, /* each rank has a piece of the row of all elements */
  PLACE_OWED, /* each rank has a partial sum */
  PLACE_ROW,  /* a whole row, of which only the rank's own piece is what the type says */
} PlaceKind;

/* How a value is laid out along one axis. */
typedef struct Place {
  uint8_t kind;
  uint8_t dim;   /* cut: which of the value's dims */
  uint8_t style; /* cut: CutStyle; owed: ReduceOp */
  uint8_t order; /* cut: how many cuts of this dim are outside this one */
} Place;

/* In ring attention, along the axis that divides tokens: whose block the value is, and from whose
 * blocks it was made. Members are counted back from the rank itself, modulo their number. */
typedef struct Ring {
  uint16_t turn;         /* the value belongs to the member this many places back */
  uint16_t first, count; /* made from these members' blocks only; count 0: from all */
  uint16_t pad;
} Ring;

/* Micro-batches [first, end) that some nodes have added to a sum. */
typedef struct TypeUse {
  uint64_t nodes; /* mask of the nodes, by their order among all that add to it */
  int32_t first, end;
  uint32_t runs, of; /* and the first `runs` of `of` equal runs of the next one's tokens; or 0, 0 */
} TypeUse;

/* For VALUE, and of STATE codes and scales: the part of the value that the bytes hold.
 */
typedef enum TypePart {
  PART_ALL,
  PART_NO_BIAS,    /* a linear whose bias is not added yet */
  PART_STATISTICS, /* a loss: the numbers that ranks exchange about their classes */
  PART_VIEWS,      /* a joined value, of which the views in the mask are there */
  PART_CODES,      /* the whole value as codes, */
  PART_SCALES      /* the scales that codes are multiplied by */
} TypePart;

/* The part of a matrix of codes that has one scale. */
typedef enum CodesOf {
  CODES_OF_ALL,
  CODES_OF_ROWS,    /* 1 x 128 */
  CODES_OF_COLUMNS, /* 128 x 1 */
  CODES_OF_SQUARES  /* 128 x 128 */
} CodesOf;
enum { CODES_SIDE = 128 };

static inline uint8_t codes_storage(DType codes, CodesOf of) {
  return (uint8_t)((uint32_t)codes | (uint32_t)of << 6);
}

typedef struct Type {
  uint8_t kind, dtype;
  uint8_t is_new;     /* STATE: after the update of this step */
  uint8_t state;      /* STATE: BufferKind */
  uint8_t part;       /* VALUE: TypePart */
  uint8_t use_count;  /* SUM */
  uint8_t is_joined;  /* SUM: sent to the other stage that has the parameter, or come from it */
  uint8_t storage;    /* PART_CODES, PART_SCALES: codes_storage */
  uint32_t ref;       /* value of the plan; CONTROL: ControlMade bits */
  uint32_t mask;      /* PART_VIEWS: which views are there; SUM: of a rounded one the axes along
                         which it was owed before; PART_CODES, PART_SCALES: columns, where blocks
                         are not whole matrices */
  uint32_t run, runs; /* VALUE: which of this many equal runs of its tokens; runs 0: all of them */
  int32_t layer, microbatch;
  Place place[TYPE_AXES_MAX];
  Ring ring; /* VALUE */
  TypeUse use[TYPE_USES_MAX];
  int64_t piece;    /* PLACE_FLAT: elements of one rank's piece */
  uint64_t squares; /* SQUARES: sum of the hashes of its squares, relative to `layer` */
} Type;

/* A type as spans hold it. Equal types have equal ones. */
typedef struct TypeNumber {
  uint32_t number;           /* in the table; 0: TYPE_NOTHING */
  int32_t layer, microbatch; /* added to those of the table's type; 0 where it has none */
  uint32_t pad;
} TypeNumber;

/* All types, and the contents of buffers. */
typedef struct Types {
  Type *type; /* by number; the array moves when one is added */
  Pool types, contents;
  Arena *arena;
} Types;

Types types_open(Arena *arena);

static inline bool is_turned(const Type *type) {
  return type->ring.turn != 0 || type->ring.count != 0;
}

TypeNumber type_of(Types *types, const Type *type);
Type type_at(const Types *types, TypeNumber number);

static inline TypeKind type_kind(const Types *types, TypeNumber number) {
  return (TypeKind)types->type[number.number].kind;
}

static inline bool same_type(TypeNumber a, TypeNumber b) {
  return a.number == b.number && a.layer == b.layer && a.microbatch == b.microbatch;
}

/* Adds to its layer and its micro-batch, if it has them. */
void type_shift(const Types *types, TypeNumber *number, int32_t layers, int32_t microbatches);

/* As text: "h.*.ln_1, micro-batch +0, Shard(seq)@cp". Returns `bytes`. */
const char *type_text(const Plan *plan, const Type *type, char bytes[TYPE_TEXT_BYTES]);

/* ---- what a buffer holds */

/* Bytes [first, end) of a buffer. */
typedef struct TypeSpan {
  uint64_t first, end;
  TypeNumber type;
} TypeSpan;

/* Sorted and disjoint. Bytes in no span are TYPE_NOTHING. */
typedef struct Spans {
  TypeSpan *at;
  size_t capacity;
  uint32_t count;
} Spans;

/* The type of exactly these bytes, or of a part of zeros; number 0: several types, or nothing. */
TypeNumber spans_read(const Types *types, const Spans *spans, uint64_t first, uint64_t end);

/* Replaces the former types, and keeps the remaining zeros. */
void spans_write(const Types *types, Spans *spans, TypeSpan span);

/* The number of spans before the first that ends after `offset`. */
uint32_t spans_find(const Spans *spans, uint64_t offset);

/* The contents of a buffer: spans whose types are relative to a layer and a micro-batch. Equal
 * contents have equal numbers; all zero is an empty buffer. */
typedef struct Held {
  uint32_t content;
  int32_t layer, microbatch;
  uint32_t pad;
} Held;

/* Shifts the spans' types so that their lowest layer and micro-batch are 0. */
Held contents_keep(Types *types, Spans *spans);

/* Fills `spans` with the contents of a buffer, relative to a call. */
void contents_spans(Types *types, Held held, int32_t layer, int32_t microbatch, Spans *spans);

#endif
