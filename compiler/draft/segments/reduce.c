/* reduce.c -- collectives on gradients and parameters, one segment for each block and verb.
 *
 *   gather   the pieces of parameters that ranks have updated (zero 1, 2)
 *   fetch    the copy of parameters that kernels read, before they do: cast to the dtype of
 *            compute where another persists, gathered from all ranks' shards (zero 3)
 *   refetch  the same for backward: only what it reads
 *   fetch_coded  the same for forward when the layer's codes of weights are there: only what
 *            forward reads beside them
 *   reduce   gradients of a layer over the ranks that divide the batch, in precision.reduce:
 *            zero 0 all-reduce; zero 1 reduce-scatter in place; zero 2, 3 reduce-scatter of every
 *            micro-batch into the shard. With hybrid sharding, replicas then sum their shards
 *   clear    zeroes gradients to which this stage only adds, because another stage assigns them
 *   pad      zeroes the padding of gradients in reused memory, which no kernel writes
 *   join     sums a tied parameter's gradients of the first and the last stage
 *
 * Collectives move runs of parameters of at most parallel.bucket bytes of gradients. (Rajbhandari
 * et al., arXiv:1910.02054; Zhao et al., arXiv:2304.11277.) */
#include "compiler/draft/segments/block.h"

int32_t block_segment(Draft *d, int32_t b, SegmentWord word) {
  return segment_add(
      d, arena_printf(d->compile->arena, "%s.%s", d->blocks.at[b].name, segment_words[word]));
}

int64_t own_elements(const Draft *d, ParamId p) {
  const ParamPlace *at = &d->params[p];
  return d->blocks.at[at->block].shards_state ? at->piece : at->elements;
}

BaseRole own_grad(const Draft *d, int32_t b) {
  return d->blocks.at[b].shards_grads ? BASE_GRAD_SHARD : BASE_GRAD;
}

/* The layout of the rank's own elements of a parameter. */
static Layout own_layout(const Draft *d, ParamId p) {
  const ParamPlace *at = &d->params[p];
  Layout layout = param_layout(d->train, p);
  if (!d->blocks.at[at->block].shards_state) return layout;
  layout.flat_axes = mesh_used(&d->mesh, ZERO_AXES);
  layout.piece = at->piece;
  return layout;
}

Operand *own_operand(Draft *d, int32_t segment, Record *record, ParamId p, BaseRole role,
                     Access access) {
  const ParamPlace *at = &d->params[p];
  const Block *block = &d->blocks.at[at->block];
  DType dtype = role_dtype(d, block, role);
  bool shard = role_is_shard(block, role);
  int32_t base = segment_base(d, segment, role, at->block, block_bytes(d, block, role));
  int64_t before = role_bytes(d, block, role, shard ? at->shard_first : at->first);
  Operand *operand = record_operand(record, base, before,
                                    role_bytes(d, block, role, own_elements(d, p)), dtype, access);
  operand->value = d->train->logical->params.at[p].value;
  operand->layout = layout_of(d, own_layout(d, p));
  if (shard || !block->shards_state) return operand;
  operand->by = mesh_used(&d->mesh, ZERO_AXES);
  operand->member_stride_bytes = role_bytes(d, block, role, at->piece);
  return operand;
}

/* ---- runs of parameters that one collective moves */

typedef struct PieceRun {
  int32_t block;
  int32_t first, end;               /* of the block's params */
  int64_t at, elements;             /* in the whole layer */
  int64_t shard_at, shard_elements; /* in the shard */
} PieceRun;

static PieceRun run_of(const Draft *d, int32_t b, int32_t first, int32_t end) {
  const Block *block = &d->blocks.at[b];
  const ParamPlace *head = &d->params[block->params.at[first]];
  PieceRun run = {.block = b,
                  .first = first,
                  .end = end,
                  .at = head->first,
                  .elements = block->elements - head->first,
                  .shard_at = head->shard_first,
                  .shard_elements = block->shard_elements - head->shard_first};
  if (end == block->params.count) return run;
  const ParamPlace *next = &d->params[block->params.at[end]];
  run.elements = next->first - head->first;
  run.shard_elements = next->shard_first - head->shard_first;
  return run;
}

