/* layouts.c -- every communication of a plan with the layouts before and after it. Lines are
 * grouped by segment, which is a region and a direction, and by the ranks that communicate. */
#include <math.h>
#include <string.h>

#include "compiler/cost/demand.h"
#include "compiler/cost/price.h"
#include "compiler/explain/communicators.h"
#include "runtime/plan/plan_layout.h"

static const char *const kind_words[RecordKind_COUNT] = {
    [RECORD_ALL_REDUCE] = "all-reduce",
    [RECORD_ALL_GATHER] = "all-gather",
    [RECORD_REDUCE_SCATTER] = "reduce-scatter",
    [RECORD_ALL_TO_ALL] = "all-to-all",
    [RECORD_EXCHANGE] = "exchange",
};

/* Bytes of the whole value that the communicator holds; for an exchange, of what is sent. */
static uint64_t whole_bytes(const Plan *plan, const PlanRecord *record) {
  Traffic traffic = traffic_of(plan, record);
  return (uint64_t)(record->kind == RECORD_EXCHANGE ? traffic.sent_bytes : traffic.largest_bytes);
}

static double sent_bytes(const Plan *plan, const PlanRecord *record) {
  Traffic traffic = traffic_of(plan, record);
  return traffic_sent_bytes(&traffic);
}

static bool is_exchange(const PlanRecord *record) {
  return record->kind == RECORD_EXCHANGE;
}

/* ---- lines: communications of one group that would be shown alike */

typedef struct Line {
  const PlanRecord *record; /* the first of them */
  const char *value;
  int64_t *times; /* by class: in a step of one rank */
} Line;

typedef struct Group {
  const char *name; /* "h forward" */
  uint32_t comm;
  VEC(Line) lines;
} Group;

typedef struct Layouts {
  const Compiled *compiled;
  Arena *arena;
  int64_t **times; /* by class and record: in a step of one rank */
  VEC(Group) groups;
} Layouts;

double class_sent_bytes(const Compiled *compiled, uint32_t class, uint32_t axes_mask) {
  const Plan *plan = &compiled->plan;
  int64_t *times = ARENA_ARRAY(compiled->draft->compile->arena, int64_t, plan->records_count + 1);
  double sent = 0;
  count_records(compiled->draft->compile->arena, plan, find_peak(compiled, class).program, times);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (times[i] == 0 || !plan_is_communication(record)) continue;
    if (axes_mask == 0 || plan->comms[record->comm].axes_mask == axes_mask)
      sent += (double)times[i] * sent_bytes(plan, record);
  }
  return sent;
}

uint64_t class_flat_calls(const Compiled *compiled, uint32_t class, uint32_t axes_mask) {
  const Plan *plan = &compiled->plan;
  int64_t *times = ARENA_ARRAY(compiled->draft->compile->arena, int64_t, plan->records_count + 1);
  uint64_t calls = 0;
  count_records(compiled->draft->compile->arena, plan, find_peak(compiled, class).program, times);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (!plan_is_communication(record)) continue;
    if (axes_mask == 0 || plan->comms[record->comm].axes_mask == axes_mask)
      calls += (uint64_t)times[i] * record->flat_calls;
  }
  return calls;
}

static void count_all(Layouts *l) {
  const Plan *plan = &l->compiled->plan;
  l->times = ARENA_ARRAY(l->arena, int64_t *, plan->classes_count);
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    l->times[k] = ARENA_ARRAY(l->arena, int64_t, plan->records_count + 1);
    count_records(l->arena, plan, find_peak(l->compiled, k).program, l->times[k]);
  }
}

/* "h.forward" is "h forward". Every exchange of stages has a segment of its own. */
static const char *group_name(Layouts *l, const PlanSegment *segment) {
  const char *name = plan_string(&l->compiled->plan, segment->name);
  if (strncmp(name, "exchange", 8) == 0) return "between stages";
  char *words = arena_printf(l->arena, "%s", name), *dot = strrchr(words, '.');
  if (dot != NULL) *dot = ' ';
  return words;
}

