/* attention_told.h -- counts which library or kernel runs the attention of the records of each op,
 * for the reports of a run. */
#ifndef LOCKSTEP_ATTENTION_TOLD_H
#define LOCKSTEP_ATTENTION_TOLD_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTENTION_PATH_BYTES = 96, ATTENTION_BY_BYTES = 32, ATTENTIONS_TEXT_BYTES = 512 };

typedef struct AttentionTold {
  char of[ATTENTION_PATH_BYTES]; /* the op's path, "h.*.attn" */
  char by[ATTENTION_BY_BYTES];   /* "cuDNN 9.19.0", or "own" */
  const char *kernel;            /* "attention" or "attention_backward" */
  const char *why;               /* of our own kernels; NULL: the library runs them */
  int32_t records;               /* of all ranks in the process */
} AttentionTold;

/* Counts one bound record; `why`: the reason for a kernel of our own, NULL: `library` runs it. */
void attention_told_add(const char *kernel, const char *path, const char *library, const char *why);

/* Writes the numbers of records that the library runs and does not run, and the reason for the
 * first that it does not; "" if none was bound. Resets the counts. */
void attentions_tell(char text[ATTENTIONS_TEXT_BYTES]);

/* Lists the same by op, in the order in which they were bound: at most `most`, and at most 64.
 * Returns their number. Does not reset the counts; attentions_tell does. */
int32_t attentions_list(AttentionTold *list, int32_t most);

#endif
