/* frames.c -- which layers keep what backward needs in host memory until then: the first ones of a
 * stage, whose backward is the last.
 *
 * A layer keeps its frame. It also keeps the carried value in, if backward or recomputation reads
 * it: every layer that is not recomputed, and the first one of a recompute group. */
#include "compiler/draft/stages/stages.h"

static bool is_recomputed(const Draft *d, int32_t u) {
  return d->train_parts[d->chain[u].region].recompute != NO_ID;
}

/* `first`: of the chunk. */
static bool keeps_input(const Draft *d, int32_t first, int32_t u) {
  const RegionSegments *parts = &d->train_parts[d->chain[u].region];
  if (parts->input_bytes == 0) return false;
  const bool has_before = u > first;
  const LayerUse *before = &d->chain[has_before ? u - 1 : u];
  const bool begins_group =
      !has_before || before->region != d->chain[u].region || before->group_last;
  if (parts->backward_reads_input && (!is_recomputed(d, u) || begins_group)) return true;
  return has_before && d->train_parts[before->region].backward_reads_output &&
         !is_recomputed(d, u - 1);
}

static int64_t kept_bytes(const Draft *d, const LayerUse *use) {
  const RegionSegments *parts = &d->train_parts[use->region];
  return parts->frame_bytes + (use->keeps_input ? parts->input_bytes : 0);
}

/* If a micro-batch's backward begins as soon as its forward has ended, the last layers stay:
 * what leaves would have to return at once. */
static int32_t end_of_movable(const Draft *d, int32_t chunk, int64_t flights) {
  int32_t end = d->chunk_first[chunk + 1];
  if (chunk + 1 < d->chunk_count || flights > 1) return end;
  for (int64_t stay = d->job->offload.prefetch + 1; end > d->chunk_first[chunk] && stay > 0; end--)
    stay -= kept_bytes(d, &d->chain[end - 1]) > 0;
  return end;
}

/* Micro-batches of a stage's chunk that are between forward and backward at once. */
static int64_t most_in_flight(const Pipeline *pipeline, int32_t stage, int32_t k) {
  int64_t flying = 0, most = 1;
  if (pipeline == NULL) return 1;
  const PipeStage *plan = &pipeline->stages[stage];
  const PipeAction over =
      pipe_rules[pipeline->shape.kind].is_split ? PIPE_WEIGHT : PIPE_BACKWARD; /* reads frames */
  for (int32_t i = 0; i < plan->step_count; i++) {
    if (plan->steps[i].chunk != k) continue;
    flying += plan->steps[i].action == PIPE_FORWARD;
    if (flying > most) most = flying;
    flying -= plan->steps[i].action == over;
  }
  return most;
}

static void choose_stage(Draft *d, const Pipeline *pipeline, int32_t s) {
  const Amount *part = &d->job->frames_part;
  const int64_t *chosen = d->moves.frame_bytes;
  Moved *moved = &d->stages[s].moved;
  const bool is_most = chosen == NULL && part->value > 0 && part->unit != UNIT_PERCENT;
  double all_bytes = 0, moved_bytes = 0;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t c = draft_chunk(d, s, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      d->chain[u].keeps_input = keeps_input(d, d->chunk_first[c], u);
      all_bytes += (double)(kept_bytes(d, &d->chain[u]) * most_in_flight(pipeline, s, k));
    }
  }
  moved->all_frame_bytes = (int64_t)all_bytes;
  if (!d->offloads_frames) return;
  const double wanted = chosen != NULL     ? (double)chosen[s]
                        : part->value == 0 ? all_bytes
                        : is_most          ? part->value
                                           : all_bytes * part->value / 100;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int64_t flights = most_in_flight(pipeline, s, k);
    const int32_t c = draft_chunk(d, s, k), end = end_of_movable(d, c, flights);
    for (int32_t u = d->chunk_first[c]; u < end; u++) {
      const double bytes = (double)(kept_bytes(d, &d->chain[u]) * flights);
      if (bytes == 0) continue;
      if (is_most ? moved_bytes + bytes > wanted : moved_bytes >= wanted) return;
      d->chain[u].keeps_on_host = true;
      moved_bytes += bytes;
      moved->frame_bytes = (int64_t)moved_bytes;
      moved->last_frame_bytes = (int64_t)bytes;
    }
  }
}

void frames_choose(Draft *d) {
  const Pipeline *pipeline = draft_pipeline(d);
  for (int32_t s = 0; s < d->stage_count; s++)
    choose_stage(d, pipeline, s);
}
