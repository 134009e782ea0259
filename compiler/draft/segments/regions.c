/* regions.c -- the lists of every region as straight-line code, written once however many layers
 * there are. */
#include <string.h>

#include "compiler/draft/roles.h"
#include "compiler/draft/segments/segments.h"
#include "compiler/draft/segments/storage.h"
#include "compiler/draft/words.h"
#include "kernels/contract/contract.h"

static Lowered *lower_list(const Draft *d, const Graph *g, const Region *region, ListKind kind) {
  const NodeList *list = region_list(region, kind);
  Lowered *lowered = ARENA_ARRAY(d->compile->arena, Lowered, list->count + 1);
  for (int32_t i = 0; i < list->count; i++)
    op_lower_part(g, graph_node(g, list->at[i]), list_chunks(g, region, kind, i), &lowered[i]);
  return lowered;
}

/* Values with a row for each token, and what ranks tell each other about it. */
static bool has_rows(const Graph *g, ValueId v) {
  const Value *value = graph_value(g, v);
  if (value->kind == VALUE_LOSS) return false;
  return value->extra_elements > 0 || (value->dim_count > 0 && g->dims.at[value->dims[0]].carried);
}

/* The record's run of tokens within the operand; tokens are the outermost dim of every value. */
static void take_part(const Storage *storage, ValueId v, const Record *record, int64_t *offset,
                      int64_t *size) {
  if (record->parts == 0 || !has_rows(storage->graph, v)) return;
  *size /= record->parts;
  if (!storage_in_chunk(storage, v)) *offset += record->part * *size;
}

static void add_operands(Draft *d, int32_t segment, Record *record, const Storage *storage,
                         const Lowered *low) {
  const KernelContract *contract =
      record->kind == RECORD_KERNEL ? contract_find(low->kernel) : NULL;
  for (int32_t i = 0; i < low->operand_count; i++) {
    ValueId v = low->operands[i];
    Address address = storage_address(storage, v);
    int64_t size = storage_span_bytes(storage, v);
    take_part(storage, v, record, &address.offset_bytes, &size);
    int64_t end = address.role == BASE_PARAM || address.role == BASE_GRAD
                      ? block_bytes(d, &d->blocks.at[address.number], address.role)
                      : address.offset_bytes + size;
    int32_t base = segment_base(d, segment, address.role, address.number, end);
    Access access = low->access[i];
    if (record->accumulate && contract != NULL && contract->operands[i].access == KERNEL_SUM)
      access = ACCESS_UPDATE;
    Operand *operand = record_operand(record, base, address.offset_bytes, size,
                                      graph_value(storage->graph, v)->dtype, access);
    operand->value = graph_value(storage->graph, v)->logical;
    operand->layout = layout_of(d, value_layout(storage->graph, v));
  }
}

/* Marks lowered nodes that sum into storage that outlives the micro-batch. Where gradients are
 * reduced in every micro-batch, their first contribution assigns every time. */
static Accumulate accumulate_of(const Draft *d, const Graph *g, const Node *n) {
  for (int32_t i = 0; i < n->output_count; i++) {
    const Value *out = graph_value(g, n->outputs[i]);
    if (out->kind == VALUE_LOSS) return ACCUMULATE_AFTER_FIRST;
    if (out->kind == VALUE_PARAM_GRAD && n->accumulate == ACCUMULATE_AFTER_FIRST)
      return d->blocks.at[d->params[out->param].block].shards_grads ? ACCUMULATE_NEVER
                                                                    : ACCUMULATE_AFTER_FIRST;
  }
  return n->accumulate;
}

typedef struct Emission {
  Draft *draft;
  const Storage *storage;
  int32_t segment;
  ListKind list;
  bool *spared; /* by position: not run where the call has this flag */
  uint32_t spared_when;
  int64_t part; /* of the chunks */
} Emission;

/* A communication of the model names its value, with the layouts that shard/ derived. */
static void add_meaning(const Emission *e, Record *record, const Node *n, const Lowered *low) {
  static const Direction directions[LIST_KINDS] = {DIRECTION_FORWARD, DIRECTION_FORWARD,
                                                   DIRECTION_BACKWARD, DIRECTION_BACKWARD,
                                                   DIRECTION_BACKWARD};
  record->axes = low->axes;
  record->reduce = REDUCE_SUM;
  record->direction = directions[e->list];
  if (low->kind == RECORD_KERNEL) return;
  record->meaning = n->path;
  const Graph *g = e->storage->graph;
  Layout before = value_layout(g, n->inputs[0]), after = value_layout(g, n->outputs[0]);
  if (graph_value(g, n->inputs[0])->extra_elements >
      0) { /* statistics of each rank, one after another */
    before = after;
    for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
      if (low->axes & MESH_BIT(axis))
        before.dims[0].cuts[before.dims[0].cut_count++] = (LayoutCut){axis, CUT_BLOCK};
  }
  record->layout_before = layout_of(e->draft, before);
  record->layout_after = layout_of(e->draft, after);
}

