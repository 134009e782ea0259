/* records.h -- every record is what its node, or its purpose, makes it.
 *
 * In:  a plan whose records say what they carry out, and how what stands in their operands is cut.
 * Out: a finding for every record whose kernel may not do that, or whose dims, attrs, random key,
 *      dtypes or differences between ranks are not those that follow from the node, from the job's
 *      settings and from the cuts, on every rank.
 *
 * Rows of rows.def say which kernels carry out which op; what has no row is refused. Each record is
 * looked at once, whatever the number of its calls. How far parameters' shares lie apart and what
 * meets what between stages is judged by others (communication, step). */
#ifndef LOCKSTEP_PROVE_RECORDS_H
#define LOCKSTEP_PROVE_RECORDS_H

#include "compiler/prove/prove.h"

void prove_records(const Plan *plan, ProveReport *report);

/* What lasts is cut as its update has it, begins once in each layer, and ranks that have their own
 * of it are those that `state_axes` says: checkpoints trust both. Asked by prove_records. */
void prove_tensors(const Plan *plan, ProveReport *report);

#endif
