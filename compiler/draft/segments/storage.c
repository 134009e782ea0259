#include "compiler/draft/segments/storage.h"

#include <assert.h>

#include "compiler/draft/memory/pack.h"
#include "compiler/draft/roles.h"
#include "kernels/contract/fusions.h"

enum { VALUE_ALIGN_BYTES = 64 };

const NodeList *region_list(const Region *region, ListKind list) {
  const NodeList *lists[LIST_KINDS] = {&region->codes, &region->forward, &region->recompute,
                                       &region->backward, &region->weight};
  return lists[list];
}

int64_t list_chunks(const Graph *g, const Region *region, ListKind list, int32_t at) {
  ListKind chunked = g->training ? LIST_BACKWARD : LIST_FORWARD;
  return list == chunked && region_in_chunks(region, at) ? region->chunks : 1;
}

static ValueId above(const Storage *p, ValueId v) {
  ValueId view_of = graph_value(p->graph, v)->view_of;
  return view_of == NO_ID ? p->owner[v] : view_of;
}

/* A chain of blocks that work in place is as long as the model: who has gone up leaves a short way
 * for the next. */
static ValueId storage_of(const Storage *p, ValueId v) {
  ValueId root = v;
  while (above(p, root) != root)
    root = above(p, root);
  for (ValueId up; v != root; v = up) {
    up = above(p, v);
    p->owner[v] = root;
  }
  return root;
}

/* Values with a base of their own; everything else is frame or scratch. */
static bool special_role(const Storage *p, ValueId v, BaseRole *role) {
  const Value *value = graph_value(p->graph, v);
  const Region *r = p->region;
  switch (value->kind) {
  case VALUE_INPUT: *role = BASE_DATA; return true;
  case VALUE_PARAM: *role = BASE_PARAM; return true;
  case VALUE_PARAM_GRAD: *role = BASE_GRAD; return true;
  case VALUE_LOSS: *role = BASE_CONTROL; return true;
  case VALUE_CACHE: *role = BASE_CACHE; return true;
  default: break;
  }
  if (v == r->output || (r->output_recomputed && v == r->output_again))
    *role = BASE_OUTPUT;
  else if (v == r->input)
    *role = BASE_INPUT;
  else if (v == r->d_output)
    *role = BASE_D_OUTPUT;
  else if (v == r->d_input)
    *role = BASE_D_INPUT;
  else
    return false;
  return true;
}

/* ---- where each value is made and read */

static void note_made(Storage *p, ValueId v, ListKind list, int32_t at) {
  ValueUse *use = &p->use[storage_of(p, v)];
  if (!use->made) *use = (ValueUse){.made = true, .list = list, .first = at, .last = at};
  if (use->list == list && at > use->last) use->last = at;
  if (use->list == list && at < use->first) use->first = at;
}

static void note_read(Storage *p, ValueId v, ListKind list, int32_t at) {
  ValueId root = storage_of(p, v);
  BaseRole role;
  ValueUse *use = &p->use[root];
  use->read = true;
  if (use->made && use->list != list) use->escapes = true;
  if (use->made && use->list == list && at > use->last) use->last = at;
  if (list != LIST_FORWARD && root == p->region->input) p->backward_reads_input = true;
  if (list >= LIST_BACKWARD && special_role(p, root, &role) && role == BASE_OUTPUT)
    p->backward_reads_output = true;
}

static void note_uses(Storage *p) {
  for (ListKind list = 0; list < LIST_KINDS; list++) {
    const NodeList *nodes = region_list(p->region, list);
    for (int32_t i = 0; i < nodes->count; i++) {
      const Node *n = graph_node(p->graph, nodes->at[i]);
      for (int32_t k = 0; k < n->input_count; k++)
        note_read(p, n->inputs[k], list, i);
      for (int32_t k = 0; k < n->output_count; k++)
        note_made(p, n->outputs[k], list, i);
    }
  }
}

/* ---- exchanges run beside the computation: what they send stays in use until a node reads what
 * they receive. If its bytes were reused earlier, computation would have to wait */

static bool reads_output(const Storage *p, const Node *reader, const Node *n) {
  for (int32_t i = 0; i < reader->input_count; i++)
    for (int32_t k = 0; k < n->output_count; k++)
      if (storage_of(p, reader->inputs[i]) == storage_of(p, n->outputs[k])) return true;
  return false;
}

