/* summary.c -- the dozen lines that `compile` prints. */
#include <string.h>

#include "compiler/draft/cost/range.h"
#include "compiler/draft/roles.h"
#include "compiler/show/explain/words.h"

static bool by_tokens(const Compiled *compiled) {
  return compiled->derived.sample_tokens > 1;
}

/* Prints nothing if the files were not read. */
static void print_data(const Compiled *compiled, FILE *out) {
  int64_t have = compiled->job->train_tokens, context = compiled->derived.sample_tokens;
  if (have <= 0) return;
  bool is_table = compiled->job->data.head == CHOICE_TABLE;
  Arena *arena = compiled->draft->compile->arena;
  const char *what = arena_printf(arena, "%s %s%s", format_count(arena, have),
                                  is_table ? "row" : "token", plural(have));
  const char *samples = "every row is a sample";
  const int64_t windows = compiled->job->train_windows;
  if (windows > 0)
    samples =
        arena_printf(arena, "packed into %s sequence%s of %s, %.1f %% full",
                     format_count(arena, windows), plural(windows), format_count(arena, context),
                     100.0 * (double)have / (double)(windows * context));
  else if (compiled->job->mix.count > 0)
    samples = arena_printf(arena, "of %d sources, in sequences of %s", compiled->job->mix.count,
                           format_count(arena, context));
  else if (!is_table)
    samples = arena_printf(arena, "%s sequence%s of %s; last %s token%s not used",
                           format_count(arena, (have - 1) / context), plural((have - 1) / context),
                           format_count(arena, context), format_count(arena, (have - 1) % context),
                           plural((have - 1) % context));
  put_line(out, "data", arena_printf(arena, "%-18s %s", what, samples));
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
  const char *cp = d->cp == 1                                          ? ""
                   : compiled->job->parallel.cp_kind == CHOICE_ULYSSES ? "   ulysses"
                                                                       : "   ring";
  put_line(out, "ranks",
           arena_printf(arena, "%-18lld = tp %lld x cp %lld x pp %lld x dp %lld   %s%s%s%s",
                        (long long)rank_count(compiled), (long long)d->tp, (long long)d->cp,
                        (long long)d->pp, (long long)d->dp, zero, d->sequence ? "   sequence" : "",
                        cp, kv));
  const char *chunks = "";
  if (compiled->job->memory.loss_chunks > 1)
    chunks = arena_printf(arena, "   loss in %lld", (long long)compiled->job->memory.loss_chunks);
  const Graph *g = compiled->draft->train;
  const char *params = "";
  if (params_are_cast(compiled->draft))
    params = arena_printf(arena, ", parameters %s", dtype_name(g->param_dtype));
  put_line(out, "passes",
           arena_printf(arena, "%-18s recompute %s%s   precision %s%s",
                        d->pp > 1 ? pipeline_text(compiled) : "one stage", recompute_text(compiled),
                        chunks, g->tf32 ? "tf32" : dtype_name(g->compute_dtype), params));
}

/* Prints the limits of the search of parallel = "auto". */
static void print_limits(const Compiled *compiled, FILE *out) {
  const TextList *limits = compiled->limits;
  for (int32_t i = 0; limits != NULL && i < limits->count; i++)
    put_line(out, i == 0 ? "limits" : "", limits->at[i]);
}

/* Linear layers of stacks multiply codes, but not those whose sizes do not fit. */
static void print_codes(const Compiled *compiled, FILE *out) {
  const Graph *g = compiled->draft->train;
  Arena *arena = compiled->draft->compile->arena;
  if (compiled->job->precision.linear != CHOICE_LINEAR_FP8) return;
  const bool by_block = compiled->job->is_fp8_by_block;
  put_line(out, "linear",
           by_block ? "fp8                in stacks; scales of 1 x 128, of weights 128 x 128"
                    : "fp8                in stacks; one scale a tensor");
  for (int32_t i = 0; i < g->not_fp8.count; i++)
    put_line(out, "",
             arena_printf(arena, "%-18s stays in %s: a size is no multiple of %d", g->not_fp8.at[i],
                          dtype_name(g->compute_dtype), by_block ? CODE_BLOCK : FP8_UNIT));
}

