/* rotation.c -- the steady state of a pipeline, written once.
 *
 * In the middle of a step every iteration repeats the previous one, a micro-batch later and with
 * other buffers: the micro-batches in flight use their buffers in turn. After one round the same
 * calls repeat with the same buffers. So the body of the loop is one round, and its bindings are
 * constant: no base has to move.
 *
 * Rounds are found before buffers have offsets. Buffers that are alike and never live at the same
 * time share a slot: a new one takes the slot that was freed last. Calls repeat when their bases
 * are in the same slots. The buffers that they bind in each round then become one buffer, which
 * lives whenever any of them did, and through the whole loop if one of them outlives its round; all
 * that use its slot in the loop are part of it then. They share a slot, so no two of them lived at
 * the same time. */
#include <string.h>

#include "compiler/draft/calls/program.h"

/* Kinds are found by layer, or a model would take time in the square of its layers. */
enum { LAYER_SLOTS = 1024 };

/* Buffers that are interchangeable. */
typedef struct RoundKind {
  const Buffer *example;
  BufferList left; /* free slots */
  int32_t next;    /* of the layers that share its entry of `kinds_of`; NO_ID: the end */
} RoundKind;

typedef struct Rotation {
  Arena *arena;
  Program *program;
  Buffer *buffers;
  int32_t first_buffer, end_buffer; /* of the program; those before them persist */
  int32_t *slot, *kind;             /* by buffer */
  VEC(RoundKind) kinds;
  int32_t kinds_of[LAYER_SLOTS]; /* by layer modulo LAYER_SLOTS: the last of its kinds */
  int32_t slot_count;
  int32_t first, period, times; /* the calls of a round, and how often they repeat */
  int32_t stride;               /* micro-batches of a round */
} Rotation;

/* ---- slots */

static bool alike(const Buffer *a, const Buffer *b) {
  return a->size_bytes == b->size_bytes && a->layer == b->layer && a->kind == b->kind &&
         a->tier == b->tier && strcmp(a->name, b->name) == 0;
}

static int32_t kind_of(Rotation *r, const Buffer *buffer) {
  int32_t *last = &r->kinds_of[(uint32_t)buffer->layer % LAYER_SLOTS];
  for (int32_t i = *last; i != NO_ID; i = r->kinds.at[i].next)
    if (alike(r->kinds.at[i].example, buffer)) return i;
  VEC_PUSH(r->arena, &r->kinds, (RoundKind){.example = buffer, .next = *last});
  return *last = r->kinds.count - 1;
}

/* Buffers, sorted by the call at which they end. */
typedef struct Deaths {
  int32_t *first, *next; /* by call; by buffer. NO_ID: the end */
  int32_t call;          /* buffers that ended before it have freed their slots */
} Deaths;

static Deaths deaths_of(const Rotation *r) {
  int32_t calls = r->program->calls.count;
  Deaths deaths = {ARENA_ARRAY(r->arena, int32_t, calls + 1),
                   ARENA_ARRAY(r->arena, int32_t, r->end_buffer), 0};
  for (int32_t i = 0; i < calls; i++)
    deaths.first[i] = NO_ID;
  for (int32_t b = r->first_buffer; b < r->end_buffer; b++) {
    int32_t *first = &deaths.first[r->buffers[b].last_call];
    deaths.next[b] = *first;
    *first = b;
  }
  return deaths;
}

static void free_slots(Rotation *r, Deaths *deaths, int32_t before_call) {
  for (; deaths->call < before_call; deaths->call++)
    for (int32_t b = deaths->first[deaths->call]; b != NO_ID; b = deaths->next[b])
      VEC_PUSH(r->arena, &r->kinds.at[r->kind[b]].left, r->slot[b]);
}

static void take_slots(Rotation *r) {
  Deaths deaths = deaths_of(r);
  for (int32_t i = 0; i < LAYER_SLOTS; i++)
    r->kinds_of[i] = NO_ID;
  for (int32_t b = r->first_buffer; b < r->end_buffer; b++) {
    free_slots(r, &deaths, r->buffers[b].first_call);
    r->kind[b] = kind_of(r, &r->buffers[b]);
    RoundKind *kind = &r->kinds.at[r->kind[b]];
    r->slot[b] = kind->left.count > 0 ? kind->left.at[--kind->left.count] : r->slot_count++;
  }
}

/* ---- rounds */

static bool is_own(const Rotation *r, int32_t buffer) {
  return buffer >= r->first_buffer;
}

static bool same_place(const Rotation *r, const BufferBinding *a, const BufferBinding *b) {
  if (a->offset_bytes != b->offset_bytes) return false;
  if (!is_own(r, a->buffer) || !is_own(r, b->buffer)) return a->buffer == b->buffer;
  return r->slot[a->buffer] == r->slot[b->buffer];
}

