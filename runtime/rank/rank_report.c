/* rank_report.c -- what rank 0 reports about a run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/product.h"
#include "runtime/metrics/record.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/programs.h"
#include "runtime/process/cgroup.h"
#include "runtime/rank/rank_state.h"

/* Another variant of the matrix product rounds sums differently, so the run is not bitwise what it
 * would have been. A checkpoint given by its path may be of another folder, whose job.json is not
 * read. */
static void note_products(Rank *rank, const ReportSetup *setup, const char *before) {
  char now[RECORD_PRODUCTS_BYTES];
  (void)snprintf(now, sizeof now, "fp32 %s, bf16 %s", setup->products[0], setup->products[1]);
  if (!rank->start.resumes || rank->run->options->resume == RESUME_PATH) return;
  if (*before && strcmp(before, now) != 0)
    report_note(rank->report,
                "note     matrix products were %s and are %s: not bitwise the same run", before,
                now);
}

static int nccl_version(const NcclApi *nccl) {
  int version = 0;
  return nccl != NULL && nccl->get_version(&version) == NCCL_DONE ? version : 0;
}

static int32_t node_count(const Run *run) {
  int32_t count = 1;
  for (int32_t i = 0; run->boot->node != NULL && i < run->mesh.rank_count; i++)
    if (run->boot->node[i] >= count) count = run->boot->node[i] + 1;
  return count;
}

static double node_price(const Plan *plan) {
  return plan->settings[JOB_price].kind == SETTING_REAL ? job_price(plan) : NAN;
}

bool rank_is_asked_times(const Rank *rank) {
  const RunOptions *options = rank->run->options;
  return options->ranks_every != 0 || options->trace_first != 0;
}

/* Notes about how the run starts. */
/* Prints the share and the epochs of each source of a mix. */
static void note_sources(Rank *rank) {
  enum { SHOWN_MOST = 8 };
  const Samples *train = &rank->run->train;
  const double samples = (double)job_steps(rank->plan) * (double)job_batch_samples(rank->plan);
  double whole = 0;
  for (int32_t i = 0; i < train->mix.count; i++)
    whole += (double)train->mix.share[i];
  for (int32_t i = 0; i < train->mix.count && i < SHOWN_MOST; i++) {
    const SampleGroup *group = &train->group[train->mix.source[i]];
    const double share = (double)train->mix.share[i] / whole;
    report_note(rank->report, "source   %.1f %% of the samples, %.2f epochs of %s", 100 * share,
                samples * share / (double)group->count,
                samples_file(train, group->first_token)->path);
  }
}

static void note_start(Rank *rank, const ReportSetup *setup, const char *products) {
  const Run *run = rank->run;
  if (*run->boot->words) report_note(rank->report, "ranks    %s", run->boot->words);
  note_products(rank, setup, products);
  if (rank->arena.base[TIER_FILE] != NULL) {
    char way[TIER_WAY_BYTES];
    tier_file_way(rank->arena.base[TIER_FILE], way);
    report_note(rank->report, "files    %s", way);
  }
  rank_watch_gpu(rank);
  if (rank->eval && !programs_reduce(rank->plan, rank->eval))
    report_note(rank->report, "note     validation is of rank 0's share: the plan's eval_step does "
                              "not reduce its loss over all ranks");
}

bool rank_open_report(Rank *rank, Status *status) {
  const Run *run = rank->run;
  double peak = 0.0;
  for (int32_t i = 0; i < run->mesh.rank_count; i++)
    peak += rank->all[i].peak.flops_per_s;
  uint64_t arena_bytes = 0;
  for (int32_t i = 0; i < run->mesh.rank_count; i++)
    arena_bytes += plan_arena_bytes(run->plan, mesh_class(&run->mesh, run->plan, i), TIER_DEVICE);
  const bool is_mix = run->train.mix.count > 0; /* epochs and entropy are those of each source */
  bool fast = run->options->variant == KERNEL_FAST;
  const char *isa = fast ? kernel_isa() : "none";
  Product f32 = fast ? product_choice()->f32 : PRODUCT_REFERENCE;
  Product bf16 = fast ? product_choice()->bf16 : PRODUCT_REFERENCE;
  const char *refusal = fast ? product_choice()->refusal : NULL;
  ReportSetup setup = {
      .plan = run->plan,
      .kernels = strcmp(isa, "none") == 0 ? "reference" : "fast",
      .cores = rank->all[0].cores,
      .cores_wanted = run->boot->here.count *
                      (int32_t)(job_threads(rank->plan) < 1 ? 1 : job_threads(rank->plan)),
      .cores_allowed = cgroup_processors("", run->boot->allowed.count),
      .isa = isa,
      .on = run->cuda != NULL ? "gpu" : "cpu",
      .gpu = run->cuda != NULL ? &rank->gpu : NULL,
      .gpu_uuid = rank->all[0].gpu_uuid,
      .attention = rank->attention,
      .attention_count =
          run->cuda == NULL ? 0 : run->cuda->list_attention(rank->attention, RANK_ATTENTIONS_MOST),
      .rank_stride = sizeof *rank->all,
      .nccl_version = nccl_version(run->nccl),
      .is_deterministic = run->cuda == NULL || run->options->deterministic,
      .products = {product_name(f32), product_name(bf16)},
      .refused = {refusal ? product_name(product_choice()->wanted) : NULL, refusal},
      .quiet = run->options->quiet,
      .plot = run->options->plot,
      .json = run->options->json,
      .ranks = run->mesh.rank_count,
      .replicas = mesh_replicas(&run->mesh),
      .nodes = node_count(run),
      .node_price = node_price(run->plan),
      .first_step = rank->start.first_step,
      .last_step = run->last_step,
      .arena_bytes = arena_bytes,
      .peak_flops_per_s = peak,
      .peak_size = rank->facts.peak.size,
      .asks_times = rank_is_asked_times(rank),
      .unigram = is_mix ? 0 : samples_unigram_entropy(&run->train),
      .train_tokens = is_mix ? 0 : run->train.tokens,
      .weights_sum = rank->start.weights_sum,
      .resumed_from = rank->start.resumes ? rank->start.checkpoint.path : NULL,
  };
  rank->report = calloc(1, sizeof *rank->report);
  if (!rank->report) return status_fail(status, STATUS_WORLD, "not enough memory for the report");
  char products[RECORD_PRODUCTS_BYTES];
  record_products_before(&setup, products);
  if (!report_open(rank->report, &setup, status) || !record_write(&setup, status)) return false;
  note_start(rank, &setup, products);
  note_sources(rank);
  return true;
}

