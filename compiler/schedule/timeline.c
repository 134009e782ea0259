/* timeline.c -- programs as calls: which segment, layer and micro-batch, in which order, bound to
 * which buffers.
 *
 * A link of the chain is one layer of one region. carry[u] is the value between link u-1 and link
 * u, d_carry[u] its gradient. Micro-batches run one after another: the first, the middle ones (one
 * loop), the last, which also reduces. */
#include <assert.h>

#include "compiler/schedule/draft.h"

typedef struct Link {
  RegionId region;
  int64_t layer;                  /* of its region */
  bool first, last;               /* of its stack */
  bool group_last;                /* last of its recompute group */
  int32_t frame, recompute_frame; /* buffers; NO_ID: none in this body */
} Link;

typedef struct Timeline {
  Draft *draft;
  int32_t kind; /* ProgramKind */
  const Graph *graph;
  const RegionSegments *parts;
  Link *links;
  int32_t link_count;
  int32_t *carry, *again, *d_carry; /* buffers by link index; again: recomputed inside a group */
  int32_t data, load_segment, clip_segment, control_segment;
} Timeline;

/* ---- buffers live from their first to their last call */

static int32_t here(const Timeline *t) {
  return t->draft->programs[t->kind].calls.count;
}

static int32_t transient(Timeline *t, const char *name, BufferKind kind, int64_t size_bytes,
                         int64_t layer) {
  return buffer_add(t->draft, (Buffer){.name = name,
                                       .kind = kind,
                                       .size_bytes = size_bytes,
                                       .program = t->kind,
                                       .first_call = here(t),
                                       .last_call = here(t),
                                       .layer = (int32_t)layer});
}

static int32_t transient_if(Timeline *t, int32_t *slot, const char *name, BufferKind kind,
                            int64_t size_bytes, int64_t layer) {
  if (*slot == NO_ID && size_bytes > 0) *slot = transient(t, name, kind, size_bytes, layer);
  return *slot;
}

static const char *region_name(const Timeline *t, RegionId r, const char *word) {
  return arena_printf(t->draft->compile->arena, "%s %s", t->graph->regions.at[r].name, word);
}

/* ---- bindings */

static BufferBinding bind_state(const Timeline *t, const SegmentBase *base, int64_t layer) {
  const Draft *d = t->draft;
  const RegionState *state = &d->state[base->region];
  int64_t block = base->role == BASE_PARAM  ? state->param_block_bytes
                  : base->role == BASE_GRAD ? state->grad_block_bytes
                                            : state->full_block_bytes;
  /* Another region's parameters (a tied weight) are never a stack's: layer 0. */
  int64_t index = d->train->regions.at[base->region].is_stack ? layer : 0;
  return (BufferBinding){state->buffers[base->role], index * block};
}

static BufferBinding bind_base(Timeline *t, const SegmentBase *base, int32_t u, bool recompute) {
  Draft *d = t->draft;
  Link *link = u == NO_ID ? NULL : &t->links[u];
  int64_t layer = link == NULL ? -1 : link->layer;
  assert(link != NULL || (base->role != BASE_FRAME && base->role != BASE_RECOMPUTE_FRAME));
  switch (base->role) {
  case BASE_PARAM:
  case BASE_GRAD:
  case BASE_MASTER:
  case BASE_MOMENT1:
  case BASE_MOMENT2: return bind_state(t, base, layer);
  case BASE_FRAME: return (BufferBinding){link->frame, 0};
  case BASE_RECOMPUTE_FRAME: return (BufferBinding){link->recompute_frame, 0};
  case BASE_INPUT: return (BufferBinding){t->again[u] != NO_ID ? t->again[u] : t->carry[u], 0};
  case BASE_OUTPUT:
    if (t->again[u + 1] != NO_ID) return (BufferBinding){t->again[u + 1], 0};
    /* The last of a group makes no output again: nothing runs that touches this base. */
    return (BufferBinding){recompute ? t->carry[u] : t->carry[u + 1], 0};
  case BASE_D_INPUT: return (BufferBinding){t->d_carry[u], 0};
  case BASE_D_OUTPUT: return (BufferBinding){t->d_carry[u + 1], 0};
  case BASE_DATA: return (BufferBinding){t->data, 0};
  case BASE_CONTROL: return (BufferBinding){d->control_buffer, 0};
  case BASE_PARTIALS: {
    int64_t first = 0;
    if (base->region != NO_ID) {
      const RegionState *state = &d->state[base->region];
      first = state->first_partial + state->param_count * layer;
    }
    return (BufferBinding){d->partials_buffer, first * dtype_bytes(DTYPE_F64)};
  }
  case BASE_SCRATCH:
    return (BufferBinding){transient(t, "scratch", BUFFER_WORKSPACE, base->size_bytes, layer), 0};
  default:
    return (BufferBinding){
        transient(t, "gradients on the wire", BUFFER_COMM, base->size_bytes, layer), 0};
  }
}

