/* dropout.c -- y = x / (1 - rate) where kept, 0 else.      d_x is the same op on d_y
 *
 * attrs: rate. The mask is a function of the op's path, the step and the element's number in the
 * global batch, so backward and a recomputation draw it again and nothing is kept. A value without
 * batch has one mask for all samples of a step. */
#include <assert.h>
#include <string.h>

#include "compiler/graph/ops/rule.h"

enum { RATE, TOKEN_FIRST, FIRST, SECOND, PART_FIRST, ATTR_COUNT }; /* of the kernel */

static bool shape(Graph *g, Node *n) {
  if (!(n->attrs[0] >= 0 && n->attrs[0] < 1))
    return error_at(g->compile, n->origin, "dropout-rate",
                    "dropout: the rate is a share of the elements, 0 <= rate < 1; got %g",
                    n->attrs[0]);
  return rule_output_like_input(g, n);
}

static void backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0];
  if (grad_needed(b, x))
    grad_add(b, x, rule_grad1(b, n, OP_dropout, grad_output(b, n, 0), NO_ID, x));
}

/* The features as [outer, part, inner], `part` being the one that is cut. */
typedef struct Features {
  int64_t outer, part, inner, all_parts;
} Features;

static Features lower_features(const Graph *g, ValueId x, Lowered *out) {
  DimList features = rule_features(g, x);
  Features f = {1, 1, 1, 1};
  int32_t cut = -1;
  for (int32_t i = 0; i < features.count; i++)
    if (g->dims.at[features.at[i]].is_part) {
      assert(cut < 0); /* one name is cut, perhaps along two axes */
      cut = i;
    }
  for (int32_t i = 0; i < features.count; i++) {
    int64_t size = g->dims.at[features.at[i]].size;
    *(i < cut ? &f.outer : i == cut ? &f.part : &f.inner) *= size;
  }
  f.all_parts = f.part;
  if (cut < 0) return f;
  DimId whole = rule_whole_dim(g, features.at[cut]);
  f.all_parts = g->dims.at[whole].size;
  lower_first(g, out, PART_FIRST, features.at[cut], whole);
  return f;
}

/* cp cuts tokens into two runs; tp may have cut those again. Returns the dim of the runs, or NO_ID
 * if x has no seq. */
static DimId lower_tokens(const Graph *g, ValueId x, Lowered *out) {
  DimList carried = rule_carried(g, x);
  DimId seq = carried.count > 0 ? carried.at[carried.count - 1] : NO_ID;
  if (seq == NO_ID || strcmp(g->dims.at[seq].name, "seq") != 0) return NO_ID;
  DimId run = seq;
  while (g->dims.at[run].is_part && g->dims.at[run].mesh != MESH_CP)
    run = g->dims.at[run].whole;
  lower_runs(g, out, FIRST, run);
  lower_first(g, out, TOKEN_FIRST, seq, run);
  return run;
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  ValueId x = n->inputs[0];
  int64_t samples = rule_samples(g, x), batch = samples > 0 ? samples : 1;
  out->attr_count = ATTR_COUNT;
  out->attrs[RATE] = n->attrs[0];
  Features f = lower_features(g, x, out);
  DimId run = lower_tokens(g, x, out);
  bool tokens = run != NO_ID;
  LOWER_DIMS(out, batch, value_rows(g, x) / batch, f.outer, f.part, f.inner, samples > 0,
             tokens ? g->dims.at[run].size : 1,
             tokens ? g->dims.at[rule_whole_dim(g, run)].size : 1, f.all_parts);
  out->random = true;
}

const OpDef op_dropout = {.name = "dropout",
                          .shape = shape,
                          .backward = backward,
                          .lower = lower,
                          .in_place = 0,
                          .is_light = true,
                          .layout = LAYOUT_AS_FORWARD, /* it draws the same masks */
                          .gradient_of = &op_dropout,
                          .blames = (const AttrBlame[]){{"dropout-rate", RATE}, {0}},
                          .paper = "Srivastava et al., JMLR 15, 2014"};
