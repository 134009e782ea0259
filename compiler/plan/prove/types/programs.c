/* programs.c -- the calls of a program in order; loops by induction. Calls that find the same are
 * checked once: what a call does follows from its segment, its flags, and what its bases hold, all
 * relative to its layer and micro-batch. */
#include <stddef.h>
#include <string.h>

#include "compiler/plan/prove/types/typing.h"

enum { POSTS_MAX = KERNEL_OPERANDS_MAX }; /* plan_check: one for each operand of an exchange */

/* The types that a call finds. The used part is hashed as bytes. */
typedef struct CallTypes {
  uint32_t segment, flags, program, made, is_layer, is_microbatch;
  struct FoundItem { /* one for each base, then one for each post */
    uint64_t offset;
    Held held;
    uint32_t reached, kind; /* kind: of the buffer, where rules depend on it; of the post */
  } item[TYPING_BASES_MAX + POSTS_MAX];
} CallTypes;

static int32_t call_layer(const Typing *t) {
  return t->call.walk.call->layer < 0 ? 0 : t->call.walk.call->layer;
}

/* Makes contents relative to the call's layer and micro-batch (`away` -1), or absolute again (1).
 */
static Held seen(const Typing *t, Held held, int32_t away) {
  if (held.content == 0) return (Held){0};
  return (Held){held.content, held.layer + away * call_layer(t),
                held.microbatch + away * t->call.walk.microbatch, 0};
}

/* Finds the cells that the call's bases are in. False: refused. */
static bool reach(Typing *t) {
  t->call.reached_count = 0;
  if (t->call.walk.segment->bases_count > TYPING_BASES_MAX)
    return REFUSE(t, "more than %d bases", TYPING_BASES_MAX);
  for (uint32_t base = 0; base < t->call.walk.segment->bases_count; base++) {
    const Interval cell = cell_of_base(&t->call.walk, &t->class.cells, base);
    uint32_t i = 0;
    while (i < t->call.reached_count && t->call.reached[i].cell != cell.number)
      i++;
    if (i == t->call.reached_count) t->call.reached[t->call.reached_count++].cell = cell.number;
    t->call.reached[i].buffer = &t->plan->buffers[walk_buffer(&t->call.walk, base)];
    t->call.reached[i].start = cell.first;
    t->call.base_reached[base] = i;
    t->call.base_offset[base] = walk_base(&t->call.walk, base) - cell.first;
  }
  return true;
}

static uint32_t number_found(Typing *t) {
  const PlanCall *call = t->call.walk.call;
  CallTypes found; /* the used part is set below */
  found.segment = call->segment;
  found.flags = call->flags;
  found.program = t->call.walk.program->kind;
  found.made = t->class.made;
  found.is_layer = call->layer >= 0;
  found.is_microbatch = t->call.walk.microbatch >= 0;
  struct FoundItem *item = found.item;
  for (uint32_t base = 0; base < t->call.walk.segment->bases_count; base++, item++) {
    const uint32_t i = t->call.base_reached[base];
    const PlanBuffer *buffer = t->call.reached[i].buffer;
    *item = (struct FoundItem){.offset = t->call.base_offset[base],
                               .held = seen(t, t->class.held[t->call.reached[i].cell], -1),
                               .reached = i,
                               .kind = is_of_runtime(buffer) ? buffer->kind : PLAN_NONE};
  }
  for (uint32_t i = 0; i < call->posts_count; i++, item++) {
    const PlanPost *post = &t->plan->posts[call->posts_first + i];
    *item =
        (struct FoundItem){.kind = post->kind,
                           .held = {1, (int32_t)post->depth,
                                    (int32_t)(post->microbatch + walk_grown(&t->call.walk)), 0}};
    item->held = seen(t, item->held, -1);
  }
  return pool_number(t->view->arena, &t->proof.found, &found,
                     offsetof(CallTypes, item) + (size_t)(item - found.item) * sizeof *item);
}

/* Remembers what the call left: the control values made, then each cell that it reaches. */
static void keep_effect(Typing *t, uint32_t number) {
  Held left[TYPING_BASES_MAX + 1] = {{.content = t->class.made}};
  for (uint32_t i = 0; i < t->call.reached_count; i++)
    left[i + 1] = seen(t, t->class.held[t->call.reached[i].cell], -1);
  t->proof.found.row[number].tag = 1 + pool_number(t->view->arena, &t->proof.left, left,
                                                   (t->call.reached_count + 1) * sizeof *left);
}

static void apply_effect(Typing *t, const Held *left) {
  t->class.made = left[0].content;
  for (uint32_t i = 0; i < t->call.reached_count; i++)
    t->class.held[t->call.reached[i].cell] = seen(t, left[i + 1], 1);
}