/* The purpose of a node of the sharded graph. */
static Purpose purpose_of(const Graph *g, NodeId id) {
  const Node *n = graph_node(g, id);
  if (n->clone_of != NO_ID) return PURPOSE_RECOMPUTE;
  if (op_def(n->op)->recodes) return PURPOSE_CAST;
  if (op_def(n->op)->layout & LAYOUT_CONVERTS) return PURPOSE_CONVERSION;
  return n->logical == id ? PURPOSE_NODE : PURPOSE_PART;
}

static void emit_variant(const Emission *e, int32_t at, const Lowered *low, uint32_t when_all,
                         uint32_t when_none, bool accumulate) {
  const Graph *g = e->storage->graph;
  NodeId id = region_list(e->storage->region, e->list)->at[at];
  const Node *n = graph_node(g, id);
  Record *record = segment_record(e->draft, e->segment, low->kind, low->kernel, purpose_of(g, id));
  record->path = n->path;
  record->model = g->logical;
  record->node = n->logical;
  if ((op_def(n->op)->layout & LAYOUT_CONVERTS) || op_def(n->op)->recodes)
    record->value = graph_value(g, n->inputs[0])->logical;
  if (low->kind == RECORD_EXCHANGE)
    record->lane = LANE_CP; /* of a ring; the model has no other exchanges */
  record->when_all = when_all;
  record->when_none = when_none | (e->spared != NULL && e->spared[at] ? e->spared_when : 0);
  record->accumulate = accumulate;
  const int64_t chunks = list_chunks(g, e->storage->region, e->list, at);
  if (chunks > 1) record->part = e->part, record->parts = chunks;
  record->random = low->random;
  record->flops = low->flops;
  add_meaning(e, record, n, low);
  add_operands(e->draft, e->segment, record, e->storage, low);
  if (low->workspace_bytes > 0) {
    int64_t offset = e->storage->workspace_offset[e->list][at];
    int32_t base =
        segment_base(e->draft, e->segment, BASE_SCRATCH, NO_ID, offset + low->workspace_bytes);
    record_operand(record, base, offset, low->workspace_bytes, DTYPE_F32, ACCESS_WRITE);
    record->bytes -= low->workspace_bytes;
  }
  record->dim_count = low->dim_count;
  memcpy(record->dims, low->dims, sizeof record->dims);
  record->attr_count = low->attr_count;
  memcpy(record->attrs, low->attrs, sizeof record->attrs);
  record->vary_count = low->vary_count;
  memcpy(record->varies, low->varies, sizeof record->varies);
}

/* True if the node adds to a value that outlives a chunk of the loss. */
static bool sums_up(const Graph *g, const Node *n) {
  for (int32_t i = 0; i < n->output_count; i++) {
    ValueKind kind = graph_value(g, n->outputs[i])->kind;
    if (kind == VALUE_LOSS || kind == VALUE_PARAM_GRAD) return true;
  }
  return false;
}

static void emit_node(const Emission *e, int32_t at, const Lowered *low) {
  if (low->kernel == NULL && low->kind == RECORD_KERNEL) return;
  const Graph *g = e->storage->graph;
  const Node *n = graph_node(g, region_list(e->storage->region, e->list)->at[at]);
  Accumulate accumulate = accumulate_of(e->draft, g, n);
  if (e->part > 0) {
    emit_variant(e, at, low, 0, 0, sums_up(g, n));
  } else if (accumulate == ACCUMULATE_AFTER_FIRST) {
    emit_variant(e, at, low, CALL_FIRST_MICROBATCH, 0, false);
    emit_variant(e, at, low, 0, CALL_FIRST_MICROBATCH, true);
  } else {
    emit_variant(e, at, low, 0, 0, accumulate == ACCUMULATE_ALWAYS);
  }
  e->draft->segments.at[e->segment].flops += low->flops;
}

