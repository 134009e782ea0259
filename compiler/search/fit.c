#include "compiler/search/fit.h"

#include <math.h>

#include "compiler/search/advice.h"
#include "compiler/search/lints.h"

enum { RECOMPUTE_TRIES = 4 };

/* The choices that memory.recompute allows, cheapest first. */
static int32_t candidates(const Job *job, Model *model, Recompute out[RECOMPUTE_TRIES]) {
  int64_t root = (int64_t)lround(sqrt(model_size(model, "layers", 1)));
  const Recompute none = {CHOICE_RECOMPUTE_NONE, 0}, block = {CHOICE_RECOMPUTE_BLOCK, 1};
  const Recompute selective = {CHOICE_RECOMPUTE_SELECTIVE, 1};
  const Recompute by_root = {CHOICE_RECOMPUTE_EVERY, root > 1 ? root : 1};
  switch (job->memory.recompute) {
  case CHOICE_RECOMPUTE_NONE: out[0] = none; return 1;
  case CHOICE_RECOMPUTE_SELECTIVE: out[0] = selective; return 1;
  case CHOICE_RECOMPUTE_BLOCK: out[0] = block; return 1;
  case CHOICE_RECOMPUTE_SQRT: out[0] = by_root; return 1;
  case CHOICE_RECOMPUTE_EVERY:
    out[0] = (Recompute){CHOICE_RECOMPUTE_EVERY, job->recompute_blocks};
    return 1;
  default:
    out[0] = none;
    out[1] = selective;
    out[2] = block;
    out[3] = by_root;
    return RECOMPUTE_TRIES;
  }
}

bool fit_draft(Compile *c, const Job *job, Compiled *out) {
  Recompute tries[RECOMPUTE_TRIES];
  int32_t count = candidates(job, out->model, tries);
  out->draft = NULL;
  for (int32_t i = 0; i < count; i++) {
    Draft *d = compile_once(c, job, out, tries[i]);
    if (d == NULL) return false;
    if (i == 0) out->without_recompute_bytes = d->arena_bytes;
    if (out->draft == NULL || d->arena_bytes < out->draft->arena_bytes) {
      out->draft = d;
      out->recompute = tries[i];
    }
    if (d->arena_bytes <= out->budget_bytes) break;
  }
  if (out->recompute.choice == tries[0].choice) out->without_recompute_bytes = 0;
  return true;
}

static void finish(Compile *c, Job *job, Compiled *out) {
  compile_emit(c, job, out);
  if (out->draft->arena_bytes > out->budget_bytes) {
    advice_unfit(c, job, out);
    return;
  }
  if (!place_check_tp(c, job, out->fabric, out->choice.taken)) return;
  plan_lints(c, job, out);
  compile_prove(c, job, out);
}

bool fit_plan(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  const bool ok = compile_open(c, job, machine, out) && fit_draft(c, job, out) &&
                  model_check_inputs(c, job, out->draft->train);
  if (ok) finish(c, job, out);
  compile_close(out);
  return ok && !compile_failed(c);
}