static void run_records(Typing *t) {
  for (uint32_t r = 0; r < t->call.walk.segment->records_count && !t->class.refused; r++) {
    t->call.record = r;
    t->call.at = walk_record(&t->call.walk, r);
    if (walk_runs(&t->call.walk, t->call.at) && join_pieces_of(t)) type_record(t);
  }
  t->call.at = NULL;
}

static void look_at(Typing *t) {
  t->call.tells_class = false;
  for (uint32_t i = 0; i < t->call.reached_count; i++)
    contents_spans(&t->proof.types, t->class.held[t->call.reached[i].cell], call_layer(t),
                   t->call.walk.microbatch, &t->call.reached[i].spans);
  run_records(t);
  for (uint32_t i = 0; i < t->call.reached_count; i++)
    t->class.held[t->call.reached[i].cell] =
        seen(t, contents_keep(&t->proof.types, &t->call.reached[i].spans), 1);
}

static void run_call(Typing *t) {
  if (!reach(t)) return;
  const uint32_t number = number_found(t), known = t->proof.found.row[number].tag;
  if (known != 0) {
    apply_effect(t, pool_row(&t->proof.left, known - 1));
    return;
  }
  look_at(t);
  if (!t->class.refused && !t->call.tells_class) keep_effect(t, number);
}

/* ---- calls in order */

static bool flags_fit(const Typing *t) {
  int64_t microbatch = t->call.walk.microbatch;
  uint32_t flags = t->call.walk.call->flags;
  if (microbatch < 0) return (flags & (CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH)) == 0;
  return ((flags & CALL_FIRST_MICROBATCH) != 0) == (microbatch == 0) &&
         ((flags & CALL_LAST_MICROBATCH) != 0) == (microbatch == t->class.microbatches - 1) &&
         microbatch < t->class.microbatches;
}

static void run_one(Typing *t) {
  const Ledger *ledger = &t->view->ledger[t->call.walk.program->kind];
  const uint32_t *first = &ledger->birth_first[t->call.walk.position];
  for (uint32_t i = first[0]; i < first[1];
       i++) /* a buffer whose life begins here holds nothing yet */
    t->class.held[cell_of_buffer(t->view, &t->class.cells, ledger->born[i])] = (Held){0};
  if (flags_fit(t))
    run_call(t);
  else
    REFUSE(t, "its flags are not those of micro-batch %d of %lld", t->call.walk.microbatch,
           (long long)t->class.microbatches);
}

/* True if an iteration left what the previous one had left, with the micro-batch advanced. */
static bool moved_on(const Held *before, const Held *after, uint32_t count, uint32_t stride) {
  for (uint32_t i = 0; i < count; i++)
    if (before[i].content != after[i].content || before[i].layer != after[i].layer ||
        (after[i].content != 0 && after[i].microbatch != before[i].microbatch &&
         after[i].microbatch != before[i].microbatch + (int32_t)stride))
      return false;
  return true;
}

/* Once an iteration has repeated the previous one, the remaining ones would do the same for later
 * micro-batches. */
static void end_iteration(Typing *t, const Held *before) {
  const int32_t left = (int32_t)(t->call.walk.loop->times - t->call.walk.iteration - 1);
  if (t->call.walk.iteration == 0 || left == 0 ||
      !moved_on(before, t->class.held, t->class.cells.count, t->call.walk.loop->microbatch_stride))
    return;
  for (uint32_t cell = 0; cell < t->class.cells.count; cell++)
    t->class.held[cell].microbatch +=
        (t->class.held[cell].microbatch - before[cell].microbatch) * left;
  t->call.walk.iterations = t->call.walk.iteration + 1;
}

void run_program(Typing *t, const PlanProgram *program, Held *held) {
  Held *before = ARENA_ARRAY(t->view->arena, Held, t->class.cells.count);
  t->call.walk = walk_begin(t->view, program, WALK_ALL);
  t->class.held = held;
  t->class.made = 0;
  while (!t->class.refused && walk_next(&t->call.walk)) {
    const PlanLoop *loop = t->call.walk.loop;
    const uint32_t at = loop == NULL ? 0 : t->call.walk.position - loop->first_call;
    if (at == 0 && t->call.walk.iteration == 0) t->call.walk.iterations = WALK_ALL;
    if (at == 0 && loop != NULL) memcpy(before, held, t->class.cells.count * sizeof *before);
    run_one(t);
    if (loop != NULL && at + 1 == loop->call_count && !t->class.refused) end_iteration(t, before);
  }
  t->call.walk.call = NULL;
}
