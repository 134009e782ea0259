/* programs.c -- the calls of a program in order; loops by induction. Calls that find the same are
 * checked once: what a call does follows from its segment, its flags, and what its bases hold, all
 * relative to its layer and micro-batch. */
#include <stddef.h>
#include <string.h>

#include "compiler/plan/prove/types/typing.h"

enum { POSTS_MAX = KERNEL_OPERANDS_MAX }; /* plan_check: one for each operand of an exchange */

/* The types that a call finds. The used part is hashed as bytes. */
typedef struct Found {
  uint32_t segment, flags, program, made, is_layer, is_microbatch;
  struct FoundItem { /* one for each base, then one for each post */
    uint64_t offset;
    Held held;
    uint32_t reached, kind; /* kind: of the buffer, where rules depend on it; of the post */
  } item[TYPING_BASES_MAX + POSTS_MAX];
} Found;

static int32_t call_layer(const Typing *t) {
  return t->walk.call->layer < 0 ? 0 : t->walk.call->layer;
}

/* Makes contents relative to the call's layer and micro-batch (`away` -1), or absolute again (1).
 */
static Held seen(const Typing *t, Held held, int32_t away) {
  if (held.content == 0) return (Held){0};
  return (Held){held.content, held.layer + away * call_layer(t),
                held.microbatch + away * t->walk.microbatch, 0};
}

/* Finds the cells that the call's bases are in. False: refused. */
static bool reach(Typing *t) {
  t->reached_count = 0;
  if (t->walk.segment->bases_count > TYPING_BASES_MAX)
    return REFUSE(t, "more than %d bases", TYPING_BASES_MAX);
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++) {
    const Interval cell = cell_of_base(&t->walk, &t->cells, base);
    uint32_t i = 0;
    while (i < t->reached_count && t->reached[i].cell != cell.number)
      i++;
    if (i == t->reached_count) t->reached[t->reached_count++].cell = cell.number;
    t->reached[i].buffer = &t->plan->buffers[walk_buffer(&t->walk, base)];
    t->reached[i].start = cell.first;
    t->base_reached[base] = i;
    t->base_offset[base] = walk_base(&t->walk, base) - cell.first;
  }
  return true;
}

static uint32_t number_found(Typing *t) {
  const PlanCall *call = t->walk.call;
  Found found; /* the used part is set below */
  found.segment = call->segment;
  found.flags = call->flags;
  found.program = t->walk.program->kind;
  found.made = t->made;
  found.is_layer = call->layer >= 0;
  found.is_microbatch = t->walk.microbatch >= 0;
  struct FoundItem *item = found.item;
  for (uint32_t base = 0; base < t->walk.segment->bases_count; base++, item++) {
    const uint32_t i = t->base_reached[base];
    const PlanBuffer *buffer = t->reached[i].buffer;
    *item = (struct FoundItem){.offset = t->base_offset[base],
                               .held = seen(t, t->held[t->reached[i].cell], -1),
                               .reached = i,
                               .kind = is_of_runtime(buffer) ? buffer->kind : PLAN_NONE};
  }
  for (uint32_t i = 0; i < call->posts_count; i++, item++) {
    const PlanPost *post = &t->plan->posts[call->posts_first + i];
    *item = (struct FoundItem){
        .kind = post->kind,
        .held = {1, (int32_t)post->depth, (int32_t)(post->microbatch + walk_grown(&t->walk)), 0}};
    item->held = seen(t, item->held, -1);
  }
  return pool_number(t->view->arena, &t->found, &found,
                     offsetof(Found, item) + (size_t)(item - found.item) * sizeof *item);
}

/* Remembers what the call left: the control values made, then each cell that it reaches. */
static void keep_effect(Typing *t, uint32_t number) {
  Held left[TYPING_BASES_MAX + 1] = {{.content = t->made}};
  for (uint32_t i = 0; i < t->reached_count; i++)
    left[i + 1] = seen(t, t->held[t->reached[i].cell], -1);
  t->found.row[number].tag =
      1 + pool_number(t->view->arena, &t->left, left, (t->reached_count + 1) * sizeof *left);
}

static void apply_effect(Typing *t, const Held *left) {
  t->made = left[0].content;
  for (uint32_t i = 0; i < t->reached_count; i++)
    t->held[t->reached[i].cell] = seen(t, left[i + 1], 1);
}

