/* loss_choice.h -- one of a model's losses, as --loss NAME or the verb chooses it. */
#ifndef LOCKSTEP_LOSS_CHOICE_H
#define LOCKSTEP_LOSS_CHOICE_H

#include "compiler/base/base.h"

typedef struct LossOption {
  const char *name, *op;
  bool fits; /* the verb can use it */
} LossOption;

typedef struct LossAsk {
  const char *name; /* of --loss; NULL: not given */
  int32_t usual;    /* without a name; -1: the only one that fits */
  const char *verb; /* "--logits": what the loss is chosen for */
  const char *fit;  /* "cross_entropy": the losses that fit; NULL: all do */
} LossAsk;

/* Returns the number of the chosen loss; -1: *why says what is wrong. */
int32_t loss_choose(Arena *arena, const LossOption *losses, int32_t count, const LossAsk *ask,
                    const char **why);

#endif