/* The longest run from `first` on that fits into a bucket and whose pieces one record can gather;
 * at least one parameter. */
static PieceRun next_run(const Draft *d, int32_t b, int32_t first) {
  int32_t count = d->blocks.at[b].params.count, end = first + 1;
  int32_t most = pieces_are_gathered(d) ? PIECE_PAIRS_MAX : count;
  while (end < count && end - first < most &&
         run_of(d, b, first, end + 1).elements * dtype_bytes(d->train->grad_dtype) <=
             d->job->parallel.bucket)
    end++;
  return run_of(d, b, first, end);
}

/* One pair a parameter: a collective's share of the run. */
static void set_pieces(Draft *d, Record *record, const PieceRun *run) {
  const Block *block = &d->blocks.at[run->block];
  record->piece_count = run->end - run->first;
  record->pieces = ARENA_ARRAY(d->compile->arena, int64_t, 2 * record->piece_count);
  for (int32_t i = 0; i < record->piece_count; i++) {
    record->pieces[2 * i] = 1;
    record->pieces[2 * i + 1] = d->params[block->params.at[run->first + i]].piece;
  }
}

/* The run in a base of whole layers or of shards. */
static Operand *run_operand(Draft *d, int32_t segment, Record *record, const PieceRun *run,
                            BaseRole role, DType dtype, bool shard, Access access) {
  const Block *block = &d->blocks.at[run->block];
  int64_t width = dtype_bytes(dtype);
  int64_t all = (shard ? block->shard_elements : block->elements) * width;
  int64_t at = shard ? run->shard_at : run->at;
  int64_t elements = shard ? run->shard_elements : run->elements;
  int32_t base = segment_base(d, segment, role, run->block, all);
  return record_operand(record, base, at * width, elements * width, dtype, access);
}

static Operand *grad_operand(Draft *d, int32_t segment, Record *record, const PieceRun *run,
                             BaseRole role, Access access) {
  return run_operand(d, segment, record, run, role, d->train->grad_dtype, role == BASE_GRAD_SHARD,
                     access);
}

/* ---- gather, fetch */

static Record *gather_record(Draft *d, int32_t segment, const PieceRun *run) {
  const Block *block = &d->blocks.at[run->block];
  const char *meaning = arena_printf(d->compile->arena, "%s parameters", block->name);
  Record *record = collective(d, segment, RECORD_ALL_GATHER, PURPOSE_GATHER,
                              mesh_used(&d->mesh, ZERO_AXES), meaning);
  record->direction = DIRECTION_UPDATE;
  set_pieces(d, record, run);
  return record;
}

static Operand *param_operand(Draft *d, int32_t segment, Record *record, const PieceRun *run,
                              BaseRole role, Access access) {
  return run_operand(d, segment, record, run, role, role_dtype(d, &d->blocks.at[run->block], role),
                     role_is_shard(&d->blocks.at[run->block], role), access);
}

static int32_t build_gather(Draft *d, int32_t b) {
  if (!d->blocks.at[b].shards_state || d->blocks.at[b].shards_params) return NO_ID;
  int32_t segment = block_segment(d, b, WORD_GATHER);
  for (int32_t first = 0; first < d->blocks.at[b].params.count;) {
    PieceRun run = next_run(d, b, first);
    param_operand(d, segment, gather_record(d, segment, &run), &run,
                  stored_role(d, &d->blocks.at[b]), ACCESS_UPDATE);
    first = run.end;
  }
  return segment;
}

