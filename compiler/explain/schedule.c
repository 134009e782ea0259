/* schedule.c -- what each pipeline stage holds and waits for. */
#include "compiler/explain/timeline.h"
#include "compiler/explain/words.h"
#include "compiler/explain/work.h"
#include "compiler/schedule/pipeline.h"

/* Most bytes of activations alive at once on a stage, of those whose name ends with `word`. */
static int64_t most_alive(const Compiled *compiled, uint32_t class) {
  const Plan *plan = &compiled->plan;
  Peak peak = find_peak(compiled, class);
  uint32_t calls = peak.program->calls_count;
  int64_t *change = ARENA_ARRAY(compiled->draft->compile->arena, int64_t, calls + 2);
  for (uint32_t i = 0; i < peak.class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[peak.class->buffers_first + i];
    if (buffer->program != peak.index || buffer->kind != BUFFER_ACTIVATION) continue;
    change[buffer->first_call] += (int64_t)buffer->size_bytes;
    change[buffer->last_call + 1] -= (int64_t)buffer->size_bytes;
  }
  int64_t live = 0, most = 0;
  for (uint32_t call = 0; call < calls; call++) {
    live += change[call];
    if (live > most) most = live;
  }
  return most;
}

static const char *layers_text(const Compiled *compiled, int32_t stage) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const char *text = "";
  for (int32_t c = stage; c < d->chunk_count; c += d->stage_count) {
    int32_t layers = 0;
    const char *ends = "";
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      const Region *region = &d->train->regions.at[d->links[u].region];
      if (region->is_stack)
        layers++;
      else
        ends = arena_printf(arena, "%s+%s", ends, region->name);
    }
    text = arena_printf(arena, "%s%s%d%s", text, *text ? " | " : "", layers, ends);
  }
  return text;
}

/* How many micro-batches make the bubble small. */
static void print_bubble(const Compiled *compiled, const Pipeline *pipeline, FILE *out) {
  static const double shares[] = {0.10, 0.05};
  const char *advice = "";
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    if (pipeline_bubble_share(pipeline) > shares[i])
      advice = arena_printf(compiled->draft->compile->arena, "%s%s %lld for at most %.0f %%",
                            advice, *advice ? "," : "",
                            (long long)pipeline_microbatches_for(&pipeline->shape, shares[i]),
                            100 * shares[i]);
  if (*advice) fprintf(out, "micro-batches that make this bubble smaller:%s\n", advice);
}

static void print_balance(const Compiled *compiled, const Work *work, FILE *out) {
  if (work->stages[work->heaviest].all <= 0) return;
  if (work->excess < 0.0005)
    fprintf(out, "stages compute equally long\n");
  else
    fprintf(out, "stage %d computes %.1f %% longer than the mean: %s\n", work->heaviest,
            100 * work->excess, work_reason(compiled, work));
}

static void print_stages(const Compiled *compiled, FILE *out) {
  const Draft *d = compiled->draft;
  const Pipeline *pipeline = draft_pipeline(d);
  if (pipeline == NULL) return;
  Work work = work_of(compiled);
  fprintf(out, "%s over %d stages, %lld micro-batches: a stage is idle %.1f %% of the time\n",
          pipeline_text(compiled), d->stage_count, (long long)compiled->derived.accumulation,
          100 * pipeline_bubble_share(pipeline));
  print_bubble(compiled, pipeline, out);
  fprintf(out, "%-6s %9s %20s %14s   %s\n", "stage", "in flight", "activations at most",
          "a micro-batch", d->chunk_count > d->stage_count ? "layers, chunk by chunk" : "layers");
  for (int32_t s = 0; s < d->stage_count; s++)
    fprintf(out, "%-6d %9d %20s %14s   %s\n", s, pipeline->stages[s].in_flight,
            bytes_text(compiled, most_alive(compiled, (uint32_t)s)),
            work_text(compiled, &work, work.stages[s].all), layers_text(compiled, s));
  print_balance(compiled, &work, out);
  fputc('\n', out);
}

void explain_schedule(const Compiled *compiled, FILE *out) {
  print_stages(compiled, out);
  timeline_text(&compiled->plan, out);
}

/* ---- which rank is where */

void explain_map(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  const Cluster *cluster = &compiled->cluster;
  int64_t block = d->tp * d->cp, devices = cluster->devices > 0 ? cluster->devices : 1;
  fprintf(out,
          "%lld ranks = tp %lld x cp %lld x pp %lld x dp %lld   rank = ((dp * %lld + stage) * "
          "%lld + cp) * %lld + tp\n",
          (long long)rank_count(compiled), (long long)d->tp, (long long)d->cp, (long long)d->pp,
          (long long)d->dp, (long long)d->pp, (long long)d->cp, (long long)d->tp);
  fprintf(out,
          "ranks of one stage and replica (tp x cp = %lld) and the nodes they are on, %lld "
          "devices a node\n\n",
          (long long)block, (long long)devices);
  enum { ROWS_MAX = 16, STAGES_MAX = 6 };
  int64_t stages = d->pp < STAGES_MAX ? d->pp : STAGES_MAX;
  fprintf(out, "%-7s", "");
  for (int64_t s = 0; s < stages; s++)
    fprintf(out, " stage %-9lld", (long long)s);
  fprintf(out, "%s\n", d->pp > stages ? " ..." : "");
  for (int64_t r = 0; r < d->dp && r < ROWS_MAX; r++) {
    fprintf(out, "dp %-4lld", (long long)r);
    for (int64_t s = 0; s < stages; s++) {
      int64_t first = (r * d->pp + s) * block, last = first + block - 1;
      const char *ranks =
          block == 1 ? arena_printf(compiled->draft->compile->arena, "%lld", (long long)first)
                     : arena_printf(compiled->draft->compile->arena, "%lld-%lld", (long long)first,
                                    (long long)last);
      const char *nodes =
          first / devices == last / devices
              ? arena_printf(compiled->draft->compile->arena, "n%lld", (long long)(first / devices))
              : arena_printf(compiled->draft->compile->arena, "n%lld-%lld",
                             (long long)(first / devices), (long long)(last / devices));
      fprintf(out, " %-15s", arena_printf(compiled->draft->compile->arena, "%s %s", ranks, nodes));
    }
    fputc('\n', out);
  }
  if (d->dp > ROWS_MAX) fprintf(out, "...     %lld more replicas\n", (long long)(d->dp - ROWS_MAX));
}
