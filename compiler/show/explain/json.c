/* json.c -- the results of a compile as JSON. */
#include "compiler/draft/cost/nodes.h"
#include "compiler/draft/cost/range.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/show/explain/communicators.h"
#include "compiler/show/explain/work.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_text.h"

/* The budget of host memory is a node's: print_nodes. */
static void print_tiers(const Compiled *compiled, uint32_t class, FILE *out) {
  const Plan *plan = &compiled->plan;
  fprintf(out, "\"tiers\":[");
  for (uint32_t i = 0; i < plan->tiers_count; i++) {
    const Tier tier = (Tier)plan->tiers[i].kind;
    const TierPeak peak = find_peak_in(compiled, class, tier);
    fprintf(out, "%s{\"tier\":\"%s\",\"rows\":{", i > 0 ? "," : "", Tier_names[tier]);
    for (size_t r = 0; r < MEMORY_ROWS_OF_JOBS; r++)
      fprintf(out, "%s\"%s\":%lld", r > 0 ? "," : "", memory_rows[r].name,
              (long long)peak.by_kind[memory_rows[r].kind]);
    fprintf(out, "},\"arena\":%lld", (long long)peak.arena_bytes);
    if (tier == TIER_DEVICE) fprintf(out, ",\"budget\":%lld", (long long)compiled->budget_bytes);
    fputc('}', out);
  }
  fprintf(out, "],");
}

/* The rows of what a GPU keeps outside the arena; of a processor, or of a device whose file has
 * `reserve`, only their sum is known. */
static void print_outside(const Compiled *compiled, FILE *out) {
  const Outside *outside = &compiled->outside;
  fprintf(out, "\"outside\":{\"reserve\":%lld", (long long)outside->all_bytes);
  if (!outside->is_said)
    fprintf(out, ",\"context\":%lld,\"communicators\":%lld,\"workspaces\":%lld",
            (long long)outside->context_bytes, (long long)outside->nccl_bytes,
            (long long)outside->workspace_bytes);
  fputs("},\n", out);
}

/* Nodes with equal needs are one row. */
static void print_nodes(const Compiled *compiled, FILE *out) {
  const NodeNeeds needs = node_needs(compiled->draft->compile->arena, &compiled->plan);
  fprintf(out, "\"nodes\":[");
  for (int32_t i = 0; i < needs.count; i++) {
    const NodeNeed *node = &needs.at[i];
    fprintf(out, "%s{\"nodes\":%u,\"ranks\":%u,\"host\":%lld,\"file\":%lld,\"host_budget\":",
            i > 0 ? "," : "", node->nodes, node->ranks, (long long)node->host_bytes,
            (long long)node->file_bytes);
    const int64_t budgets[] = {compiled->host_budget_bytes, compiled->disk_budget_bytes};
    for (int32_t k = 0; k < 2; k++) {
      if (k == 1) fprintf(out, ",\"file_budget\":");
      if (budgets[k] < 0)
        fprintf(out, "null");
      else
        fprintf(out, "%lld", (long long)budgets[k]);
    }
    fputc('}', out);
  }
  fprintf(out, "]");
}

static void print_class(const Compiled *compiled, const Work *work, uint32_t class, FILE *out) {
  TierPeak peak = find_peak(compiled, class);
  fprintf(out,
          "{\"name\":\"%s\",\"ranks\":%u,\"predicted_ns\":%lld,\"microbatch_ns\":%.0f,\"memory\":{",
          plan_string(&compiled->plan, peak.class->name), peak.class->rank_count,
          (long long)peak.program->predicted_ns, work->is_time ? work->stages[class].all : 0);
  for (size_t i = 0; i < MEMORY_ROWS_OF_JOBS; i++)
    fprintf(out, "\"%s\":%lld,", memory_rows[i].name, (long long)peak.by_kind[memory_rows[i].kind]);
  fprintf(out,
          "\"live\":%lld,\"peak\":%lld,\"arena\":%lld,\"host\":%lld},"
          "\"launches\":%llu,\"flat_calls\":%llu,",
          (long long)peak.recorded->live_bytes, (long long)peak.recorded->peak_bytes,
          (long long)peak.arena_bytes,
          (long long)plan_arena_bytes(&compiled->plan, peak.class, TIER_HOST),
          (unsigned long long)plan_issues(&compiled->plan, peak.program),
          (unsigned long long)class_traffic(compiled, class, 0).flat_calls);
  print_tiers(compiled, class, out);
  explain_communicators_json(compiled, class, out);
  fputc('}', out);
}

