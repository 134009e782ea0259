#include "compiler/draft/calls/program.h"

#include <assert.h>

#include "compiler/draft/roles.h"

enum { PASSING = BASE_STATE_LAST - BASE_MASTER + 2 }; /* states, and the parameters after them */

typedef struct CallTarget {
  int32_t use;   /* NO_ID: a call of no layer */
  int32_t block; /* of a call of no layer; NO_ID */
  int64_t layer; /* -1: of none */
  int32_t microbatch;
  uint32_t flags;
  bool recompute;
  const int32_t *transfers; /* buffers */
} CallTarget;

/* ---- buffers live from their first to their last call */

int32_t calls_here(const Calls *t) {
  return t->stage->programs[t->kind].calls.count;
}

const char *calls_name(Calls *t, const char *of, const char *word) {
  Arena *arena = t->draft->compile->arena;
  for (int32_t i = 0; i < t->names.count; i++)
    if (t->names.at[i].of == of && t->names.at[i].word == word) return t->names.at[i].text;
  const char *text = arena_printf(arena, "%s %s", of, word);
  VEC_PUSH(arena, &t->names, (BufferName){of, word, text});
  return text;
}

static int32_t buffer_in(Calls *t, Tier tier, const char *name, BufferKind kind, int64_t size_bytes,
                         int64_t layer) {
  t->draft->uses[tier] = true;
  return buffer_add(t->draft, t->stage,
                    (Buffer){.name = name,
                             .kind = kind,
                             .tier = tier,
                             .size_bytes = size_bytes,
                             .program = t->kind,
                             .first_call = calls_here(t),
                             .last_call = calls_here(t),
                             .layer = (int32_t)layer});
}

int32_t calls_buffer(Calls *t, const char *name, BufferKind kind, int64_t size_bytes,
                     int64_t layer) {
  return buffer_in(t, TIER_DEVICE, name, kind, size_bytes, layer);
}

int32_t calls_host_buffer(Calls *t, const char *name, BufferKind kind, int64_t size_bytes,
                          int64_t layer) {
  return buffer_in(t, TIER_HOST, name, kind, size_bytes, layer);
}

int32_t calls_buffer_if(Calls *t, int32_t *slot, const char *name, BufferKind kind,
                        int64_t size_bytes, int64_t layer) {
  if (*slot == NO_ID && size_bytes > 0) *slot = calls_buffer(t, name, kind, size_bytes, layer);
  return *slot;
}

static bool is_stack(const Calls *t, RegionId r) {
  return t->graph->regions.at[r].is_stack;
}

/* ---- bindings */

int64_t block_layer(const Block *block, int64_t layer) {
  return block->layers > 1 ? layer : 0;
}

int32_t calls_brought(Calls *t, int32_t b, int64_t layer) {
  const Block *block = &t->draft->blocks.at[b];
  return calls_buffer_if(t, &t->brought[t->slot_first[b] + layer],
                         calls_name(t, block->name, "parameters, from host"), BUFFER_PARAM,
                         block_stride_bytes(t->draft, block, stored_role(t->draft, block)), layer);
}

/* The buffer in host memory, for an update, of a state or of parameters that are in a file. */
static BufferBinding bind_passing(Calls *t, const SegmentBase *base, BaseRole role, int32_t slot,
                                  int64_t layer) {
  const Block *block = &t->draft->blocks.at[base->number];
  const StageBlock *held = &t->stage->blocks[base->number];
  const BufferKind kind = t->stage->buffers.at[held->host_buffers[role]].kind;
  const int32_t i = role >= BASE_MASTER ? (int32_t)(role - BASE_MASTER) : PASSING - 1;
  int32_t *buffer = &t->states[slot * PASSING + i];
  if (*buffer == NO_ID)
    *buffer = calls_host_buffer(t, i < PASSING - 1 ? "states, of a file" : "parameters, of a file",
                                kind, tier_stride_bytes(t->draft, block, role, TIER_FILE), layer);
  return (BufferBinding){*buffer, 0};
}

