/* schedule.c -- what each pipeline stage holds and waits for. */
#include <string.h>

#include "compiler/explain/timeline.h"
#include "compiler/explain/words.h"
#include "compiler/explain/work.h"
#include "compiler/schedule/pipeline.h"
#include "runtime/plan/plan_place.h"

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
                   "%s, %d stages, %lld micro-batches: a stage is idle %.1f %% of the time",
                   pipeline_text(compiled), d->stage_count,
                   (long long)compiled->derived.accumulation,
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

/* ---- which rank is where */

/* By coordinates; replica counts those that repeat states and those that share them. */
static int64_t rank_at(const Compiled *compiled, int64_t replica, int64_t stage, int64_t cp,
                       int64_t tp) {
  const Placement *at = compiled->choice.taken;
  int64_t groups = at->size[MESH_TP_GROUP], shards = at->size[MESH_DP];
  return replica / shards * at->stride[MESH_REPLICATE] + replica % shards * at->stride[MESH_DP] +
         stage * at->stride[MESH_PP] + cp * at->stride[MESH_CP] +
         tp / groups * at->stride[MESH_TP] + tp % groups * at->stride[MESH_TP_GROUP];
}

/* "0-7 n0": the ranks of one stage of one replica, and their nodes. "0 2 n0" where they are not
 * neighbours. */
static const char *place_text(const Compiled *compiled, int64_t replica, int64_t stage) {
  const Derived *d = &compiled->derived;
  const Plan *plan = &compiled->plan;
  Arena *arena = compiled->draft->compile->arena;
  int64_t block = d->tp * d->cp, first = rank_at(compiled, replica, stage, 0, 0);
  int64_t last = rank_at(compiled, replica, stage, d->cp - 1, d->tp - 1);
  uint32_t node = plan_place(plan, (uint32_t)first).node,
           last_node = plan_place(plan, (uint32_t)last).node;
  const char *ranks = block == 1
                          ? arena_printf(arena, "%lld", (long long)first)
                          : arena_printf(arena, "%lld%s%lld", (long long)first,
                                         last - first + 1 == block ? "-" : "..", (long long)last);
  if (node == last_node) return arena_printf(arena, "%s n%u", ranks, node);
  return arena_printf(arena, "%s n%u-%u", ranks, node, last_node);
}

/* "nodes 0-1"; "node 0" when there is one. */
static void print_span(const char *what, uint32_t first, uint32_t last, FILE *out) {
  if (first == last)
    fprintf(out, "%s %u", what, first);
  else
    fprintf(out, "%ss %u-%u", what, first, last);
}

/* "nodes 0-1: 8 ranks each, on devices 0-7 and cores 0-15" */
static void print_places(const Plan *plan, FILE *out) {
  for (uint32_t i = 0; i < plan->places_count; i++) {
    const PlanPlace *place = &plan->places[i];
    uint32_t last = plan_place(plan, place->rank_first + place->rank_count - 1).node;
    uint32_t ranks = place->rank_count < place->node_ranks ? place->rank_count : place->node_ranks;
    print_span("node", place->node_first, last, out);
    fprintf(out, ": %u rank%s%s, on ", ranks, ranks == 1 ? "" : "s",
            last > place->node_first ? " each" : "");
    if (plan->jobs[0].target != TARGET_CPU) {
      print_span("device", place->device_first, place->device_first + ranks - 1, out);
      fputs(" and ", out);
    }
    print_span("core", place->core_first, place->core_first + ranks * place->core_count - 1, out);
    fputc('\n', out);
  }
  fputc('\n', out);
}

void explain_map(const Compiled *compiled, FILE *out) {
  enum { ROWS_MAX = 16, HEAD = 7, DOTS = 4 };
  const Derived *d = &compiled->derived;
  fprintf(out, "%s ranks = tp %lld x cp %lld x pp %lld x dp %lld\n",
          count_text(compiled, rank_count(compiled)), (long long)d->tp, (long long)d->cp,
          (long long)d->pp, (long long)d->dp);
  fprintf(out, "axes fill nodes in this order: %s\n",
          order_text(compiled->draft->compile->arena, &compiled->choice.taken->order));
  fprintf(out, "below: ranks of a stage and replica (tp x cp = %s), and their nodes\n",
          count_text(compiled, d->tp * d->cp));
  print_places(&compiled->plan, out);
  int64_t rows = d->dp < ROWS_MAX ? d->dp : ROWS_MAX;
  int32_t width = (int32_t)strlen(place_text(compiled, rows - 1, d->pp - 1)) + 2; /* the longest */
  if (width < HEAD + 4) width = HEAD + 4;
  int64_t stages = (SCREEN_COLUMNS - HEAD - DOTS) / width;
  if (d->pp < stages) stages = d->pp;
  fprintf(out, "%-*s", HEAD, "");
  for (int64_t s = 0; s < stages; s++)
    fprintf(out, "stage %-*lld", width - 6, (long long)s);
  fprintf(out, "%s\n", d->pp > stages ? "..." : "");
  for (int64_t r = 0; r < rows; r++) {
    fprintf(out, "dp %-*lld", HEAD - 3, (long long)r);
    for (int64_t s = 0; s < stages; s++)
      fprintf(out, "%-*s", s + 1 < stages ? width : 0, place_text(compiled, r, s));
    fputc('\n', out);
  }
  if (d->dp > rows) fprintf(out, "...    %lld more replicas\n", (long long)(d->dp - rows));
}