static void print_memory(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  double excess = 0;
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    TierPeak peak = find_peak(compiled, i);
    double above = (double)peak.recorded->peak_bytes / (double)peak.recorded->live_bytes - 1;
    if (above > excess) excess = above;
    if (peak.arena_bytes < least) least = peak.arena_bytes;
  }
  int64_t most = compiled->draft->arena_bytes;
  const char *range = least == most
                          ? bytes_text(compiled, most)
                          : arena_printf(compiled->draft->compile->arena, "%s to %s",
                                         bytes_text(compiled, least), bytes_text(compiled, most));
  const double budget = (double)compiled->budget_bytes;
  const char *share = budget > 0 ? arena_printf(compiled->draft->compile->arena, " (%.0f %%)",
                                                100 * (double)most / budget)
                                 : "";
  put_line(out, "memory",
           arena_printf(compiled->draft->compile->arena,
                        "%-18s of %s a rank%s; packing %.1f %% above bound", range,
                        bytes_text(compiled, compiled->budget_bytes), share, 100.0 * excess));
  if (compiled->without_recompute_bytes > 0)
    put_line(out, "",
             arena_printf(compiled->draft->compile->arena, "%-18s with nothing recomputed",
                          bytes_text(compiled, compiled->without_recompute_bytes)));
}

static void print_model(const Compiled *compiled, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  const char *flops = format_scaled(arena, (double)compiled->flops_per_token, "FLOP");
  put_line(out, "model",
           arena_printf(arena, "%-18s %s parameter%s   %s/%s", compiled->draft->train->model_name,
                        count_text(compiled, compiled->parameters), plural(compiled->parameters),
                        flops, by_tokens(compiled) ? "token" : "sample"));
}

static void print_batch(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  Arena *arena = compiled->draft->compile->arena;
  const char *batch =
      arena_printf(arena, "%s %s%s", count_text(compiled, derived->batch_samples),
                   by_tokens(compiled) ? "sequence" : "sample", plural(derived->batch_samples));
  put_line(out, "batch",
           arena_printf(arena, "%-18s = dp %lld x microbatch %lld x accumulation %lld", batch,
                        (long long)derived->dp, (long long)compiled->job->train.microbatch,
                        (long long)derived->accumulation));
}

static void print_time(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  Arena *arena = compiled->draft->compile->arena;
  double samples = (double)(derived->batch_samples * derived->sample_tokens);
  double seconds = step_seconds(compiled);
  const TimeRange range = time_range(&compiled->cluster);
  if (seconds <= 0) return;
  put_line(out, "time",
           arena_printf(arena, "%-18s a step, expected   %s %s/s", duration_text(compiled, seconds),
                        count_text(compiled, (int64_t)(samples / seconds)),
                        by_tokens(compiled) ? "tokens" : "samples"));
  put_line(out, "range",
           arena_printf(arena, "%-18s 8 of 10 runs take from %s to %s",
                        arena_printf(arena, "%.2f to %.2f", range.low, range.high),
                        duration_text(compiled, seconds * range.low),
                        duration_text(compiled, seconds * range.high)));
  static const char *const bounds[] = {
      [FLOOR_COMPUTE] = "FLOPs at the device's peak",
      [FLOOR_MEMORY] = "memory traffic of the update",
      [FLOOR_INSIDE] = "bytes over the links of a node",
      [FLOOR_NETWORK] = "bytes over the network",
  };
  const Floor floor = floor_of(compiled->draft, &compiled->plan);
  put_line(out, "floor",
           arena_printf(arena, "%-18s no program takes less: %s",
                        duration_text(compiled, floor.seconds[floor.bound]), bounds[floor.bound]));
}