/* The buffer in host memory of parameters that come from a file for the device. */
static BufferBinding bind_came(Calls *t, const SegmentBase *base, int64_t layer) {
  const int32_t buffer =
      calls_host_buffer(t, "parameters, from a file", BUFFER_PARAM, base->size_bytes, layer);
  VEC_PUSH(t->draft->compile->arena, &t->coming, buffer);
  return (BufferBinding){buffer, 0};
}

static bool is_state(BaseRole role) {
  return role >= BASE_MASTER && role <= BASE_STATE_LAST;
}

/* The buffer on the device of a state that comes for its update. */
static BufferBinding bind_streamed(Calls *t, const SegmentBase *base, int32_t slot, int64_t layer) {
  const Block *block = &t->draft->blocks.at[base->number];
  const StageBlock *held = &t->stage->blocks[base->number];
  const BufferKind kind = t->stage->buffers.at[held->host_buffers[base->role]].kind;
  int32_t *buffer = &t->states[slot * PASSING + (int32_t)(base->role - BASE_MASTER)];
  return (BufferBinding){calls_buffer_if(t, buffer, "states, streamed", kind,
                                         block_stride_bytes(t->draft, block, base->role), layer),
                         0};
}

static BufferBinding bind_far_grads(const Calls *t, const SegmentBase *base, int64_t layer) {
  const Block *block = &t->draft->blocks.at[base->number];
  const StageBlock *held = &t->stage->blocks[base->number];
  const BaseRole role = grad_role(block);
  return (BufferBinding){held->host_buffers[role], (held->position[layer] - held->host_first) *
                                                       block_stride_bytes(t->draft, block, role)};
}

static BufferBinding bind_block(Calls *t, const SegmentBase *base, const CallTarget *at) {
  const Draft *d = t->draft;
  const Block *block = &d->blocks.at[base->number];
  const StageBlock *held = &t->stage->blocks[base->number];
  int64_t layer = block_layer(block, at->layer);
  int32_t slot = t->slot_first[base->number] + (int32_t)layer;
  const int32_t on_host = held->position[layer] - held->host_first;
  const bool is_far = base->role == BASE_FAR_PARAM || base->role == BASE_FILE_PARAM;
  const BaseRole role = is_far                          ? stored_role(d, block)
                        : base->role >= BASE_FILE_STATE ? BASE_MASTER + base->role - BASE_FILE_STATE
                                                        : base->role;
  if (on_host >= 0 && is_state(base->role) && d->updates_here && t->kind == PROGRAM_TRAIN_STEP)
    return bind_streamed(t, base, slot, layer);
  if (base->role == BASE_FAR_GRAD) return bind_far_grads(t, base, layer);
  if (base->role == grad_role(block) && passing_is_far(t, base->number, layer))
    return passing_bind(t, base, slot, layer);
  if (base->role == BASE_CAME_PARAM) return bind_came(t, base, layer);
  if (on_host >= 0 && (is_state(base->role) ? d->state_in_files
                                            : base->role == BASE_FAR_PARAM && d->weights_in_files))
    return bind_passing(t, base, role, slot, layer);
  if (on_host >= 0 && base->role == stored_role(d, block) && held->host_buffers[role] != NO_ID)
    return (BufferBinding){calls_brought(t, base->number, layer), 0};
  if (on_host >= 0 && held->host_buffers[role] != NO_ID)
    return (BufferBinding){
        held->host_buffers[role],
        on_host *
            tier_stride_bytes(d, block, role, t->stage->buffers.at[held->host_buffers[role]].tier)};
  if (held->buffers[base->role] != NO_ID) {
    assert(held->position[layer] >= 0);
    return (BufferBinding){held->buffers[base->role],
                           held->position[layer] * block_stride_bytes(d, block, base->role)};
  }
  if (base->role == BASE_PARAM) return (BufferBinding){t->gathered[slot], 0};
  assert(base->role == BASE_GRAD);
  const char *name = calls_name(t, block->name, "gradients, whole");
  return (BufferBinding){
      calls_buffer_if(t, &t->flight->grads[slot], name, BUFFER_GRAD, base->size_bytes, layer), 0};
}

