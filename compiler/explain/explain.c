#include "compiler/explain/explain.h"

#include <stdlib.h>
#include <string.h>

/* ---- the ledger at the peak of the train step */

typedef struct Peak {
  const PlanProgram *program;
  uint32_t index, call; /* of the program; the call at which most bytes are alive */
  int64_t live_bytes;   /* then, persistent ones included */
  int64_t by_kind[BufferKind_COUNT];
} Peak;

static const PlanProgram *find_program(const Plan *plan, ProgramKind kind, uint32_t *index) {
  for (uint32_t i = 0; i < plan->programs_count; i++) {
    *index = i;
    if (plan->programs[i].kind == kind) return &plan->programs[i];
  }
  return NULL;
}

static bool alive(const PlanBuffer *buffer, uint32_t program, uint32_t call) {
  if (buffer->program == PLAN_NONE) return true;
  return buffer->program == program && buffer->first_call <= call && call <= buffer->last_call;
}

static Peak find_peak(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  Peak peak = {0};
  peak.program = find_program(plan, PROGRAM_TRAIN_STEP, &peak.index);
  uint32_t calls = peak.program->calls_count;
  int64_t *change = calloc(calls + 2, sizeof *change);
  if (change == NULL) abort();
  for (uint32_t i = 0; i < plan->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[i];
    if (buffer->program != peak.index) continue;
    change[buffer->first_call] += (int64_t)buffer->size_bytes;
    change[buffer->last_call + 1] -= (int64_t)buffer->size_bytes;
  }
  int64_t live = 0, most = -1;
  for (uint32_t call = 0; call < calls; call++) {
    live += change[call];
    if (live > most) {
      most = live;
      peak.call = call;
    }
  }
  free(change);
  for (uint32_t i = 0; i < plan->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[i];
    if (!alive(buffer, peak.index, peak.call)) continue;
    peak.by_kind[buffer->kind] += (int64_t)buffer->size_bytes;
    peak.live_bytes += (int64_t)buffer->size_bytes;
  }
  return peak;
}

/* ---- words */

static char *count(const Compiled *compiled, int64_t n) {
  return format_count(compiled->draft->compile->arena, n);
}
static char *bytes(const Compiled *compiled, int64_t n) {
  return format_bytes(compiled->draft->compile->arena, n);
}

static const char *recompute_text(const Compiled *compiled) {
  Arena *arena = compiled->draft->compile->arena;
  if (compiled->recompute == CHOICE_RECOMPUTE_NONE) return "none";
  if (compiled->group_layers <= 1) return "every block";
  return arena_printf(arena, "groups of %lld blocks", (long long)compiled->group_layers);
}

static bool by_tokens(const Compiled *compiled) {
  return compiled->derived.sample_tokens > 1;
}

static double step_seconds(const Compiled *compiled) {
  uint32_t index;
  return (double)find_program(&compiled->plan, PROGRAM_TRAIN_STEP, &index)->predicted_ns * 1e-9;
}

static char *duration(const Compiled *compiled, double seconds) {
  Arena *arena = compiled->draft->compile->arena;
  if (seconds < 1) return arena_printf(arena, "%.1f ms", seconds * 1e3);
  if (seconds < 120) return arena_printf(arena, "%.1f s", seconds);
  if (seconds < 7200) return arena_printf(arena, "%.0f minutes", seconds / 60);
  if (seconds < 48 * 3600) return arena_printf(arena, "%.1f hours", seconds / 3600);
  return arena_printf(arena, "%.1f days", seconds / 86400);
}

static const char *kind_name(uint32_t kind) {
  static const char *const names[] = {
      [BUFFER_PARAM] = "parameters",    [BUFFER_GRAD] = "gradients",
      [BUFFER_MASTER] = "master",       [BUFFER_MOMENT1] = "moment m",
      [BUFFER_MOMENT2] = "moment v",    [BUFFER_ACTIVATION] = "activations",
      [BUFFER_WORKSPACE] = "workspace", [BUFFER_GRAD_ACTIVATION] = "activation gradients",
      [BUFFER_COMM] = "communication",  [BUFFER_DATA] = "data",
      [BUFFER_CONTROL] = "control"};
  return names[kind];
}

/* ---- the summary */