static void touch(Timeline *t, int32_t buffer) {
  Buffer *b = &t->draft->buffers.at[buffer];
  if (b->program == t->kind) b->last_call = here(t);
}

static void call(Timeline *t, int32_t segment, int32_t u, int32_t microbatch, uint32_t flags,
                 bool recompute) {
  if (segment == NO_ID) return;
  Draft *d = t->draft;
  const Segment *seg = &d->segments.at[segment];
  BufferBinding *bindings = ARENA_ARRAY(d->compile->arena, BufferBinding, seg->bases.count + 1);
  for (int32_t i = 0; i < seg->bases.count; i++) {
    bindings[i] = bind_base(t, &seg->bases.at[i], u, recompute);
    assert(bindings[i].buffer != NO_ID);
    touch(t, bindings[i].buffer);
  }
  const Link *link = u == NO_ID ? NULL : &t->links[u];
  bool stack = link != NULL && t->graph->regions.at[link->region].is_stack;
  if (link != NULL && link->first) flags |= CALL_FIRST_LAYER;
  if (link != NULL && link->last) flags |= CALL_LAST_LAYER;
  if (link != NULL && link->group_last) flags |= CALL_GROUP_LAST;
  VEC_PUSH(d->compile->arena, &d->programs[t->kind].calls,
           (Call){segment, stack ? (int32_t)link->layer : -1, microbatch, flags, bindings});
}

/* ---- links */

static void make_links(Timeline *t) {
  const Graph *g = t->graph;
  Arena *arena = t->draft->compile->arena;
  int64_t count = 0;
  for (RegionId r = 0; r < g->regions.count; r++)
    count += g->regions.at[r].repeat;
  t->link_count = (int32_t)count;
  t->links = ARENA_ARRAY(arena, Link, count);
  t->carry = ARENA_ARRAY(arena, int32_t, count + 1);
  t->again = ARENA_ARRAY(arena, int32_t, count + 1);
  t->d_carry = ARENA_ARRAY(arena, int32_t, count + 1);
  int64_t group = t->draft->group_layers > 0 ? t->draft->group_layers : 1;
  for (RegionId r = 0, u = 0; r < g->regions.count; r++) {
    int64_t n = g->regions.at[r].repeat;
    for (int64_t l = 0; l < n; l++)
      t->links[u++] =
          (Link){r, l, l == 0, l == n - 1, (l + 1) % group == 0 || l == n - 1, NO_ID, NO_ID};
  }
}

static void clear_buffers(Timeline *t) {
  for (int32_t u = 0; u <= t->link_count; u++)
    t->carry[u] = t->again[u] = t->d_carry[u] = NO_ID;
  for (int32_t u = 0; u < t->link_count; u++)
    t->links[u].frame = t->links[u].recompute_frame = NO_ID;
  t->data = transient(t, "micro-batch", BUFFER_DATA, t->draft->sample_bytes, -1);
}

/* ---- one micro-batch */

static void forward_link(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  Link *link = &t->links[u];
  const RegionSegments *parts = &t->parts[link->region];
  transient_if(t, &t->carry[u + 1], region_name(t, link->region, "output"), BUFFER_ACTIVATION,
               parts->output_bytes, link->layer);
  transient_if(t, &link->frame, region_name(t, link->region, "kept for backward"),
               BUFFER_ACTIVATION, parts->frame_bytes, link->layer);
  call(t, parts->forward, u, microbatch, flags, false);
}

/* Layers [first, end) of one group: each makes its kept values and, but for the last, its output
 * again. */
static void recompute_group(Timeline *t, int32_t first, int32_t end, int32_t microbatch,
                            uint32_t flags) {
  for (int32_t u = first; u < end; u++) {
    Link *link = &t->links[u];
    const RegionSegments *parts = &t->parts[link->region];
    if (parts->recompute == NO_ID) continue;
    transient_if(t, &link->recompute_frame, region_name(t, link->region, "recomputed"),
                 BUFFER_ACTIVATION, parts->recompute_frame_bytes, link->layer);
    if (u + 1 < end || parts->backward_reads_output)
      transient_if(t, &t->again[u + 1], region_name(t, link->region, "output, recomputed"),
                   BUFFER_ACTIVATION, parts->output_bytes, link->layer);
    call(t, parts->recompute, u, microbatch, flags, true);
  }
}