/* A shard is cast before it is gathered, so that the wire carries the dtype of compute. */
static void fetch_run(Draft *d, int32_t segment, const PieceRun *run, uint32_t when_none) {
  const bool shards = d->blocks.at[run->block].shards_params;
  BaseRole from = stored_role(d, &d->blocks.at[run->block]);
  if (params_are_cast(d)) {
    BaseRole to = shards ? BASE_CAST_SHARD : BASE_PARAM;
    Record *record = segment_kernel(d, segment, KERNEL_cast, PURPOSE_CAST);
    record->direction = DIRECTION_UPDATE;
    record->when_none = when_none;
    record_dim(record, shards ? run->shard_elements : run->elements);
    param_operand(d, segment, record, run, from, ACCESS_READ);
    param_operand(d, segment, record, run, to, ACCESS_WRITE);
    from = to;
  }
  if (!shards) return;
  Record *record = gather_record(d, segment, run);
  record->when_none = when_none;
  param_operand(d, segment, record, run, from, ACCESS_READ);
  param_operand(d, segment, record, run, BASE_PARAM, ACCESS_WRITE);
}

static int32_t build_fetch(Draft *d, int32_t b) {
  if (!block_is_fetched(d, &d->blocks.at[b])) return NO_ID;
  int32_t segment = block_segment(d, b, d->blocks.at[b].shards_params ? WORD_GATHER : WORD_CAST);
  for (int32_t first = 0; first < d->blocks.at[b].params.count;) {
    PieceRun run = next_run(d, b, first);
    fetch_run(d, segment, &run, 0);
    first = run.end;
  }
  return segment;
}

/* True if a record of the segment reads a parameter of the run. Records that do not run in the last
 * layer of a recompute group count only with `but_last`. */
static bool reads_run(const Draft *d, int32_t segment, const PieceRun *run, bool but_last) {
  int64_t width = dtype_bytes(d->train->compute_dtype);
  int64_t first = run->at * width, end = first + run->elements * width;
  const Segment *at = segment == NO_ID ? NULL : &d->segments.at[segment];
  for (int32_t r = 0; at != NULL && r < at->records.count; r++) {
    const Record *record = &at->records.at[r];
    if (!but_last && (record->when_none & CALL_GROUP_LAST) != 0) continue;
    for (int32_t i = 0; i < record->operand_count; i++) {
      const Operand *operand = &record->operands[i];
      const SegmentBase *base = &at->bases.at[operand->base];
      if (base->role == BASE_PARAM && base->number == run->block && operand->offset_bytes < end &&
          operand->offset_bytes + operand->size_bytes > first)
        return true;
    }
  }
  return false;
}

static bool backward_reads(const Draft *d, const PieceRun *run, bool but_last) {
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    const RegionSegments *parts = &d->train_parts[r];
    const bool again = d->blocks.at[run->block].shards_params; /* codes are freed with the copy */
    if ((again && reads_run(d, parts->codes, run, but_last)) ||
        reads_run(d, parts->recompute, run, but_last) ||
        reads_run(d, parts->backward, run, but_last))
      return true;
  }
  return false;
}

static bool forward_reads(const Draft *d, const PieceRun *run) {
  for (RegionId r = 0; r < d->train->regions.count; r++)
    if (reads_run(d, d->train_parts[r].forward, run, true)) return true;
  return false;
}

/* True if codes of some parameters serve forward after the first micro-batch. Codes of a shard's
 * weights are let go with the copy, so a copy of shards is always whole. */
static bool codes_serve(const Draft *d, int32_t b) {
  const Block *block = &d->blocks.at[b];
  bool serve = false;
  if (!block_is_fetched(d, block) || block->shards_params) return false;
  for (int32_t i = 0; i < block->params.count; i++) {
    const PieceRun one = run_of(d, b, i, i + 1);
    serve = serve || !forward_reads(d, &one);
  }
  return serve;
}

static int32_t build_fetch_coded(Draft *d, int32_t b) {
  if (!codes_serve(d, b)) return NO_ID;
  int32_t segment = NO_ID;
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++) {
    const PieceRun one = run_of(d, b, i, i + 1);
    if (!forward_reads(d, &one)) continue;
    if (segment == NO_ID) segment = block_segment(d, b, WORD_CAST_BESIDE_CODES);
    fetch_run(d, segment, &one, 0);
  }
  return segment;
}