/* True if call b is call a, `stride` micro-batches later. */
static bool comes_again(const Rotation *r, int32_t a, int32_t b, int32_t stride) {
  const Call *x = &r->program->calls.at[a], *y = &r->program->calls.at[b];
  if (x->segment != y->segment || x->layer != y->layer || x->flags != y->flags ||
      y->microbatch != (x->microbatch < 0 ? -1 : x->microbatch + stride) ||
      x->post_count != y->post_count)
    return false;
  for (int32_t i = 0; i < x->post_count; i++)
    if (x->posts[i].kind != y->posts[i].kind || x->posts[i].depth != y->posts[i].depth ||
        x->posts[i].microbatch + (uint32_t)stride != y->posts[i].microbatch)
      return false;
  for (int32_t i = 0; i < x->binding_count; i++)
    if (!same_place(r, &x->bindings[i], &y->bindings[i])) return false;
  return true;
}

/* Micro-batches from a call to the one `period` calls later; 0: calls of this kind do not repeat.
 */
static int32_t stride_of(const Rotation *r, int32_t from, int32_t period) {
  const Call *call = r->program->calls.at;
  for (int32_t i = from; i < from + period && i + period < r->program->calls.count; i++) {
    if (call[i].segment != call[i + period].segment) return 0;
    if (call[i].microbatch >= 0) return call[i + period].microbatch - call[i].microbatch;
  }
  return 0;
}

/* By call: how many buffers live both before and in it. */
static int32_t *carried_counts(const Rotation *r) {
  int32_t *count = ARENA_ARRAY(r->arena, int32_t, r->program->calls.count + 2);
  for (int32_t b = r->first_buffer; b < r->end_buffer; b++) {
    count[r->buffers[b].first_call + 1]++;
    count[r->buffers[b].last_call + 1]--;
  }
  for (int32_t i = 1; i <= r->program->calls.count; i++)
    count[i] += count[i - 1];
  return count;
}

/* Calls [low, high) repeat. A round may begin at any of its calls; it begins where the fewest
 * buffers are carried over, because those live through the whole loop. Sizes do not count, so that
 * the number of replicas, which determines the size of shards, changes no call. */
static void choose_first(Rotation *r, int32_t low, int32_t high) {
  const int32_t *count = carried_counts(r);
  r->first = low;
  for (int32_t i = low; i < low + r->period && i + r->period <= high; i++)
    if (count[i] < count[r->first]) r->first = i;
  r->times = (high - r->first) / r->period + 1;
}

/* Looks for rounds of `period` calls around the middle of the program. */
static bool try_period(Rotation *r, int32_t middle, int32_t period) {
  int32_t stride = stride_of(r, middle, period), low = middle, high = middle;
  if (stride <= 0) return false;
  while (high + period < r->program->calls.count && comes_again(r, high, high + period, stride))
    high++;
  while (low > 1 && comes_again(r, low - 1, low - 1 + period, stride))
    low--;
  if (high - low < period) return false;
  r->period = period, r->stride = stride;
  choose_first(r, low, high);
  return true;
}

static bool find_rounds(Rotation *r) {
  int32_t middle = r->program->calls.count / 2;
  for (int32_t period = 1; middle + period < r->program->calls.count; period++)
    if (try_period(r, middle, period)) return true;
  return false;
}

/* ---- one round for all */

static int32_t loop_end(const Rotation *r) {
  return r->first + r->times * r->period;
}

/* The round of a call; -1: before the loop; times: after it. */
static int32_t round_of(const Rotation *r, int32_t call) {
  if (call < r->first) return -1;
  return call < loop_end(r) ? (call - r->first) / r->period : r->times;
}

/* The position of the call in the program with one round. */
static int32_t moved(const Rotation *r, int32_t call) {
  int32_t round = round_of(r, call), left_out = round == r->times ? round - 1 : round;
  return round < 0 ? call : call - left_out * r->period;
}

static int32_t root_of(int32_t *root, int32_t buffer) {
  while (root[buffer] != buffer)
    buffer = root[buffer] = root[root[buffer]];
  return buffer;
}

/* Merges two buffers; the earlier one is kept. */
static void unite(int32_t *root, int32_t a, int32_t b) {
  int32_t x = root_of(root, a), y = root_of(root, b);
  root[x > y ? x : y] = x > y ? y : x;
}

/* True if the buffer is still in use after the round in which it was filled: it then lives through
 * the whole loop. */
static bool is_carried(const Rotation *r, const Buffer *buffer) {
  return round_of(r, buffer->first_call) != round_of(r, buffer->last_call);
}

