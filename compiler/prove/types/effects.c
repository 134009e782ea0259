/* effects.c -- a call, looked at once for all calls that find the same.
 *
 * What a call does follows from its segment, its flags, and what stands where its bases point, all
 * relative to its layer and micro-batch. */
#include <stddef.h>

#include "compiler/prove/types/programs.h"

enum { POSTS_MAX = 16 };

/* What a call finds. Hashed as bytes, of what is used. */
typedef struct Found {
  uint32_t segment, flags, program, made, is_layer, is_microbatch;
  struct FoundItem { /* of each base, then of each post */
    uint64_t offset;
    Held held;
    uint32_t reached, kind; /* kind: of the buffer, where rules ask for it; of the post */
  } item[TYPING_BASES_MAX + POSTS_MAX];
} Found;

void effects_close(Effects *effects) {
  pool_close(&effects->found);
  pool_close(&effects->left);
}

static int32_t call_layer(const Typing *t) {
  return t->walk.call->layer < 0 ? 0 : t->walk.call->layer;
}

static Held seen_from_call(const Typing *t, Held held) {
  if (held.content == 0) return (Held){0};
  return (Held){held.content, held.layer - call_layer(t), held.microbatch - t->walk.microbatch, 0};
}

static Held seen_by_all(const Typing *t, Held held) {
  if (held.content == 0) return (Held){0};
  return (Held){held.content, held.layer + call_layer(t), held.microbatch + t->walk.microbatch, 0};
}

/* Which cells the call's bases are in. False: refused. */
static bool reach(Typing *t) {
  t->reached_count = 0;
  if (t->walk.segment->bases_count > TYPING_BASES_MAX || t->walk.call->posts_count > POSTS_MAX)
    return refuse(t, "more than %d bases or %d posts", TYPING_BASES_MAX, POSTS_MAX);
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++) {
    const uint32_t buffer = walk_buffer(&t->walk, base);
    const uint64_t address = walk_base(&t->walk, base);
    uint64_t start = 0;
    uint32_t cell = PLAN_NONE, i = 0;
    if (buffer != PLAN_NONE) cell = cell_at(t->view, &t->cells, buffer, address, &start);
    t->base_reached[base] = PLAN_NONE;
    if (cell == PLAN_NONE) continue; /* nothing that runs touches it */
    while (i < t->reached_count && t->reached[i].cell != cell)
      i++;
    if (i == t->reached_count) t->reached[t->reached_count++].cell = cell;
    t->reached[i].buffer = &t->plan->buffers[buffer];
    t->reached[i].start = start;
    t->base_reached[base] = i;
    t->base_offset[base] = address - start;
  }
  return true;
}

static uint32_t number_found(Typing *t) {
  const PlanCall *call = t->walk.call;
  Found found; /* what is used is set */
  found.segment = call->segment;
  found.flags = call->flags;
  found.program = t->walk.program->kind;
  found.made = t->made;
  found.is_layer = call->layer >= 0;
  found.is_microbatch = t->walk.microbatch >= 0;
  struct FoundItem *item = found.item;
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++, item++) {
    uint32_t i = t->base_reached[base];
    *item = (struct FoundItem){.reached = i};
    if (i == PLAN_NONE) continue;
    item->offset = t->base_offset[base];
    item->kind = is_of_runtime(t->reached[i].buffer) ? t->reached[i].buffer->kind : PLAN_NONE;
    item->held = seen_from_call(t, t->held[t->reached[i].cell]);
  }
  for (uint32_t i = 0; i < call->posts_count; i++, item++) {
    const PlanPost *post = &t->plan->posts[call->posts_first + i];
    *item = (struct FoundItem){
        .kind = post->kind,
        .held = {1, (int32_t)post->depth, (int32_t)(post->microbatch + t->added), 0}};
    item->held = seen_from_call(t, item->held);
  }
  return pool_number(&t->effects.found, &found,
                     offsetof(Found, item) + (size_t)(item - found.item) * sizeof *item);
}

/* Remembers what the call left: what is made, then each cell that it reaches. */
static void keep_effect(Typing *t, uint32_t number) {
  Held left[TYPING_BASES_MAX + 1] = {{.content = t->made}};
  for (uint32_t i = 0; i < t->reached_count; i++)
    left[i + 1] = seen_from_call(t, t->held[t->reached[i].cell]);
  uint32_t kept = pool_number(&t->effects.left, left, (t->reached_count + 1) * sizeof *left);
  if (kept == POOL_NONE)
    t->types.out_of_memory = true;
  else
    t->effects.found.row[number].tag = kept + 1;
}

static void apply_effect(Typing *t, const Held *left) {
  t->made = left[0].content;
  for (uint32_t i = 0; i < t->reached_count; i++)
    t->held[t->reached[i].cell] = seen_by_all(t, left[i + 1]);
}

static void run_records(Typing *t) {
  for (uint32_t r = 0; r < t->walk.segment->records_count && !t->refused; r++) {
    t->record = r;
    t->at = walk_record(&t->walk, r);
    if (walk_runs(&t->walk, t->at)) type_record(t);
  }
  t->at = NULL;
}

static void look_at(Typing *t) {
  t->next_post = 0;
  t->tells_class = false;
  for (uint32_t i = 0; i < t->reached_count; i++)
    contents_spans(&t->types, t->held[t->reached[i].cell], call_layer(t), t->walk.microbatch,
                   &t->reached[i].spans);
  if (!t->types.out_of_memory) run_records(t);
  for (uint32_t i = 0; i < t->reached_count; i++)
    t->held[t->reached[i].cell] = seen_by_all(t, contents_keep(&t->types, &t->reached[i].spans));
}

void run_call(Typing *t) {
  if (!reach(t)) return;
  const uint32_t number = number_found(t);
  if (number == POOL_NONE) {
    t->types.out_of_memory = t->refused = true;
    return;
  }
  const uint32_t known = t->effects.found.row[number].tag;
  if (known != 0) {
    apply_effect(t, pool_row(&t->effects.left, known - 1));
    return;
  }
  look_at(t);
  if (!t->refused && !t->tells_class) keep_effect(t, number);
}