static void need_inputs(const Graph *g, const Node *n, bool *needed) {
  for (int32_t k = 0; k < n->input_count; k++)
    for (ValueId v = n->inputs[k]; v != NO_ID; v = graph_value(g, v)->view_of)
      needed[v] = true;
}

/* Recomputed nodes that no backward node needs, directly or through others, now or deferred: they
 * only make the region's output. */
static bool *find_only_output(Draft *d, const Graph *g, const Region *region) {
  const NodeList *list = &region->recompute;
  bool *needed = ARENA_ARRAY(d->compile->arena, bool, g->values.count);
  bool *only = ARENA_ARRAY(d->compile->arena, bool, list->count + 1);
  for (int32_t i = 0; i < region->backward.count; i++)
    need_inputs(g, graph_node(g, region->backward.at[i]), needed);
  for (int32_t i = 0; i < region->weight.count; i++)
    need_inputs(g, graph_node(g, region->weight.at[i]), needed);
  for (int32_t i = list->count - 1; i >= 0; i--) {
    const Node *n = graph_node(g, list->at[i]);
    only[i] = true;
    for (int32_t k = 0; k < n->output_count; k++)
      if (needed[n->outputs[k]]) only[i] = false;
    if (!only[i]) need_inputs(g, n, needed);
  }
  return only;
}

/* Backward nodes that only make the gradient of the region's input. */
static bool *find_only_input(Draft *d, const Graph *g, const Region *region) {
  const NodeList *list = &region->backward;
  bool *needed = ARENA_ARRAY(d->compile->arena, bool, g->values.count);
  bool *only = ARENA_ARRAY(d->compile->arena, bool, list->count + 1);
  for (int32_t i = 0; i < region->weight.count; i++)
    need_inputs(g, graph_node(g, region->weight.at[i]), needed);
  for (int32_t i = list->count - 1; i >= 0; i--) {
    const Node *n = graph_node(g, list->at[i]);
    only[i] = true;
    for (int32_t k = 0; k < n->output_count; k++)
      if (needed[n->outputs[k]] || graph_value(g, n->outputs[k])->kind == VALUE_PARAM_GRAD)
        only[i] = false;
    if (!only[i]) need_inputs(g, n, needed);
  }
  return only;
}

/* Nodes that need not run in some layers: the last layer of a recompute group need not remake its
 * output, and where a stack begins at the model's input its first layer needs no gradient of it. */
static void find_spared(Emission *e) {
  const Graph *g = e->storage->graph;
  const Region *region = e->storage->region;
  if (e->list == LIST_RECOMPUTE && region->output_recomputed) {
    e->spared = find_only_output(e->draft, g, region);
    e->spared_when = CALL_GROUP_LAST;
  }
  if (e->list == LIST_BACKWARD && !region_feeds_back(g, (RegionId)(region - g->regions.at))) {
    e->spared = find_only_input(e->draft, g, region);
    e->spared_when = CALL_FIRST_LAYER;
  }
}

const char *segment_suffix(const Graph *g) {
  switch (g->program) {
  case PROGRAM_TRAIN_STEP: return "";
  case PROGRAM_PREFILL: return ".prefill";
  case PROGRAM_DECODE: return ".decode";
  default: return ".eval";
  }
}

static int32_t build_list(Draft *d, const Storage *storage, ListKind list, const Lowered *lowered) {
  static const SegmentWord words[LIST_KINDS] = {WORD_CODES, WORD_FORWARD, WORD_RECOMPUTE,
                                                WORD_BACKWARD, WORD_WEIGHT};
  const NodeList *nodes = region_list(storage->region, list);
  if (nodes->count == 0) return NO_ID;
  const char *suffix = segment_suffix(storage->graph);
  const char *name = arena_printf(d->compile->arena, "%s.%s%s", storage->region->name,
                                  segment_words[words[list]], suffix);
  Emission e = {.draft = d, .storage = storage, .segment = segment_add(d, name), .list = list};
  find_spared(&e);
  for (int32_t i = 0; i < nodes->count; i++) {
    const int64_t chunks = list_chunks(storage->graph, storage->region, list, i);
    const int32_t first = i, count = chunks > 1 ? storage->region->chunk_count : 1;
    for (e.part = 0; e.part < chunks; e.part++)
      for (i = first; i < first + count; i++)
        emit_node(&e, i, &lowered[i]);
    i = first + count - 1, e.part = 0;
  }
  return e.segment;
}

