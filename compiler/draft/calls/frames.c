/* frames.c -- what a layer keeps for backward waits in host memory: it leaves after the layer's
 * forward, and returns to another buffer before the layer's backward.
 *
 *   compute   fwd 0   fwd 1   fwd 2 ... bwd 2          bwd 1          bwd 0
 *   d2h              | 0     | 1                      .              .
 *   h2d                                   | 1 (ahead)  | 0            .
 *
 * While a copy to the host runs, the next layer computes: the device's buffer lives until that
 * layer's own copy. */
#include "compiler/draft/calls/program.h"

/* Copies layer u's frame, or its carried value in. */
static void leave(Calls *t, bool is_input, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  InFlight *f = t->flight;
  const int32_t i = u - t->first, from = is_input ? f->carry[i] : f->frame[i];
  const int32_t segment = is_input ? parts->input_out : parts->frame_out;
  if (segment == NO_ID || from == NO_ID) return;
  *(is_input ? &f->far_input[i] : &f->far_frame[i]) = calls_host_buffer(
      t, region_name(t, use->region, is_input ? "input, on host" : "kept, on host"),
      BUFFER_ACTIVATION, is_input ? parts->input_bytes : parts->frame_bytes, use->layer);
  calls_add_layer(t, segment, u, microbatch, flags, false);
  VEC_PUSH(t->draft->compile->arena, &t->leaving, from);
}

void frames_leave(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  calls_let_go(t, &t->leaving);
  if (!use->keeps_on_host || !t->graph->training) return;
  leave(t, false, u, microbatch, flags);
  if (use->keeps_input) leave(t, true, u, microbatch, flags);
}

/* False: no part of it is in host memory. */
static bool bring(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  InFlight *f = t->flight;
  const int32_t i = u - t->first;
  const bool has_frame = f->far_frame[i] != NO_ID, has_input = f->far_input[i] != NO_ID;
  if (has_frame) {
    f->frame[i] = calls_buffer(t, region_name(t, use->region, "kept for backward"),
                               BUFFER_ACTIVATION, parts->frame_bytes, use->layer);
    calls_add_layer(t, parts->frame_in, u, microbatch, flags, false);
    f->far_frame[i] = NO_ID;
  }
  if (has_input) {
    f->carry[i] = calls_buffer(t, region_name(t, use->region, "input, kept"), BUFFER_ACTIVATION,
                               parts->input_bytes, use->layer);
    calls_add_layer(t, parts->input_in, u, microbatch, flags, false);
    f->far_input[i] = NO_ID;
  }
  return has_frame || has_input;
}

void frames_return(Calls *t, int32_t first, int32_t end, int32_t microbatch, uint32_t flags) {
  for (int32_t u = end - 1; u >= first; u--)
    (void)bring(t, u, microbatch, flags);
  int64_t ahead = t->draft->job->offload.prefetch;
  for (int32_t u = first - 1; u >= t->first && ahead > 0; u--) {
    ahead -= t->draft->chain[u].keeps_on_host;
    (void)bring(t, u, microbatch, flags);
  }
}
