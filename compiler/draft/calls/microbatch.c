/* microbatch.c -- one micro-batch on one chunk of the model: forward, backward and, if deferred,
 * weight gradients. */
#include "compiler/draft/calls/program.h"

/* ---- forward */

const char *region_name(Calls *t, RegionId r, const char *word) {
  return calls_name(t, t->graph->regions.at[r].name, word);
}

static bool chunk_loads(const Calls *t) {
  for (int32_t u = t->first; u < t->end; u++) {
    const RegionSegments *parts = &t->parts[t->draft->chain[u].region];
    const int32_t segments[] = {parts->forward, parts->recompute, parts->backward, parts->weight};
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
      if (segments[i] == NO_ID) continue;
      const Segment *segment = &t->draft->segments.at[segments[i]];
      for (int32_t k = 0; k < segment->bases.count; k++)
        if (segment->bases.at[k].role == BASE_DATA) return true;
    }
  }
  return false;
}

static void forward_link(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  int32_t i = u - t->first;
  sharded_gather_ahead(t, u, 1, microbatch, flags);
  sharded_code(t, u, microbatch, flags);
  calls_buffer_if(t, &t->flight->carry[i + 1], region_name(t, use->region, "output"),
                  BUFFER_ACTIVATION, parts->output_bytes, use->layer);
  calls_buffer_if(t, &t->flight->frame[i], region_name(t, use->region, "kept for backward"),
                  BUFFER_ACTIVATION, parts->frame_bytes, use->layer);
  calls_add_layer(t, parts->forward, u, microbatch, flags, false);
  sharded_release(t, u, CHOICE_RESHARD_LAYER);
  frames_leave(t, u, microbatch, flags);
}

void calls_forward(Calls *t, int32_t microbatch, uint32_t flags) {
  if (t->flight->data == NO_ID && chunk_loads(t)) {
    t->flight->data = calls_buffer(t, "micro-batch", BUFFER_DATA, t->draft->sample_bytes, -1);
    calls_add_block(t, t->ends->load, NO_ID, -1, microbatch, flags);
  }
  for (int32_t u = t->first; u < t->end; u++)
    forward_link(t, u, microbatch, flags);
}

/* ---- backward */

/* Recomputes layers [first, end) of one group: each remakes its kept values and, except for the
 * last, its output. */
static void recompute_group(Calls *t, int32_t first, int32_t end, int32_t microbatch,
                            uint32_t flags) {
  InFlight *f = t->flight;
  for (int32_t u = first; u < end; u++) {
    const LayerUse *use = &t->draft->chain[u];
    const RegionSegments *parts = &t->parts[use->region];
    int32_t i = u - t->first;
    if (parts->recompute == NO_ID) continue;
    sharded_gather(t, u, true, microbatch, flags);
    sharded_code(t, u, microbatch, flags);
    calls_buffer_if(t, &f->recompute_frame[i], region_name(t, use->region, "recomputed"),
                    BUFFER_ACTIVATION, parts->recompute_frame_bytes, use->layer);
    if (u + 1 < end || parts->backward_reads_output)
      calls_buffer_if(t, &f->again[i + 1], region_name(t, use->region, "output, recomputed"),
                      BUFFER_ACTIVATION, parts->output_bytes, use->layer);
    calls_add_layer(t, parts->recompute, u, microbatch, flags, true);
  }
}

static bool is_split(const Calls *t) {
  for (RegionId r = 0; r < t->graph->regions.count; r++)
    if (t->parts[r].weight != NO_ID) return true;
  return false;
}

static void backward_link(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  InFlight *f = t->flight;
  int32_t i = u - t->first;
  sharded_gather_ahead(t, u, -1, microbatch, flags);
  sharded_code(t, u, microbatch, flags);
  if (calls_has_input_gradient(t, u))
    calls_buffer_if(t, &f->d_carry[i], region_name(t, use->region, "input gradient"),
                    BUFFER_GRAD_ACTIVATION, parts->d_input_bytes, use->layer);
  calls_buffer_if(t, &f->weight_frame[i], region_name(t, use->region, "kept for weights"),
                  BUFFER_GRAD_ACTIVATION, parts->weight_frame_bytes, use->layer);
  passing_arrive(t, u, microbatch, flags);
  sharded_clear(t, u, microbatch, flags);
  calls_add_layer(t, parts->backward, u, microbatch, flags, false);
  sharded_release(t, u, CHOICE_RESHARD_CHUNK);
  if (!is_split(t)) sharded_reduce(t, u, microbatch, flags);
}

static bool is_recomputed(const Calls *t, int32_t u) {
  return t->parts[t->draft->chain[u].region].recompute != NO_ID;
}

void calls_backward(Calls *t, int32_t microbatch, uint32_t flags) {
  const LayerUse *chain = t->draft->chain;
  calls_let_go(t, &t->leaving);
  for (int32_t end = t->end; end > t->first;) {
    int32_t first = end - 1;
    if (is_recomputed(t, first)) {
      while (first > t->first && chain[first - 1].region == chain[end - 1].region &&
             !chain[first - 1].group_last)
        first--;
      frames_return(t, first, end, microbatch, flags);
      recompute_group(t, first, end, microbatch, flags);
    } else {
      frames_return(t, first, end, microbatch, flags);
    }
    for (int32_t u = end - 1; u >= first; u--)
      backward_link(t, u, microbatch, flags);
    end = first;
  }
  passing_leave(t);
  t->going.count = 0;
}

void calls_weight(Calls *t, int32_t microbatch, uint32_t flags) {
  for (int32_t u = t->end - 1; u >= t->first; u--) {
    calls_add_layer(t, t->parts[t->draft->chain[u].region].weight, u, microbatch, flags, false);
    sharded_reduce(t, u, microbatch, flags);
  }
}
