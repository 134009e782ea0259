#include "compiler/search/fit.h"

#include <math.h>

int64_t fit_budget(Compile *c, const Job *job, const Cluster *cluster) {
  int64_t whole = cluster->memory_bytes - cluster->reserve_bytes;
  if (!job->set[FIELD_memory_budget]) return whole;
  double budget_bytes = job->memory.budget.value;
  if (job->memory.budget.unit == UNIT_PERCENT)
    budget_bytes = (double)cluster->memory_bytes * budget_bytes / 100;
  if (budget_bytes > (double)cluster->memory_bytes) {
    lint_at(c, job->origin[FIELD_memory_budget].span, "budget-above",
            "memory.budget is more than the %s that a rank has",
            format_bytes(c->arena, cluster->memory_bytes));
    fix_last(c, "budget = \"%lldMB\"", (long long)(whole / 1000000));
  }
  return (int64_t)budget_bytes;
}

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

bool fit_draft(Compile *c, const Job *job, Model *model, Compiled *out, MakeDraft *make) {
  Recompute tries[RECOMPUTE_TRIES];
  int32_t count = candidates(job, model, tries);
  out->draft = NULL;
  for (int32_t i = 0; i < count; i++) {
    Draft *d = make(c, job, out, model, tries[i]);
    if (d == NULL) return false;
    if (i == 0) out->without_recompute_bytes = d->arena_bytes;
    if (out->draft == NULL || d->arena_bytes < out->draft->arena_bytes) {
      out->draft = d;
      out->recompute = tries[i].choice;
      out->group_layers = tries[i].group_layers;
    }
    if (d->arena_bytes <= out->budget_bytes) break;
  }
  if (out->recompute == tries[0].choice) out->without_recompute_bytes = 0;
  return true;
}