static BufferBinding bind_partials(const Calls *t, const SegmentBase *base, const CallTarget *at) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  if (base->number < 0) return (BufferBinding){t->stage->partials_buffer[-1 - base->number], 0};
  int32_t b = base->number / NORM_GROUPS, group = base->number % NORM_GROUPS;
  const Block *block = &t->draft->blocks.at[b];
  const StageBlock *held = &t->stage->blocks[b];
  int64_t position = held->position[block_layer(block, at->layer)];
  return (BufferBinding){t->stage->partials_buffer[group],
                         (held->first_partial[group] + position * block->partials[group]) * f64};
}

/* A layer with layers before it passes one on. The model's input needs no gradient, but the nodes
 * that make gradients of weights may make it along with them. */
bool calls_has_input_gradient(const Calls *t, int32_t u) {
  const LayerUse *use = &t->draft->chain[u];
  return !use->first || region_feeds_back(t->graph, use->region) ||
         t->parts[use->region].first_writes_d_input;
}

static BufferBinding bind_carried(const Calls *t, const SegmentBase *base, const CallTarget *at) {
  const InFlight *f = t->flight;
  int32_t i = at->use - t->first;
  assert(at->use != NO_ID && f != NULL);
  switch (base->role) {
  case BASE_FRAME: return (BufferBinding){f->frame[i], 0};
  case BASE_FAR_FRAME: return (BufferBinding){f->far_frame[i], 0};
  case BASE_FAR_INPUT: return (BufferBinding){f->far_input[i], 0};
  case BASE_RECOMPUTE_FRAME: return (BufferBinding){f->recompute_frame[i], 0};
  case BASE_WEIGHT_FRAME: return (BufferBinding){f->weight_frame[i], 0};
  case BASE_INPUT: return (BufferBinding){f->again[i] != NO_ID ? f->again[i] : f->carry[i], 0};
  case BASE_OUTPUT:
    if (f->again[i + 1] != NO_ID) return (BufferBinding){f->again[i + 1], 0};
    /* The last layer of a group does not remake its output: no record that runs touches this base.
     */
    return (BufferBinding){at->recompute ? f->carry[i] : f->carry[i + 1], 0};
  case BASE_D_INPUT: /* in the model's first layer no record that runs touches it */
    return (BufferBinding){f->d_carry[calls_has_input_gradient(t, at->use) ? i : i + 1], 0};
  default: return (BufferBinding){f->d_carry[i + 1], 0};
  }
}

/* Copies take longer than updates, so a layer's parameters in host memory outlive its call: those
 * of the next layer are filled before this one's are free. */
static BufferBinding bind_staged(Calls *t, const SegmentBase *base, const CallTarget *at) {
  int32_t buffer =
      calls_host_buffer(t, "parameters, on host", BUFFER_PARAM, base->size_bytes, at->layer);
  VEC_PUSH(t->draft->compile->arena, &t->staged, buffer);
  return (BufferBinding){buffer, 0};
}

/* From the copy to the update. */
static BufferBinding bind_far_grad(Calls *t, const SegmentBase *base, const CallTarget *at) {
  const int64_t layer = block_layer(&t->draft->blocks.at[base->number], at->layer);
  int32_t *buffer = &t->far_grads[t->slot_first[base->number] + (int32_t)layer];
  if (*buffer == NO_ID)
    *buffer = calls_host_buffer(t, "gradients, on host", BUFFER_GRAD, base->size_bytes, at->layer);
  return (BufferBinding){*buffer, 0};
}

/* Layers are adjacent in the snapshot. */
static BufferBinding bind_snapshot(Calls *t, const SegmentBase *base) {
  const BufferBinding binding = {t->stage->snapshot_buffer, t->saved_bytes};
  t->saved_bytes += base->size_bytes;
  return binding;
}

