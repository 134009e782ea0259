/* repeats.c -- what has been looked at already under another name.
 *
 * A plan says the same thing many times: layer after layer, micro-batch after micro-batch, stage
 * after stage. What is equal need not be proven again.
 *
 * - The story of a buffer is the list of the calls that touch it, from its first to its last: the
 *   segment with its flags, through which bases and how far from the buffer's beginning, and in the
 *   how manieth micro-batch. Properties that look at each buffer alone (dataflow, values) find in
 *   one buffer what they found in another of the same story. Scratch of one segment tells one story
 *   in all calls.
 * - A part of a step is what transient buffers tie together: the calls that share them, down to the
 *   exchanges with other classes, which only pass things on. Parts that are equal call by call,
 * with the same layers, the same tensors and each buffer in the place of its like, compute the same
 * of other samples: properties that follow values (replicas, adjoint) look at one of them. What
 * happens to a tensor from one micro-batch to the next is for others to see (step).
 *
 * Stories and parts are compared by hashes of 64 bits. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"

/* ---- what was told */

bool told_before(Told *told, uint64_t story) {
  story += story == 0; /* 0: a free place */
  if (2 * (told->count + 1) > told->capacity) {
    size_t capacity = told->capacity ? 2 * told->capacity : 1024;
    uint64_t *grown = calloc(capacity, sizeof *grown);
    if (grown == NULL) return false; /* it is looked at again, that is all */
    for (size_t i = 0; i < told->capacity; i++) {
      if (told->story[i] == 0) continue;
      size_t at = told->story[i] & (capacity - 1);
      while (grown[at] != 0)
        at = (at + 1) & (capacity - 1);
      grown[at] = told->story[i];
    }
    free(told->story);
    told->story = grown, told->capacity = capacity;
  }
  size_t at = story & (told->capacity - 1);
  while (told->story[at] != 0 && told->story[at] != story)
    at = (at + 1) & (told->capacity - 1);
  if (told->story[at] == story) return true;
  told->story[at] = story;
  told->count++;
  return false;
}

/* ---- stories of buffers */

typedef struct Stories {
  const View *view;
  uint64_t *story; /* by buffer of the class */
  int32_t *begins; /* by buffer: the micro-batch of its first call; INT32_MIN: none yet */
  bool *moves;     /* by base of the plan: what it reaches depends on the rank */
  bool *seen;      /* by segment: `moves` is known of its bases */
} Stories;

/* Numbers in communicators, and whether the class has all of their members. */
static uint64_t hash_rank(const View *view) {
  const Plan *plan = view->plan;
  uint64_t hash = 1;
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    bool whole = true;
    for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
      const PlanBound *bound = &plan->bounds[view->class->bounds_first + axis];
      if (plan->comms[comm].axes_mask >> axis & 1)
        whole = whole && bound->end - bound->first == plan->axes[axis].size;
    }
    hash = hash_mix(hash, 2 * (uint64_t)view_member(view, comm) + whole);
  }
  return hash;
}

/* Pieces of gathers and scatters in place, and places that move with the rank. Zeros stay zeros in
 * a sum where the class has all members. */
static void find_moves(Stories *s, const PlanSegment *segment) {
  const Plan *plan = s->view->plan;
  for (uint32_t r = 0; r < segment->records_count; r++) {
    const PlanRecord *record = &plan->records[segment->records_first + r];
    bool depends = record_is_communication(record) && record->operands_count == 1;
    for (uint32_t i = 0; i < record->operands_count; i++) {
      const PlanOperand *operand = &plan->operands[record->operands_first + i];
      if (depends || (operand->by != PLAN_NONE && operand->member_stride != 0))
        s->moves[segment->bases_first + operand->base] = true;
    }
  }
}

static void tell_base(Stories *s, const Walk *walk, uint32_t base, uint64_t call) {
  uint32_t buffer = walk_buffer(walk, base);
  if (buffer == PLAN_NONE) return;
  const PlanBuffer *what = &s->view->plan->buffers[buffer];
  uint32_t number = buffer - s->view->class->buffers_first;
  if (s->begins[number] == INT32_MIN) s->begins[number] = walk->microbatch;
  uint64_t story = s->story[number];
  story = hash_mix(story, call);
  story = hash_mix(story, base);
  story = hash_mix(story, walk_base(walk, base) - buffer_address(what));
  if (walk->microbatch >= 0)
    story = hash_mix(story, (uint64_t)(walk->microbatch - s->begins[number]) + 1);
  if (s->moves[walk->segment->bases_first + base]) story = hash_mix(story, s->view->repeats.rank);
  bool transient = what->program != PLAN_NONE;
  uint64_t begins = transient && walk->position == what->first_call;
  uint64_t ends = transient && walk->position == what->last_call;
  s->story[number] = hash_mix(story, 2 * begins + ends);
}

