/* cache.c -- attention of a sampled model: keys and values of all tokens so far persist in a cache
 * of each layer.
 *
 * rope_at: rope whose positions are an input. inputs: x [batch, seq, heads, head], places [batch,
 * seq]. attrs: as of rope.
 *
 * cache_append: the keys or the values of a pass go to their positions. inputs: x [batch, seq,
 * kv_heads, head], places. Output: the layer's cache, VALUE_CACHE [batch, context, kv_heads, head],
 * in which other positions stay as they are.
 *
 * attention_cached: causal attention of each token to positions up to its own. inputs: q [batch,
 * seq, heads, head], the caches of keys and values, places. attrs: scale, window, softcap. */
#include <math.h>

#include "compiler/graph/ops/rule.h"

enum { BASE, SIGN, FACTOR, LOW_FREQ, HIGH_FREQ, ORIGINAL_POSITIONS };
enum { SCALE, WINDOW, SOFTCAP };

static bool has_places(Graph *g, const Node *n, int32_t input) {
  DimList tokens = rule_carried(g, n->inputs[0]), places = rule_dims(g, n->inputs[input]);
  return rule_needs_seq(g, n, n->inputs[0]) &&
         (rule_same_dims(&tokens, &places) ||
          error_at(g->compile, n->origin, "attention-shape",
                   "%s: %s has no position for each token of %s", op_def(n->op)->name,
                   value_dims_text(g, n->inputs[input]), value_dims_text(g, n->inputs[0])));
}

static bool shape_rope_at(Graph *g, Node *n) {
  return has_places(g, n, 1) && op_rope.shape(g, n);
}

static void lower_rope_at(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0], y = n->outputs[0];
  Tokens tokens = rule_tokens(g, x);
  DimList features = rule_features(g, x);
  const double *a = n->attrs;
  LOWER_DIMS(out, tokens.batch, tokens.seq, g->dims.at[features.at[0]].size,
             g->dims.at[features.at[1]].size, value_row_stride(g, x), value_row_stride(g, y));
  LOWER_ATTRS(out, a[BASE], a[SIGN], a[FACTOR], a[LOW_FREQ], a[HIGH_FREQ], a[ORIGINAL_POSITIONS]);
}

/* ---- the cache */

static bool shape_append(Graph *g, Node *n) {
  DimList features = rule_features(g, n->inputs[0]);
  if (!rule_numbers(g, n, 1) || !has_places(g, n, 1)) return false;
  if (features.count != 2)
    return error_at(g->compile, n->origin, "attention-shape",
                    "attention: keys and values have features [heads, head], got %s",
                    rule_dims_text(g, &features));
  if (rule_made(n)) return true;
  const DimId context = graph_dim(g, PLAN_CONTEXT_DIM);
  const DimList dims = {
      4, {rule_carried(g, n->inputs[0]).at[0], context, features.at[0], features.at[1]}};
  graph_value(g, rule_output(g, n, dims, g->cache_dtype))->kind = VALUE_CACHE;
  return true;
}

static int64_t context_of(const Graph *g, ValueId cache) {
  return g->dims.at[graph_value(g, cache)->dims[1]].size;
}

static void lower_append(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0];
  Tokens tokens = rule_tokens(g, x);
  DimList features = rule_features(g, x);
  LOWER_DIMS(out, tokens.batch, tokens.seq, g->dims.at[features.at[0]].size,
             g->dims.at[features.at[1]].size, value_row_stride(g, x), context_of(g, n->outputs[0]));
  out->access[2] = ACCESS_UPDATE;
}

static bool shape_cached(Graph *g, Node *n) {
  DimList q = rule_features(g, n->inputs[0]), k = rule_features(g, n->inputs[1]);
  if (!has_places(g, n, 3)) return false;
  if (!rule_heads_fit(g, n, &q, &k)) return false;
  if (n->attrs[SCALE] == 0) n->attrs[SCALE] = 1 / sqrt((double)g->dims.at[q.at[1]].size);
  if (n->attrs[WINDOW] >= (double)context_of(g, n->inputs[1]))
    n->attrs[WINDOW] = 0; /* hides none */
  if (!rule_made(n)) rule_output_like(g, n, n->inputs[0]);
  return true;
}

/* Half of the cache is filled, in the middle of a text. */
static void lower_cached(const Graph *g, const Node *n, Lowered *out) {
  enum { PRODUCTS = 2 };
  Tokens tokens = rule_tokens(g, n->inputs[0]);
  DimList q = rule_features(g, n->inputs[0]), k = rule_features(g, n->inputs[1]);
  const int64_t heads = g->dims.at[q.at[0]].size, head = g->dims.at[q.at[1]].size;
  const int64_t context = context_of(g, n->inputs[1]), window = (int64_t)n->attrs[WINDOW];
  LOWER_DIMS(out, tokens.batch, tokens.seq, heads, g->dims.at[k.at[0]].size, head,
             value_row_stride(g, n->inputs[0]), context);
  LOWER_ATTRS(out, n->attrs[SCALE], n->attrs[WINDOW], n->attrs[SOFTCAP]);
  const int64_t met = window > 0 && window < context / 2 ? window : (context + 1) / 2;
  out->flops = 2 * PRODUCTS * tokens.batch * tokens.seq * heads * head * met;
}

const OpDef op_rope_at = {
    .name = "rope_at",
    .shape = shape_rope_at,
    .lower = lower_rope_at,
    .in_place = 0,
    .reads_views = 1,
    .writes_views = 1,
    .layout = LAYOUT_WHOLE_TOKENS,
    .blames = (const AttrBlame[]){{"rope-base", BASE}, {"rope-scaling", FACTOR}, {0}}};
const OpDef op_cache_append = {.name = "cache_append",
                               .shape = shape_append,
                               .lower = lower_append,
                               .in_place = -1,
                               .reads_views = 1,
                               .layout = LAYOUT_WHOLE_TOKENS};
const OpDef op_attention_cached = {.name = "attention_cached",
                                   .shape = shape_cached,
                                   .lower = lower_cached,
                                   .in_place = -1,
                                   .reads_views = 1,
                                   .layout = LAYOUT_HEADS | LAYOUT_WHOLE_TOKENS};
