#include "compiler/schedule/timeline.h"

#include <assert.h>

typedef struct Place {
  int32_t link;  /* NO_ID: a call of no link */
  int32_t block; /* of a call of no link; NO_ID */
  int64_t layer; /* -1: of none */
  int32_t microbatch;
  uint32_t flags;
  bool recompute;
  const int32_t *transfers; /* buffers */
} Place;

/* ---- buffers live from their first to their last call */

int32_t timeline_here(const Timeline *t) {
  return t->stage->programs[t->kind].calls.count;
}

static int32_t transient(Timeline *t, const char *name, BufferKind kind, int64_t size_bytes,
                         int64_t layer) {
  return buffer_add(t->draft, t->stage,
                    (Buffer){.name = name,
                             .kind = kind,
                             .size_bytes = size_bytes,
                             .program = t->kind,
                             .first_call = timeline_here(t),
                             .last_call = timeline_here(t),
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

static bool is_stack(const Timeline *t, RegionId r) {
  return t->graph->regions.at[r].is_stack;
}

/* ---- bindings */

static int64_t layer_of(const Block *block, int64_t layer) {
  return block->layers > 1 ? layer : 0;
}

static BufferBinding bind_block(Timeline *t, const SegmentBase *base, const Place *at) {
  const Draft *d = t->draft;
  const Block *block = &d->blocks.at[base->number];
  const StageBlock *held = &t->stage->blocks[base->number];
  int64_t layer = layer_of(block, at->layer);
  int32_t slot = t->slot_first[base->number] + (int32_t)layer;
  if (held->buffers[base->role] != NO_ID) {
    assert(held->position[layer] >= 0);
    return (BufferBinding){held->buffers[base->role],
                           held->position[layer] * block_stride_bytes(d, block, base->role)};
  }
  if (base->role == BASE_PARAM) return (BufferBinding){t->gathered[slot], 0};
  assert(base->role == BASE_GRAD);
  const char *name = arena_printf(d->compile->arena, "%s gradients, whole", block->name);
  return (BufferBinding){
      transient_if(t, &t->flight->grads[slot], name, BUFFER_GRAD, base->size_bytes, layer), 0};
}

static BufferBinding bind_partials(const Timeline *t, const SegmentBase *base, const Place *at) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  if (base->number < 0) return (BufferBinding){t->stage->partials_buffer[-1 - base->number], 0};
  int32_t b = base->number / NORM_GROUPS, group = base->number % NORM_GROUPS;
  const Block *block = &t->draft->blocks.at[b];
  const StageBlock *held = &t->stage->blocks[b];
  int64_t position = held->position[layer_of(block, at->layer)];
  return (BufferBinding){t->stage->partials_buffer[group],
                         (held->first_partial[group] + position * block->partials[group]) * f64};
}

/* The model's own input wants no gradient; a layer that has more layers before it does. */
static bool wants_input_gradient(const Timeline *t, int32_t u) {
  const Link *link = &t->draft->links[u];
  return !link->first || region_feeds_back(t->graph, link->region);
}

static BufferBinding bind_carried(const Timeline *t, const SegmentBase *base, const Place *at) {
  const Flight *f = t->flight;
  int32_t i = at->link - t->first;
  assert(at->link != NO_ID && f != NULL);
  switch (base->role) {
  case BASE_FRAME: return (BufferBinding){f->frame[i], 0};
  case BASE_RECOMPUTE_FRAME: return (BufferBinding){f->recompute_frame[i], 0};
  case BASE_WEIGHT_FRAME: return (BufferBinding){f->weight_frame[i], 0};
  case BASE_INPUT: return (BufferBinding){f->again[i] != NO_ID ? f->again[i] : f->carry[i], 0};
  case BASE_OUTPUT:
    if (f->again[i + 1] != NO_ID) return (BufferBinding){f->again[i + 1], 0};
    /* The last of a group makes no output again: nothing runs that touches this base. */
    return (BufferBinding){at->recompute ? f->carry[i] : f->carry[i + 1], 0};
  case BASE_D_INPUT: /* of the model's first layer: nothing runs that touches it */
    return (BufferBinding){f->d_carry[wants_input_gradient(t, at->link) ? i : i + 1], 0};
  default: return (BufferBinding){f->d_carry[i + 1], 0};
  }
}

static BufferBinding bind_base(Timeline *t, const SegmentBase *base, const Place *at) {
  switch (base->role) {
  case BASE_PARAM:
  case BASE_GRAD:
  case BASE_PARAM_SHARD:
  case BASE_GRAD_SHARD:
  case BASE_MASTER:
  case BASE_MOMENT1:
  case BASE_MOMENT2: return bind_block(t, base, at);
  case BASE_PARTIALS: return bind_partials(t, base, at);
  case BASE_NORMS: return (BufferBinding){t->stage->norms_buffer, 0};
  case BASE_DATA: return (BufferBinding){t->flight->data, 0};
  case BASE_CONTROL: return (BufferBinding){t->stage->control_buffer, 0};
  case BASE_TRANSFER:
    assert(at->transfers != NULL);
    return (BufferBinding){at->transfers[base->number], 0};
  case BASE_SCRATCH:
    return (BufferBinding){transient(t, "scratch", BUFFER_WORKSPACE, base->size_bytes, at->layer),
                           0};
  case BASE_WIRE:
  case BASE_WIRE_SHARD:
    return (BufferBinding){
        transient(t, "gradients on the wire", BUFFER_COMM, base->size_bytes, at->layer), 0};
  default: return bind_carried(t, base, at);
  }
}

static void touch(Timeline *t, int32_t buffer) {
  Buffer *b = &t->stage->buffers.at[buffer];
  if (b->program == t->kind) b->last_call = timeline_here(t);
}

/* ---- what goes on beside the computation: one reduction and one exchange may be outstanding
 *
 * Their buffers live until the next one begins, so that nothing takes their bytes, and so waits for
 * them, earlier. */

static void let_go(Timeline *t, BufferList *list) {
  for (int32_t i = 0; i < list->count; i++) {
    Buffer *b = &t->stage->buffers.at[list->at[i]];
    if (b->last_call < timeline_here(t) - 1) b->last_call = timeline_here(t) - 1;
  }
  list->count = 0;
}

static bool is_sent(const Segment *segment, int32_t base) {
  const Record *record = &segment->records.at[0];
  for (int32_t i = 0; i < record->operand_count; i++)
    if (record->operands[i].base == base) return record->operands[i].access == ACCESS_READ;
  return false;
}

static void hold(Timeline *t, int32_t buffer, const Segment *segment, int32_t base) {
  BaseRole role = segment->bases.at[base].role;
  bool reduced = role == BASE_WIRE || role == BASE_WIRE_SHARD ||
                 (role == BASE_GRAD && segment->records.at[0].lane == LANE_DP);
  bool sent = role == BASE_TRANSFER && is_sent(segment, base);
  if (t->stage->buffers.at[buffer].program != t->kind || !(reduced || sent)) return;
  VEC_PUSH(t->draft->compile->arena, reduced ? &t->reducing : &t->sending, buffer);
}

static bool is_touched(const Segment *segment, int32_t base, uint32_t flags) {
  for (int32_t r = 0; r < segment->records.count; r++) {
    const Record *record = &segment->records.at[r];
    if (!plan_when(record->when_all, record->when_none, flags)) continue;
    for (int32_t i = 0; i < record->operand_count; i++)
      if (record->operands[i].base == base) return true;
  }
  return false;
}

/* Where gradients would arrive to be added, in a micro-batch that assigns them: no memory for what
 * nothing touches; the gradients themselves are as large. NO_ID: it is touched. */
static int32_t stand_in(const Segment *segment, int32_t base, uint32_t flags) {
  if (segment->bases.at[base].role != BASE_WIRE_SHARD || is_touched(segment, base, flags))
    return NO_ID;
  for (int32_t i = 0; i < base; i++)
    if (segment->bases.at[i].role == BASE_GRAD) return i;
  return NO_ID;
}

static void add_call(Timeline *t, int32_t segment, Place at) {
  if (segment == NO_ID) return;
  Draft *d = t->draft;
  const Segment *seg = &d->segments.at[segment];
  BufferBinding *bindings = ARENA_ARRAY(d->compile->arena, BufferBinding, seg->bases.count + 1);
  for (int32_t i = 0; i < seg->bases.count; i++) {
    int32_t other = stand_in(seg, i, at.flags);
    if (other != NO_ID) {
      bindings[i] = bindings[other];
      continue;
    }
    bindings[i] = bind_base(t, &seg->bases.at[i], &at);
    assert(bindings[i].buffer != NO_ID);
    touch(t, bindings[i].buffer);
    hold(t, bindings[i].buffer, seg, i);
  }
  VEC_PUSH(d->compile->arena, &t->stage->programs[t->kind].calls,
           (Call){.segment = segment,
                  .layer = (int32_t)at.layer,
                  .microbatch = at.microbatch,
                  .flags = at.flags,
                  .bindings = bindings});
}

static void call_link(Timeline *t, int32_t segment, int32_t u, int32_t microbatch, uint32_t flags,
                      bool recompute) {
  const Link *link = &t->draft->links[u];
  if (link->first) flags |= CALL_FIRST_LAYER;
  if (link->last) flags |= CALL_LAST_LAYER;
  if (link->group_last) flags |= CALL_GROUP_LAST;
  add_call(t, segment,
           (Place){.link = u,
                   .block = NO_ID,
                   .layer = is_stack(t, link->region) ? link->layer : -1,
                   .microbatch = microbatch,
                   .flags = flags,
                   .recompute = recompute});
}

static void call_block(Timeline *t, int32_t segment, int32_t b, int64_t layer, int32_t microbatch,
                       uint32_t flags) {
  bool stack = b != NO_ID && is_stack(t, t->draft->blocks.at[b].region);
  add_call(t, segment,
           (Place){.link = NO_ID,
                   .block = b,
                   .layer = stack ? layer : -1,
                   .microbatch = microbatch,
                   .flags = flags});
}

void timeline_call(Timeline *t, int32_t segment, int32_t b, int64_t layer) {
  call_block(t, segment, b, layer, -1, 0);
}

void timeline_exchange(Timeline *t, int32_t segment, const int32_t *buffers) {
  let_go(t, &t->sending);
  add_call(
      t, segment,
      (Place){.link = NO_ID, .block = NO_ID, .layer = -1, .microbatch = -1, .transfers = buffers});
}

/* ---- flights */

void timeline_open(Timeline *t, Draft *d, Stage *stage, ProgramKind kind) {
  *t = (Timeline){.draft = d, .stage = stage, .kind = (int32_t)kind, .load_segment = NO_ID};
  bool eval = kind == PROGRAM_EVAL_STEP;
  t->graph = eval ? d->eval : d->train;
  t->parts = eval ? d->eval_parts : d->train_parts;
  stage->programs[kind].exists = true;
  t->slot_first = ARENA_ARRAY(d->compile->arena, int32_t, d->blocks.count + 1);
  for (int32_t b = 0; b < d->blocks.count; b++) {
    t->slot_first[b] = t->slot_count;
    t->slot_count += (int32_t)d->blocks.at[b].layers;
  }
  t->gathered = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count + 1);
  for (int32_t i = 0; i < t->slot_count; i++)
    t->gathered[i] = NO_ID;
}

void timeline_chunk(Timeline *t, int32_t chunk) {
  t->first = t->draft->chunk_first[chunk];
  t->end = t->draft->chunk_first[chunk + 1];
}

Flight *flight_new(Timeline *t) {
  Arena *arena = t->draft->compile->arena;
  int32_t links = t->end - t->first;
  Flight *f = ARENA_NEW(arena, Flight);
  int32_t **by_link[] = {&f->carry, &f->again,           &f->d_carry,
                         &f->frame, &f->recompute_frame, &f->weight_frame};
  for (size_t i = 0; i < sizeof by_link / sizeof *by_link; i++)
    *by_link[i] = ARENA_ARRAY(arena, int32_t, links + 1);
  f->grads = ARENA_ARRAY(arena, int32_t, t->slot_count + 1);
  flight_clear(t, f);
  return f;
}

void flight_clear(Timeline *t, Flight *f) {
  for (int32_t i = 0; i <= t->end - t->first; i++)
    f->carry[i] = f->again[i] = f->d_carry[i] = f->frame[i] = f->recompute_frame[i] =
        f->weight_frame[i] = NO_ID;
  for (int32_t i = 0; i < t->slot_count; i++)
    f->grads[i] = NO_ID;
  f->data = NO_ID;
}

int32_t timeline_carry(Timeline *t, Flight *flight, int32_t chunk, bool gradient, bool at_end) {
  const Draft *d = t->draft;
  int32_t first = d->chunk_first[chunk], end = d->chunk_first[chunk + 1];
  const Link *link = &d->links[at_end ? end - 1 : first];
  const RegionSegments *parts = &t->parts[link->region];
  int64_t bytes = at_end ? (gradient ? parts->d_output_bytes : parts->output_bytes)
                         : (gradient ? parts->d_input_bytes : parts->input_bytes);
  int32_t *slot = &(gradient ? flight->d_carry : flight->carry)[at_end ? end - first : 0];
  return transient_if(t, slot, gradient ? "gradient of a stage" : "activation of a stage",
                      gradient ? BUFFER_GRAD_ACTIVATION : BUFFER_ACTIVATION, bytes, link->layer);
}

/* ---- whole parameters of sharded blocks: there before use, gone after it */

static bool reads_block(const Link *link, const Block *block) {
  return (block->readers >> link->region & 1) != 0;
}

static bool reads_params(const Timeline *t, int32_t segment, int32_t b) {
  if (segment == NO_ID) return false;
  const Segment *at = &t->draft->segments.at[segment];
  for (int32_t i = 0; i < at->bases.count; i++)
    if (at->bases.at[i].role == BASE_PARAM && at->bases.at[i].number == b) return true;
  return false;
}

static void gather_link(Timeline *t, int32_t u, bool backward, int32_t microbatch, uint32_t flags) {
  const Link *link = &t->draft->links[u];
  const RegionSegments *parts = &t->parts[link->region];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (!block->shards_params || !reads_block(link, block)) continue;
    bool read = backward
                    ? reads_params(t, parts->recompute, b) || reads_params(t, parts->backward, b)
                    : reads_params(t, parts->forward, b);
    if (!read) continue;
    int64_t layer = layer_of(block, link->layer);
    int32_t *slot = &t->gathered[t->slot_first[b] + layer];
    if (*slot != NO_ID) continue;
    const char *name =
        arena_printf(t->draft->compile->arena, "%s parameters, gathered", block->name);
    *slot = transient(t, name, BUFFER_PARAM, block_bytes(t->draft, block, BASE_PARAM), layer);
    if (backward && link->group_last) flags |= CALL_GROUP_LAST;
    call_block(t, backward ? block->regather : block->gather, b, layer, microbatch, flags);
  }
}