static void tell_program(Stories *s, const PlanProgram *program) {
  Walk walk = walk_begin(s->view, program);
  while (walk_next(&walk)) {
    if (!s->seen[walk.call->segment]) find_moves(s, walk.segment);
    s->seen[walk.call->segment] = true;
    uint64_t call = hash_mix(hash_mix(program->kind, walk.call->segment), walk.call->flags);
    for (uint32_t base = 0; base < walk.segment->bases_count; base++)
      tell_base(s, &walk, base, call);
  }
}

/* A call tells nothing new of buffers when none of these does. */
static void mark_calls(const View *view, Repeats *repeats, const PlanProgram *program) {
  bool *told = repeats->told_call[program->kind], *told_all = repeats->told_all[program->kind];
  Walk walk = walk_begin(view, program);
  while (walk_next(&walk)) {
    told[walk.position] = told_all[walk.position] = true;
    for (uint32_t base = 0; base < walk.segment->bases_count; base++) {
      uint32_t buffer = walk_buffer(&walk, base);
      if (buffer == PLAN_NONE || repeats->told_buffer[buffer - view->class->buffers_first])
        continue;
      told_all[walk.position] = false;
      if (view->plan->buffers[buffer].program != PLAN_NONE) told[walk.position] = false;
    }
  }
}

static void tell_stories(const View *view, Told *told, Repeats *repeats) {
  const Plan *plan = view->plan;
  const PlanClass *class = view->class;
  Stories s = {.view = view};
  s.story = prove_array(view, class->buffers_count, sizeof *s.story);
  s.begins = prove_array(view, class->buffers_count, sizeof *s.begins);
  s.moves = prove_array(view, plan->bases_count, sizeof *s.moves);
  s.seen = prove_array(view, plan->segments_count, sizeof *s.seen);
  if (s.story != NULL && s.begins != NULL && s.moves != NULL && s.seen != NULL) {
    for (uint32_t i = 0; i < class->buffers_count; i++) {
      const PlanBuffer *buffer = &plan->buffers[class->buffers_first + i];
      bool persistent = buffer->program == PLAN_NONE;
      s.begins[i] = INT32_MIN;
      s.story[i] = hash_mix(buffer->kind, persistent ? buffer_address(buffer) + 1 : 0);
    }
    for (uint32_t i = 0; i < class->programs_count; i++)
      tell_program(&s, &plan->programs[class->programs_first + i]);
    for (uint32_t i = 0; i < class->buffers_count; i++)
      repeats->told_buffer[i] = told_before(told, s.story[i]);
    for (uint32_t i = 0; i < class->programs_count; i++)
      mark_calls(view, repeats, &plan->programs[class->programs_first + i]);
  }
  free(s.story), free(s.begins), free(s.moves), free(s.seen);
}

/* ---- parts of a step */

typedef struct Part {
  uint64_t hash;
  uint32_t buffers; /* that have been seen: they are numbered as they come */
  int32_t begins;   /* 1 + micro-batch of the first call that has one; 0: none yet */
  bool again;
} Part;

typedef struct Parts {
  const View *view;
  const PlanProgram *program;
  uint32_t *parent; /* by buffer of the class: towards the one that stands for its part */
  uint32_t *number; /* by buffer: in its part, from 1 */
  Part *part;       /* by buffer that stands for one */
} Parts;

static uint32_t find_part(const Parts *p, uint32_t number) {
  while (p->parent[number] != number) {
    p->parent[number] = p->parent[p->parent[number]];
    number = p->parent[number];
  }
  return number;
}

/* The buffer of a base, counted in its class; PLAN_NONE: it is none, or a persistent one. */
static uint32_t transient_of(const Parts *p, const Walk *walk, uint32_t base) {
  uint32_t buffer = walk_buffer(walk, base);
  if (buffer == PLAN_NONE || p->view->plan->buffers[buffer].program == PLAN_NONE) return PLAN_NONE;
  return buffer - p->view->class->buffers_first;
}

/* A call that only exchanges has a base for each transfer, and ties nothing together. */
static bool only_exchanges(const Walk *walk) {
  bool only = walk->segment->records_count > 0;
  for (uint32_t i = 0; i < walk->segment->records_count; i++)
    only = only && walk_record(walk, i)->kind == RECORD_EXCHANGE;
  return only;
}

static void tie(const Parts *p, const Walk *walk) {
  uint32_t first = PLAN_NONE;
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    uint32_t number = transient_of(p, walk, base);
    if (number == PLAN_NONE) continue;
    if (first == PLAN_NONE) first = find_part(p, number);
    p->parent[find_part(p, number)] = first;
  }
}

static uint64_t hash_base(Parts *p, Part *part, const Walk *walk, uint32_t base) {
  uint32_t buffer = walk_buffer(walk, base), number = transient_of(p, walk, base);
  uint64_t hash = hash_mix(base, walk_base(walk, base));
  if (number == PLAN_NONE) return hash_mix(hash, buffer);
  if (p->number[number] == 0) p->number[number] = ++part->buffers;
  const PlanBuffer *what = &p->view->plan->buffers[buffer];
  hash = hash_mix(base, walk_base(walk, base) - buffer_address(what));
  return hash_mix(hash_mix(hash, p->number[number]), what->kind);
}

