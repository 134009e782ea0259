/* layouts.c -- every communication of a plan with the layouts before and after it: what follows
 * from the names of the dimensions and the degrees. */
#include <string.h>

#include "compiler/explain/words.h"

static const char *const kind_words[RecordKind_COUNT] = {
    [RECORD_ALL_REDUCE] = "all-reduce",         [RECORD_ALL_GATHER] = "all-gather",
    [RECORD_REDUCE_SCATTER] = "reduce-scatter", [RECORD_ALL_TO_ALL] = "all-to-all",
    [RECORD_EXCHANGE] = "exchange",
};

/* Of the whole value that its communicator holds; of an exchange, what is sent. */
static uint64_t whole_bytes(const Plan *plan, const PlanRecord *record) {
  uint64_t most = 0, sent = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    if (operand->size_bytes > most) most = operand->size_bytes;
    if (operand->access == ACCESS_READ) sent += operand->size_bytes;
  }
  return record->kind == RECORD_EXCHANGE ? sent : most;
}

/* What one rank sends, by rings. */
static double sent_bytes(const Plan *plan, const PlanRecord *record) {
  double n = plan_comm_size(plan, record->comm), whole = (double)whole_bytes(plan, record);
  if (record->kind == RECORD_EXCHANGE) return whole;
  return (record->kind == RECORD_ALL_REDUCE ? 2 : 1) * (n - 1) / n * whole;
}

static bool is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

static bool same_row(const Plan *plan, const PlanRecord *a, const PlanRecord *b) {
  return a->kind == b->kind && b->meaning != PLAN_NONE &&
         plan->meanings[a->meaning].value == plan->meanings[b->meaning].value &&
         whole_bytes(plan, a) == whole_bytes(plan, b);
}

static void print_segment(const Compiled *compiled, const PlanSegment *segment, FILE *out) {
  const Plan *plan = &compiled->plan;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!is_communication(record) || record->meaning == PLAN_NONE) continue;
    if (i > 0 && same_row(plan, record, record - 1)) continue; /* of the other micro-batches */
    const PlanMeaning *meaning = &plan->meanings[record->meaning];
    fprintf(out, "%-18.18s %-24.24s %-20.20s %-14s %-20.20s %10s\n",
            record->kind == RECORD_EXCHANGE ? "stages" : plan_string(plan, segment->name), plan_string(plan, meaning->value),
            plan_string(plan, meaning->before), kind_words[record->kind],
            plan_string(plan, meaning->after),
            bytes_text(compiled, (int64_t)whole_bytes(plan, record)));
  }
}

/* ---- what a rank sends in a step, by communicator */

static double program_bytes(const Plan *plan, const PlanProgram *program, uint32_t comm) {
  double total = 0;
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    double times = 1;
    for (uint32_t l = 0; l < program->loops_count; l++) {
      const PlanLoop *loop = &plan->loops[program->loops_first + l];
      if (c >= loop->first_call && c < loop->first_call + loop->call_count) times = loop->times;
    }
    for (uint32_t i = 0; i < segment->records_count; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      if (is_communication(record) && record->comm == comm &&
          plan_when(record->when_all, record->when_none, call->flags))
        total += times * sent_bytes(plan, record);
    }
  }
  return total;
}

static void print_totals(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  fprintf(out, "\nsent by one rank in a step, counted as rings send\n");
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    double most = 0;
    for (uint32_t k = 0; k < plan->classes_count; k++) {
      double bytes = program_bytes(plan, find_peak(compiled, k).program, comm);
      if (bytes > most) most = bytes;
    }
    if (most > 0)
      fprintf(out, "  %-16s %4u ranks %12s%s\n", plan_string(plan, plan->comms[comm].name),
              plan_comm_size(plan, comm), bytes_text(compiled, (int64_t)most),
              plan->classes_count > 1 ? "   on the stage that sends most" : "");
  }
}

/* Ring attention hides its exchange when one block takes longer to compute than to send: tokens a
 * rank >= FLOP/s / (bytes/s), with heads / kv_heads for grouped queries (arXiv:2310.01889, 3). */
static void print_ring(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  const Cluster *cluster = &compiled->cluster;
  if (d->cp == 1 || compiled->job->parallel.cp_kind != CHOICE_RING) return;
  const Graph *g = compiled->draft->train;
  bool bf16 = g->compute_dtype == DTYPE_BF16;
  double flops = bf16 ? cluster->flops_bf16 : cluster->flops_fp32, bytes = cluster->link_bytes_per_s;
  long long tokens = (long long)(d->sample_tokens / d->cp);
  fprintf(out, "\nring     %lld tokens a rank; keys and values travel while a block computes", tokens);
  if (flops <= 0 || bytes <= 0) {
    fprintf(out, ": hidden from (FLOP/s) / (bytes/s) tokens on, unknown for this device\n");
    return;
  }
  DimId heads = graph_dim((Graph *)g, "heads"), kv = graph_dim((Graph *)g, "kv_heads");
  double share = kv == NO_ID || heads == NO_ID
                     ? 1
                     : (double)g->dims.at[kv].size / (double)g->dims.at[heads].size;
  double width = (double)dtype_bytes(g->compute_dtype) / 2.0;
  double needed = flops / bytes * share * width;
  fprintf(out, ": hidden from %.0f tokens on: %s\n", needed,
          (double)tokens >= needed ? "it is" : "it is not, fewer cp ranks or a faster link");
}

void explain_layouts(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  fprintf(out, "%-18s %-24s %-20s %-14s %-20s %10s\n", "segment", "value", "layout before",
          "conversion", "layout after", "whole");
  for (uint32_t s = 0; s < plan->segments_count; s++)
    print_segment(compiled, &plan->segments[s], out);
  if (rank_count(compiled) == 1) fprintf(out, "one rank: nothing is converted\n");
  print_totals(compiled, out);
  print_ring(compiled, out);
}