/* What is gathered stays until its layer, its backward or the step is over, as was asked. */
static void release_link(Timeline *t, int32_t u, ZeroReshardChoice over) {
  if (t->graph->training && t->draft->job->parallel.zero_reshard > (int32_t)over) return;
  const Link *link = &t->draft->links[u];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (reads_block(link, block))
      t->gathered[t->slot_first[b] + layer_of(block, link->layer)] = NO_ID;
  }
}

/* ---- units: what is gathered at once, one link or as many in a row as reach parallel.zero_unit */

static int64_t gathered_bytes(const Timeline *t, int32_t u) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (block->shards_params && reads_block(&t->draft->links[u], block))
      bytes += block_bytes(t->draft, block, BASE_PARAM);
  }
  return bytes;
}

/* Links [first, end) of the unit that holds link u. */
typedef struct LinkUnit {
  int32_t first, end;
} LinkUnit;

static LinkUnit unit_of(const Timeline *t, int32_t u) {
  int64_t want = t->draft->job->parallel.zero_unit, bytes = 0;
  LinkUnit unit = {t->first, t->first};
  while (unit.end < t->end) {
    bytes += gathered_bytes(t, unit.end++);
    bool full = want < 0 || bytes >= want;
    if (full && u < unit.end) break;
    if (!full) continue;
    unit.first = unit.end;
    bytes = 0;
  }
  return unit;
}

