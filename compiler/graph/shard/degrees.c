/* degrees.c -- which degrees a model's sizes allow; all sizes that do not fit are reported at once.
 */
#include <string.h>

#include "compiler/graph/shard/pass.h"

static int64_t at_least_one(int64_t n) {
  return n > 1 ? n : 1;
}

/* The dim of heads in attention's inputs: 0 for q, 1 for k; NO_ID when there is no attention. */
static DimId heads_of(const Graph *g, const Node *n, int32_t input) {
  if (!(op_def(n->op)->layout & LAYOUT_HEADS)) return NO_ID;
  const Value *value = graph_value(g, n->inputs[input]);
  return value->dims[value->dim_count - 2];
}

bool is_kv_dim(const Graph *g, DimId d) {
  for (NodeId n = 0; n < g->nodes.count; n++)
    if (heads_of(g, graph_node(g, n), 1) == d && heads_of(g, graph_node(g, n), 0) != d) return true;
  return false;
}

/* "2 or 4": the nearest degrees around `degree` that fit a size. */
static const char *nearest(const Graph *g, int64_t size, int64_t degree,
                           bool (*fits)(int64_t, int64_t)) {
  int64_t below = degree - 1, above = degree + 1;
  while (below > 1 && !fits(size, below))
    below--;
  while (above <= size && !fits(size, above))
    above++;
  if (above > size) return arena_printf(g->compile->arena, "%lld", (long long)at_least_one(below));
  return arena_printf(g->compile->arena, "%lld or %lld", (long long)at_least_one(below),
                      (long long)above);
}

static bool divides(int64_t size, int64_t degree) {
  return size % degree == 0;
}

static bool shares(int64_t kv_heads, int64_t degree) {
  return kv_heads % degree == 0 || degree % kv_heads == 0;
}

static bool cut_by_tensor(const Dim *dim) {
  return dim->axis != NULL && strcmp(dim->axis, "tp") == 0 && !dim->is_part;
}

static bool check_dim(const Graph *g, DimId d, int64_t tp) {
  const Dim *dim = &g->dims.at[d];
  bool kv = is_kv_dim(g, d);
  bool (*fits)(int64_t, int64_t) = kv ? shares : divides;
  if (fits(dim->size, tp)) return true;
  bool heads = strcmp(dim->name, "heads") == 0 || kv;
  error_at(g->compile, g->tp_at, heads ? "heads-multiple" : "degrees",
           "parallel.tp = %lld does not divide %s = %lld%s; nearest: %s", (long long)tp, dim->name,
           (long long)dim->size, kv ? " (nor is it a multiple)" : "",
           nearest(g, dim->size, tp, fits));
  if (strcmp(dim->name, "vocab") == 0)
    fix_last(g->compile, "model.vocab_multiple = %lld", (long long)tp);
  if (dim->set_at.file != NULL)
    note_at(g->compile, dim->set_at, "%s = %lld follows from this", dim->name,
            (long long)dim->size);
  return false;
}

/* A parameter with the same dim name twice: the name does not say which of the two is cut. */
static bool check_squares(const Graph *g, int64_t tp) {
  bool good = true;
  for (ParamId p = 0; p < g->params.count; p++) {
    const Param *param = &g->params.at[p];
    for (int32_t i = 0; i < param->dim_count; i++)
      for (int32_t k = 0; k < i; k++) {
        const Dim *dim = &g->dims.at[param->dims[i]];
        if (param->dims[k] != param->dims[i] || !cut_by_tensor(dim)) continue;
        good = error_at(g->compile, param->origin, "degrees",
                        "parallel.tp = %lld cuts '%s', and parameter '%s' has it on both sides",
                        (long long)tp, dim->name, param->name);
        fix_last(
            g->compile,
            "another name for what comes out: sizes = { %s_out = function(m) return m.%s end }",
            dim->name, dim->name);
      }
  }
  return good;
}

static bool check_all(const Graph *g, int64_t tp) {
  bool good = check_squares(g, tp);
  for (DimId d = 0; d < g->dims.count; d++)
    if (cut_by_tensor(&g->dims.at[d])) good &= check_dim(g, d, tp);
  return good;
}

bool shard_degrees(const Graph *g, int64_t tp, JobMesh *mesh) {
  mesh->size[MESH_TP] = tp;
  mesh->size[MESH_TP_GROUP] = 1;
  if (tp > 1 && !check_all(g, tp)) return false;
  for (DimId d = 0; d < g->dims.count; d++) {
    const Dim *dim = &g->dims.at[d];
    if (!cut_by_tensor(dim) || !is_kv_dim(g, d) || dim->size >= mesh->size[MESH_TP]) continue;
    mesh->size[MESH_TP] = dim->size;
    mesh->size[MESH_TP_GROUP] = tp / dim->size;
  }
  return true;
}