static BufferBinding bind_cache(const Calls *t, const CallTarget *at) {
  const RegionId region = t->draft->chain[at->use].region;
  return (BufferBinding){t->stage->cache_buffers[region],
                         t->stage->cache_position[at->use] * cache_stride_bytes(t->graph, region)};
}

static BufferBinding bind_base(Calls *t, const SegmentBase *base, const CallTarget *at) {
  switch (base->role) {
  case BASE_PARAM:
  case BASE_GRAD:
  case BASE_PARAM_STORED:
  case BASE_PARAM_SHARD:
  case BASE_FAR_PARAM:
  case BASE_FAR_GRAD:
  case BASE_FILE_PARAM:
  case BASE_CAME_PARAM:
  case BASE_FILE_STATE ... BASE_FILE_STATE_LAST:
  case BASE_GRAD_SHARD:
  case BASE_MASTER:
  case BASE_COMPENSATION:
  case BASE_MOMENT1:
  case BASE_MOMENT2:
  case BASE_MOMENT1_MAX:
  case BASE_MOMENT2_MAX: return bind_block(t, base, at);
  case BASE_PARTIALS: return bind_partials(t, base, at);
  case BASE_CODES: return (BufferBinding){t->coded[at->use], 0};
  case BASE_NORMS: return (BufferBinding){t->stage->norms_buffer, 0};
  case BASE_DATA: return (BufferBinding){t->flight->data, 0};
  case BASE_CONTROL: return (BufferBinding){t->stage->control_buffer, 0};
  case BASE_TRANSFER:
    assert(at->transfers != NULL);
    return (BufferBinding){at->transfers[base->number], 0};
  case BASE_SCRATCH:
    return (BufferBinding){
        calls_buffer(t, "scratch", BUFFER_WORKSPACE, base->size_bytes, at->layer), 0};
  case BASE_WIRE:
  case BASE_WIRE_SHARD:
    return (BufferBinding){
        calls_buffer(t, "gradients on the wire", BUFFER_COMM, base->size_bytes, at->layer), 0};
  case BASE_CAST_SHARD:
    return (BufferBinding){calls_buffer(t, "shard, cast", BUFFER_CAST, base->size_bytes, at->layer),
                           0};
  case BASE_HOST_GRAD: return bind_far_grad(t, base, at);
  case BASE_HOST_PARAM: return bind_staged(t, base, at);
  case BASE_DRAWN:
    return (BufferBinding){
        calls_buffer(t, "master, drawn", BUFFER_MASTER, base->size_bytes, at->layer), 0};
  case BASE_MIRROR: return (BufferBinding){t->stage->mirror_buffer, 0};
  case BASE_SNAPSHOT: return bind_snapshot(t, base);
  case BASE_CACHE: return bind_cache(t, at);
  case BASE_PIECES:
  case BASE_RECEIVED:
    return (BufferBinding){
        calls_buffer(t, "gathered pieces", BUFFER_COMM, base->size_bytes, at->layer), 0};
  default: return bind_carried(t, base, at);
  }
}

static void touch(Calls *t, int32_t buffer) {
  Buffer *b = &t->stage->buffers.at[buffer];
  if (b->program == t->kind) b->last_call = calls_here(t);
}

/* ---- what continues beside the computation: one reduction and one exchange may be outstanding
 *
 * Their buffers live until the next one begins: if their bytes were reused earlier, computation
 * would have to wait. */

void calls_let_go(Calls *t, BufferList *list) {
  for (int32_t i = 0; i < list->count; i++) {
    Buffer *b = &t->stage->buffers.at[list->at[i]];
    if (b->last_call < calls_here(t) - 1) b->last_call = calls_here(t) - 1;
  }
  list->count = 0;
}

static bool is_sent(const Segment *segment, int32_t base) {
  const Record *record = &segment->records.at[0];
  for (int32_t i = 0; i < record->operand_count; i++)
    if (record->operands[i].base == base) return record->operands[i].access == ACCESS_READ;
  return false;
}