/* Gathers for link u's unit and as many units ahead of it as asked; step is +1 forward, -1
 * backward. */
static void gather_ahead(Timeline *t, int32_t u, int32_t step, int32_t microbatch, uint32_t flags) {
  if (t->draft->derived.zero != 3) return;
  for (int64_t ahead = 0; ahead <= t->draft->job->parallel.zero_prefetch; ahead++) {
    if (u < t->first || u >= t->end) return;
    LinkUnit unit = unit_of(t, u);
    for (; u >= unit.first && u < unit.end; u += step)
      gather_link(t, u, step < 0, microbatch, flags);
  }
}

/* ---- forward */

static bool chunk_loads(const Timeline *t) {
  for (int32_t u = t->first; u < t->end; u++) {
    const RegionSegments *parts = &t->parts[t->draft->links[u].region];
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

static void forward_link(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const Link *link = &t->draft->links[u];
  const RegionSegments *parts = &t->parts[link->region];
  int32_t i = u - t->first;
  gather_ahead(t, u, 1, microbatch, flags);
  transient_if(t, &t->flight->carry[i + 1], region_name(t, link->region, "output"),
               BUFFER_ACTIVATION, parts->output_bytes, link->layer);
  transient_if(t, &t->flight->frame[i], region_name(t, link->region, "kept for backward"),
               BUFFER_ACTIVATION, parts->frame_bytes, link->layer);
  call_link(t, parts->forward, u, microbatch, flags, false);
  release_link(t, u, CHOICE_RESHARD_LAYER);
}

void timeline_forward(Timeline *t, int32_t microbatch, uint32_t flags) {
  if (chunk_loads(t)) {
    t->flight->data = transient(t, "micro-batch", BUFFER_DATA, t->draft->sample_bytes, -1);
    add_call(
        t, t->load_segment,
        (Place){
            .link = NO_ID, .block = NO_ID, .layer = -1, .microbatch = microbatch, .flags = flags});
  }
  for (int32_t u = t->first; u < t->end; u++)
    forward_link(t, u, microbatch, flags);
}

/* ---- backward */

/* Layers [first, end) of one group: each makes its kept values and, but for the last, its output
 * again. */
static void recompute_group(Timeline *t, int32_t first, int32_t end, int32_t microbatch,
                            uint32_t flags) {
  Flight *f = t->flight;
  for (int32_t u = first; u < end; u++) {
    const Link *link = &t->draft->links[u];
    const RegionSegments *parts = &t->parts[link->region];
    int32_t i = u - t->first;
    if (parts->recompute == NO_ID) continue;
    gather_link(t, u, true, microbatch, flags);
    transient_if(t, &f->recompute_frame[i], region_name(t, link->region, "recomputed"),
                 BUFFER_ACTIVATION, parts->recompute_frame_bytes, link->layer);
    if (u + 1 < end || parts->backward_reads_output)
      transient_if(t, &f->again[i + 1], region_name(t, link->region, "output, recomputed"),
                   BUFFER_ACTIVATION, parts->output_bytes, link->layer);
    call_link(t, parts->recompute, u, microbatch, flags, true);
  }
}

/* Regions of this stage that read a tied block: the first and the last, by the model's order. */
static RegionId edge_reader(const Timeline *t, const Block *block, bool last) {
  RegionId found = NO_ID;
  const Draft *d = t->draft;
  for (int32_t c = t->stage->number; c < d->chunk_count; c += d->stage_count)
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      RegionId r = d->links[u].region;
      if ((block->readers >> r & 1) == 0) continue;
      if (found == NO_ID || (last ? r > found : r < found)) found = r;
    }
  return found;
}

/* Before a layer's first contribution: gradients to which this stage only adds begin at zero, and
 * so does padding in memory that held something else. */
static void clear_grads(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const Link *link = &t->draft->links[u];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (!reads_block(link, block)) continue;
    RegionId last = block->tied ? edge_reader(t, block, true) : link->region;
    if (last != link->region) continue;
    bool assigned_elsewhere = (block->readers >> last) > 1;
    int32_t segment = assigned_elsewhere ? block->clear : block->pad;
    call_block(t, segment, b, layer_of(block, link->layer), microbatch, flags);
  }
}