void explain_summary(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  const Job *job = compiled->job;
  const Cluster *cluster = &compiled->cluster;
  Peak peak = find_peak(compiled);
  fprintf(out, "model    %-18s %s parameters   %.3g GFLOP/%s (6N + causal half of attention)\n",
          compiled->draft->train->model_name, count(compiled, compiled->parameters),
          (double)compiled->flops_per_token * 1e-9, by_tokens(compiled) ? "token" : "sample");
  fprintf(out, "batch    %-18s = dp %lld x microbatch %lld x accumulation %lld   %s %s a step\n",
          arena_printf(compiled->draft->compile->arena, "%s %s",
                       count(compiled, derived->batch_samples),
                       by_tokens(compiled) ? "sequences" : "samples"),
          (long long)derived->dp, (long long)job->train.microbatch,
          (long long)derived->accumulation,
          count(compiled, derived->batch_samples * derived->sample_tokens),
          by_tokens(compiled) ? "tokens" : "samples");
  fprintf(out, "ranks    %-18lld = dp %lld   recompute %s   precision %s\n", (long long)derived->dp,
          (long long)derived->dp, recompute_text(compiled),
          job->precision.head == CHOICE_BF16 ? "bf16" : "fp32");
  fprintf(out, "cluster  %-18s %lld x %s, %lld threads a rank\n", cluster->name,
          (long long)cluster->devices, cluster->device, (long long)cluster->threads);
  fprintf(out, "memory   %-18s of %s a rank (%.0f %%); packing %.1f %% above the bound\n",
          bytes(compiled, compiled->draft->arena_bytes), bytes(compiled, compiled->budget_bytes),
          100.0 * (double)compiled->draft->arena_bytes / (double)compiled->budget_bytes,
          100.0 * ((double)peak.program->peak_bytes / (double)peak.program->live_bytes - 1));
  double tokens = (double)(derived->batch_samples * derived->sample_tokens),
         seconds = step_seconds(compiled);
  if (seconds > 0)
    fprintf(out,
            "time     %-18s a step, by the device's peaks: no step is faster   %.3g tokens/s\n",
            duration(compiled, seconds), tokens / seconds);
  if (compiled->proof != NULL)
    fprintf(out,
            "proof    ok                 %llu ranks, %llu classes, %llu accesses of %llu records\n",
            (unsigned long long)compiled->proof->ranks,
            (unsigned long long)compiled->proof->classes,
            (unsigned long long)compiled->proof->accesses,
            (unsigned long long)compiled->proof->records);
  fprintf(out, "run      %s steps   %s tokens%s%s\n", count(compiled, derived->steps),
          count(compiled, derived->steps * derived->batch_samples * derived->sample_tokens),
          seconds > 0 ? "   at least " : "",
          seconds > 0 ? duration(compiled, seconds * (double)derived->steps) : "");
}

/* ---- the memory table */

typedef struct Row {
  const char *head, *name;
  BufferKind kind;
} Row;

static const Row rows[] = {
    {"M_model", "parameters", BUFFER_PARAM},
    {"M_grad", "gradients", BUFFER_GRAD},
    {"M_opt", "master", BUFFER_MASTER},
    {"", "moment m", BUFFER_MOMENT1},
    {"", "moment v", BUFFER_MOMENT2},
    {"M_act", "activations", BUFFER_ACTIVATION},
    {"", "activation gradients", BUFFER_GRAD_ACTIVATION},
    {"work", "scratch of one call", BUFFER_WORKSPACE},
    {"comm", "gradients on the wire", BUFFER_COMM},
    {"data", "micro-batches", BUFFER_DATA},
    {"control", "what changes between steps", BUFFER_CONTROL},
};

static const char *row_note(const Compiled *compiled, const Row *row) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const char *parameters = count(compiled, compiled->parameters);
  switch (row->kind) {
  case BUFFER_PARAM:
    return arena_printf(arena, "%s x %s", parameters, dtype_name(d->train->param_dtype));
  case BUFFER_GRAD:
    return arena_printf(arena, "%s; %lld passes, reduced once", dtype_name(d->train->grad_dtype),
                        (long long)compiled->derived.accumulation);
  case BUFFER_MASTER:
    return d->has_master ? "fp32: the optimizer's own copy" : "none: parameters are fp32";
  case BUFFER_MOMENT1: return "fp32";
  case BUFFER_MOMENT2: return d->has_moment2 ? "fp32" : "none: sgd";
  case BUFFER_ACTIVATION:
    return arena_printf(arena, "%s, recompute %s", dtype_name(d->train->compute_dtype),
                        recompute_text(compiled));
  case BUFFER_DATA:
    return arena_printf(arena, "%lld staged ahead", (long long)compiled->job->data.prefetch);
  default: return "";
  }
}

static void print_row(FILE *out, const char *head, const char *name, double size_bytes,
                      const char *note) {
  fprintf(out, "%-8s %-27s %12.6f   %s\n", head, name, size_bytes * 1e-9, note);
}