static bool first_writes_d_input(const Draft *d, int32_t segment) {
  if (segment == NO_ID) return false;
  const Segment *s = &d->segments.at[segment];
  for (int32_t i = 0; i < s->records.count; i++) {
    const Record *record = &s->records.at[i];
    if (record->when_none & CALL_FIRST_LAYER) continue;
    for (int32_t k = 0; k < record->operand_count; k++)
      if (s->bases.at[record->operands[k].base].role == BASE_D_INPUT) return true;
  }
  return false;
}

/* Copies all of a buffer to host memory, or back. */
static int32_t build_copy(Draft *d, const Region *region, SegmentWord word, BaseRole from,
                          BaseRole to, int64_t size_bytes, Lane lane) {
  if (size_bytes == 0) return NO_ID;
  int32_t segment =
      segment_add(d, arena_printf(d->compile->arena, "%s.%s", region->name, segment_words[word]));
  Record *record = segment_record(d, segment, RECORD_COPY, NULL, PURPOSE_OFFLOAD);
  record->path = region->name;
  record->direction = lane == LANE_D2H ? DIRECTION_FORWARD : DIRECTION_BACKWARD;
  record->lane = lane;
  const BaseRole roles[] = {from, to};
  for (int32_t i = 0; i < 2; i++)
    record_operand(record, segment_base(d, segment, roles[i], NO_ID, size_bytes), 0, size_bytes,
                   DTYPE_U8, i == 0 ? ACCESS_READ : ACCESS_WRITE);
  return segment;
}

static void build_copies(Draft *d, const Region *region, RegionSegments *parts) {
  const int64_t frame = parts->frame_bytes, input = parts->input_bytes;
  parts->frame_out =
      build_copy(d, region, WORD_KEPT_OUT, BASE_FRAME, BASE_FAR_FRAME, frame, LANE_D2H);
  parts->frame_in =
      build_copy(d, region, WORD_KEPT_IN, BASE_FAR_FRAME, BASE_FRAME, frame, LANE_H2D);
  parts->input_out =
      build_copy(d, region, WORD_INPUT_OUT, BASE_INPUT, BASE_FAR_INPUT, input, LANE_D2H);
  parts->input_in =
      build_copy(d, region, WORD_INPUT_IN, BASE_FAR_INPUT, BASE_INPUT, input, LANE_H2D);
}

static int64_t bytes_or_zero(const Graph *g, ValueId v) {
  return v == NO_ID ? 0 : value_bytes(g, v);
}

static RegionSegments *build_regions(Draft *d, Graph *g) {
  RegionSegments *parts = ARENA_ARRAY(d->compile->arena, RegionSegments, g->regions.count);
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    Lowered *lowered[LIST_KINDS];
    for (ListKind list = 0; list < LIST_KINDS; list++)
      lowered[list] = lower_list(d, g, region, list);
    const Storage *storage = storage_assign(d, g, region, lowered);
    parts[r] = (RegionSegments){
        .codes = build_list(d, storage, LIST_CODES, lowered[LIST_CODES]),
        .forward = build_list(d, storage, LIST_FORWARD, lowered[LIST_FORWARD]),
        .recompute = build_list(d, storage, LIST_RECOMPUTE, lowered[LIST_RECOMPUTE]),
        .backward = build_list(d, storage, LIST_BACKWARD, lowered[LIST_BACKWARD]),
        .weight = build_list(d, storage, LIST_WEIGHT, lowered[LIST_WEIGHT]),
        .codes_bytes = storage->codes_bytes,
        .frame_bytes = storage->frame_bytes,
        .recompute_frame_bytes = storage->recompute_frame_bytes,
        .weight_frame_bytes = storage->weight_frame_bytes,
        .input_bytes = bytes_or_zero(g, region->input),
        .output_bytes = bytes_or_zero(g, region->output),
        .d_input_bytes = bytes_or_zero(g, region->d_input),
        .d_output_bytes = bytes_or_zero(g, region->d_output),
        .backward_reads_input = storage->backward_reads_input,
        .backward_reads_output = storage->backward_reads_output,
    };
    parts[r].first_writes_d_input = first_writes_d_input(d, parts[r].backward);
    if (g->training && d->offloads_frames) build_copies(d, region, &parts[r]);
  }
  return parts;
}

void region_segments_build(Draft *d) {
  d->train_parts = build_regions(d, d->train);
  d->eval_parts = d->train_parts;
  if (d->eval != NULL && d->trains) d->eval_parts = build_regions(d, d->eval);
  if (d->decode != NULL) d->decode_parts = build_regions(d, d->decode);
}