static bool has_role(const Segment *segment, BaseRole role) {
  for (int32_t i = 0; i < segment->bases.count; i++)
    if (segment->bases.at[i].role == role) return true;
  return false;
}

static void hold(Calls *t, int32_t buffer, const Segment *segment, int32_t base) {
  BaseRole role = segment->bases.at[base].role;
  bool reduces = segment->records.at[0].lane == LANE_DP && has_role(segment, BASE_GRAD);
  bool reduced = role == BASE_WIRE || role == BASE_WIRE_SHARD ||
                 (reduces && (role == BASE_GRAD || role == BASE_PIECES));
  bool sent = role == BASE_TRANSFER && is_sent(segment, base);
  if (t->stage->buffers.at[buffer].program != t->kind || !(reduced || sent)) return;
  VEC_PUSH(t->draft->compile->arena, reduced ? &t->reducing : &t->sending, buffer);
}

static bool is_touched(const Segment *segment, int32_t base, uint32_t flags) {
  for (int32_t r = 0; r < segment->records.count; r++) {
    const Record *record = &segment->records.at[r];
    if (!record_runs(record, flags)) continue;
    for (int32_t i = 0; i < record->operand_count; i++)
      if (record->operands[i].base == base) return true;
  }
  return false;
}

/* In a micro-batch that assigns gradients, nothing touches the buffer in which other micro-batches
 * receive gradients to add. It gets no memory then: it is bound to the gradients themselves, which
 * are as large. NO_ID: it is touched. */
static int32_t stand_in(const Segment *segment, int32_t base, uint32_t flags) {
  if (segment->bases.at[base].role != BASE_WIRE_SHARD || is_touched(segment, base, flags))
    return NO_ID;
  for (int32_t i = 0; i < base; i++)
    if (segment->bases.at[i].role == BASE_GRAD) return i;
  return NO_ID;
}

static void add_call(Calls *t, int32_t segment, CallTarget at) {
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
                  .bindings = bindings,
                  .binding_count = seg->bases.count});
}

void calls_add_layer(Calls *t, int32_t segment, int32_t u, int32_t microbatch, uint32_t flags,
                     bool recompute) {
  const LayerUse *use = &t->draft->chain[u];
  if (use->first) flags |= CALL_FIRST_LAYER;
  if (use->last) flags |= CALL_LAST_LAYER;
  if (use->group_last) flags |= CALL_GROUP_LAST;
  add_call(t, segment,
           (CallTarget){.use = u,
                        .block = NO_ID,
                        .layer = is_stack(t, use->region) ? use->layer : -1,
                        .microbatch = microbatch,
                        .flags = flags,
                        .recompute = recompute});
}

void calls_add_block(Calls *t, int32_t segment, int32_t b, int64_t layer, int32_t microbatch,
                     uint32_t flags) {
  bool stack = b != NO_ID && is_stack(t, t->draft->blocks.at[b].region);
  add_call(t, segment,
           (CallTarget){.use = NO_ID,
                        .block = b,
                        .layer = stack ? layer : -1,
                        .microbatch = microbatch,
                        .flags = flags});
}

void calls_add(Calls *t, int32_t segment, int32_t b, int64_t layer) {
  calls_add_block(t, segment, b, layer, -1, 0);
}

void calls_exchange(Calls *t, int32_t segment, const int32_t *buffers, const PlanPost *posts,
                    int32_t count) {
  calls_let_go(t, &t->sending);
  add_call(t, segment,
           (CallTarget){
               .use = NO_ID, .block = NO_ID, .layer = -1, .microbatch = -1, .transfers = buffers});
  Program *program = &t->stage->programs[t->kind];
  Call *call = &program->calls.at[program->calls.count - 1];
  call->posts = posts;
  call->post_count = count;
}

/* ---- flights */