static bool is_in_loop(const Rotation *r, const Buffer *buffer) {
  return buffer->first_call < loop_end(r) && buffer->last_call >= r->first;
}

/* A round may use a slot several times. If one of these buffers lives through the whole loop, the
 * others share its memory, as without a loop. */
static void unite_slots(const Rotation *r, int32_t *root) {
  int32_t *through = ARENA_ARRAY(r->arena, int32_t, r->slot_count + 1); /* by slot; 0: none */
  for (int32_t b = r->first_buffer; b < r->end_buffer; b++)
    if (is_in_loop(r, &r->buffers[b]) && is_carried(r, &r->buffers[b]) && through[r->slot[b]] == 0)
      through[r->slot[b]] = b + 1;
  for (int32_t b = r->first_buffer; b < r->end_buffer; b++)
    if (is_in_loop(r, &r->buffers[b]) && through[r->slot[b]] != 0)
      unite(root, through[r->slot[b]] - 1, b);
}

static int32_t *unite_rounds(const Rotation *r) {
  int32_t *root = ARENA_ARRAY(r->arena, int32_t, r->end_buffer);
  for (int32_t b = 0; b < r->end_buffer; b++)
    root[b] = b;
  for (int32_t i = r->first + r->period; i < loop_end(r); i++) {
    const Call *call = &r->program->calls.at[i], *first = &r->program->calls.at[moved(r, i)];
    for (int32_t k = 0; k < call->binding_count; k++)
      if (is_own(r, call->bindings[k].buffer))
        unite(root, first->bindings[k].buffer, call->bindings[k].buffer);
  }
  unite_slots(r, root);
  return root;
}

/* A buffer that one round passes to the next exists before the loop, so its lifetime begins before
 * it. */
static void move_life(const Rotation *r, Buffer *buffer) {
  const bool lives_through = is_carried(r, buffer);
  buffer->first_call = moved(r, buffer->first_call);
  buffer->last_call = moved(r, buffer->last_call);
  if (!lives_through) return;
  int32_t last = r->first + r->period - 1;
  if (buffer->first_call >= r->first) buffer->first_call = r->first - 1;
  if (buffer->last_call < last) buffer->last_call = last;
}

static void join_lives(Buffer *into, const Buffer *other) {
  if (other->first_call < into->first_call) into->first_call = other->first_call;
  if (other->last_call > into->last_call) into->last_call = other->last_call;
}

/* Keeps the first of the merged buffers. Returns the new numbers by the old ones. */
static int32_t *join_buffers(Rotation *r, int32_t *root) {
  int32_t *number = ARENA_ARRAY(r->arena, int32_t, r->end_buffer);
  int32_t count = r->first_buffer;
  for (int32_t b = 0; b < r->end_buffer; b++) {
    int32_t of = root_of(root, b);
    number[b] = is_own(r, b) && of == b ? count++ : is_own(r, b) ? number[of] : b;
    if (!is_own(r, b)) continue;
    move_life(r, &r->buffers[b]);
    if (of == b)
      r->buffers[number[b]] = r->buffers[b];
    else
      join_lives(&r->buffers[number[b]], &r->buffers[b]);
  }
  r->end_buffer = count;
  return number;
}

static void join_calls(const Rotation *r, const int32_t *number) {
  Call *call = r->program->calls.at;
  int32_t tail = r->program->calls.count - loop_end(r);
  memmove(&call[r->first + r->period], &call[loop_end(r)], (size_t)tail * sizeof *call);
  r->program->calls.count = r->first + r->period + tail;
  for (int32_t i = 0; i < r->program->calls.count; i++)
    for (int32_t k = 0; k < call[i].binding_count; k++)
      call[i].bindings[k].buffer = number[call[i].bindings[k].buffer];
  VEC_PUSH(r->arena, &r->program->loops, (Loop){r->first, r->period, r->times, r->stride});
}

void calls_rotate(Calls *t) {
  Stage *stage = t->stage;
  Rotation r = {.arena = t->draft->compile->arena,
                .program = &stage->programs[t->kind],
                .buffers = stage->buffers.at,
                .first_buffer = stage->buffers.count,
                .end_buffer = stage->buffers.count};
  while (r.first_buffer > 0 && r.buffers[r.first_buffer - 1].program == t->kind)
    r.first_buffer--;
  r.slot = ARENA_ARRAY(r.arena, int32_t, r.end_buffer + 1);
  r.kind = ARENA_ARRAY(r.arena, int32_t, r.end_buffer + 1);
  take_slots(&r);
  if (!find_rounds(&r)) return;
  join_calls(&r, join_buffers(&r, unite_rounds(&r)));
  stage->buffers.count = r.end_buffer;
}
