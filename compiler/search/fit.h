/* fit.h -- how much is recomputed in backward: the cheapest choice that fits. */
#ifndef LOCKSTEP_FIT_H
#define LOCKSTEP_FIT_H

#include "compiler/compile.h"
#include "compiler/graph/model/model.h"

typedef struct Recompute {
  RecomputeChoice choice; /* none, block or every */
  int64_t group_layers;   /* 0: none */
} Recompute;

/* One pass through the compiler. NULL when reported. */
typedef Draft *MakeDraft(Compile *c, const Job *job, const Compiled *known, Model *model,
                         Recompute recompute);

/* Bytes that one rank may use. Warns when it has not so many. */
int64_t fit_budget(Compile *c, const Job *job, const Cluster *cluster);

/* Takes the first draft that fits among those that memory.recompute allows, or the one that needs
 * least memory when none fits. False when reported. */
bool fit_draft(Compile *c, const Job *job, Model *model, Compiled *out, MakeDraft *make);

#endif
