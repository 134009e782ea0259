/* rule.h -- what the ops' rules share: checks that report, outputs, lowered lists. Private to ops/.
 */
#ifndef LOCKSTEP_RULE_H
#define LOCKSTEP_RULE_H

#include "compiler/graph/ops/gradient.h"
#include "compiler/graph/ops/op.h"

DimList rule_dims(const Graph *g, ValueId v);
DimList rule_carried(const Graph *g, ValueId v);
DimList rule_features(const Graph *g, ValueId v);
bool rule_same_dims(const DimList *a, const DimList *b);
char *rule_dims_text(Graph *g, const DimList *list);
int64_t rule_size(const Graph *g, const DimList *list); /* product */

/* Reports an error unless the first `count` inputs are numbers (not ids or weights) with batch and
 * seq before their features. */
bool rule_numbers(Graph *g, const Node *n, int32_t count);
bool rule_ids(Graph *g, const Node *n, int32_t input);
/* Reports an error unless the carried dims are batch and seq. */
bool rule_needs_seq(Graph *g, const Node *n, ValueId v);

/* Reports an error about two sizes: at the line of the job that sets one of them, with a note at
 * the operation, or else at the operation. */
bool rule_size_error(Graph *g, const Node *n, DimId blamed, DimId other, const char *name,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Reports an error unless features of q and k are [heads, head] with the same last one, and heads
 * share those of k. */
bool rule_heads_fit(Graph *g, const Node *n, const DimList *q, const DimList *k);

/* Adds a new output to n, named after its path. A node whose outputs are given is left as it is. */
bool rule_made(const Node *n); /* outputs are given */
ValueId rule_output(Graph *g, Node *n, DimList dims, DType dtype);
ValueId rule_output_like(Graph *g, Node *n, ValueId like); /* in the compute dtype */
ValueId rule_output_extra(Graph *g, Node *n, const char *suffix, int64_t elements, DType dtype);
bool rule_output_like_input(Graph *g, Node *n); /* the whole shape rule of unary ops */
bool rule_given(Graph *g, Node *n);             /* the whole shape rule of most backward ops */

/* Output 0 of a loss: sum and weight, kept over the micro-batches of a step. */
void rule_loss(Graph *g, Node *n, const char *name);

/* Statistics of norms and attention: f32, or f64 where everything is. */
DType rule_statistics_dtype(const Graph *g);

/* For norms, whose weight has the last of x's features, or all: reports an error for another
 * weight; rows of x, one for each of the other dims; the kernel's dims. */
bool rule_norm_weight(Graph *g, const Node *n, ValueId weight);
int64_t rule_rows(const Graph *g, ValueId x, ValueId weight);
void rule_norm_rows(const Graph *g, ValueId x, ValueId weight, Lowered *out);

typedef struct Tokens {
  int64_t batch, seq;
} Tokens;
int64_t rule_samples(const Graph *g, ValueId v); /* size of batch; 0: v has none */
Tokens rule_tokens(const Graph *g, ValueId v);   /* of a value with seq */

void lower_dims(Lowered *out, int32_t count, const int64_t *dims);
void lower_attrs(Lowered *out, int32_t count, const double *attrs);
#define LOWER_DIMS(out, ...)                                                                       \
  lower_dims((out), (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
             (const int64_t[]){__VA_ARGS__})
#define LOWER_ATTRS(out, ...)                                                                      \
  lower_attrs((out), (int32_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)),            \
              (const double[]){__VA_ARGS__})
DimId rule_whole_dim(const Graph *g, DimId dim); /* the dim itself if it is whole */

/* Where a rank's part of a dim begins in the whole. The attrs, which must exist, are set for member
 * 0 and vary with the member along the axes that cut the dim; for parts of parts the offsets add
 * up.
 *
 * lower_first: attrs[attr] = number in `of` of the first element of `dim`, which is `of` or a part
 * of it, but not a zig-zag one: that has no first.
 * lower_runs: attrs[attr], attrs[attr + 1] = first and second of kernels.def. A zig-zag part is of
 * a whole dim. */
void lower_first(const Graph *g, Lowered *out, int32_t attr, DimId dim, DimId of);
void lower_runs(const Graph *g, Lowered *out, int32_t attr, DimId dim);

/* The last attr of products that round their inputs. */
void lower_tf32(const Graph *g, Lowered *out);

void lower_elements(const Graph *g, const Node *n, Lowered *out); /* dims: n, of input 0 */

/* For backward rules: appends `op` on these inputs (absent ones, at the end, are NO_ID); its one
 * output is like `like`. Returns the output. */
ValueId rule_grad1(Grad *b, const Node *n, OpKind op, ValueId in0, ValueId in1, ValueId like);

#endif
