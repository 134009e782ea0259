/* pickle.h -- values of a Python pickle, as data: no part of it is executed.
 *
 * A reader of just those opcodes and classes that torch.distributed.checkpoint and torch.save write
 * (pickle.def). An object is its class, its arguments and its state; what the class would do with
 * them is not done. Anything else is refused with the opcode, or the class, and its offset. */
#ifndef LOCKSTEP_PICKLE_H
#define LOCKSTEP_PICKLE_H

#include "compiler/base/base.h"

typedef enum PickleKind {
  PICKLE_NONE,
  PICKLE_BOOL,
  PICKLE_INT,
  PICKLE_TEXT,
  PICKLE_ROW,    /* a tuple or a list */
  PICKLE_DICT,   /* keys and values in turn */
  PICKLE_CLASS,  /* `text`: "torch.Size" */
  PICKLE_OBJECT, /* item 0: its class; 1: its arguments; 2: its state, if it was given one */
  PICKLE_STORAGE /* item 0: what names a storage beside the pickle */
} PickleKind;

typedef struct PickleValue PickleValue;
struct PickleValue {
  PickleKind kind;
  int64_t number; /* of a bool or an int */
  const char *text;
  VEC(PickleValue *) item; /* a value may hold itself: follow only as deep as you know it */
};

enum { PICKLE_WHY_BYTES = 256 };

/* The bytes up to STOP. NULL: `why` says what is refused, and where. */
PickleValue *pickle_read(Arena *arena, const void *bytes, size_t count, char why[PICKLE_WHY_BYTES]);

/* True if it is an object of that class. */
bool pickle_is(const PickleValue *value, const char *class);
/* The value of a key of a dict, or of an object whose state is one. NULL: there is none. */
const PickleValue *pickle_get(const PickleValue *value, const char *key);
/* Item `at` of a row. NULL: there is none. */
const PickleValue *pickle_at(const PickleValue *value, int32_t at);
/* The arguments of an object, a row. NULL: it is none. */
const PickleValue *pickle_arguments(const PickleValue *value);
/* False: it is no int. */
bool pickle_int(const PickleValue *value, int64_t *number);

#endif