static void print_proof(const Compiled *compiled, FILE *out) {
  const ProveReport *proof = compiled->proof;
  if (proof == NULL) return;
  put_line(out, "proof",
           arena_printf(compiled->draft->compile->arena,
                        "%-18s %llu rank%s, %llu class%s, %llu communicator%s, %llu access%s", "ok",
                        (unsigned long long)proof->ranks, plural(proof->ranks),
                        (unsigned long long)proof->classes, plural_es(proof->classes),
                        (unsigned long long)proof->communicators, plural(proof->communicators),
                        (unsigned long long)proof->accesses, plural_es(proof->accesses)));
}

/* Lints of job.accept that the job has. */
static void print_accepted(const Compiled *compiled, FILE *out) {
  const Compile *c = compiled->draft->compile;
  const char *text = "";
  for (int32_t i = 0; i < c->diags.accepted_count; i++) {
    bool fires = false;
    for (int32_t k = 0; k < c->diags.list.count && !fires; k++)
      fires = diag_is_accepted(&c->diags, &c->diags.list.at[k]) &&
              strcmp(c->diags.list.at[k].name, c->diags.accepted[i]) == 0;
    if (fires)
      text = arena_printf(c->arena, "%s%s%s", text, *text ? " " : "", c->diags.accepted[i]);
  }
  if (*text) put_line(out, "accepted", text);
}

static void print_run(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  Arena *arena = compiled->draft->compile->arena;
  int64_t samples = derived->batch_samples * derived->sample_tokens;
  const char *unit = by_tokens(compiled) ? "token" : "sample";
  const char *steps = arena_printf(arena, "%s step%s", count_text(compiled, derived->steps),
                                   plural(derived->steps));
  double seconds = step_seconds(compiled) * (double)derived->steps;
  const char *least =
      seconds > 0 ? arena_printf(arena, "   %s", duration_text(compiled, seconds)) : "";
  put_line(out, "run",
           arena_printf(arena, "%-18s of %s = %s %s%s%s", steps, count_text(compiled, samples),
                        count_text(compiled, derived->steps * samples), unit,
                        plural(derived->steps * samples), least));
}

/* True if two runs give the same bits, where the job asks. */
void explain_bits(const Compiled *compiled, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  if (!compiled->job->train.deterministic) return;
  put_line(out, "bits",
           arena_printf(arena, "%-18s %s", "deterministic",
                        compiled->cluster.target == TARGET_CUDA
                            ? "slower on GPUs; how much was never measured"
                            : "processors always are: nothing changes"));
}

void explain_summary(const Compiled *compiled, FILE *out) {
  const Cluster *cluster = &compiled->cluster;
  Arena *arena = compiled->draft->compile->arena;
  print_model(compiled, out);
  print_batch(compiled, out);
  print_data(compiled, out);
  print_ranks(compiled, out);
  print_limits(compiled, out);
  put_line(out, "cluster",
           arena_printf(arena, "%-18s %s x %s, %lld thread%s a rank", cluster->name,
                        count_text(compiled, rank_count(compiled)), cluster->device,
                        (long long)cluster->threads, plural(cluster->threads)));
  const char *order = order_price_text(compiled);
  if (order) put_line(out, "place", order);
  print_codes(compiled, out);
  print_memory(compiled, out);
  print_time(compiled, out);
  print_parts(compiled, out);
  explain_offload(compiled, out);
  print_proof(compiled, out);
  print_accepted(compiled, out);
  print_run(compiled, out);
  print_cost(compiled, out);
  explain_bits(compiled, out);
  if (!compiled->job->set[FIELD_job_reason]) return;
  int32_t column = fprintf(out, "reason   ");
  print_wrapped(out, compiled->job->job.reason, column, column, SCREEN_COLUMNS);
}
