/* memory.c -- the contents of a rank's memory at the peak of a step, by kind and by buffer. */
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/cost/nodes.h"
#include "compiler/draft/roles.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_place.h"

const MemoryRow memory_rows[MEMORY_ROWS] = {
    {"M_model", "parameters", BUFFER_PARAM},
    {"", "parameters, cast", BUFFER_CAST},
    {"", "codes of weights", BUFFER_CODES},
    {"M_grad", "gradients", BUFFER_GRAD},
    {"M_opt", "master", BUFFER_MASTER},
    {"", "compensation", BUFFER_COMPENSATION},
    {"", "moment m", BUFFER_MOMENT1},
    {"", "maxima of m", BUFFER_MOMENT1_MAX},
    {"", "moment v", BUFFER_MOMENT2},
    {"", "maxima of v", BUFFER_MOMENT2_MAX},
    {"M_act", "activations", BUFFER_ACTIVATION},
    {"", "codes of activations", ROW_CODES},
    {"", "activation gradients", BUFFER_GRAD_ACTIVATION},
    {"work", "scratch of one call", BUFFER_WORKSPACE},
    {"comm", "gradients on the wire", BUFFER_COMM},
    {"data", "micro-batches", BUFFER_DATA},
    {"control", "what changes between steps", BUFFER_CONTROL},
    {"", "control, mirrored", BUFFER_MIRROR}, /* in host memory alone */
    {"save", "snapshot", BUFFER_SNAPSHOT},
    {"cache", "keys and values", BUFFER_CACHE},
};

/* "; 1/8 (zero 3)", and how many bytes are temporarily whole. */
static const char *sharded(const Compiled *compiled, int64_t from_stage, const char *text,
                           int64_t passing_bytes, const char *passing) {
  const Derived *d = &compiled->derived;
  Arena *arena = compiled->draft->compile->arena;
  if (d->zero < from_stage || d->shard_ranks == 1) return text;
  text = arena_printf(arena, "%s; 1/%lld (zero %lld)", text, (long long)d->shard_ranks,
                      (long long)d->zero);
  if (passing_bytes == 0) return text;
  return arena_printf(arena, "%s and %s %s", text, bytes_text(compiled, passing_bytes), passing);
}

/* Blocks whose gradients stay whole until the step ends although ZeRO shards gradients: a tied
 * weight that two chunks of a stage read, or all blocks with zero_reduce = "step". */
static const char *gradients_text(const Compiled *compiled, const char *text,
                                  int64_t passing_bytes) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const char *whole = "";
  bool any_shared = false;
  if (d->derived.zero < 2 || d->derived.shard_ranks == 1) return text;
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    any_shared |= block->shards_grads;
    if (!block->shards_grads)
      whole = arena_printf(arena, "%s%s%s", whole, *whole == '\0' ? "" : ", ", block->name);
  }
  if (!any_shared) return arena_printf(arena, "%s; whole until the step ends", text);
  text = sharded(compiled, 2, text, passing_bytes, "not yet reduced");
  return *whole == '\0' ? text : arena_printf(arena, "%s; %s: whole", text, whole);
}

/* Without a master copy parameters are updated in place, in their own dtype. */
static const char *no_master(const Draft *d) {
  if (d->truth == TRUTH_STOCHASTIC) return "none: the update rounds to bf16 by chance";
  if (d->truth == TRUTH_KAHAN) return "none: a compensation keeps what rounding loses";
  return d->train->param_dtype == DTYPE_F32
             ? "none: parameters are fp32"
             : arena_printf(d->compile->arena, "none: the update rounds to %s",
                            dtype_name(d->train->param_dtype));
}

static const char *moments_text(const Draft *d) {
  return d->job->precision.moments == CHOICE_MOMENTS_INT8
             ? "codes of 8 bits; fp32 of small tensors and tables"
         : d->job->precision.moments == CHOICE_MOMENTS_BF16 ? "bf16, rounded by chance"
                                                            : "fp32";
}