/* Memory is allotted in blocks of PLAN_ALIGN_BYTES. */
static uint64_t in_blocks(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

/* Control and samples count as used whether or not a record has touched them. */
static uint64_t addressed_bytes(const Rank *rank) {
  uint64_t high = rank->replay.high_water_bytes;
  uint64_t steps =
      job_staging_tier(rank->plan) == TIER_DEVICE ? (uint64_t)job_prefetch_steps(rank->plan) : 1;
  uint64_t control_end = job_control_offset(rank->plan) + job_control_bytes(rank->plan);
  uint64_t samples_end =
      job_samples_offset(rank->plan) +
      steps * (uint64_t)job_accumulation(rank->plan) * job_sample_bytes(rank->plan);
  if (control_end > high) high = control_end;
  if (samples_end > high) high = samples_end;
  return in_blocks(high);
}

static uint64_t planned_bytes(const Rank *rank) {
  uint64_t planned = 0;
  for (uint32_t i = 0; i < rank->replay.class->programs_count; i++) {
    const PlanProgram *program = &rank->plan->programs[rank->replay.class->programs_first + i];
    uint64_t peak_bytes = plan_peak(rank->plan, program)->peak_bytes;
    if (peak_bytes > planned) planned = peak_bytes;
  }
  return in_blocks(planned);
}

/* Gathered at the last barrier; the rank that needs most is reported. */
void rank_note_memory(Rank *rank) {
  rank->facts.planned_bytes = planned_bytes(rank);
  rank->facts.addressed_bytes = addressed_bytes(rank);
  rank->facts.touched_bytes = 0;
  if (rank->run->options->measure_memory)
    rank->facts.touched_bytes = arena_touched_bytes(&rank->arena.tier[TIER_DEVICE]);
}

static void say_line(void *context, const char *line) {
  report_note(context, "%s", line);
}

void rank_tell_stragglers(Rank *rank) {
  stragglers_tell(&rank->observe->found, say_line, rank->report);
}

static int64_t own_arena_bytes(const Rank *rank) {
  return (int64_t)plan_arena_bytes(rank->plan, rank->replay.class, TIER_DEVICE);
}

/* Tells rank 0's lanes where records are timed as they run: not kernels and copies of a GPU. */
static bool tell_offload(Rank *rank, OffloadFacts *facts, Status *status) {
  const Flight *flight = rank->flight;
  LaneTimesOf times = {.rank = rank->number,
                       .steps_ns = flight->later_ns,
                       .steps = flight->steps_timed > 0 ? flight->steps_timed - 1 : 0,
                       .computes = rank->run->cuda == NULL};
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    times.busy_ns[lane] = flight->lane[lane].busy_ns;
  if (!offload_facts(rank->plan, rank->train, &times, facts, status)) return false;
  offload_tell(facts, say_line, rank->report);
  if (facts->disk_is_slow)
    text_warn("warning: offload.path: %s: reading and writing took %.3g ms a step, %.3g ms were "
              "predicted, and kernels waited: lockstep bench files %s measures that disk",
              facts->disk, facts->disk_ms, facts->disk_predicted_ms, facts->disk);
  return true;
}

bool rank_close_report(Rank *rank, Status *status) {
  OffloadFacts offload;
  if (!tell_offload(rank, &offload, status)) return false;
  RankFacts most = rank->all[0];
  for (int32_t i = 1; i < rank->run->mesh.rank_count; i++)
    if (rank->all[i].planned_bytes > most.planned_bytes) most = rank->all[i];
  int64_t used_bytes = rank_gpu_used_bytes(rank);
  EndFacts facts = {
      .gpu_outside_bytes = used_bytes < 0 ? -1 : used_bytes - own_arena_bytes(rank),
      .stopped = rank->stopped,
      .planned_bytes = most.planned_bytes,
      .addressed_bytes = most.addressed_bytes,
      .touched_bytes = most.touched_bytes,
      .ranks = rank->observe && rank->run->options->ranks_every > 0 ? &rank->observe->found : NULL,
      .offload = &offload,
      .checkpoint = rank->saved_path[0] ? rank->saved_path : NULL,
      .saves = rank->saves.count,
      .saves_postponed = rank->saves.postponed,
      .saves_failed = rank->saves.failed,
      .save_stall_ns = rank->saves.stall_ns,
      .save_end_ns = rank->saves.end_ns,
      .save_write_ns = rank->saves.write_ns,
  };
  return report_close(rank->report, &facts, status);
}