void explain_memory(const Compiled *compiled, FILE *out) {
  Peak peak = find_peak(compiled);
  int64_t top = (int64_t)peak.program->peak_bytes, arena = compiled->draft->arena_bytes;
  fprintf(out, "memory of one rank at the peak of a step           GB = 1e9 bytes\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    print_row(out, rows[i].head, rows[i].name, (double)peak.by_kind[rows[i].kind],
              row_note(compiled, &rows[i]));
  Arena *text = compiled->draft->compile->arena;
  print_row(out, "packing", "gaps at the peak", (double)(top - peak.live_bytes),
            arena_printf(text, "peak / most alive = %.4f",
                         (double)top / (double)peak.program->live_bytes));
  if (arena > top)
    print_row(out, "", "other programs need more", (double)(arena - top), "validation");
  print_row(
      out, "", "arena", (double)arena,
      arena_printf(text, "%s bytes: the runtime allocates exactly this", count(compiled, arena)));
  print_row(out, "budget", "of a rank", (double)compiled->budget_bytes,
            arena_printf(text, "%s, %s outside the arena", compiled->cluster.device,
                         bytes(compiled, compiled->cluster.reserve_bytes)));
  double states = (double)(peak.by_kind[BUFFER_PARAM] + peak.by_kind[BUFFER_GRAD] +
                           peak.by_kind[BUFFER_MASTER] + peak.by_kind[BUFFER_MOMENT1] +
                           peak.by_kind[BUFFER_MOMENT2]);
  fprintf(out, "states   %.2f bytes a parameter; whole rank %.2f times the parameters' own bytes\n",
          states / (double)compiled->parameters,
          (double)arena / (double)peak.by_kind[BUFFER_PARAM]);
}

/* ---- every buffer of a rank */

typedef struct Listed {
  const PlanBuffer *buffer;
  uint32_t index;
} Listed;

static int by_size(const void *a, const void *b) {
  const Listed *x = a, *y = b;
  if (x->buffer->size_bytes != y->buffer->size_bytes)
    return x->buffer->size_bytes > y->buffer->size_bytes ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

void explain_rank(const Compiled *compiled, int64_t rank, FILE *out) {
  const Plan *plan = &compiled->plan;
  Peak peak = find_peak(compiled);
  const PlanCall *call = &plan->calls[peak.program->calls_first + peak.call];
  fprintf(out, "rank %lld (class %s): alive at the peak, call %u of %u: %s", (long long)rank,
          plan_string(plan, plan->classes[0].name), peak.call, peak.program->calls_count,
          plan_string(plan, plan->segments[call->segment].name));
  if (call->layer >= 0) fprintf(out, ", layer %d", call->layer);
  fprintf(out, ", micro-batch %d\n%14s %14s  %-22s %s\n", call->microbatch, "bytes", "offset",
          "kind", "buffer");
  Listed *listed = ARENA_ARRAY(compiled->draft->compile->arena, Listed, plan->buffers_count + 1);
  int32_t n = 0;
  for (uint32_t i = 0; i < plan->buffers_count; i++)
    if (alive(&plan->buffers[i], peak.index, peak.call))
      listed[n++] = (Listed){&plan->buffers[i], i};
  qsort(listed, (size_t)n, sizeof *listed, by_size);
  for (int32_t i = 0; i < n; i++) {
    const PlanBuffer *b = listed[i].buffer;
    fprintf(out, "%14s %14s  %-22s %s", count(compiled, (int64_t)b->size_bytes),
            count(compiled, (int64_t)b->offset), kind_name(b->kind), plan_string(plan, b->name));
    if (b->layer >= 0) fprintf(out, ", layer %d", b->layer);
    fputc('\n', out);
  }
}

/* ---- JSON */

void explain_json(const Compiled *compiled, FILE *out) {
  const Derived *derived = &compiled->derived;
  Peak peak = find_peak(compiled);
  fprintf(out,
          "{\"version\":1,\"job\":\"%s\",\"model\":\"%s\",\"parameters\":%lld,\"flops_per_token\":%"
          "lld,\n",
          compiled->job->job.name, compiled->draft->train->model_name,
          (long long)compiled->parameters, (long long)compiled->flops_per_token);
  fprintf(out,
          " \"batch_samples\":%lld,\"sample_tokens\":%lld,\"microbatch\":%lld,\"accumulation\":%"
          "lld,\"dp\":%lld,"
          "\"steps\":%lld,\n",
          (long long)derived->batch_samples, (long long)derived->sample_tokens,
          (long long)compiled->job->train.microbatch, (long long)derived->accumulation,
          (long long)derived->dp, (long long)derived->steps);
  fprintf(out, " \"recompute\":\"%s\",\"threads\":%lld,\"predicted_step_ns\":%lld,\n \"memory\":{",
          recompute_text(compiled), (long long)compiled->cluster.threads,
          (long long)peak.program->predicted_ns);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    fprintf(out, "\"%s\":%lld,", rows[i].name, (long long)peak.by_kind[rows[i].kind]);
  fprintf(out, "\"live\":%lld,\"peak\":%lld,\"arena\":%lld,\"budget\":%lld}}\n",
          (long long)peak.program->live_bytes, (long long)peak.program->peak_bytes,
          (long long)compiled->draft->arena_bytes, (long long)compiled->budget_bytes);
}