static void backward_link(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  Link *link = &t->links[u];
  const RegionSegments *parts = &t->parts[link->region];
  transient_if(t, &t->d_carry[u], region_name(t, link->region, "input gradient"),
               BUFFER_GRAD_ACTIVATION, parts->d_input_bytes, link->layer);
  call(t, parts->backward, u, microbatch, flags, false);
  bool reduces = (flags & CALL_LAST_MICROBATCH) != 0 && t->draft->derived.dp > 1;
  /* A tied weight gets its last contribution in its own region's backward, which is the last one to
   * run. */
  if (reduces) call(t, parts->reduce, u, microbatch, flags, false);
}

static bool is_recomputed(const Timeline *t, int32_t u) {
  return t->parts[t->links[u].region].recompute != NO_ID;
}

static void backward_all(Timeline *t, int32_t microbatch, uint32_t flags) {
  for (int32_t end = t->link_count; end > 0;) {
    int32_t first = end - 1;
    if (is_recomputed(t, first)) {
      while (first > 0 && t->links[first - 1].region == t->links[end - 1].region &&
             !t->links[first - 1].group_last)
        first--;
      recompute_group(t, first, end, microbatch, flags);
    }
    for (int32_t u = end - 1; u >= first; u--)
      backward_link(t, u, microbatch, flags);
    end = first;
  }
}

static void one_microbatch(Timeline *t, int32_t microbatch, uint32_t flags) {
  clear_buffers(t);
  call(t, t->load_segment, NO_ID, microbatch, flags, false);
  for (int32_t u = 0; u < t->link_count; u++)
    forward_link(t, u, microbatch, flags);
  if (t->graph->training) backward_all(t, microbatch, flags);
}

/* ---- programs */

static void train_microbatches(Timeline *t) {
  Program *program = &t->draft->programs[t->kind];
  int32_t count = (int32_t)t->draft->derived.accumulation;
  if (count == 1) {
    one_microbatch(t, 0, CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH);
    return;
  }
  one_microbatch(t, 0, CALL_FIRST_MICROBATCH);
  if (count > 2) {
    int32_t first = here(t);
    one_microbatch(t, 1, 0);
    if (count > 3)
      VEC_PUSH(t->draft->compile->arena, &program->loops,
               (Loop){first, here(t) - first, count - 2});
  }
  one_microbatch(t, count - 1, CALL_LAST_MICROBATCH);
}

static void build_train(Draft *d) {
  Timeline t = {.draft = d, .kind = PROGRAM_TRAIN_STEP, .graph = d->train, .parts = d->train_parts};
  d->programs[t.kind].exists = true;
  make_links(&t);
  t.load_segment = load_segment_build(d, d->train, "load");
  t.clip_segment = clip_segment_build(d);
  t.control_segment = control_segment_build(d, "control");
  train_microbatches(&t);
  for (int32_t u = 0; u < t.link_count; u++)
    call(&t, t.parts[t.links[u].region].norm, u, -1, 0, false);
  call(&t, t.clip_segment, NO_ID, -1, 0, false);
  call(&t, t.control_segment, NO_ID, -1, 0, false);
  for (int32_t u = 0; u < t.link_count; u++)
    call(&t, t.parts[t.links[u].region].update, u, -1, 0, false);
}

static void build_init(Draft *d) {
  Timeline t = {.draft = d, .kind = PROGRAM_INIT, .graph = d->train, .parts = d->train_parts};
  d->programs[t.kind].exists = true;
  make_links(&t);
  for (int32_t u = 0; u < t.link_count; u++)
    call(&t, t.parts[t.links[u].region].init, u, -1, 0, false);
}

static void build_eval(Draft *d) {
  Timeline t = {.draft = d, .kind = PROGRAM_EVAL_STEP, .graph = d->eval, .parts = d->eval_parts};
  d->programs[t.kind].exists = true;
  make_links(&t);
  t.load_segment = load_segment_build(d, d->eval, "load.eval");
  t.control_segment = control_segment_build(d, "control.eval");
  one_microbatch(&t, 0, CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH);
  call(&t, t.control_segment, NO_ID, -1, 0, false);
}

void timeline_build(Draft *d) {
  build_init(d);
  build_train(d);
  if (d->eval != NULL) build_eval(d);
}