/* What has all contributions of this micro-batch leaves: every time into a shard, else in the last
 * micro-batch. */
static void reduce_grads(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const Link *link = &t->draft->links[u];
  bool begun = false;
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (block->reduce == NO_ID || !reads_block(link, block)) continue;
    if (!block->shards_grads && (flags & CALL_LAST_MICROBATCH) == 0) continue;
    if (block->tied && edge_reader(t, block, false) != link->region) continue;
    if (!begun) let_go(t, &t->reducing);
    begun = true;
    call_block(t, block->reduce, b, layer_of(block, link->layer), microbatch, flags);
  }
}

static bool is_split(const Timeline *t) {
  for (RegionId r = 0; r < t->graph->regions.count; r++)
    if (t->parts[r].weight != NO_ID) return true;
  return false;
}

static void backward_link(Timeline *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const Link *link = &t->draft->links[u];
  const RegionSegments *parts = &t->parts[link->region];
  Flight *f = t->flight;
  int32_t i = u - t->first;
  gather_ahead(t, u, -1, microbatch, flags);
  if (wants_input_gradient(t, u))
    transient_if(t, &f->d_carry[i], region_name(t, link->region, "input gradient"),
                 BUFFER_GRAD_ACTIVATION, parts->d_input_bytes, link->layer);
  transient_if(t, &f->weight_frame[i], region_name(t, link->region, "kept for weights"),
               BUFFER_GRAD_ACTIVATION, parts->weight_frame_bytes, link->layer);
  clear_grads(t, u, microbatch, flags);
  call_link(t, parts->backward, u, microbatch, flags, false);
  release_link(t, u, CHOICE_RESHARD_CHUNK);
  if (!is_split(t)) reduce_grads(t, u, microbatch, flags);
}

static bool is_recomputed(const Timeline *t, int32_t u) {
  return t->parts[t->draft->links[u].region].recompute != NO_ID;
}

void timeline_backward(Timeline *t, int32_t microbatch, uint32_t flags) {
  const Link *links = t->draft->links;
  for (int32_t end = t->end; end > t->first;) {
    int32_t first = end - 1;
    if (is_recomputed(t, first)) {
      while (first > t->first && links[first - 1].region == links[end - 1].region &&
             !links[first - 1].group_last)
        first--;
      recompute_group(t, first, end, microbatch, flags);
    }
    for (int32_t u = end - 1; u >= first; u--)
      backward_link(t, u, microbatch, flags);
    end = first;
  }
}

void timeline_weight(Timeline *t, int32_t microbatch, uint32_t flags) {
  for (int32_t u = t->end - 1; u >= t->first; u--) {
    call_link(t, t->parts[t->draft->links[u].region].weight, u, microbatch, flags, false);
    reduce_grads(t, u, microbatch, flags);
  }
}