/* `passing_bytes`: the bytes of the row that do not last from step to step. */
static const char *row_note(const Compiled *compiled, const MemoryRow *row, int64_t passing_bytes) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const bool is_state = row->kind == BUFFER_MASTER || row->kind == BUFFER_COMPENSATION ||
                        row->kind == BUFFER_MOMENT1 || row->kind == BUFFER_MOMENT2;
  const bool is_split = d->job->offload_part.value > 0 || d->moves.state_bytes != NULL;
  if (is_state && d->offloads_state && passing_bytes == 0)
    return arena_printf(arena, "%sin %s", is_split ? "the rest is " : "",
                        d->state_in_files ? "a file" : "host memory");
  if (row->kind == ROW_CODES)
    return compiled->job->is_fp8_by_block ? "fp8; scales of 1 x 128" : "fp8; one scale a tensor";
  switch ((BufferKind)row->kind) {
  case BUFFER_PARAM:
    return sharded(compiled, 3,
                   arena_printf(arena, "%s x %s", count_text(compiled, compiled->parameters),
                                dtype_name(d->train->param_dtype)),
                   passing_bytes, "gathered");
  case BUFFER_CAST:
    return arena_printf(arena, "%s, as kernels read them", dtype_name(d->train->compute_dtype));
  case BUFFER_CODES:
    return d->derived.zero == 3 ? "fp8, made of gathered layers" : "fp8, made once a step";
  case BUFFER_GRAD:
    return gradients_text(compiled,
                          arena_printf(arena, "%s; %lld pass%s", dtype_name(d->train->grad_dtype),
                                       (long long)compiled->derived.accumulation,
                                       plural_es(compiled->derived.accumulation)),
                          passing_bytes);
  case BUFFER_MASTER:
    return d->truth == TRUTH_MASTER  ? sharded(compiled, 1, "fp32: the optimizer's own copy", 0, "")
           : d->truth == TRUTH_SPLIT ? sharded(compiled, 1, "split: the lower half of fp32", 0, "")
                                     : no_master(d);
  case BUFFER_COMPENSATION: return sharded(compiled, 1, "bf16", 0, "");
  case BUFFER_MOMENT1: return sharded(compiled, 1, moments_text(d), 0, "");
  case BUFFER_MOMENT1_MAX:
  case BUFFER_MOMENT2_MAX:
    return sharded(compiled, 1, arena_printf(arena, "fp32, one for each %d codes", CODES_BLOCK), 0,
                   "");
  case BUFFER_MOMENT2:
    if (d->has_moment2) return sharded(compiled, 1, moments_text(d), 0, "");
    return arena_printf(arena, "none: %s", optimizer_rows[d->job->optimizer.head].name);
  case BUFFER_ACTIVATION:
    return arena_printf(arena, "%s, recompute %s%s", dtype_name(d->train->compute_dtype),
                        recompute_text(compiled),
                        d->offloads_frames ? "; the rest is in host memory" : "");
  case BUFFER_DATA:
    return arena_printf(arena, "steps staged: %lld", (long long)draft_prefetch_steps(d));
  case BUFFER_SNAPSHOT: return "the state, written while steps go on";
  case BUFFER_CACHE:
    return arena_printf(arena, "%s, %lld text%s of %lld tokens", dtype_name(d->train->cache_dtype),
                        (long long)compiled->job->sample.batch, plural(compiled->job->sample.batch),
                        (long long)compiled->job->sample.context);
  default: return "";
  }
}

/* ---- the table: one column a class, only the first and the last ones when there are many. Notes
 * are printed after their row if the line has room, else below the table. */

enum { COLUMNS_MAX = 4, NAME_COLUMNS = 35, VALUE_COLUMNS = 11 };

