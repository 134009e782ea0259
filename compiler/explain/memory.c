/* memory.c -- what a rank's memory holds at the peak of a step, by kind and by buffer. */
#include <stdlib.h>
#include <string.h>

#include "compiler/explain/words.h"

const MemoryRow memory_rows[MEMORY_ROWS] = {
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

static const char *sharded(const Compiled *compiled, int64_t from_stage, const char *text) {
  const Derived *d = &compiled->derived;
  if (d->zero < from_stage || d->shard_ranks == 1) return text;
  return arena_printf(compiled->draft->compile->arena, "%s; 1/%lld (zero %lld)", text,
                      (long long)d->shard_ranks, (long long)d->zero);
}

static const char *row_note(const Compiled *compiled, const MemoryRow *row) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  switch (row->kind) {
  case BUFFER_PARAM:
    return sharded(compiled, 3,
                   arena_printf(arena, "%s x %s", count_text(compiled, compiled->parameters),
                                dtype_name(d->train->param_dtype)));
  case BUFFER_GRAD:
    return sharded(compiled, 2,
                   arena_printf(arena, "%s; %lld passes", dtype_name(d->train->grad_dtype),
                                (long long)compiled->derived.accumulation));
  case BUFFER_MASTER:
    return d->has_master ? sharded(compiled, 1, "fp32: the optimizer's own copy")
                         : "none: parameters are fp32";
  case BUFFER_MOMENT1: return sharded(compiled, 1, "fp32");
  case BUFFER_MOMENT2: return d->has_moment2 ? sharded(compiled, 1, "fp32") : "none: sgd";
  case BUFFER_ACTIVATION:
    return arena_printf(arena, "%s, recompute %s", dtype_name(d->train->compute_dtype),
                        recompute_text(compiled));
  case BUFFER_DATA:
    return arena_printf(arena, "%lld staged ahead", (long long)compiled->job->data.prefetch);
  default: return "";
  }
}

/* ---- the table: one column a class, the first and the last ones when there are many */

enum { COLUMNS_MAX = 4 };

typedef struct StageColumns {
  uint32_t class[COLUMNS_MAX];
  Peak peak[COLUMNS_MAX];
  uint32_t count;
} StageColumns;

static StageColumns choose_columns(const Compiled *compiled) {
  uint32_t classes = compiled->plan.classes_count;
  StageColumns columns = {.count = classes < COLUMNS_MAX ? classes : COLUMNS_MAX};
  for (uint32_t i = 0; i < columns.count; i++) {
    bool from_end = classes > COLUMNS_MAX && i >= COLUMNS_MAX / 2;
    columns.class[i] = from_end ? classes - (columns.count - i) : i;
    columns.peak[i] = find_peak(compiled, columns.class[i]);
  }
  return columns;
}

static void print_row(FILE *out, const StageColumns *columns, const char *head, const char *name,
                      const double *size_bytes, const char *note) {
  fprintf(out, "%-8s %-27s", head, name);
  for (uint32_t i = 0; i < columns->count; i++)
    fprintf(out, " %12.6f", size_bytes[i] * 1e-9);
  fprintf(out, "   %s\n", note);
}

static void print_head(const Compiled *compiled, const StageColumns *columns, FILE *out) {
  const Plan *plan = &compiled->plan;
  fprintf(out, "memory of one rank at the peak of a step           GB = 1e9 bytes\n");
  if (columns->count == 1) return;
  fprintf(out, "%-36s", "");
  for (uint32_t i = 0; i < columns->count; i++)
    fprintf(out, " %12s", plan_string(plan, plan->classes[columns->class[i]].name));
  if (plan->classes_count > columns->count)
    fprintf(out, "   of %u stages; --json has all", plan->classes_count);
  fputc('\n', out);
}