/* For backward, without what only forward reads, such as biases and weights that have codes. */
static int32_t build_refetch(Draft *d, int32_t b) {
  if (!block_is_fetched(d, &d->blocks.at[b])) return NO_ID;
  const bool apart = codes_serve(d, b);
  int32_t segment = NO_ID;
  for (int32_t first = 0; first < d->blocks.at[b].params.count;) {
    PieceRun run = apart ? run_of(d, b, first, first + 1) : next_run(d, b, first);
    first = run.end;
    if (!backward_reads(d, &run, true)) continue;
    if (segment == NO_ID)
      segment = block_segment(d, b, d->blocks.at[b].shards_params ? WORD_REGATHER : WORD_RECAST);
    fetch_run(d, segment, &run, backward_reads(d, &run, false) ? 0 : CALL_GROUP_LAST);
  }
  return segment;
}

/* ---- reduce */

static DType wire_dtype(const Draft *d) {
  return precision_dtype(d->job->precision.reduce);
}

static Record *cast_record(Draft *d, int32_t segment, int64_t elements) {
  Record *record = segment_kernel(d, segment, KERNEL_cast, PURPOSE_REDUCE);
  record->direction = DIRECTION_UPDATE;
  record_dim(record, elements);
  return record;
}

/* Deferred sums along tp and tp_group, for parameters whose ranks saw parts of the tokens or heads.
 */
static void settle_tensor(Draft *d, int32_t segment, const PieceRun *run) {
  for (int32_t i = run->first; i < run->end; i++) {
    ParamId p = d->blocks.at[run->block].params.at[i];
    uint32_t axes = mesh_used(&d->mesh, d->train->params.at[p].partial & TENSOR_AXES);
    if (axes == 0) continue;
    const char *meaning =
        arena_printf(d->compile->arena, "%s gradient", d->train->params.at[p].name);
    Record *record = collective(d, segment, RECORD_ALL_REDUCE, PURPOSE_REDUCE, axes, meaning);
    record_param(d, record, p);
    PieceRun one = run_of(d, run->block, i, i + 1);
    grad_operand(d, segment, record, &one, BASE_GRAD, ACCESS_UPDATE);
  }
}

/* The gradients as they travel: themselves, or a copy in the wire's dtype. */
static BaseRole to_wire(Draft *d, int32_t segment, const PieceRun *run) {
  if (wire_dtype(d) == d->train->grad_dtype) return BASE_GRAD;
  Record *record = cast_record(d, segment, run->elements);
  grad_operand(d, segment, record, run, BASE_GRAD, ACCESS_READ);
  run_operand(d, segment, record, run, BASE_WIRE, wire_dtype(d), false, ACCESS_WRITE);
  return BASE_WIRE;
}

static void reduce_whole(Draft *d, int32_t segment, const PieceRun *run, const char *meaning) {
  BaseRole wire = to_wire(d, segment, run);
  Record *record = collective(d, segment, RECORD_ALL_REDUCE, PURPOSE_REDUCE,
                              mesh_used(&d->mesh, BATCH_AXES), meaning);
  run_operand(d, segment, record, run, wire, wire_dtype(d), false, ACCESS_UPDATE);
  if (wire == BASE_GRAD) return;
  record = cast_record(d, segment, run->elements);
  run_operand(d, segment, record, run, wire, wire_dtype(d), false, ACCESS_READ);
  grad_operand(d, segment, record, run, BASE_GRAD, ACCESS_WRITE);
}

static Record *scatter(Draft *d, int32_t segment, const PieceRun *run, const char *meaning) {
  uint32_t axes = mesh_used(&d->mesh, ZERO_AXES);
  Record *record = collective(d, segment, RECORD_REDUCE_SCATTER, PURPOSE_REDUCE, axes, meaning);
  set_pieces(d, record, run);
  return record;
}