/* Without what the group's name already says: "h.*.mlp.c_proj" in "h forward" is "mlp.c_proj". */
static const char *line_value(Layouts *l, const char *group, const char *value) {
  bool is_gradient = strncmp(value, "d_", 2) == 0;
  const char *rest = is_gradient ? value + 2 : value, *end = strrchr(group, ' ');
  size_t region = end == NULL ? 0 : (size_t)(end - group);
  if (region > 6 && strncmp(group + region - 6, " small", 6) == 0) region -= 6;
  if (region > 0 && strncmp(rest, group, region) == 0 && rest[region] == '.') {
    rest += region + 1;
    if (strncmp(rest, "*.", 2) == 0) rest += 2;
  } else if (region > 0 && strncmp(rest, group, region) == 0 && rest[region] == ' ') {
    rest += region + 1;
    if (strncmp(rest, "small ", 6) == 0) rest += 6; /* the group's name says it, too */
  }
  char *text = arena_printf(l->arena, "%s%s", is_gradient ? "d " : "", rest);
  char *last = strstr(text, " gradient"); /* "mlp.c_proj.bias gradient": of a reduce */
  if (last != NULL && strcmp(last, " gradient") == 0) *last = 0;
  return text;
}

static Group *find_group(Layouts *l, const char *name, uint32_t comm) {
  for (int32_t i = 0; i < l->groups.count; i++)
    if (l->groups.at[i].comm == comm && strcmp(l->groups.at[i].name, name) == 0)
      return &l->groups.at[i];
  VEC_PUSH(l->arena, &l->groups, (Group){.name = name, .comm = comm});
  return &l->groups.at[l->groups.count - 1];
}

static bool same_line(const Plan *plan, const PlanRecord *a, const PlanRecord *b) {
  const PlanMeaning *x = &plan->meanings[a->meaning], *y = &plan->meanings[b->meaning];
  return a->kind == b->kind && x->value == y->value && x->before == y->before &&
         x->after == y->after && whole_bytes(plan, a) == whole_bytes(plan, b);
}

static Line *find_line(Layouts *l, Group *group, const PlanRecord *record) {
  const Plan *plan = &l->compiled->plan;
  for (int32_t i = 0; i < group->lines.count; i++)
    if (same_line(plan, group->lines.at[i].record, record)) return &group->lines.at[i];
  const char *value = plan_string(plan, plan->meanings[record->meaning].value);
  VEC_PUSH(l->arena, &group->lines,
           (Line){.record = record,
                  .value = line_value(l, group->name, value),
                  .times = ARENA_ARRAY(l->arena, int64_t, plan->classes_count)});
  return &group->lines.at[group->lines.count - 1];
}

static int64_t most_times(const Plan *plan, const Line *line) {
  int64_t most = 0;
  for (uint32_t k = 0; k < plan->classes_count; k++)
    if (line->times[k] > most) most = line->times[k];
  return most;
}

static void add_segment(Layouts *l, const PlanSegment *segment) {
  const Plan *plan = &l->compiled->plan;
  const char *name = group_name(l, segment);
  for (uint32_t i = 0; i < segment->records_count; i++) {
    uint32_t r = segment->records_first + i;
    const PlanRecord *record = &plan->records[r];
    if (!plan_is_communication(record) || record->meaning == PLAN_NONE) continue;
    if (is_exchange(record) && whole_bytes(plan, record) == 0) continue; /* only receives */
    Line *line = NULL;
    for (uint32_t k = 0; k < plan->classes_count; k++) {
      if (l->times[k][r] == 0) continue;
      if (line == NULL) line = find_line(l, find_group(l, name, record->comm), record);
      line->times[k] += l->times[k][r];
    }
  }
}

static const char *without_axes(char *text) {
  char *at = strchr(text, '@');
  if (at != NULL) *at = 0;
  return text;
}

enum { VALUE = 15, BEFORE = 12, CHANGE = 26 };

/* The layout along the axes of the group, which its heading names. */
static const char *layout_text(Layouts *l, uint32_t layout, uint32_t axes) {
  char text[PLAN_LAYOUT_BYTES];
  return without_axes(
      arena_printf(l->arena, "%s", plan_layout_text(&l->compiled->plan, layout, axes, text)));
}

/* "Partial(sum) > Shard(seq)", with arrows aligned as far as both sides fit. */
static const char *change_text(Layouts *l, const PlanRecord *record) {
  const PlanMeaning *meaning = &l->compiled->plan.meanings[record->meaning];
  uint32_t axes = l->compiled->plan.comms[record->comm].axes_mask;
  const char *after = layout_text(l, meaning->after, axes);
  if (record->purpose == PURPOSE_TRANSFER) return "Stage(k) > Stage(k+distance)";
  int width = CHANGE - 3 - (int)strlen(after);
  return arena_printf(l->arena, "%-*s > %s", width < BEFORE ? width : BEFORE,
                      layout_text(l, meaning->before, axes), after);
}

