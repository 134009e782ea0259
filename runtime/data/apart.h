/* apart.h -- samples that know their documents: data.documents = "apart", data.fill = "pack". */
#ifndef LOCKSTEP_DATA_APART_H
#define LOCKSTEP_DATA_APART_H

#include "runtime/data/samples.h"

/* For each token from `first` on: the position in the sample at which its document begins, or the
 * token's position within its document. A document that began before the sample begins at 0. Tokens
 * beyond the end are documents of one token. */
void documents_fill(const Samples *samples, const PlanInput *input, int64_t first, int32_t *out);

/* Sets the targets among tokens [first, first + count) that begin a document to -1. */
void documents_leave_out(const Samples *samples, int64_t first, int64_t count, int32_t *out);

/* Fills an input of sample `number` of packed windows: its documents, then padding, which is of
 * targets -1. A document's last token has no target. */
bool packed_fill(const Samples *samples, const PlanInput *input, int64_t number, int32_t *out,
                 Status *status);

#endif