/* Ranks that hold the same shard sum theirs. */
static Record *replicas_sum(Draft *d, int32_t segment, uint32_t when_all, const char *meaning) {
  uint32_t axes = mesh_used(&d->mesh, MESH_BIT(MESH_REPLICATE));
  Record *record = collective(d, segment, RECORD_ALL_REDUCE, PURPOSE_REDUCE, axes, meaning);
  record->when_all = when_all;
  return record;
}

/* Shards of gradients, which travel in the wire's dtype as gradients do. */
static void add_shards(Draft *d, int32_t segment, const PieceRun *run, const char *meaning) {
  const uint32_t last = CALL_LAST_MICROBATCH;
  const DType wire = wire_dtype(d);
  if (mesh_used(&d->mesh, MESH_BIT(MESH_REPLICATE)) == 0) return;
  if (wire == d->train->grad_dtype) {
    grad_operand(d, segment, replicas_sum(d, segment, last, meaning), run, BASE_GRAD_SHARD,
                 ACCESS_UPDATE);
    return;
  }
  Record *record = cast_record(d, segment, run->shard_elements);
  record->when_all = last;
  grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_READ);
  run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire, true, ACCESS_WRITE);
  run_operand(d, segment, replicas_sum(d, segment, last, meaning), run, BASE_WIRE_SHARD, wire, true,
              ACCESS_UPDATE);
  record = cast_record(d, segment, run->shard_elements);
  record->when_all = last;
  run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire, true, ACCESS_READ);
  grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_WRITE);
}

static void reduce_in_place(Draft *d, int32_t segment, const PieceRun *run, const char *meaning) {
  const bool replicas = mesh_used(&d->mesh, MESH_BIT(MESH_REPLICATE)) != 0;
  BaseRole wire = to_wire(d, segment, run);
  Record *record = scatter(d, segment, run, meaning);
  if (wire == BASE_GRAD) {
    grad_operand(d, segment, record, run, BASE_GRAD, ACCESS_UPDATE);
  } else {
    run_operand(d, segment, record, run, wire, wire_dtype(d), false, ACCESS_READ);
    run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire_dtype(d), true, ACCESS_WRITE);
    if (replicas)
      run_operand(d, segment, replicas_sum(d, segment, 0, meaning), run, BASE_WIRE_SHARD,
                  wire_dtype(d), true, ACCESS_UPDATE);
  }
  for (int32_t i = run->first; i < run->end; i++) {
    ParamId p = d->blocks.at[run->block].params.at[i];
    PieceRun one = run_of(d, run->block, i, i + 1);
    if (wire != BASE_GRAD) {
      record = cast_record(d, segment, d->params[p].piece);
      run_operand(d, segment, record, &one, BASE_WIRE_SHARD, wire_dtype(d), true, ACCESS_READ);
      own_operand(d, segment, record, p, BASE_GRAD, ACCESS_WRITE);
    } else if (replicas) {
      own_operand(d, segment, replicas_sum(d, segment, 0, meaning), p, BASE_GRAD, ACCESS_UPDATE);
    }
  }
}

/* Adds the received shard to the gradient shard. */
static void add_shard(Draft *d, int32_t segment, const PieceRun *run) {
  Record *record = segment_kernel(d, segment, KERNEL_add, PURPOSE_REDUCE);
  record->direction = DIRECTION_UPDATE;
  record->when_none = CALL_FIRST_MICROBATCH;
  record_dim(record, 1);
  record_dim(record, run->shard_elements);
  record_dim(record, 1);
  grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_READ);
  run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire_dtype(d), true, ACCESS_READ);
  grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_WRITE);
}