static void keep_sent(Storage *p, ListKind list, int32_t at) {
  const NodeList *nodes = region_list(p->region, list);
  const Node *n = graph_node(p->graph, nodes->at[at]);
  int32_t waiter = at + 1;
  while (waiter < nodes->count && !reads_output(p, graph_node(p->graph, nodes->at[waiter]), n))
    waiter++;
  if (waiter == nodes->count) waiter--;
  for (int32_t k = 0; k < n->input_count; k++) {
    ValueUse *use = &p->use[storage_of(p, n->inputs[k])];
    if (use->made && use->list == list && waiter > use->last) use->last = waiter;
  }
}

static void keep_exchanges(Storage *p) {
  for (ListKind list = 0; list < LIST_KINDS; list++) {
    const NodeList *nodes = region_list(p->region, list);
    for (int32_t i = 0; i < nodes->count; i++)
      if (op_def(graph_node(p->graph, nodes->at[i])->op)->is_sent) keep_sent(p, list, i);
  }
}

/* ---- chunks: nodes that run several times over, one after another, each time on other tokens */

/* A value that only the chunked nodes write and read lives within one chunk. Every other value that
 * they touch lives from the first node of the first chunk to the last node of the last chunk. */
static void keep_over_chunks(Storage *p) {
  const Region *r = p->region;
  ListKind list = p->graph->training ? LIST_BACKWARD : LIST_FORWARD;
  int32_t first = r->chunk_first, last = r->chunk_first + r->chunk_count - 1;
  for (ValueId v = 0; r->chunks > 0 && v < p->graph->values.count; v++) {
    ValueUse *use = &p->use[v];
    BaseRole role;
    if (!use->made || use->list != list || special_role(p, v, &role)) continue;
    use->in_chunk = !use->escapes && use->first >= first && use->last <= last;
    if (use->in_chunk) continue;
    if (region_in_chunks(r, use->first)) use->first = first;
    if (region_in_chunks(r, use->last)) use->last = last;
  }
}

static int64_t stored_bytes(const Storage *p, ValueId v) {
  return value_bytes(p->graph, v) / (p->use[v].in_chunk ? p->region->chunks : 1);
}

/* ---- in place: output 0 takes over an input that dies at this node */

/* The node before this one that runs a kernel, or NO_ID: views and other records do not. */
static int32_t kernel_before(const Lowered *lowered, int32_t at) {
  while (--at >= 0)
    if (lowered[at].kind != RECORD_KERNEL || lowered[at].kernel != NULL) break;
  return at >= 0 && lowered[at].kind == RECORD_KERNEL ? at : NO_ID;
}

/* The input that the node is to write over, so that the kernel before it, which makes it, need not
 * write it (fusions.def, OVER); or NO_ID. */
static int32_t fused_input(const Storage *p, const NodeList *nodes, int32_t at,
                           const Lowered *lowered) {
  const int32_t before = lowered[at].kind == RECORD_KERNEL && lowered[at].kernel != NULL
                             ? kernel_before(lowered, at)
                             : NO_ID;
  if (before == NO_ID) return NO_ID;
  const KernelId first = contract_find(lowered[before].kernel)->id;
  const KernelId second = contract_find(lowered[at].kernel)->id;
  const KernelFusion *fusion = contract_fusion(first, second);
  if (fusion == NULL || !fusion->over ||
      !contract_may_fuse(first, second, (KernelTarget)p->draft->cluster->target))
    return NO_ID;
  const Node *n = graph_node(p->graph, nodes->at[at]);
  const Node *maker = graph_node(p->graph, nodes->at[before]);
  for (int32_t k = 0; k < n->input_count; k++)
    if (n->inputs[k] == maker->outputs[0]) return k;
  return NO_ID;
}