static void add_call(Parts *p, Part *part, const Walk *walk) {
  if (part->begins == 0) part->begins = walk->microbatch + 1;
  uint64_t hash = hash_mix(hash_mix(part->hash, walk->call->segment), walk->call->flags);
  hash = hash_mix(hash, (uint64_t)walk->call->layer + 2);
  if (walk->microbatch >= 0) hash = hash_mix(hash, (uint64_t)(walk->microbatch - part->begins));
  for (uint32_t base = 0; base < walk->segment->bases_count; base++)
    hash = hash_mix(hash, hash_base(p, part, walk, base));
  part->hash = hash + (hash == 0);
}

/* Transfers count one by one, wherever they go together with others. */
static void add_exchange(Parts *p, const Walk *walk) {
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    uint32_t number = transient_of(p, walk, base);
    if (number == PLAN_NONE) continue;
    Part *part = &p->part[find_part(p, number)];
    part->hash =
        hash_mix(hash_mix(part->hash, walk->call->segment), hash_base(p, part, walk, base));
  }
}

/* The part that a call belongs to; NULL: it touches no transient buffer. */
static Part *part_of(const Parts *p, const Walk *walk) {
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    uint32_t number = transient_of(p, walk, base);
    if (number != PLAN_NONE) return &p->part[find_part(p, number)];
  }
  return NULL;
}

static void compare_parts(Parts *p, const Repeats *repeats) {
  Told told = {0};
  Walk walk = walk_begin(p->view, p->program);
  while (walk_next(&walk))
    if (!only_exchanges(&walk)) tie(p, &walk);
  walk = walk_begin(p->view, p->program);
  while (walk_next(&walk)) {
    Part *part = part_of(p, &walk);
    if (only_exchanges(&walk))
      add_exchange(p, &walk);
    else if (part != NULL)
      add_call(p, part, &walk);
  }
  for (uint32_t i = 0; i < p->view->class->buffers_count; i++)
    if (p->parent[i] == i && p->part[i].hash != 0)
      p->part[i].again = told_before(&told, p->part[i].hash);
  walk = walk_begin(p->view, p->program);
  while (walk_next(&walk)) {
    Part alone = {0}, *part = part_of(p, &walk);
    if (only_exchanges(&walk)) continue;
    if (part == NULL) {
      add_call(p, &alone, &walk);
      alone.again = walk.microbatch >= 0 && told_before(&told, alone.hash);
      part = &alone;
    }
    repeats->again[walk.position] = part->again;
  }
  for (uint32_t i = 0; i < p->view->class->buffers_count; i++)
    repeats->again_buffer[i] = p->part[find_part(p, i)].again;
  free(told.story);
}

bool find_parts(View *view) {
  const PlanProgram *program = view_program(view, PROGRAM_TRAIN_STEP);
  uint32_t buffers = view->class->buffers_count;
  if (program == NULL) return true;
  view->repeats.again = prove_array(view, program->calls_count, sizeof(bool));
  view->repeats.again_buffer = prove_array(view, buffers, sizeof(bool));
  if (view->repeats.again == NULL || view->repeats.again_buffer == NULL) return false;
  if (program->loops_count > 0) return true; /* a loop says what repeats */
  Parts p = {.view = view, .program = program};
  p.parent = prove_array(view, buffers, sizeof *p.parent);
  p.number = prove_array(view, buffers, sizeof *p.number);
  p.part = prove_array(view, buffers, sizeof *p.part);
  bool ready = p.parent != NULL && p.number != NULL && p.part != NULL;
  for (uint32_t i = 0; i < buffers && ready; i++)
    p.parent[i] = i;
  if (ready) compare_parts(&p, &view->repeats);
  free(p.parent), free(p.number), free(p.part);
  return ready;
}

/* ---- */

bool find_repeats(View *view, Told *told) {
  Repeats *repeats = &view->repeats;
  bool ready = true;
  repeats->told_buffer = prove_array(view, view->class->buffers_count, sizeof(bool));
  for (uint32_t i = 0; i < view->class->programs_count; i++) {
    const PlanProgram *program = &view->plan->programs[view->class->programs_first + i];
    bool *told_call = prove_array(view, program->calls_count, sizeof(bool));
    bool *told_all = prove_array(view, program->calls_count, sizeof(bool));
    repeats->told_call[program->kind] = told_call, repeats->told_all[program->kind] = told_all;
    ready = ready && told_call != NULL && told_all != NULL;
  }
  if (!ready || repeats->told_buffer == NULL) return false;
  repeats->rank = hash_rank(view);
  tell_stories(view, told, repeats);
  return true;
}