void explain_memory(const Compiled *compiled, FILE *out) {
  StageColumns columns = choose_columns(compiled);
  Arena *arena = compiled->draft->compile->arena;
  double value[COLUMNS_MAX];
  print_head(compiled, &columns, out);
  for (size_t r = 0; r < MEMORY_ROWS; r++) {
    for (uint32_t i = 0; i < columns.count; i++)
      value[i] = (double)columns.peak[i].by_kind[memory_rows[r].kind];
    print_row(out, &columns, memory_rows[r].head, memory_rows[r].name, value,
              row_note(compiled, &memory_rows[r]));
  }
  double excess = 0;
  bool others = false;
  for (uint32_t i = 0; i < columns.count; i++) {
    const Peak *peak = &columns.peak[i];
    double above = (double)peak->program->peak_bytes / (double)peak->program->live_bytes;
    value[i] = (double)((int64_t)peak->program->peak_bytes - peak->live_bytes);
    if (above > excess) excess = above;
    others |= peak->class->arena_bytes > peak->program->peak_bytes;
  }
  print_row(out, &columns, "packing", "gaps at the peak", value,
            arena_printf(arena, "peak / most alive = %.4f", excess));
  for (uint32_t i = 0; others && i < columns.count; i++)
    value[i] = (double)(columns.peak[i].class->arena_bytes - columns.peak[i].program->peak_bytes);
  if (others) print_row(out, &columns, "", "other programs need more", value, "validation");
  for (uint32_t i = 0; i < columns.count; i++)
    value[i] = (double)columns.peak[i].class->arena_bytes;
  print_row(out, &columns, "", "arena", value,
            arena_printf(arena, "%s bytes at most: the runtime allocates exactly this",
                         count_text(compiled, compiled->draft->arena_bytes)));
  for (uint32_t i = 0; i < columns.count; i++)
    value[i] = (double)compiled->budget_bytes;
  print_row(out, &columns, "budget", "of a rank", value,
            arena_printf(arena, "%s, %s outside the arena", compiled->cluster.device,
                         bytes_text(compiled, compiled->cluster.reserve_bytes)));
  if (rank_count(compiled) > 1) return;
  const int64_t *kind = columns.peak[0].by_kind;
  double states = (double)(kind[BUFFER_PARAM] + kind[BUFFER_GRAD] + kind[BUFFER_MASTER] +
                           kind[BUFFER_MOMENT1] + kind[BUFFER_MOMENT2]);
  fprintf(out, "states   %.2f bytes a parameter; whole rank %.2f times the parameters' own bytes\n",
          states / (double)compiled->parameters,
          (double)compiled->draft->arena_bytes / (double)kind[BUFFER_PARAM]);
}

/* ---- every buffer of a rank */

static const char *kind_name(uint32_t kind) {
  for (size_t r = 0; r < MEMORY_ROWS; r++)
    if ((uint32_t)memory_rows[r].kind == kind)
      return kind == BUFFER_WORKSPACE ? "workspace"
             : kind == BUFFER_COMM    ? "communication"
                                      : memory_rows[r].name;
  return "";
}

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

/* rank = ((dp * pp + stage) * cp + c) * tp + t: classes are stages. */
static uint32_t class_of(const Compiled *compiled, int64_t rank) {
  const Derived *d = &compiled->derived;
  return (uint32_t)(rank / (d->tp * d->cp) % d->pp);
}

void explain_rank(const Compiled *compiled, int64_t rank, FILE *out) {
  const Plan *plan = &compiled->plan;
  Peak peak = find_peak(compiled, class_of(compiled, rank));
  const PlanCall *call = &plan->calls[peak.program->calls_first + peak.call];
  fprintf(out, "rank %lld (class %s): alive at the peak, call %u of %u: %s", (long long)rank,
          plan_string(plan, peak.class->name), peak.call, peak.program->calls_count,
          plan_string(plan, plan->segments[call->segment].name));
  if (call->layer >= 0) fprintf(out, ", layer %d", call->layer);
  fprintf(out, ", micro-batch %d\n%14s %14s  %-22s %s\n", call->microbatch, "bytes", "offset",
          "kind", "buffer");
  Listed *listed =
      ARENA_ARRAY(compiled->draft->compile->arena, Listed, peak.class->buffers_count + 1);
  int32_t n = 0;
  for (uint32_t i = 0; i < peak.class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[peak.class->buffers_first + i];
    if (buffer_alive(buffer, peak.index, peak.call)) listed[n++] = (Listed){buffer, i};
  }
  qsort(listed, (size_t)n, sizeof *listed, by_size);
  for (int32_t i = 0; i < n; i++) {
    const PlanBuffer *b = listed[i].buffer;
    fprintf(out, "%14s %14s  %-22s %s", count_text(compiled, (int64_t)b->size_bytes),
            count_text(compiled, (int64_t)b->offset), kind_name(b->kind),
            plan_string(plan, b->name));
    if (b->layer >= 0) fprintf(out, ", layer %d", b->layer);
    fputc('\n', out);
  }
}