/* The first micro-batch assigns the shard, the others add to it. */
static void reduce_to_shard(Draft *d, int32_t segment, const PieceRun *run, const char *meaning) {
  BaseRole wire = to_wire(d, segment, run);
  bool direct = wire == BASE_GRAD, several = d->derived.accumulation > 1;
  Record *record = scatter(d, segment, run, meaning);
  run_operand(d, segment, record, run, wire, wire_dtype(d), false, ACCESS_READ);
  if (direct) {
    record->when_all = CALL_FIRST_MICROBATCH;
    grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_WRITE);
    if (several) {
      record = scatter(d, segment, run, meaning);
      record->when_none = CALL_FIRST_MICROBATCH;
      run_operand(d, segment, record, run, wire, wire_dtype(d), false, ACCESS_READ);
    }
  }
  if (!direct || several)
    run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire_dtype(d), true, ACCESS_WRITE);
  if (!direct) {
    record = cast_record(d, segment, run->shard_elements);
    record->when_all = CALL_FIRST_MICROBATCH;
    run_operand(d, segment, record, run, BASE_WIRE_SHARD, wire_dtype(d), true, ACCESS_READ);
    grad_operand(d, segment, record, run, BASE_GRAD_SHARD, ACCESS_WRITE);
  }
  if (several) add_shard(d, segment, run);
  add_shards(d, segment, run, meaning);
}

static bool needs_reduce(const Draft *d, int32_t b) {
  uint32_t axes = mesh_used(&d->mesh, BATCH_AXES);
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++) {
    const Param *param = &d->train->params.at[d->blocks.at[b].params.at[i]];
    axes |= mesh_used(&d->mesh, param->partial & TENSOR_AXES);
  }
  return axes != 0;
}

static int32_t build_reduce(Draft *d, int32_t b) {
  if (!needs_reduce(d, b)) return NO_ID;
  int32_t segment = block_segment(d, b, WORD_REDUCE);
  const char *meaning = arena_printf(d->compile->arena, "%s gradients", d->blocks.at[b].name);
  for (int32_t first = 0; first < d->blocks.at[b].params.count;) {
    PieceRun run = next_run(d, b, first);
    settle_tensor(d, segment, &run);
    if (d->blocks.at[b].shards_grads)
      reduce_to_shard(d, segment, &run, meaning);
    else if (d->blocks.at[b].shards_state)
      reduce_in_place(d, segment, &run, meaning);
    else if (mesh_used(&d->mesh, BATCH_AXES) != 0)
      reduce_whole(d, segment, &run, meaning);
    first = run.end;
  }
  return segment;
}

/* ---- pad */

static int32_t build_pad(Draft *d, int32_t b) {
  const DType dtype = d->train->grad_dtype;
  int64_t width = dtype_bytes(dtype), bytes = block_bytes(d, &d->blocks.at[b], BASE_GRAD);
  int32_t segment = NO_ID;
  const bool passes = block_grads_pass(d, &d->blocks.at[b]);
  if (!d->blocks.at[b].shards_grads && !passes) return NO_ID;
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++) {
    const ParamPlace *at = &d->params[d->blocks.at[b].params.at[i]];
    int64_t padding = at->piece * d->derived.shard_ranks - at->elements;
    if (padding == 0) continue;
    if (segment == NO_ID) segment = block_segment(d, b, WORD_PAD);
    Record *record = clear_record(d, segment, padding);
    record->direction = DIRECTION_BACKWARD;
    if (!d->blocks.at[b].shards_grads) record->when_all = CALL_FIRST_MICROBATCH;
    record_operand(record, segment_base(d, segment, BASE_GRAD, b, bytes),
                   (at->first + at->elements) * width, padding * width, dtype, ACCESS_WRITE);
  }
  return segment;
}

/* ---- clear and join: tied parameters on two pipeline stages */

static int32_t build_clear(Draft *d, int32_t b) {
  int64_t bytes = block_bytes(d, &d->blocks.at[b], BASE_GRAD);
  int32_t segment = block_segment(d, b, WORD_CLEAR);
  Record *record = clear_record(d, segment, d->blocks.at[b].elements);
  record->direction = DIRECTION_BACKWARD;
  if (!d->blocks.at[b].shards_grads) record->when_all = CALL_FIRST_MICROBATCH;
  record_operand(record, segment_base(d, segment, BASE_GRAD, b, bytes), 0, bytes,
                 d->train->grad_dtype, ACCESS_WRITE);
  return segment;
}