bool check_tensor_degrees(const Graph *g, const JobMesh *mesh) {
  int64_t tp = at_least_one(mesh->size[MESH_TP]), group = at_least_one(mesh->size[MESH_TP_GROUP]);
  bool good = check_all(g, tp * group);
  for (DimId d = 0; d < g->dims.count && good; d++) {
    const Dim *dim = &g->dims.at[d];
    if (!cut_by_tensor(dim) || !is_kv_dim(g, d)) continue;
    bool whole_head = group == 1 ? dim->size % tp == 0 : dim->size == tp;
    if (whole_head) continue; /* ranks of one tp_group share exactly one of them */
    good =
        error_at(g->compile, g->tp_at, "heads-multiple",
                 "parallel.tp = %lld: with %lld head%s of keys, %lld ranks share each; %s = %lld "
                 "of another attention cannot be shared so",
                 (long long)tp * group, (long long)tp, plural(tp), (long long)group, dim->name,
                 (long long)dim->size);
    fix_last(g->compile, "tp = %lld", (long long)tp);
  }
  return good;
}

/* all_to_all distributes heads: each rank of tp x cp needs whole ones. */
static bool check_ulysses_heads(const Graph *g, int64_t cp, int64_t tp) {
  bool good = true;
  for (DimId d = 0; d < g->dims.count; d++) {
    bool is_heads = false;
    for (NodeId n = 0; n < g->nodes.count; n++)
      for (int32_t i = 0; i < 2; i++)
        is_heads |= heads_of(g, graph_node(g, n), i) == d;
    const Dim *dim = &g->dims.at[d];
    if (!is_heads || dim->size % (cp * tp) == 0) continue;
    good =
        error_at(g->compile, g->cp_at, "heads-multiple",
                 "cp_kind = \"ulysses\" hands out heads: cp x tp = %lld x %lld does not divide %s "
                 "= %lld",
                 (long long)cp, (long long)tp, dim->name, (long long)dim->size);
    fix_last(g->compile, "cp_kind = \"ring\"");
  }
  return good;
}

/* Only cp divides the tokens of a sample, and it divides nothing else. */
static bool check_token_axes(const Graph *g) {
  bool good = true;
  for (DimId d = 0; d < g->dims.count; d++) {
    const Dim *dim = &g->dims.at[d];
    bool is_seq = strcmp(dim->name, "seq") == 0;
    bool is_cp = dim->axis != NULL && strcmp(dim->axis, "cp") == 0;
    if (is_seq != is_cp)
      good = error_at(g->compile, g->cp_at, "degrees",
                      "parallel.cp cuts seq and nothing else; '%s' %s", dim->name,
                      is_seq ? "is on another axis" : "is on cp");
  }
  return good;
}

bool check_token_degrees(const Graph *g, ShardOptions options) {
  const JobMesh *mesh = &g->mesh;
  int64_t cp = at_least_one(mesh->size[MESH_CP]);
  int64_t tp = at_least_one(mesh->size[MESH_TP]) * at_least_one(mesh->size[MESH_TP_GROUP]);
  const Dim *seq = NULL;
  for (DimId d = 0; d < g->dims.count && seq == NULL; d++)
    if (strcmp(g->dims.at[d].name, "seq") == 0) seq = &g->dims.at[d];
  if (cp > 1 && seq == NULL)
    return error_at(g->compile, g->cp_at, "degrees",
                    "parallel.cp = %lld: the model has no 'seq' to cut", (long long)cp);
  bool ring = options.context == CONTEXT_RING, good = cp == 1 || check_token_axes(g);
  int64_t parts = cp > 1 ? (ring ? 2 : 1) * cp : 1;
  if (seq != NULL && seq->size % parts != 0)
    good = error_at(g->compile, g->cp_at, "degrees",
                    "parallel.cp = %lld needs seq in %lld equal parts, and seq = %lld",
                    (long long)cp, (long long)parts, (long long)seq->size);
  else if (seq != NULL && options.sequence && seq->size / cp % tp != 0)
    good =
        error_at(g->compile, g->tp_at, "degrees",
                 "sequence parallel: parallel.tp = %lld does not divide the %lld tokens of a rank",
                 (long long)tp, (long long)(seq->size / cp));
  if (cp > 1 && !ring) good &= check_ulysses_heads(g, cp, tp);
  return good;
}