/* "dp@dp": dp on its own lane. */
static const char *axes_text(Layouts *l, uint32_t comm) {
  return without_axes(arena_printf(
      l->arena, "%s", plan_string(&l->compiled->plan, l->compiled->plan.comms[comm].name)));
}

static void print_line(Layouts *l, const Line *line, FILE *out) {
  const Plan *plan = &l->compiled->plan;
  int64_t times = most_times(plan, line);
  double sent = sent_bytes(plan, line->record) * (double)times;
  bool is_long = strlen(line->value) > VALUE; /* then it gets its own line */
  if (is_long) fprintf(out, " %s\n", line->value);
  const char *change = arena_printf(l->arena, "%-*s %s", CHANGE, change_text(l, line->record),
                                    kind_words[line->record->kind]);
  fprintf(out, " %-*s %-*s %7s %5lld %7s\n", VALUE, is_long ? "" : line->value, CHANGE + 15, change,
          bytes_text(l->compiled, (int64_t)whole_bytes(plan, line->record)), (long long)times,
          bytes_text(l->compiled, (int64_t)sent));
}

static void print_group(Layouts *l, const Group *group, FILE *out) {
  const Plan *plan = &l->compiled->plan;
  double sent = 0;
  int64_t times = 0;
  fprintf(out, "\n%s, over %s: %u ranks%s\n", group->name, axes_text(l, group->comm),
          plan_comm_size(plan, group->comm),
          group->lines.at[0].record->lane == plan_main_lane(plan) ? "" : ", beside compute");
  for (int32_t i = 0; i < group->lines.count; i++) {
    const Line *line = &group->lines.at[i];
    print_line(l, line, out);
    times += most_times(plan, line);
    sent += sent_bytes(plan, line->record) * (double)most_times(plan, line);
  }
  if (group->lines.count > 1)
    fprintf(out, " %-*s %5lld %7s\n", VALUE + CHANGE + 24, "sum", (long long)times,
            bytes_text(l->compiled, (int64_t)sent));
}

/* ---- what a rank sends in a step, by communicator */

static double class_bytes(const Layouts *l, uint32_t class, uint32_t axes_mask) {
  const Plan *plan = &l->compiled->plan;
  double total = 0;
  for (uint32_t r = 0; r < plan->records_count; r++) {
    const PlanRecord *record = &plan->records[r];
    if (plan_is_communication(record) && plan->comms[record->comm].axes_mask == axes_mask)
      total += (double)l->times[class][r] * sent_bytes(plan, record);
  }
  return total;
}

/* Those of the class that makes most. */
static uint64_t most_calls(const Layouts *l, uint32_t axes_mask) {
  uint64_t most = 0;
  for (uint32_t k = 0; k < l->compiled->plan.classes_count; k++) {
    uint64_t calls = class_flat_calls(l->compiled, k, axes_mask);
    if (calls > most) most = calls;
  }
  return most;
}

static bool is_repeated(const Plan *plan, uint32_t comm) {
  for (uint32_t before = 0; before < comm; before++)
    if (plan->comms[before].axes_mask == plan->comms[comm].axes_mask) return true;
  return false;
}

/* The link of the slowest class along the axes: "450 GB/s, 3.4 us a message". */
static void print_link(const Plan *plan, uint32_t axes_mask, FILE *out) {
  const PlanLink *slowest = NULL;
  for (uint32_t i = 0; i < plan->links_count; i++) {
    const PlanLink *link = &plan->links[i];
    if (plan->comms[link->comm].axes_mask != axes_mask) continue;
    if (slowest == NULL || link->bytes_per_s < slowest->bytes_per_s) slowest = link;
  }
  if (slowest == NULL || (slowest->bytes_per_s == 0 && slowest->latency_ns == 0)) return;
  fputs("  at", out);
  if (slowest->bytes_per_s > 0) fprintf(out, " %.4g GB/s", slowest->bytes_per_s / 1e9);
  if (slowest->latency_ns > 0)
    fprintf(out, "%s %.4g us a message", slowest->bytes_per_s > 0 ? " and" : "",
            (double)slowest->latency_ns / 1e3);
  fputc('\n', out);
}

