/* summary.c -- the dozen lines that `compile` prints. */
#include "compiler/explain/words.h"

static bool by_tokens(const Compiled *compiled) {
  return compiled->derived.sample_tokens > 1;
}

/* What a step is counted in. */
static const char *unit(const Compiled *compiled) {
  return by_tokens(compiled) ? "tokens" : "samples";
}

static void print_ranks(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  const Draft *draft = compiled->draft;
  Arena *arena = draft->compile->arena;
  const char *zero = arena_printf(arena, "zero %lld", (long long)d->zero);
  if (d->zero > 0 && d->shard_ranks < d->dp * d->cp)
    zero = arena_printf(arena, "%s in groups of %lld", zero, (long long)d->shard_ranks);
  const char *kv = "";
  if (draft->mesh.size[MESH_TP_GROUP] > 1)
    kv = arena_printf(arena, "   kv_heads on %lld ranks each",
                      (long long)draft->mesh.size[MESH_TP_GROUP]);
  fprintf(out, "ranks    %-18lld = tp %lld x cp %lld x pp %lld x dp %lld   %s%s%s%s\n",
          (long long)rank_count(compiled), (long long)d->tp, (long long)d->cp, (long long)d->pp,
          (long long)d->dp, zero, d->sequence ? "   sequence" : "",
          d->cp == 1                                          ? ""
          : compiled->job->parallel.cp_kind == CHOICE_ULYSSES ? "   ulysses"
                                                              : "   ring",
          kv);
  fprintf(out, "passes   %-18s recompute %s   precision %s\n",
          d->pp > 1 ? pipeline_text(compiled) : "one stage", recompute_text(compiled),
          compiled->job->precision.head == CHOICE_BF16 ? "bf16" : "fp32");
}

static void print_memory(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  double excess = 0;
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    Peak peak = find_peak(compiled, i);
    double above = (double)peak.program->peak_bytes / (double)peak.program->live_bytes - 1;
    if (above > excess) excess = above;
    if ((int64_t)plan->classes[i].arena_bytes < least)
      least = (int64_t)plan->classes[i].arena_bytes;
  }
  int64_t most = compiled->draft->arena_bytes;
  const char *range = least == most
                          ? bytes_text(compiled, most)
                          : arena_printf(compiled->draft->compile->arena, "%s to %s",
                                         bytes_text(compiled, least), bytes_text(compiled, most));
  fprintf(out, "memory   %-18s of %s a rank (%.0f %%); packing %.1f %% above the bound\n", range,
          bytes_text(compiled, compiled->budget_bytes),
          100.0 * (double)most / (double)compiled->budget_bytes, 100.0 * excess);
}

void explain_summary(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  const Cluster *cluster = &compiled->cluster;
  Arena *arena = compiled->draft->compile->arena;
  fprintf(out, "model    %-18s %s parameters   %.3g GFLOP/%s (6N + causal half of attention)\n",
          compiled->draft->train->model_name, count_text(compiled, compiled->parameters),
          (double)compiled->flops_per_token * 1e-9, by_tokens(compiled) ? "token" : "sample");
  fprintf(out, "batch    %-18s = dp %lld x microbatch %lld x accumulation %lld   %s %s a step\n",
          arena_printf(arena, "%s %s", count_text(compiled, derived->batch_samples),
                       by_tokens(compiled) ? "sequences" : "samples"),
          (long long)derived->dp, (long long)compiled->job->train.microbatch,
          (long long)derived->accumulation,
          count_text(compiled, derived->batch_samples * derived->sample_tokens), unit(compiled));
  print_ranks(compiled, out);
  fprintf(out, "cluster  %-18s %lld x %s, %lld threads a rank\n", cluster->name,
          (long long)rank_count(compiled), cluster->device, (long long)cluster->threads);
  print_memory(compiled, out);
  double tokens = (double)(derived->batch_samples * derived->sample_tokens);
  double seconds = step_seconds(compiled);
  if (seconds > 0)
    fprintf(out, "time     %-18s a step, by the device's peaks: no step is faster   %.3g %s/s\n",
            duration_text(compiled, seconds), tokens / seconds, unit(compiled));
  if (compiled->proof != NULL)
    fprintf(out,
            "proof    ok                 %llu ranks, %llu classes, %llu communicators, %llu "
            "accesses\n",
            (unsigned long long)compiled->proof->ranks,
            (unsigned long long)compiled->proof->classes,
            (unsigned long long)compiled->proof->communicators,
            (unsigned long long)compiled->proof->accesses);
  fprintf(out, "run      %s steps   %s %s%s%s\n", count_text(compiled, derived->steps),
          count_text(compiled, derived->steps * derived->batch_samples * derived->sample_tokens),
          unit(compiled), seconds > 0 ? "   at least " : "",
          seconds > 0 ? duration_text(compiled, seconds * (double)derived->steps) : "");
}
