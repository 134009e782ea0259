/* updates.c -- updates on the host continue while the next step begins.
 *
 *   d2h   gradients 5 4 3 2 | 0 1                 2 to 5: during backward
 *   host                      | 0   1   2 ...     norm and control are known
 *   h2d                             0   1 ...     the next forward waits for each alone
 */
#include "compiler/draft/calls/updates.h"

#include "compiler/draft/roles.h"

enum { LAYERS_AHEAD = 2 };

static void add_far(const Calls *t, FarLayers *far, int32_t b, int64_t layer) {
  const StageBlock *held = &t->stage->blocks[b];
  if (held->position[layer] < held->host_first) return; /* -1: not held here */
  for (int32_t i = 0; i < far->count; i++)
    if (far->at[i].block == b && far->at[i].layer == layer) return;
  VEC_PUSH(t->draft->compile->arena, far, (FarLayer){b, layer});
}

FarLayers updates_far(const Calls *t) {
  const Draft *d = t->draft;
  FarLayers far = {0};
  for (int32_t k = 0; k < draft_chunks(d) && d->offloads_state; k++) {
    const int32_t chunk = draft_chunk(d, t->stage->number, k);
    for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
      for (int32_t b = 0; b < d->blocks.count; b++)
        if (block_is_read(&d->chain[u], &d->blocks.at[b]))
          add_far(t, &far, b, block_layer(&d->blocks.at[b], d->chain[u].layer));
  }
  return far;
}

static const Block *block_of(const Calls *t, const FarLayer *far) {
  return &t->draft->blocks.at[far->block];
}

/* Reads the states of a layer from their file, if the layer exists and its states are in a file. */
static void read_states(Calls *t, const FarLayers *far, int32_t i) {
  if (!t->draft->state_in_files || i >= far->count) return;
  calls_add(t, block_of(t, &far->at[i])->read, far->at[i].block, far->at[i].layer);
}

void updates_begin(Calls *t, const FarLayers *far) {
  for (int32_t i = 0; i < LAYERS_AHEAD; i++)
    read_states(t, far, i);
}

/* When each layer's gradients are predicted to be in host memory, from the norm on. */
static int64_t *arrivals(Calls *t, const FarLayers *far) {
  int64_t *at_ns = ARENA_ARRAY(t->draft->compile->arena, int64_t, far->count + 1);
  for (int32_t i = 0; i < far->count; i++) {
    const FarLayer *layer = &far->at[i];
    const int32_t segment = block_of(t, layer)->grads_out;
    if (t->far_grads[t->slot_first[layer->block] + layer->layer] != NO_ID || segment == NO_ID)
      continue;
    t->leaving_ns += t->draft->segments.at[segment].copy_ns;
    at_ns[i] = t->leaving_ns;
  }
  return at_ns;
}

/* The next layer to be updated is the first in forward order whose gradients have arrived. If no
 * layer has its gradients, it is the one whose gradients arrive first. So the host never waits
 * while it could update another layer. */
static void order_by_arrival(Calls *t, FarLayers *far, const int64_t *at_ns) {
  FarLayers ordered = {0};
  bool *done = ARENA_ARRAY(t->draft->compile->arena, bool, far->count + 1);
  int64_t now_ns = 0;
  while (ordered.count < far->count) {
    int32_t next = NO_ID;
    for (int32_t i = 0; i < far->count; i++)
      if (!done[i] && (next == NO_ID || (at_ns[next] > now_ns && at_ns[i] < at_ns[next]))) next = i;
    if (at_ns[next] > now_ns) now_ns = at_ns[next];
    now_ns += t->draft->segments.at[block_of(t, &far->at[next])->host_update].host_ns;
    done[next] = true;
    VEC_PUSH(t->draft->compile->arena, &ordered, far->at[next]);
  }
  *far = ordered;
}

void updates_grads_follow(Calls *t, FarLayers *far) {
  if (!t->stage->grads_leave_early) return;
  const int64_t *at_ns = arrivals(t, far);
  for (int32_t i = 0; i < far->count; i++)
    sharded_grads_leave(t, far->at[i].block, far->at[i].layer);
  order_by_arrival(t, far, at_ns);
}

/* While one layer is updated, the next one's gradients arrive and the previous one returns: three
 * layers have buffers in host memory at once. A layer has its update; a copy of its gradients,
 * unless they have left; and for states in a file a write, and the read of a later layer. */
static void hold_staged(Calls *t) {
  const int32_t last = calls_here(t) - 1;
  const int32_t calls_of_layer =
      1 + !t->stage->grads_leave_early + (t->draft->state_in_files ? 2 : 0);
  for (int32_t i = 0; i < t->staged.count; i++) {
    Buffer *buffer = &t->stage->buffers.at[t->staged.at[i]];
    buffer->last_call += LAYERS_AHEAD * calls_of_layer;
    if (buffer->last_call > last) buffer->last_call = last;
  }
}

static void come(Calls *t, const FarLayers *far, int32_t i) {
  if (i < far->count)
    calls_add(t, block_of(t, &far->at[i])->come, far->at[i].block, far->at[i].layer);
}

void updates_come(Calls *t, const FarLayers *far) {
  for (int32_t i = 0; i < LAYERS_AHEAD && t->draft->updates_here; i++)
    come(t, far, i);
}

/* While one layer is updated, the states of the next come and those of the previous one go. */
static void here(Calls *t, const FarLayers *far) {
  for (int32_t i = 0; i < far->count; i++) {
    come(t, far, i + LAYERS_AHEAD);
    calls_add(t, block_of(t, &far->at[i])->update, far->at[i].block, far->at[i].layer);
    calls_add(t, block_of(t, &far->at[i])->go, far->at[i].block, far->at[i].layer);
  }
}

/* A file's lane reads two layers ahead of the update. Gradients that have not left leave as far
 * ahead. */
static void on_host(Calls *t, const FarLayers *far) {
  for (int32_t i = 0; i < far->count; i++) {
    for (int32_t k = i; k <= i + LAYERS_AHEAD && k < far->count; k++)
      sharded_grads_leave(t, far->at[k].block, far->at[k].layer);
    calls_add(t, block_of(t, &far->at[i])->host_update, far->at[i].block, far->at[i].layer);
    calls_add(t, block_of(t, &far->at[i])->write, far->at[i].block, far->at[i].layer);
    read_states(t, far, i + LAYERS_AHEAD);
  }
  hold_staged(t);
}

void updates_of_far(Calls *t, const FarLayers *far) {
  (t->draft->updates_here ? here : on_host)(t, far);
}
