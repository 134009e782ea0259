/* passing.c -- gradients that accumulate in host memory: the device has those of few layers.
 *
 *   h2d      grads 5 | grads 4 | ...          not for the first micro-batch, which assigns them
 *   compute          | bwd 5   | bwd 4
 *   d2h                        | grads 5 | grads 4
 *
 * Backward adds to them as it adds to gradients that stay, so they are the same to the bit. After
 * the last micro-batch their squares are summed before they leave. Where they are reduced, they
 * leave when the next layer's reduction begins, because compute would wait for their own. */
#include "compiler/draft/calls/program.h"
#include "compiler/draft/roles.h"

bool passing_is_far(const Calls *t, int32_t b, int64_t layer) {
  const StageBlock *held = &t->stage->blocks[b];
  return t->draft->blocks.at[b].grads_last != NO_ID && held->position[layer] >= held->host_first;
}

BufferBinding passing_bind(Calls *t, const SegmentBase *base, int32_t slot, int64_t layer) {
  const Block *block = &t->draft->blocks.at[base->number];
  const char *name = calls_name(t, block->name, "gradients, passing");
  return (BufferBinding){calls_buffer_if(t, &t->shards[slot], name, BUFFER_GRAD,
                                         block_bytes(t->draft, block, grad_role(block)), layer),
                         0};
}

static void arrive(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    const int64_t layer = block_layer(block, use->layer);
    if (block_is_read(use, block) && passing_is_far(t, b, layer) &&
        t->shards[t->slot_first[b] + layer] == NO_ID)
      calls_add_block(t, block->grads_in, b, layer, microbatch, flags);
  }
}

void passing_arrive(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const int32_t last = u - (int32_t)t->draft->job->offload.prefetch;
  if ((flags & CALL_FIRST_MICROBATCH) != 0) return;
  for (; u >= last && u >= t->first; u--)
    arrive(t, u, microbatch, flags);
}

void passing_leave(Calls *t) {
  for (int32_t i = 0; i < t->ready.count; i++) {
    const FarGrad *at = &t->ready.at[i];
    const Block *block = &t->draft->blocks.at[at->block];
    int32_t *buffer = &t->shards[t->slot_first[at->block] + at->layer];
    const bool is_last = (at->flags & CALL_LAST_MICROBATCH) != 0;
    if (is_last) calls_add(t, block->norm, at->block, at->layer);
    calls_let_go(t, &t->going);
    if (is_last)
      calls_add(t, block->grads_last, at->block, at->layer);
    else
      calls_add_block(t, block->grads_back, at->block, at->layer, at->microbatch, at->flags);
    VEC_PUSH(t->draft->compile->arena, &t->going, *buffer);
    *buffer = NO_ID;
  }
  t->ready.count = 0;
}

void passing_add(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  bool waits = false;
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    const int64_t layer = block_layer(block, use->layer);
    if (!block_is_read(use, block) || !passing_is_far(t, b, layer)) continue;
    VEC_PUSH(t->draft->compile->arena, &t->ready, (FarGrad){b, layer, microbatch, flags});
    waits |= block->reduce != NO_ID;
  }
  if (!waits) passing_leave(t);
}