static void run_records(Typing *t) {
  for (uint32_t r = 0; r < t->walk.segment->records_count && !t->refused; r++) {
    t->record = r;
    t->at = walk_record(&t->walk, r);
    if (walk_runs(&t->walk, t->at) && join_packed(t)) type_record(t);
  }
  t->at = NULL;
}

static void look_at(Typing *t) {
  t->tells_class = false;
  for (uint32_t i = 0; i < t->reached_count; i++)
    contents_spans(&t->types, t->held[t->reached[i].cell], call_layer(t), t->walk.microbatch,
                   &t->reached[i].spans);
  run_records(t);
  for (uint32_t i = 0; i < t->reached_count; i++)
    t->held[t->reached[i].cell] = seen(t, contents_keep(&t->types, &t->reached[i].spans), 1);
}

static void run_call(Typing *t) {
  if (!reach(t)) return;
  const uint32_t number = number_found(t), known = t->found.row[number].tag;
  if (known != 0) {
    apply_effect(t, pool_row(&t->left, known - 1));
    return;
  }
  look_at(t);
  if (!t->refused && !t->tells_class) keep_effect(t, number);
}

/* ---- calls in order */

static bool flags_fit(const Typing *t) {
  int64_t microbatch = t->walk.microbatch;
  uint32_t flags = t->walk.call->flags;
  if (microbatch < 0) return (flags & (CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH)) == 0;
  return ((flags & CALL_FIRST_MICROBATCH) != 0) == (microbatch == 0) &&
         ((flags & CALL_LAST_MICROBATCH) != 0) == (microbatch == t->microbatches - 1) &&
         microbatch < t->microbatches;
}

static void run_one(Typing *t) {
  const Ledger *ledger = &t->view->ledger[t->walk.program->kind];
  const uint32_t *first = &ledger->birth_first[t->walk.position];
  for (uint32_t i = first[0]; i < first[1];
       i++) /* a buffer whose life begins here holds nothing yet */
    t->held[cell_of_buffer(t->view, &t->cells, ledger->born[i])] = (Held){0};
  if (flags_fit(t))
    run_call(t);
  else
    REFUSE(t, "its flags are not those of micro-batch %d of %lld", t->walk.microbatch,
           (long long)t->microbatches);
}

/* True if an iteration left what the one before had left, with the micro-batch advanced. */
static bool moved_on(const Held *before, const Held *after, uint32_t count, uint32_t stride) {
  for (uint32_t i = 0; i < count; i++)
    if (before[i].content != after[i].content || before[i].layer != after[i].layer ||
        (after[i].content != 0 && after[i].microbatch != before[i].microbatch &&
         after[i].microbatch != before[i].microbatch + (int32_t)stride))
      return false;
  return true;
}

/* Once an iteration has repeated the one before, the remaining ones would do the same for later
 * micro-batches. */
static void end_iteration(Typing *t, const Held *before) {
  const int32_t left = (int32_t)(t->walk.loop->times - t->walk.iteration - 1);
  if (t->walk.iteration == 0 || left == 0 ||
      !moved_on(before, t->held, t->cells.count, t->walk.loop->microbatch_stride))
    return;
  for (uint32_t cell = 0; cell < t->cells.count; cell++)
    t->held[cell].microbatch += (t->held[cell].microbatch - before[cell].microbatch) * left;
  t->walk.iterations = t->walk.iteration + 1;
}

void run_program(Typing *t, const PlanProgram *program, Held *held) {
  Held *before = ARENA_ARRAY(t->view->arena, Held, t->cells.count);
  t->walk = walk_begin(t->view, program, WALK_ALL);
  t->held = held;
  t->made = 0;
  while (!t->refused && walk_next(&t->walk)) {
    const PlanLoop *loop = t->walk.loop;
    const uint32_t at = loop == NULL ? 0 : t->walk.position - loop->first_call;
    if (at == 0 && t->walk.iteration == 0) t->walk.iterations = WALK_ALL;
    if (at == 0 && loop != NULL) memcpy(before, held, t->cells.count * sizeof *before);
    run_one(t);
    if (loop != NULL && at + 1 == loop->call_count && !t->refused) end_iteration(t, before);
  }
  t->walk.call = NULL;
}