static bool can_take(const Storage *p, const Node *n, ListKind list, int32_t at, ValueId in,
                     ValueId out) {
  BaseRole role;
  if (in == out || storage_of(p, in) != in || storage_of(p, out) != out) return false;
  if (special_role(p, in, &role)) return false;
  const ValueUse *use = &p->use[in];
  if (!use->made || use->list != list || use->escapes || use->last != at) return false;
  if (value_bytes(p->graph, in) != value_bytes(p->graph, out)) return false;
  /* The output's bytes must be free from the moment the input is made. Those of carried values are,
   * except the gradient of the output, which backward reads. */
  if (special_role(p, out, &role) && role != BASE_OUTPUT && role != BASE_D_INPUT) return false;
  /* The last layer of a recompute group has no output buffer: only the node that makes it may write
   * there. */
  if (special_role(p, out, &role) && role == BASE_OUTPUT && list == LIST_RECOMPUTE) return false;
  for (int32_t k = 0, times = 0; k < n->input_count; k++)
    if (n->inputs[k] == in && ++times > 1) return false;
  return true;
}

static void take_over(Storage *p, ValueId in, ValueId out) {
  p->owner[in] = out;
  if (p->use[in].first < p->use[out].first) p->use[out].first = p->use[in].first;
}

static void work_in_place(Storage *p, Lowered *const lowered[LIST_KINDS]) {
  for (ListKind list = 0; list < LIST_KINDS; list++) {
    const NodeList *nodes = region_list(p->region, list);
    for (int32_t i = 0; i < nodes->count; i++) {
      const Node *n = graph_node(p->graph, nodes->at[i]);
      const int32_t inputs[] = {fused_input(p, nodes, i, lowered[list]), op_def(n->op)->in_place};
      if (n->output_count < 1 || list_chunks(p->graph, p->region, list, i) > 1) continue;
      for (int32_t t = 0; t < 2; t++) {
        const int32_t k = inputs[t];
        if (k < 0 || k >= n->input_count || !can_take(p, n, list, i, n->inputs[k], n->outputs[0]))
          continue;
        take_over(p, n->inputs[k], n->outputs[0]);
        break;
      }
    }
  }
}

/* ---- offsets */

static void place_frames(Storage *p) {
  for (ValueId v = 0; v < p->graph->values.count; v++) {
    BaseRole role;
    const ValueUse *use = &p->use[v];
    if (!use->made || !use->escapes || storage_of(p, v) != v || special_role(p, v, &role)) continue;
    int64_t *end = use->list == LIST_CODES       ? &p->codes_bytes
                   : use->list == LIST_FORWARD   ? &p->frame_bytes
                   : use->list == LIST_RECOMPUTE ? &p->recompute_frame_bytes
                                                 : &p->weight_frame_bytes;
    p->offset[v] = *end;
    *end += round_up(value_bytes(p->graph, v), VALUE_ALIGN_BYTES);
  }
}

/* Live range of a node's operands; nodes that may be fused keep each other's operands live. */
typedef struct InUse {
  int32_t first, last;
} InUse;

static InUse *in_use(const Storage *p, Arena *arena, ListKind list, const Lowered *lowered) {
  int32_t nodes = region_list(p->region, list)->count;
  InUse *span = ARENA_ARRAY(arena, InUse, nodes + 1);
  for (int32_t i = 0, before = NO_ID, head = 0; i < nodes; i++) {
    span[i] = (InUse){i, i};
    if (lowered[i].kernel == NULL && lowered[i].kind == RECORD_KERNEL) continue; /* a view */
    const KernelContract *first = before < 0 ? NULL : contract_find(lowered[before].kernel);
    const KernelContract *second =
        lowered[i].kind == RECORD_KERNEL ? contract_find(lowered[i].kernel) : NULL;
    if (first == NULL || second == NULL ||
        !contract_may_meet(first->id, second->id, (KernelTarget)p->draft->cluster->target))
      head = i;
    for (int32_t k = head; k < i; k++)
      span[k].last = i;
    span[i].first = head;
    before = second != NULL ? i : NO_ID;
  }
  return span;
}