/* Stages 0 and p - 1 are neighbours on the ring of stages: each sends its sum to the other. The
 * distance differs in sign, so there are two segments; `to_last` is the first stage's. */
static int32_t build_join(Draft *d, int32_t b, bool to_last) {
  const SegmentWord word = to_last ? WORD_JOIN_FIRST : WORD_JOIN_LAST;
  int32_t segment = block_segment(d, b, word);
  const char *meaning = arena_printf(d->compile->arena, "%s gradients", d->blocks.at[b].name);
  ParamId p = d->blocks.at[b].params.at[0]; /* a tied block has one */
  int64_t elements = own_elements(d, p), stages = d->mesh.size[MESH_PP];
  DType dtype = d->train->grad_dtype;
  int64_t bytes = elements * dtype_bytes(dtype);
  Record *record = segment_record(d, segment, RECORD_EXCHANGE, NULL, PURPOSE_REDUCE);
  record_param(d, record, p);
  record->meaning = meaning;
  record->axes = MESH_BIT(MESH_PP);
  Layout owed = param_layout(d->train, p);
  record->layout_after = layout_of(d, owed);
  owed.owed_axes = MESH_BIT(MESH_PP);
  record->layout_before = layout_of(d, owed);
  record->direction = DIRECTION_BACKWARD;
  int64_t distance = to_last ? stages - 1 : 1 - stages;
  own_operand(d, segment, record, p, own_grad(d, b), ACCESS_READ);
  int32_t wire = segment_base(d, segment, BASE_WIRE_SHARD, b, bytes);
  record_operand(record, wire, 0, bytes, dtype, ACCESS_WRITE);
  record_dim(record, distance);
  record_dim(record, distance);
  record = segment_kernel(d, segment, KERNEL_add, PURPOSE_REDUCE);
  record->direction = DIRECTION_UPDATE;
  record_dim(record, 1);
  record_dim(record, elements);
  record_dim(record, 1);
  own_operand(d, segment, record, p, own_grad(d, b), ACCESS_READ);
  record_operand(record, wire, 0, bytes, dtype, ACCESS_READ);
  own_operand(d, segment, record, p, own_grad(d, b), ACCESS_WRITE);
  segment_set_lane(d, segment, LANE_PP);
  return segment;
}

void reduce_segments_build(Draft *d, int32_t b) {
  int32_t gather = build_gather(d, b), fetch = build_fetch(d, b), refetch = build_refetch(d, b);
  int32_t fetch_coded = build_fetch_coded(d, b);
  int32_t reduce = d->trains ? build_reduce(d, b) : NO_ID;
  int32_t clear =
      d->trains && d->blocks.at[b].tied && draft_ends_apart(d) ? build_clear(d, b) : NO_ID;
  int32_t pad = d->trains ? build_pad(d, b) : NO_ID;
  if (mesh_used(&d->mesh, BATCH_AXES) != 0) { /* otherwise only the sum along tp is left */
    const bool moves = d->blocks.at[b].shards_params;
    if (gather != NO_ID) segment_set_lane(d, gather, LANE_DP);
    if (moves && fetch != NO_ID) segment_set_lane(d, fetch, LANE_DP);
    if (moves && refetch != NO_ID) segment_set_lane(d, refetch, LANE_DP);
    if (reduce != NO_ID) segment_set_lane(d, reduce, LANE_DP);
  }
  Block *block = &d->blocks.at[b];
  block->pad = pad;
  block->gather = gather;
  block->fetch = fetch;
  block->refetch = refetch;
  block->fetch_coded = fetch_coded;
  block->reduce = reduce;
  block->clear = clear;
  if (clear == NO_ID) return;
  int32_t first = build_join(d, b, true), last = build_join(d, b, false);
  d->blocks.at[b].join[0] = first;
  d->blocks.at[b].join[1] = last;
}
