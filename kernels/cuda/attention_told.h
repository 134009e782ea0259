/* attention_told.h -- who runs the attention of the records of one op: told by attentions.c to
 * whoever reports a run. */
#ifndef LOCKSTEP_ATTENTION_TOLD_H
#define LOCKSTEP_ATTENTION_TOLD_H

#include <stdint.h>

enum { ATTENTION_PATH_BYTES = 96, ATTENTION_BY_BYTES = 32 };

typedef struct AttentionTold {
  char of[ATTENTION_PATH_BYTES]; /* the op's path, "h.*.attn" */
  char by[ATTENTION_BY_BYTES];   /* "cuDNN 9.19.0", or "own" */
  const char *kernel;            /* "attention" or "attention_backward" */
  const char *why;               /* of our own kernels; NULL: the library runs them */
  int32_t records;               /* of all ranks in the process */
} AttentionTold;

#endif