static void place_scratch(Storage *p, Arena *arena, ListKind list, const Lowered *lowered) {
  int32_t nodes = region_list(p->region, list)->count, count = 0;
  PackItem *items = ARENA_ARRAY(arena, PackItem, p->graph->values.count + nodes);
  ValueId *owner = ARENA_ARRAY(arena, ValueId, p->graph->values.count + 1);
  const InUse *span = in_use(p, arena, list, lowered);
  for (ValueId v = 0; v < p->graph->values.count; v++) {
    BaseRole role;
    const ValueUse *use = &p->use[v];
    if (!use->made || use->escapes || use->list != list || storage_of(p, v) != v ||
        special_role(p, v, &role))
      continue;
    owner[count] = v;
    items[count++] =
        (PackItem){stored_bytes(p, v), span[use->first].first, span[use->last].last, 0};
  }
  int32_t values = count;
  for (int32_t i = 0; i < nodes; i++)
    items[count++] = (PackItem){lowered[i].workspace_bytes, span[i].first, span[i].last, 0};
  p->scratch_bytes[list] = pack_items(arena, items, count, VALUE_ALIGN_BYTES);
  for (int32_t i = 0; i < values; i++)
    p->offset[owner[i]] = items[i].offset;
  p->workspace_offset[list] = ARENA_ARRAY(arena, int64_t, nodes + 1);
  for (int32_t i = 0; i < nodes; i++)
    p->workspace_offset[list][i] = items[values + i].offset;
}

Storage *storage_assign(Draft *d, const Graph *g, const Region *region,
                        Lowered *const lowered[LIST_KINDS]) {
  Arena *arena = d->compile->arena;
  Storage *p = ARENA_NEW(arena, Storage);
  *p = (Storage){.draft = d, .graph = g, .region = region};
  p->owner = ARENA_ARRAY(arena, ValueId, g->values.count);
  p->use = ARENA_ARRAY(arena, ValueUse, g->values.count);
  p->offset = ARENA_ARRAY(arena, int64_t, g->values.count);
  for (ValueId v = 0; v < g->values.count; v++)
    p->owner[v] = v;
  note_uses(p);
  keep_exchanges(p);
  keep_over_chunks(p);
  work_in_place(p, lowered);
  place_frames(p);
  for (ListKind list = 0; list < LIST_KINDS; list++)
    place_scratch(p, arena, list, lowered[list]);
  return p;
}

/* ---- answers */

bool storage_in_chunk(const Storage *p, ValueId v) {
  return p->use[storage_of(p, v)].in_chunk;
}

static int64_t view_bytes(const Graph *g, ValueId v) {
  int64_t elements = 0;
  DType dtype = graph_value(g, v)->dtype;
  for (; graph_value(g, v)->view_of != NO_ID; v = graph_value(g, v)->view_of)
    elements += graph_value(g, v)->view_offset;
  return elements * dtype_bytes(dtype);
}

Address storage_address(const Storage *p, ValueId v) {
  ValueId root = storage_of(p, v);
  const Value *value = graph_value(p->graph, root);
  int64_t inside = view_bytes(p->graph, v);
  BaseRole role;
  if (!special_role(p, root, &role)) {
    const ValueUse *use = &p->use[root];
    assert(use->made); /* only the carried value comes from another region */
    role = !use->escapes                 ? BASE_SCRATCH
           : use->list == LIST_CODES     ? BASE_CODES
           : use->list == LIST_FORWARD   ? BASE_FRAME
           : use->list == LIST_RECOMPUTE ? BASE_RECOMPUTE_FRAME
                                         : BASE_WEIGHT_FRAME;
    return (Address){role, NO_ID, p->offset[root] + inside};
  }
  const Draft *d = p->draft;
  switch (role) {
  case BASE_PARAM:
  case BASE_GRAD: {
    const ParamPlace *at = &d->params[value->param];
    const Block *block = &d->blocks.at[at->block];
    return (Address){role, at->block, role_bytes(d, block, role, at->first) + inside};
  }
  case BASE_DATA: return (Address){role, NO_ID, d->input_offsets[value->input] + inside};
  case BASE_CONTROL:
    return (Address){role, NO_ID, draft_slot_offset(d, control_loss(value->loss)) + inside};
  case BASE_CACHE: return (Address){role, NO_ID, cache_offset(p->graph, root) + inside};
  default: return (Address){role, NO_ID, inside};
  }
}

int64_t storage_span_bytes(const Storage *p, ValueId v) {
  const Graph *g = p->graph;
  if (graph_value(g, v)->view_of == NO_ID) return value_bytes(g, v);
  int64_t elements = (value_rows(g, v) - 1) * value_row_stride(g, v) + value_features(g, v);
  return elements * dtype_bytes(graph_value(g, v)->dtype);
}
