/* typing_state.h -- the state of typing: of the whole plan, of the class that runs, and of the
 * call. Private to compiler/plan/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPING_STATE_H
#define LOCKSTEP_PROVE_TYPING_STATE_H

#include "compiler/plan/prove/types/cells.h"
#include "compiler/plan/prove/types/meaning.h"
#include "compiler/plan/prove/types/type.h"
#include "runtime/plan/plan_losses.h"

enum { TYPING_BASES_MAX = 64, TYPING_JOINS_MAX = 64 };

/* Control values that records compute, in the order of a step: bits of `made`. */
/* A loss of a program. */
#define LOSS_BIT(program, number)                                                                  \
  (UINT64_C(1) << ((uint32_t)(program)*LOSSES_MAX + (uint32_t)(number)))
_Static_assert(ProgramKind_COUNT *LOSSES_MAX <= 64, "a bit for each");

enum { MADE_NORM = 1, MADE_TOTALS = 2, MADE_TARGETS = 4, MADE_MIRROR = 8, MADE_SCALE = 16 };

/* A cell (cells.h) that the call reaches. */
typedef struct Reached {
  const PlanBuffer *buffer;
  uint32_t cell;
  uint64_t start; /* address of the cell */
  Spans spans;    /* from the start of the cell; types relative to the call */
} Reached;

/* The part of a tied tensor's gradient that a stage sends, and the class of ranks that gets it. */
typedef struct TiedPart {
  uint32_t class, peer;
  uint32_t ref, like; /* like: the type of the sent bytes, without its uses */
  uint64_t uses;      /* mask, in their order, of the nodes that add to it */
} TiedPart;

/* A collective of pieces, made up of a collective of one run a member and the kernels that gather
 * and scatter them. */
typedef struct Joined {
  PlanRecord record; /* as the collective's, except operands and numbers: */
  PlanOperand operand[4];
  const int64_t *dims;
  int64_t turn[5]; /* dims of an all-to-all */
  double back;     /* and its direction */
} Joined;

/* In addition to Access: the operand holds gathered pieces. */
enum { ACCESS_SCRATCH = Access_COUNT };

/* One for the plan: tables that all classes share, and facts that are checked with all classes
 * together. */
typedef struct ProofTyping {
  Meaning meaning;
  Types types;
  void *forms;      /* rows of rules.def that have been read: forms.c */
  Pool found, left; /* of calls already checked, of any class: programs.c */
  TiedPart join[TYPING_JOINS_MAX];
  uint32_t join_count;
  PlanLosses losses_made;
  uint64_t losses;     /* LOSS_BITs of those that this stage makes */
  uint64_t squares;    /* in the norm, of this stage */
  uint64_t norm_story; /* how the previous stage added up squares of others; 0: no stage yet */
} ProofTyping;

/* The class, and the program that it runs. */
typedef struct ClassTyping {
  Cells cells;
  Held *held;           /* by cell */
  int64_t microbatches; /* of the program */
  uint32_t made;        /* MADE_* so far */
  bool refused;         /* there is a finding: no more are reported for this class */
} ClassTyping;

/* The call, and its current record. */
typedef struct CallTyping {
  Walk walk; /* program, call, position */
  Reached reached[TYPING_BASES_MAX];
  uint32_t reached_count;
  uint32_t base_reached[TYPING_BASES_MAX]; /* by base of the segment */
  uint64_t base_offset[TYPING_BASES_MAX];  /* from the start of its cell */
  bool tells_class; /* the call depends on its class: results are not shared with other classes */
  uint32_t record;  /* within the segment */
  const PlanRecord *at; /* NULL: no current record; &joined.record: several records in one */
  Joined joined;
} CallTyping;

typedef struct Typing {
  const View *view;
  const Plan *plan;
  ProofTyping proof;
  ClassTyping class;
  CallTyping call;
} Typing;

#endif