void calls_open(Calls *t, Draft *d, Stage *stage, ProgramKind kind) {
  *t = (Calls){.draft = d, .stage = stage, .kind = (int32_t)kind};
  const bool eval = kind == PROGRAM_EVAL_STEP || kind == PROGRAM_PREFILL;
  const bool decodes = kind == PROGRAM_DECODE;
  t->graph = decodes ? d->decode : eval ? d->eval : d->train;
  t->parts = decodes ? d->decode_parts : eval ? d->eval_parts : d->train_parts;
  t->ends = decodes ? &d->decode_ends : eval ? &d->eval_ends : &d->train_ends;
  stage->programs[kind].exists = true;
  t->slot_first = ARENA_ARRAY(d->compile->arena, int32_t, d->blocks.count + 1);
  for (int32_t b = 0; b < d->blocks.count; b++) {
    t->slot_first[b] = t->slot_count;
    t->slot_count += (int32_t)d->blocks.at[b].layers;
  }
  t->gathered = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count + 1);
  t->coded = ARENA_ARRAY(d->compile->arena, int32_t, d->chain_length + 1);
  for (int32_t u = 0; u < d->chain_length; u++)
    t->coded[u] = NO_ID;
  t->brought = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count + 1);
  t->shards = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count + 1);
  t->far_grads = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count + 1);
  t->states = ARENA_ARRAY(d->compile->arena, int32_t, t->slot_count * PASSING + 1);
  for (int32_t i = 0; i < t->slot_count; i++)
    t->shards[i] = t->gathered[i] = t->brought[i] = t->far_grads[i] = NO_ID;
  for (int32_t i = 0; i < t->slot_count * PASSING; i++)
    t->states[i] = NO_ID;
}

void calls_chunk(Calls *t, int32_t chunk) {
  t->first = t->draft->chunk_first[chunk];
  t->end = t->draft->chunk_first[chunk + 1];
}

InFlight *flight_new(Calls *t) {
  Arena *arena = t->draft->compile->arena;
  int32_t layers = t->end - t->first;
  InFlight *f = ARENA_NEW(arena, InFlight);
  int32_t **by_use[] = {&f->carry,           &f->again,        &f->d_carry,   &f->frame,
                        &f->recompute_frame, &f->weight_frame, &f->far_frame, &f->far_input};
  for (size_t i = 0; i < sizeof by_use / sizeof *by_use; i++)
    *by_use[i] = ARENA_ARRAY(arena, int32_t, layers + 1);
  f->grads = ARENA_ARRAY(arena, int32_t, t->slot_count + 1);
  flight_clear(t, f);
  return f;
}

void flight_clear(Calls *t, InFlight *f) {
  for (int32_t i = 0; i <= t->end - t->first; i++)
    f->carry[i] = f->again[i] = f->d_carry[i] = f->frame[i] = f->recompute_frame[i] =
        f->weight_frame[i] = f->far_frame[i] = f->far_input[i] = NO_ID;
  for (int32_t i = 0; i < t->slot_count; i++)
    f->grads[i] = NO_ID;
  f->data = NO_ID;
}

int32_t calls_carry(Calls *t, InFlight *flight, int32_t chunk, bool gradient, bool at_end) {
  const Draft *d = t->draft;
  int32_t first = d->chunk_first[chunk], end = d->chunk_first[chunk + 1];
  const LayerUse *use = &d->chain[at_end ? end - 1 : first];
  const RegionSegments *parts = &t->parts[use->region];
  int64_t bytes = at_end ? (gradient ? parts->d_output_bytes : parts->output_bytes)
                         : (gradient ? parts->d_input_bytes : parts->input_bytes);
  int32_t *slot = &(gradient ? flight->d_carry : flight->carry)[at_end ? end - first : 0];
  return calls_buffer_if(t, slot, gradient ? "gradient of a stage" : "activation of a stage",
                         gradient ? BUFFER_GRAD_ACTIVATION : BUFFER_ACTIVATION, bytes, use->layer);
}
