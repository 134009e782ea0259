/* schedule.c -- what each pipeline stage holds, and how long it waits. */
#include <string.h>

#include "compiler/job/pipelines/pipeline.h"
#include "compiler/show/explain/timeline.h"
#include "compiler/show/explain/words.h"
#include "compiler/show/explain/work.h"

/* The most bytes alive at once on a stage, of activations whose name ends with `word`. */
static int64_t most_alive(const Compiled *compiled, uint32_t class) {
  const Plan *plan = &compiled->plan;
  TierPeak peak = find_peak(compiled, class);
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
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    int32_t c = draft_chunk(d, stage, k);
    int32_t layers = 0;
    const char *ends = "";
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      const Region *region = &d->train->regions.at[d->chain[u].region];
      if (region->is_stack)
        layers++;
      else
        ends = arena_printf(arena, "%s+%s", ends, region->name);
    }
    text = arena_printf(arena, "%s%s%d%s", text, *text ? " | " : "", layers, ends);
  }
  return text;
}

/* How many micro-batches a smaller bubble takes. */
static void print_bubble(const Compiled *compiled, const Pipeline *pipeline, FILE *out) {
  static const double shares[] = {0.10, 0.05};
  const char *advice = "";
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    if (pipeline_bubble_share(pipeline) > shares[i])
      advice = arena_printf(compiled->draft->compile->arena, "%s%s %lld for at most %.0f %%",
                            advice, *advice ? "," : "",
                            (long long)pipeline_microbatches_for(&pipeline->shape, shares[i]),
                            100 * shares[i]);
  if (*advice) fprintf(out, "micro-batches for a smaller bubble:%s\n", advice);
}

static void print_balance(const Compiled *compiled, const Work *work, FILE *out) {
  if (work->stages[work->heaviest].all <= 0) return;
  if (work->excess < 0.0005)
    fprintf(out, "stages compute equally long\n");
  else
    print_wrapped(out,
                  arena_printf(compiled->draft->compile->arena,
                               "stage %d computes %.1f %% longer than the mean: %s", work->heaviest,
                               100 * work->excess, work_reason(compiled, work)),
                  0, 4, SCREEN_COLUMNS);
}

static void print_stages(const Compiled *compiled, FILE *out) {
  const Draft *d = compiled->draft;
  const Pipeline *pipeline = draft_pipeline(d);
  if (pipeline == NULL) return;
  Work work = work_of(compiled);
  print_wrapped(
      out,
      arena_printf(d->compile->arena,
                   "%s, %d stage%s, %lld micro-batch%s: a stage is idle %.1f %% of the time",
                   pipeline_text(compiled), d->stage_count, plural(d->stage_count),
                   (long long)compiled->derived.accumulation,
                   plural_es(compiled->derived.accumulation),
                   100 * pipeline_bubble_share(pipeline)),
      0, 4, SCREEN_COLUMNS);
  print_bubble(compiled, pipeline, out);
  fprintf(out, "%-5s %9s %13s %14s  %s\n", "stage", "in flight", "act. at most", "a micro-batch",
          d->chunk_count > d->stage_count ? "layers, by chunk" : "layers");
  for (int32_t s = 0; s < d->stage_count; s++) {
    int32_t column = fprintf(out, "%-5d %9d %13s %14s  ", s, pipeline->stages[s].in_flight,
                             bytes_text(compiled, most_alive(compiled, (uint32_t)s)),
                             work_text(compiled, &work, work.stages[s].all));
    print_wrapped(out, layers_text(compiled, s), column, column, SCREEN_COLUMNS);
  }
  print_balance(compiled, &work, out);
  fputc('\n', out);
}

void explain_schedule(const Compiled *compiled, FILE *out) {
  print_stages(compiled, out);
  timeline_text(&compiled->plan, out);
}