typedef struct StageColumns {
  uint32_t class[COLUMNS_MAX];
  TierPeak peak[COLUMNS_MAX];
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

typedef struct MemoryTable {
  const Compiled *compiled;
  StageColumns columns;
  VEC(const char *) notes; /* for below */
  const Saves *saves;      /* NULL: the job writes no checkpoints */
  FILE *out;
} MemoryTable;

/* "  12.345678", with fewer decimals for thousands. */
static void print_gigabytes(double size_bytes, FILE *out) {
  double gigabytes = size_bytes * 1e-9;
  int digits = 6;
  for (double limit = 1000; gigabytes >= limit && digits > 0; limit *= 10)
    digits--;
  fprintf(out, "%*.*f", VALUE_COLUMNS, digits, gigabytes);
}

static void print_row(MemoryTable *table, const char *head, const char *name,
                      const double *size_bytes, const char *note) {
  int32_t columns = (int32_t)table->columns.count;
  int32_t room = SCREEN_COLUMNS - NAME_COLUMNS - VALUE_COLUMNS * columns - 2;
  fprintf(table->out, "%-8s %-26s", head, name);
  for (int32_t i = 0; i < columns; i++)
    print_gigabytes(size_bytes[i], table->out);
  bool fits = *note == 0 || (int32_t)strlen(note) <= room;
  fprintf(table->out, "%s%s\n", *note && fits ? "  " : "", fits ? note : "");
  Arena *arena = table->compiled->draft->compile->arena;
  if (!fits && *note) VEC_PUSH(arena, &table->notes, arena_printf(arena, "%s: %s", name, note));
}

static void print_notes(const MemoryTable *table) {
  for (int32_t i = 0; i < table->notes.count; i++)
    print_wrapped(table->out, table->notes.at[i], 0, 4, SCREEN_COLUMNS);
}

static void print_head(const MemoryTable *table) {
  const Plan *plan = &table->compiled->plan;
  const StageColumns *columns = &table->columns;
  fprintf(table->out, "memory of one rank at the peak of a step, GB = 1e9 bytes\n");
  if (plan->classes_count > columns->count)
    fprintf(table->out, "%u of %u stages; --json has all\n", columns->count, plan->classes_count);
  if (columns->count == 1) return;
  fprintf(table->out, "%*s", NAME_COLUMNS, "");
  for (uint32_t i = 0; i < columns->count; i++)
    fprintf(table->out, "%*s", VALUE_COLUMNS,
            plan_string(plan, plan->classes[columns->class[i]].name));
  fputc('\n', table->out);
}

static bool is_maxima(int32_t kind) {
  return kind == BUFFER_MOMENT1_MAX || kind == BUFFER_MOMENT2_MAX;
}

static bool has_maxima(const Draft *d, int32_t kind) {
  return d->job->precision.moments == CHOICE_MOMENTS_INT8 &&
         (kind == BUFFER_MOMENT1_MAX || d->has_moment2);
}

static void print_kinds(MemoryTable *table) {
  double value[COLUMNS_MAX] = {0};
  for (size_t r = 0; r < MEMORY_ROWS; r++) {
    const MemoryRow *row = &memory_rows[r];
    int64_t passing_bytes = 0;
    if (row->kind == BUFFER_CAST && !params_are_cast(table->compiled->draft)) continue;
    if (row->kind == BUFFER_COMPENSATION && table->compiled->draft->truth != TRUTH_KAHAN) continue;
    if (row->kind == BUFFER_MIRROR) continue;
    const bool is_codes = row->kind == ROW_CODES || row->kind == BUFFER_CODES;
    if (is_codes && table->compiled->job->precision.linear != CHOICE_LINEAR_FP8) continue;
    if (row->kind == BUFFER_CACHE && table->compiled->draft->decode == NULL) continue;
    if (row->kind == BUFFER_SNAPSHOT && table->columns.peak[0].by_kind[BUFFER_SNAPSHOT] == 0)
      continue; /* there are none, or in host memory */
    if (is_maxima(row->kind) && !has_maxima(table->compiled->draft, row->kind)) continue;
    for (uint32_t i = 0; i < table->columns.count; i++) {
      const TierPeak *peak = &table->columns.peak[i];
      value[i] = (double)peak->by_kind[row->kind];
      if (peak->passing[row->kind] > passing_bytes) passing_bytes = peak->passing[row->kind];
    }
    print_row(table, row->head, row->name, value, row_note(table->compiled, row, passing_bytes));
  }
}

static void print_states(const Compiled *compiled, const TierPeak *peak, FILE *out) {
  const int64_t *kind = peak->by_kind;
  double states = (double)(kind[BUFFER_PARAM] + kind[BUFFER_GRAD] + kind[BUFFER_MASTER] +
                           kind[BUFFER_COMPENSATION] + kind[BUFFER_MOMENT1] + kind[BUFFER_MOMENT2] +
                           kind[BUFFER_MOMENT1_MAX] + kind[BUFFER_MOMENT2_MAX]);
  fprintf(out, "states   %.2f bytes a parameter; a rank is %.2f times its parameters' bytes\n",
          states / (double)compiled->parameters,
          (double)compiled->draft->arena_bytes / (double)kind[BUFFER_PARAM]);
}

static void print_packing(MemoryTable *table) {
  const StageColumns *columns = &table->columns;
  double gaps[COLUMNS_MAX] = {0}, more[COLUMNS_MAX] = {0}, excess = 0;
  bool others = false;
  for (uint32_t i = 0; i < columns->count; i++) {
    const TierPeak *peak = &columns->peak[i];
    double above = (double)peak->recorded->peak_bytes / (double)peak->recorded->live_bytes;
    if (above > excess) excess = above;
    gaps[i] = (double)((int64_t)peak->recorded->peak_bytes - peak->live_bytes);
    more[i] = (double)(peak->arena_bytes - (int64_t)peak->recorded->peak_bytes);
    others |= more[i] > 0;
  }
  print_row(
      table, "packing", "gaps at the peak", gaps,
      arena_printf(table->compiled->draft->compile->arena, "peak / most alive = %.4f", excess));
  if (others) print_row(table, "", "other programs need more", more, "validation");
}

/* The same bytes of every rank. */
static void print_same(MemoryTable *table, const char *head, const char *text, int64_t bytes,
                       const char *note) {
  double value[COLUMNS_MAX];
  for (uint32_t i = 0; i < table->columns.count; i++)
    value[i] = (double)bytes;
  print_row(table, head, text, value, note);
}

/* The rows of the memory that a GPU keeps outside the arena, with their sources. The budget is the
 * rest of its memory, so a budget that the job sets has no such rows. */
static void print_outside(MemoryTable *table) {
  const Compiled *compiled = table->compiled;
  const Outside *outside = &compiled->outside;
  Arena *arena = compiled->draft->compile->arena;
  if (compiled->cluster.target != TARGET_CUDA) return;
  if (field_is_said(compiled->job, FIELD_memory_budget)) return;
  if (outside->is_said) {
    print_same(table, "outside", "reserve", outside->all_bytes, "of the device's file");
    return;
  }
  print_same(table, "outside", "context, modules", outside->context_bytes,
             "567 MB measured on an H100, rounded up");
  print_same(table, "", "NCCL's buffers", outside->nccl_bytes,
             outside->groups == 0
                 ? "no communicators"
                 : arena_printf(arena, "%d communicator%s by NCCL 2.30's sizes (--layouts)",
                                outside->groups, plural(outside->groups)));
  print_same(table, "", "library workspaces", outside->workspace_bytes,
             "none: they are operands in the arena");
}

/* "host     master", with its bytes at the tier's own peak. Rows that are 0 are left out. */
static void print_host_rows(MemoryTable *table, const TierPeak *peaks, const char *head) {
  for (size_t r = 0; r < MEMORY_ROWS; r++) {
    double value[COLUMNS_MAX] = {0}, all = 0;
    for (uint32_t i = 0; i < table->columns.count; i++)
      all += value[i] = (double)peaks[i].by_kind[memory_rows[r].kind];
    if (all == 0) continue;
    const BufferKind kind = memory_rows[r].kind;
    const bool accumulate = table->compiled->draft->offloads_grads;
    const char *note = kind == BUFFER_GRAD && accumulate ? "accumulated, and for updates"
                       : kind == BUFFER_GRAD             ? "on their way to updates"
                       : kind == BUFFER_ACTIVATION       ? "until their layer's backward"
                       : kind == BUFFER_SNAPSHOT         ? "the state, written while steps go on"
                       : kind != BUFFER_PARAM            ? ""
                       : table->compiled->draft->offloads_weights ? "copied when layers read them"
                                                                  : "on their way back";
    print_row(table, head, memory_rows[r].name, value, note);
    head = "";
  }
}

/* Host memory of GPUs without offload. */
static void print_pinned(MemoryTable *table) {
  const Plan *plan = &table->compiled->plan;
  double pinned[COLUMNS_MAX] = {0}, snapshot[COLUMNS_MAX] = {0};
  if (plan_tier(plan, TIER_HOST) == PLAN_NONE || draft_offloads(table->compiled->draft)) return;
  for (uint32_t i = 0; i < table->columns.count; i++) {
    const TierPeak peak = find_peak_in(table->compiled, table->columns.class[i], TIER_HOST);
    snapshot[i] = (double)peak.by_kind[BUFFER_SNAPSHOT];
    pinned[i] = (double)peak.arena_bytes - snapshot[i];
  }
  print_row(table, "host", "pinned", pinned, "staged micro-batches");
  if (snapshot[0] > 0)
    print_row(table, "", "snapshot", snapshot, "pinned: the state, written while steps go on");
}

/* Host memory of a plan that offloads. */
static void print_host(MemoryTable *table) {
  const Compiled *compiled = table->compiled;
  Arena *arena = compiled->draft->compile->arena;
  TierPeak peaks[COLUMNS_MAX] = {0};
  double whole[COLUMNS_MAX] = {0};
  if (!draft_offloads(compiled->draft)) return;
  for (uint32_t i = 0; i < table->columns.count; i++) {
    peaks[i] = find_peak_in(compiled, table->columns.class[i], TIER_HOST);
    whole[i] = (double)peaks[i].arena_bytes;
  }
  const bool is_shared = compiled->cluster.target == TARGET_CPU;
  print_host_rows(table, peaks, "host");
  print_row(table, "", "arena in host memory", whole, is_shared ? "" : "pinned");
  for (const char *const *line = compiled->why; line != NULL && *line != NULL; line++)
    put_line(table->out, line == compiled->why ? "auto" : "", *line);
  const NodeNeeds needs = node_needs(arena, &compiled->plan);
  for (int32_t i = 0; i < needs.count; i++) {
    const NodeNeed *node = &needs.at[i];
    put_line(table->out, "node",
             arena_printf(arena, "%s of host memory for %u rank%s%s; %s may be used",
                          bytes_text(compiled, is_shared ? node->all_bytes : node->host_bytes),
                          node->ranks, plural(node->ranks), is_shared ? ", all tiers together" : "",
                          bytes_text(compiled, compiled->host_budget_bytes)));
  }
}

/* The size of a rank's file of states. */
static void print_file(MemoryTable *table) {
  const Compiled *compiled = table->compiled;
  TierPeak peaks[COLUMNS_MAX] = {0};
  double whole[COLUMNS_MAX] = {0};
  if (plan_tier(&compiled->plan, TIER_FILE) == PLAN_NONE) return;
  for (uint32_t i = 0; i < table->columns.count; i++) {
    peaks[i] = find_peak_in(compiled, table->columns.class[i], TIER_FILE);
    whole[i] = (double)peaks[i].arena_bytes;
  }
  print_host_rows(table, peaks, "file");
  print_row(table, "", "file of a rank", whole, compiled->job->offload.path);
}

/* All columns have the number of the rank with the largest part. */
static void print_kept(MemoryTable *table) {
  double kept[COLUMNS_MAX] = {0};
  if (table->saves == NULL || table->saves->kept_bytes == 0) return;
  for (uint32_t i = 0; i < table->columns.count; i++)
    kept[i] = (double)table->saves->kept_bytes;
  print_row(table, "node", "kept", kept, "checkpoint.memory: two copies of the largest part");
}

static void print_limits(MemoryTable *table) {
  const Compiled *compiled = table->compiled;
  Arena *arena = compiled->draft->compile->arena;
  double whole[COLUMNS_MAX] = {0}, budget[COLUMNS_MAX] = {0};
  for (uint32_t i = 0; i < table->columns.count; i++) {
    const TierPeak *peak = &table->columns.peak[i];
    whole[i] = (double)peak->arena_bytes;
    budget[i] = (double)compiled->budget_bytes;
  }
  print_row(table, "", "arena", whole,
            arena_printf(arena, "%s bytes, one allocation",
                         count_text(compiled, compiled->draft->arena_bytes)));
  print_pinned(table);
  print_outside(table);
  print_kept(table);
  print_row(table, "budget", "of a rank", budget,
            compiled->job->set[FIELD_memory_budget]
                ? arena_printf(arena, "%s, by memory.budget", compiled->cluster.device)
                : arena_printf(arena, "%s, %s outside the arena", compiled->cluster.device,
                               bytes_text(compiled, compiled->outside.all_bytes)));
  print_host(table);
  print_file(table);
}

void explain_memory(const Compiled *compiled, FILE *out) {
  Saves saves; /* once: of thousands of ranks it takes longer than the rest */
  MemoryTable table = {.compiled = compiled, .columns = choose_columns(compiled), .out = out};
  if (explain_saves(compiled, &saves)) table.saves = &saves;
  print_head(&table);
  print_kinds(&table);
  print_packing(&table);
  print_limits(&table);
  print_notes(&table);
  if (table.saves != NULL) print_saves(compiled, table.saves, out);
  if (rank_count(compiled) == 1 && !compiled->draft->offloads_weights)
    print_states(compiled, &table.columns.peak[0], out);
}

/* ---- every buffer of a rank */

static const char *kind_name(uint32_t kind) {
  for (size_t r = 0; r < MEMORY_ROWS; r++)
    if ((uint32_t)memory_rows[r].kind == kind)
      return kind == BUFFER_WORKSPACE         ? "workspace"
             : kind == BUFFER_COMM            ? "communication"
             : kind == BUFFER_CONTROL         ? "control"
             : kind == BUFFER_GRAD_ACTIVATION ? "d activations"
                                              : memory_rows[r].name;
  return "";
}

typedef struct Listed {
  const PlanBuffer *buffer;
  uint32_t index;
} Listed;

/* Tier by tier: an offset is one in the arena of its tier. */
static int by_size(const void *a, const void *b) {
  const Listed *x = a, *y = b;
  if (x->buffer->tier != y->buffer->tier) return x->buffer->tier < y->buffer->tier ? -1 : 1;
  if (x->buffer->size_bytes != y->buffer->size_bytes)
    return x->buffer->size_bytes > y->buffer->size_bytes ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Classes are stages. */
static uint32_t class_of(const Compiled *compiled, int64_t rank) {
  return plan_coordinate(&compiled->plan, (uint32_t)rank, MESH_PP);
}

void explain_rank(const Compiled *compiled, int64_t rank, FILE *out) {
  const Plan *plan = &compiled->plan;
  TierPeak peak = find_peak(compiled, class_of(compiled, rank));
  const PlanCall *call = &plan->calls[peak.program->calls_first + peak.call];
  Arena *arena = compiled->draft->compile->arena;
  const char *layer = call->layer >= 0 ? arena_printf(arena, ", layer %d", call->layer) : "";
  print_wrapped(out,
                arena_printf(arena,
                             "rank %lld (class %s): alive at the peak, call %u of %u: %s%s, "
                             "micro-batch %d",
                             (long long)rank, plan_string(plan, peak.class->name), peak.call,
                             peak.program->calls_count,
                             plan_string(plan, plan->segments[call->segment].name), layer,
                             call->microbatch),
                0, 4, SCREEN_COLUMNS);
  enum { BUFFER_COLUMN = 46 };
  fprintf(out, "%14s %14s  %-14s %s\n", "bytes", "offset", "kind", "buffer");
  Listed *listed = ARENA_ARRAY(arena, Listed, peak.class->buffers_count + 1);
  int32_t n = 0;
  for (uint32_t i = 0; i < peak.class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[peak.class->buffers_first + i];
    if (buffer_alive(buffer, peak.index, peak.call)) listed[n++] = (Listed){buffer, i};
  }
  qsort(listed, (size_t)n, sizeof *listed, by_size);
  for (int32_t i = 0; i < n; i++) {
    const PlanBuffer *b = listed[i].buffer;
    if (i > 0 && b->tier != listed[i - 1].buffer->tier)
      fprintf(out, "%s\n",
              b->tier == TIER_FILE ? "in the rank's file at that moment"
                                   : "in host memory at that moment");
    int32_t column = fprintf(out, "%14s %14s  %-14s ", count_text(compiled, (int64_t)b->size_bytes),
                             count_text(compiled, (int64_t)b->offset), kind_name(b->kind));
    const char *of = b->layer >= 0 ? arena_printf(arena, ", layer %d", b->layer) : "";
    print_wrapped(out, arena_printf(arena, "%s%s", plan_string(plan, b->name), of), column,
                  BUFFER_COLUMN, SCREEN_COLUMNS);
  }
}
