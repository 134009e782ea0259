/* layouts_text.c -- every communication of a plan with the layouts before and after it:
 * `explain --layouts`. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/show/explain/communicators.h"
#include "compiler/show/explain/layouts.h"
#include "runtime/plan/plan_layout.h"

static const char *const kind_words[RecordKind_COUNT] = {
    [RECORD_ALL_REDUCE] = "all-reduce",
    [RECORD_ALL_GATHER] = "all-gather",
    [RECORD_REDUCE_SCATTER] = "reduce-scatter",
    [RECORD_ALL_TO_ALL] = "all-to-all",
    [RECORD_EXCHANGE] = "exchange",
};

static int64_t most_times(const Plan *plan, const LayoutLine *line) {
  int64_t most = 0;
  for (uint32_t k = 0; k < plan->classes_count; k++)
    if (line->times[k] > most) most = line->times[k];
  return most;
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

static void print_line(Layouts *l, const LayoutLine *line, FILE *out) {
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

static void print_group(Layouts *l, const LayoutGroup *group, FILE *out) {
  const Plan *plan = &l->compiled->plan;
  double sent = 0;
  int64_t times = 0;
  fprintf(out, "\n%s, over %s: %u rank%s%s\n", group->name, axes_text(l, group->comm),
          plan_comm_size(plan, group->comm), plural(plan_comm_size(plan, group->comm)),
          group->lines.at[0].record->lane == plan_main_lane(plan) ? "" : ", beside compute");
  for (int32_t i = 0; i < group->lines.count; i++) {
    const LayoutLine *line = &group->lines.at[i];
    print_line(l, line, out);
    times += most_times(plan, line);
    sent += sent_bytes(plan, line->record) * (double)most_times(plan, line);
  }
  if (group->lines.count > 1)
    fprintf(out, " %-*s %5lld %7s\n", VALUE + CHANGE + 24, "sum", (long long)times,
            bytes_text(l->compiled, (int64_t)sent));
}

/* ---- what a rank sends in a step, by communicator */

/* "  at 450 GB/s and 3.4 us a message" */
static void print_link(const PlanLink *link, FILE *out) {
  if (link == NULL || (link->bytes_per_s == 0 && link->latency_ns == 0)) return;
  fputs("  at", out);
  if (link->bytes_per_s > 0) fprintf(out, " %.4g GB/s", link->bytes_per_s / 1e9);
  if (link->latency_ns > 0)
    fprintf(out, "%s %.4g us a message", link->bytes_per_s > 0 ? " and" : "",
            (double)link->latency_ns / 1e3);
  fputc('\n', out);
}

static void print_totals(Layouts *l, FILE *out) {
  const Plan *plan = &l->compiled->plan;
  fprintf(out, "\n%-55s %10s\n",
          plan->classes_count > 1 ? "sent by one rank in a step, on the stage that sends most"
                                  : "sent by one rank in a step",
          "NCCL calls");
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    const SentMost most = sent_most(l, plan->comms[comm].axes_mask);
    if (comm_is_repeated(plan, comm) || most.bytes == 0) continue;
    fprintf(out, " over %-23s %6u ranks %9s %16llu\n", axes_text(l, comm),
            plan_comm_size(plan, comm), bytes_text(l->compiled, (int64_t)most.bytes),
            (unsigned long long)most.calls);
    print_link(most.link, out);
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
  if (d->cp == 1 || compiled->job->parallel.cp_kind != CHOICE_RING) return;
  const Graph *g = compiled->draft->train;
  double flops = cost_peak(compiled->draft) * compiled->cluster.sustained.product,
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
  if (rank_count(compiled) == 1) {
    fprintf(out, "one rank: nothing is converted\n");
    return;
  }
  Layouts l = layouts_of(compiled);
  fputs("The layout of a value before and after each communication.\n"
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