static void print_totals(Layouts *l, FILE *out) {
  const Plan *plan = &l->compiled->plan;
  fprintf(out, "\n%-55s %10s\n",
          plan->classes_count > 1 ? "sent by one rank in a step, on the stage that sends most"
                                  : "sent by one rank in a step",
          "NCCL calls");
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    if (is_repeated(plan, comm)) continue;
    double most = 0;
    for (uint32_t k = 0; k < plan->classes_count; k++) {
      double bytes = class_bytes(l, k, plan->comms[comm].axes_mask);
      if (bytes > most) most = bytes;
    }
    if (most == 0) continue;
    fprintf(out, " over %-23s %6u ranks %9s %16llu\n", axes_text(l, comm),
            plan_comm_size(plan, comm), bytes_text(l->compiled, (int64_t)most),
            (unsigned long long)most_calls(l, plan->comms[comm].axes_mask));
    print_link(plan, plan->comms[comm].axes_mask, out);
  }
}

/* Bytes per second from one member to the next along the axes of the mask; 0: unknown. */
static double slowest_bytes_per_s(const Plan *plan, uint32_t axes_mask) {
  double slowest = 0;
  for (uint32_t i = 0; i < plan->links_count; i++) {
    const PlanLink *link = &plan->links[i];
    if (plan->comms[link->comm].axes_mask != axes_mask) continue;
    if (slowest == 0 || link->pair_bytes_per_s < slowest) slowest = link->pair_bytes_per_s;
  }
  return slowest;
}

/* Ring attention hides its exchange when one block takes longer to compute than to send: tokens a
 * rank >= FLOP/s / (bytes/s), with heads / kv_heads for grouped queries (arXiv:2310.01889, 3). */
static void print_ring(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  const Cluster *cluster = &compiled->cluster;
  if (d->cp == 1 || compiled->job->parallel.cp_kind != CHOICE_RING) return;
  const Graph *g = compiled->draft->train;
  bool bf16 = g->compute_dtype == DTYPE_BF16;
  double flops = bf16 ? cluster->flops_bf16 : cluster->flops_fp32,
         bytes = slowest_bytes_per_s(&compiled->plan, MESH_BIT(MESH_CP));
  int64_t tokens = d->sample_tokens / d->cp;
  fprintf(out, "\nring: %s tokens a rank; keys and values travel while a block computes\n",
          count_text(compiled, tokens));
  if (flops <= 0 || bytes <= 0) {
    fprintf(out, "  hidden from (FLOP/s) / (bytes/s) tokens on, unknown for this device\n");
    return;
  }
  DimId heads = graph_dim((Graph *)g, "heads"), kv = graph_dim((Graph *)g, "kv_heads");
  double share = kv == NO_ID || heads == NO_ID
                     ? 1
                     : (double)g->dims.at[kv].size / (double)g->dims.at[heads].size;
  double width = (double)dtype_bytes(g->compute_dtype) / 2.0;
  double needed = flops / bytes * share * width;
  fprintf(out, "  hidden from %s tokens on: %s\n", count_text(compiled, (int64_t)ceil(needed)),
          (double)tokens >= needed ? "it is" : "it is not; fewer cp ranks or a faster link");
}

void explain_layouts(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  Layouts l = {.compiled = compiled, .arena = compiled->draft->compile->arena};
  if (rank_count(compiled) == 1) {
    fprintf(out, "one rank: nothing is converted\n");
    return;
  }
  count_all(&l);
  for (uint32_t s = 0; s < plan->segments_count; s++)
    add_segment(&l, &plan->segments[s]);
  fputs("Where a value stands before and after each communication.\n"
        "  whole  what the ranks hold together; of an all-to-all, one's part; of an\n"
        "         exchange, what it sends\n"
        "  times  in one step, micro-batches and layers of a stage included\n"
        "  sent   by one rank in a step, as rings send\n"
        "  d x    gradient of x\n"
        "  NCCL calls  in a step: one for each run of memory that lies together\n\n",
        out);
  fprintf(out, " %-*s %-*s > %-*s %-14s %7s %5s %7s\n", VALUE, "value", BEFORE, "before",
          CHANGE - BEFORE - 3, "after", "conversion", "whole", "times", "sent");
  for (int32_t i = 0; i < l.groups.count; i++)
    print_group(&l, &l.groups.at[i], out);
  print_totals(&l, out);
  print_ring(compiled, out);
  explain_communicators(compiled, out);
}