void explain_json(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  TierPeak peak = find_peak(compiled, 0);
  const Pipeline *pipeline = draft_pipeline(compiled->draft);
  Work work = work_of(compiled);
  const TimeRange range = time_range(&compiled->cluster);
  fprintf(out, "{\"version\":2,\"job\":");
  print_json_text(compiled->job->job.name, out);
  fprintf(out, ",\"reason\":");
  if (compiled->job->set[FIELD_job_reason])
    print_json_text(compiled->job->job.reason, out);
  else
    fputs("null", out);
  fprintf(out, ",\"model\":");
  print_json_text(compiled->draft->train->model_name, out);
  fprintf(out, ",\"parameters\":%lld,\"flops_per_token\":%lld,\n", (long long)compiled->parameters,
          (long long)compiled->flops_per_token);
  fprintf(out,
          " \"batch_samples\":%lld,\"sample_tokens\":%lld,\"microbatch\":%lld,\"accumulation\":%"
          "lld,\"steps\":%lld,\n",
          (long long)d->batch_samples, (long long)d->sample_tokens,
          (long long)compiled->job->train.microbatch, (long long)d->accumulation,
          (long long)d->steps);
  fprintf(out,
          " \"ranks\":%lld,\"tp\":%lld,\"cp\":%lld,\"pp\":%lld,\"dp\":%lld,\"zero\":%lld,"
          "\"shard_ranks\":%lld,\"sequence\":%s,\"pipeline\":\"%s\",\n",
          (long long)rank_count(compiled), (long long)d->tp, (long long)d->cp, (long long)d->pp,
          (long long)d->dp, (long long)d->zero, (long long)d->shard_ranks,
          d->sequence ? "true" : "false", pipeline_text(compiled));
  print_cost_json(compiled, out);
  print_saves_json(compiled, out);
  print_parts_json(compiled, out);
  fprintf(out, " \"bubble\":%.6f,\"imbalance\":%.6f,\n",
          pipeline == NULL ? 0 : pipeline_bubble_share(pipeline), work.excess);
  fprintf(out,
          " \"recompute\":\"%s\",\"without_recompute\":%lld,\"threads\":%lld,\"predicted_step_ns\":"
          "%lld,\"expected_step_ns\":%lld,\n \"range_ns\":[%.0f,%.0f],"
          "\"floor_step_ns\":%lld,\"floor_bound\":\"%s\",\"software\":\"%s\",\n \"memory\":{",
          recompute_text(compiled), (long long)compiled->without_recompute_bytes,
          (long long)compiled->cluster.threads, (long long)(step_seconds(compiled) * 1e9),
          (long long)(step_seconds(compiled) * 1e9), step_seconds(compiled) * 1e9 * range.low,
          step_seconds(compiled) * 1e9 * range.high, (long long)(floor_seconds(compiled) * 1e9),
          floor_word(compiled), compiled->cluster.software.name);
  for (size_t i = 0; i < MEMORY_ROWS_OF_JOBS; i++)
    fprintf(out, "\"%s\":%lld,", memory_rows[i].name, (long long)peak.by_kind[memory_rows[i].kind]);
  fprintf(out, "\"live\":%lld,\"peak\":%lld,\"arena\":%lld,\"budget\":%lld},\n ",
          (long long)peak.recorded->live_bytes, (long long)peak.recorded->peak_bytes,
          (long long)compiled->draft->arena_bytes, (long long)compiled->budget_bytes);
  print_outside(compiled, out);
  fputs(" \"classes\":[", out);
  for (uint32_t i = 0; i < compiled->plan.classes_count; i++) {
    if (i > 0) fprintf(out, ",\n  ");
    print_class(compiled, &work, i, out);
  }
  fprintf(out, "],\n ");
  explain_offload_json(compiled, out);
  print_nodes(compiled, out);
  fprintf(out, "}\n");
}
