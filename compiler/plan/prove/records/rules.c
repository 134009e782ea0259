/* rules.c -- what the numbers of a record must be. For one that carries out a node they follow from
 * the node and the layouts of its values, by the words of rules.def; for others from their purpose.
 */
#include "compiler/plan/prove/records/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plan/loss_scales.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/plan_text.h"

/* Refuses the record; the first reason is kept. */
static void __attribute__((format(printf, 2, 3))) wrong(Case *c, const char *format, ...) {
  if (c->wrong[0] != '\0') return;
  va_list list;
  va_start(list, format);
  vsnprintf(c->wrong, sizeof c->wrong, format, list);
  va_end(list);
}

static void dim(Case *c, int64_t value) {
  if (c->dims_count < KERNEL_DIMS_MAX) c->dims[c->dims_count++] = value;
}

static void attr(Case *c, double value) {
  if (c->attrs_count < KERNEL_ATTRS_MAX) c->attrs[c->attrs_count++] = value;
}

static const char *text_of(const Case *c, uint32_t string) {
  return plan_string(c->plan, string);
}

static bool is_kernel(const Case *c, KernelId kernel) {
  return c->contract != NULL && c->contract->id == kernel;
}

/* ---- a rank's part of the value in an operand, by the layout that the plan states */

typedef PlanLayoutDim Dim;

typedef struct Part {
  const Dim *dim;
  uint32_t count, tokens; /* tokens: the leading dims, batch and seq */
  const Dim *seq;         /* a dim of size 1 when it has none */
} Part;

static const Dim one = {.size = 1, .real_size = 1};

static bool is_named(const Case *c, const Dim *of, const char *name) {
  return strcmp(text_of(c, of->name), name) == 0;
}

static Part part_of_layout(const Case *c, uint32_t layout) {
  const PlanLayout *of = &c->plan->layouts[layout];
  Part part = {&c->plan->layout_dims[of->dims_first], of->dims_count, 0, &one};
  for (uint32_t i = 0; i < part.count; i++) {
    bool seq = is_named(c, &part.dim[i], "seq");
    if (part.tokens == i)
      part.tokens +=
          seq || is_named(c, &part.dim[i], "batch") || is_named(c, &part.dim[i], PLAN_CONTEXT_DIM);
    if (seq) part.seq = &part.dim[i];
  }
  return part;
}

/* When the plan does not say, refuses and returns a part without dims. */
static Part part_of(Case *c, uint32_t operand) {
  const PlanOperand *at = &c->plan->operands[c->record->operands_first + operand];
  if (operand < c->record->operands_count && at->layout != PLAN_NONE)
    return part_of_layout(c, at->layout);
  wrong(c, "the plan does not say what operand %u is", operand);
  return (Part){.seq = &one};
}

/* Negative dims count from the end. */
enum { BEFORE_LAST = -2, LAST = -1 };

static const Dim *dim_at(Case *c, uint32_t operand, int32_t index) {
  Part x = part_of(c, operand);
  uint32_t at = (uint32_t)index + (index < 0 ? x.count : 0);
  if (at < x.count) return &x.dim[at];
  wrong(c, "operand %u lacks dims", operand);
  return &one;
}

/* The size of a rank's part of the dim after its first `cuts` cuts. */
static int64_t cut_size(const Case *c, const Dim *of, uint32_t cuts) {
  int64_t size = of->size;
  for (uint32_t i = 0; i < cuts; i++)
    size /= c->plan->axes[c->plan->cuts[of->cuts_first + i].axis].size;
  return size > 0 ? size : 1;
}

static int64_t local(const Case *c, const Dim *of) {
  return cut_size(c, of, of->cuts_count);
}

/* Elements of the dims [first, end). */
static int64_t product(const Case *c, const Part *part, uint32_t first, uint32_t end) {
  int64_t elements = 1;
  for (uint32_t i = first; i < end && i < part->count; i++)
    elements *= local(c, &part->dim[i]);
  return elements;
}

/* Where the rank's part begins in the whole dim, counting the cuts from the `from`-th on. */
static int64_t first_of(Case *c, const Dim *of, uint32_t from) {
  int64_t first = 0;
  for (uint32_t i = from; i < of->cuts_count; i++) {
    const PlanCut *cut = &c->plan->cuts[of->cuts_first + i];
    if (cut->style != CUT_BLOCK) wrong(c, "a part in two runs has no one beginning");
    c->axes |= 1u << cut->axis;
    first += c->coordinate[cut->axis] * cut_size(c, of, i + 1);
  }
  return first;
}

/* Two attrs: where the two runs of tokens begin (kernels.def), by the first cuts of the member
 * `back` places before this one along the axis that cuts them. */
static void runs_of(Case *c, const Dim *seq, uint32_t cuts, int64_t back) {
  const PlanCut *cut = &c->plan->cuts[seq->cuts_first];
  bool zigzag = cuts > 0 && cut->style == CUT_ZIGZAG;
  int64_t size = cut_size(c, seq, cuts), first = 0;
  if ((zigzag || back != 0) && cuts != 1) wrong(c, "two runs are cut once more");
  for (uint32_t i = 0; i < cuts; i++) {
    int64_t members = c->plan->axes[cut[i].axis].size, member = c->coordinate[cut[i].axis];
    c->axes |= 1u << cut[i].axis;
    first += (member + members - back) % members * cut_size(c, seq, i + 1);
  }
  attr(c, (double)(zigzag ? first / 2 : first));
  attr(c, (double)(zigzag ? seq->size - size / 2 - first / 2 : first + size / 2));
}

bool computes_tf32(const Plan *plan) {
  return strcmp(job_setting(plan, "precision.compute"), "tf32") == 0;
}

/* ---- the words of rules.def */

static double of_node(const Case *c, uint32_t i) {
  return i < c->node->attrs_count ? c->plan->reals[c->node->attrs_first + i] : 0;
}

/* Stride of a dim in a dense value; 0 when the value does not have it. */
static int64_t stride_in(Case *c, const Part *part, const Dim *of) {
  for (uint32_t i = 0; i < part->count; i++) {
    if (part->dim[i].name != of->name) continue;
    if (local(c, &part->dim[i]) != local(c, of))
      wrong(c, "%.40s is cut in two ways", text_of(c, of->name));
    return product(c, part, i + 1, part->count);
  }
  return 0;
}

/* The dims of the second operand are a subset of the first one's. */
static void broadcast(Case *c) {
  Part all = part_of(c, 0), part = part_of(c, 1);
  dim(c, all.count);
  for (uint32_t i = 0; i < all.count; i++)
    dim(c, local(c, &all.dim[i]));
  for (uint32_t i = 0; i < all.count; i++)
    dim(c, stride_in(c, &part, &all.dim[i]));
  broadcast_merge(c->dims, &c->dims_count);
}

/* True if the features of x are, in the same order, the dims of w from `first` on. */
static bool stand_at(const Part *w, uint32_t first, const Part *x) {
  for (uint32_t i = x->tokens; i < x->count; i++, first++)
    if (first >= w->count || w->dim[first].name != x->dim[i].name) return false;
  return true;
}

/* x has the input features; w is the weight or its gradient. */
static void features(Case *c, uint32_t x_operand, uint32_t w_operand) {
  Part x = part_of(c, x_operand), w = part_of(c, w_operand);
  uint32_t in = x.count - x.tokens;
  bool last = w.count >= in && stand_at(&w, w.count - in, &x);
  if (!last && !stand_at(&w, 0, &x)) wrong(c, "the weight's dims are not those that go in");
  for (uint32_t i = 0; i < 3; i++)
    dim(c, DIM_BY_SIZE);
  dim(c, !last);
}

static void heads(Case *c, uint32_t q, uint32_t k) {
  Part x = part_of(c, q), keys = part_of(c, k);
  if (x.seq == &one || x.count != x.tokens + 2 || keys.count != keys.tokens + 2) {
    wrong(c, "an operand has not tokens, heads and the width of one");
    return;
  }
  dim(c, product(c, &x, 0, x.tokens) / local(c, x.seq));
  dim(c, local(c, x.seq));
  dim(c, local(c, &x.dim[x.tokens]));
  if (k != q) dim(c, local(c, &keys.dim[keys.tokens]));
  dim(c, local(c, &x.dim[x.tokens + 1]));
}

static void runs(Case *c, uint32_t operand, int64_t back) {
  const Dim *seq = part_of(c, operand).seq;
  if (seq == &one) wrong(c, "operand %u has no seq", operand);
  runs_of(c, seq, seq->cuts_count, back);
}

/* The last dim of the logits. Some classes may be padding, but none that a target may have. */
static int64_t real_classes(Case *c) {
  int64_t real = dim_at(c, 0, LAST)->real_size, tokens = job_vocab(c->plan);
  if (real < tokens) wrong(c, "%lld classes for %lld tokens", (long long)real, (long long)tokens);
  return real;
}

static void classes(Case *c) {
  dim(c, DIM_BY_SIZE);
  dim(c, DIM_BY_SIZE);
  dim(c, real_classes(c));
}

static void classes_of_samples(Case *c) {
  const Part x = part_of(c, 1);
  dim(c, product(c, &x, 0, x.tokens) / local(c, x.seq));
  dim(c, local(c, x.seq));
  dim(c, DIM_BY_SIZE);
  dim(c, real_classes(c));
}

static bool reads_targets(const Case *c) {
  return (contract_control_reads(c->contract) & CONTROL_BIT(CONTROL_targets)) != 0 &&
         plan_slot(c->plan, CONTROL_targets) != NULL;
}

/* A loss is its weight times the mean over all tokens of a step; the kernel divides by their number
 * where the plan has a slot for it. */
static void scale(Case *c, int64_t features_count) {
  const double weight = plan_loss_weight(c->plan, c->node);
  if (reads_targets(c))
    attr(c, weight / (double)features_count);
  else
    attr(c, weight / ((double)job_batch_samples(c->plan) * (double)job_sample_tokens(c->plan) *
                      (double)features_count));
}

static int64_t features_of_loss(const Case *c) {
  uint32_t value = c->plan->uses[c->node->inputs_first].value;
  Part all = part_of_layout(c, c->plan->values[value].layout);
  return product(c, &all, all.tokens, all.count);
}

static void trains(Case *c, bool does) {
  if ((c->node->outputs_count > 1) != does)
    wrong(c, "gradients of the loss are made in training, and only there");
}

/* The ranks that divide tokens cut them into runs; other axes may cut those again.
 */
static uint32_t run_cuts(const Case *c, const Dim *seq) {
  uint32_t cuts = seq->cuts_count;
  while (cuts > 0 &&
         c->plan->axes[c->plan->cuts[seq->cuts_first + cuts - 1].axis].divides != DIVIDES_TOKENS)
    cuts--;
  return cuts;
}

/* At most one feature dim may be cut. */
static void dropout(Case *c) {
  Part x = part_of(c, 0);
  uint32_t cut = x.count, cuts = run_cuts(c, x.seq);
  for (uint32_t i = x.tokens; i < x.count; i++) {
    if (x.dim[i].cuts_count == 0) continue;
    if (cut < x.count) wrong(c, "two features are cut");
    cut = i;
  }
  bool is_cut = cut<x.count, batched = x.tokens> 0 && is_named(c, &x.dim[0], "batch");
  const Dim *part = is_cut ? &x.dim[cut] : &one;
  dim(c, product(c, &x, 0, batched));
  dim(c, product(c, &x, batched, x.tokens));
  dim(c, is_cut ? product(c, &x, x.tokens, cut) : 1);
  dim(c, local(c, part));
  dim(c, product(c, &x, is_cut ? cut + 1 : x.tokens, x.count));
  dim(c, batched);
  dim(c, cut_size(c, x.seq, cuts));
  dim(c, x.seq->size);
  dim(c, part->size);
  attr(c, of_node(c, 0));
  attr(c, (double)first_of(c, x.seq, cuts));
  runs_of(c, x.seq, cuts, 0);
  attr(c, (double)first_of(c, part, 0));
  c->key = c->node->key;
}

/* precision.linear; the sizes of a product that is one of codes are multiples of 16, by block of
 * whole blocks. */
enum { CODES_UNIT = 16, CODES_BLOCK_SIDE = 128 };

static bool multiplies_codes(const Case *c) {
  const int64_t *dims = c->plan->ints + c->record->dims_first;
  const int64_t unit = codes_by_block(c->plan) ? CODES_BLOCK_SIDE : CODES_UNIT;
  const uint32_t node = (uint32_t)(c->node - c->plan->nodes);
  bool is_stack = false;
  for (uint32_t i = 0; i < c->plan->regions_count; i++) {
    const PlanRegion *r = &c->plan->regions[i];
    if (node - r->forward_first < r->forward_count || node - r->backward_first < r->backward_count)
      is_stack = r->is_stack != 0;
  }
  return is_stack && dims[0] % unit == 0 && dims[1] % unit == 0 && dims[2] % unit == 0 &&
         strncmp(job_setting(c->plan, "precision.linear"), "fp8", 3) == 0;
}

/* Blocks down and across a matrix of codes, of this many numbers each; by tensor it is one block.
 */
static void blocks(Case *c, int64_t rows, int64_t cols, int64_t down, int64_t across) {
  const bool by_block = codes_by_block(c->plan);
  dim(c, by_block ? rows / down : 1);
  dim(c, by_block ? cols / across : 1);
}

/* Numbers of a block follow one another along what is summed over; weights are in squares. */
static void codes(Case *c, uint32_t x, uint32_t w) {
  enum { SIDE = CODES_BLOCK_SIDE };
  const int64_t *dims = c->plan->ints + c->record->dims_first;
  const int64_t rows = dims[0], in = dims[1], out = dims[2];
  const bool is_dx = is_kernel(c, KERNEL_linear_fp8_dx), transposed = dims[3] != 0;
  features(c, x, w);
  if (is_kernel(c, KERNEL_linear_fp8_dw)) {
    blocks(c, rows, in, SIDE, 1);
    blocks(c, rows, out, SIDE, 1);
  } else {
    blocks(c, rows, is_dx ? out : in, 1, SIDE);
    blocks(c, transposed ? in : out, transposed ? out : in, SIDE, SIDE);
  }
  if (!multiplies_codes(c)) wrong(c, "it multiplies codes, which the job does not");
}

static void product_of(Case *c, uint32_t x, uint32_t w) {
  features(c, x, w);
  if (multiplies_codes(c)) wrong(c, "it multiplies numbers, and precision.linear is fp8");
}

static void rule_of_node(Case *c) {
  const char *op = text_of(c, c->node->op);
#define BY_SIZE                               (void)0
#define BROADCAST                             broadcast(c)
#define PRODUCT(x, w)                         product_of(c, x, w)
#define CODES(x, w)                           codes(c, x, w)
#define HEADS(q, k)                           heads(c, q, k)
#define CLASSES                               classes(c)
#define CLASSES_OF_SAMPLES                    classes_of_samples(c)
#define NODE(n)                               attr(c, of_node(c, n))
#define FIRST(x, index)                       attr(c, (double)first_of(c, dim_at(c, x, index), 0))
#define WHOLE(x, index)                       attr(c, (double)dim_at(c, x, index)->size)
#define TOKENS(x)                             attr(c, (double)part_of(c, x).seq->size)
#define RUNS(x, back)                         runs(c, x, back)
#define TURN                                  c->turn
#define SCALE_OF_ROWS                         scale(c, 1)
#define SCALE_OF_ELEMENTS                     scale(c, features_of_loss(c))
#define DRAWS(n)                              c->key = of_node(c, n) > 0 ? c->node->key : 0
#define TRAINS(is)                            trains(c, is)
#define DROPOUT                               dropout(c)
#define ROW(op, kernel, operands, rules, ...) PART(op, kernel, __VA_ARGS__)
#define PART(name, number, ...)                                                                    \
  if (c->contract->id == KERNEL_##number && strcmp(op, #name) == 0) {                              \
    __VA_ARGS__;                                                                                   \
    if (computes_tf32(c->plan) && c->contract->may_be_tf32) attr(c, 1);                            \
    return;                                                                                        \
  }
#include "compiler/plan/prove/rules.def"
  bool is_copy = c->contract->id == KERNEL_copy && c->record->purpose != PURPOSE_NODE;
  bool is_its_own = strcmp(c->contract->row->name, op) == 0 && c->contract->attr_count == 0;
  if (!is_copy && !is_its_own)
    wrong(c, "no row of rules.def lets this kernel carry out the op %.24s", op);
}

/* ---- records that carry out no node */

static const PlanParameter *parameter_of(Case *c) {
  static const PlanParameter none;
  if (c->record->value != PLAN_NONE && c->rows[c->record->value].parameter != NULL)
    return c->rows[c->record->value].parameter;
  wrong(c, "is about no parameter");
  return &none;
}

/* Random numbers are keyed by an element's number in the whole tensor, so that ranks that divide it
 * start with the values of one rank. The attrs say where the rank's piece begins in its part, and
 * the part in the whole. */
static void elements(Case *c) {
  const Part part = part_of(c, 0);
  if (part.count == 0 && c->wrong[0] != '\0') return;
  const PlanLayout *layout = &c->plan->layouts[c->plan->operands[c->record->operands_first].layout];
  int64_t own = 1, all = 1, inner = 0, stride = 0, first = 0, flat_first = 0, after = 1;
  int64_t piece = layout->piece;
  for (uint32_t i = part.count; i-- > 0;) {
    const Dim *of = &part.dim[i];
    if (local(c, of) != of->size) {
      if (inner != 0) wrong(c, "two dims are cut");
      inner = local(c, of) * after, stride = of->size * after;
      first = first_of(c, of, 0) * after;
    }
    own *= local(c, of), all *= of->real_size, after *= of->size;
  }
  for (uint32_t axis = c->plan->axes_count; axis-- > 0;) {
    if ((layout->flat_axes >> axis & 1) == 0) continue;
    flat_first += c->coordinate[axis] * piece;
    piece *= c->plan->axes[axis].size;
  }
  c->axes |= layout->flat_axes;
  dim(c, layout->flat_axes != 0 ? layout->piece : own);
  dim(c, own);
  dim(c, inner != 0 ? inner : own);
  dim(c, inner != 0 ? stride : own);
  dim(c, all);
  attr(c, (double)flat_first), attr(c, (double)first);
}

/* Initial values; a weight that is its master rounded is checked by the types. */
static void init(Case *c) {
  static const KernelId kernels[InitKind_COUNT] = {KERNEL_init_normal, KERNEL_init_uniform,
                                                   KERNEL_init_constant};
  const PlanParameter *parameter = parameter_of(c);
  if (is_kernel(c, KERNEL_cast)) return;
  c->key = parameter->key;
  if (!is_kernel(c, kernels[parameter->init]))
    wrong(c, "the parameter begins %s", InitKind_names[parameter->init]);
  attr(c, parameter->init_a);
  attr(c, parameter->init_b);
  elements(c);
}

static int64_t elements_of_first(const Case *c) {
  const PlanOperand *of = &c->plan->operands[c->record->operands_first];
  return (int64_t)of->size_bytes / dtype_bytes((DType)of->dtype);
}

static void clear(Case *c) {
  if (!is_kernel(c, KERNEL_init_constant)) {
    wrong(c, "what must be zero is filled with something else");
    return;
  }
  for (int32_t i = 0; i < c->contract->dim_count; i++)
    dim(c, elements_of_first(c));
  for (int32_t i = 0; i < c->contract->attr_count; i++)
    attr(c, 0);
}

static double number_of_update(Case *c, const char *name) {
  if (strcmp(name, "beta1") == 0) return job_beta1(c->plan);
  if (strcmp(name, "beta2") == 0) return job_beta2(c->plan);
  if (strcmp(name, "eps") == 0) return job_eps(c->plan);
  if (strcmp(name, "momentum") == 0) return job_momentum(c->plan);
  return parameter_of(c)->decay ? job_weight_decay(c->plan) : 0;
}

/* An optimizer has the name of its kernel. model.c checks the dtype of moments. */
static void update(Case *c) {
  enum { MOMENT = 2, ELEMENT_NUMBERS = 2 };
  const char *optimizer = Optimizer_names[job_optimizer(c->plan)], *suffix = "";
  const char *kernel = c->contract == NULL ? "" : c->contract->row->name;
  size_t length = strlen(optimizer);
  if (c->record->value != PLAN_NONE) suffix = truth_suffixes[c->rows[c->record->value].truth];
  if (*suffix == '\0' && strcmp(job_setting(c->plan, "precision.update"), "stochastic") == 0)
    suffix = truth_suffixes[TRUTH_STOCHASTIC];
  if (strncmp(kernel, optimizer, length) != 0 || strcmp(kernel + length, suffix) != 0)
    wrong(c, "the job's optimizer is %s%s", optimizer, suffix);
  const int32_t numbers = c->contract == NULL ? 0 : c->contract->attr_count - ELEMENT_NUMBERS;
  for (int32_t i = 0; i < numbers; i++)
    attr(c, number_of_update(c, c->contract->attrs[i].name));
  c->key = parameter_of(c)->key;
  elements(c);
  const bool has_codes = c->record->operands_count > MOMENT &&
                         c->plan->operands[c->record->operands_first + MOMENT].dtype == DTYPE_U8;
  dim(c, has_codes ? (c->dims[0] + CODES_BLOCK - 1) / CODES_BLOCK : 0);
}

/* Element by element. */
static void add(Case *c) {
  dim(c, 1);
  dim(c, elements_of_first(c));
  dim(c, 1);
  broadcast_merge(c->dims, &c->dims_count);
}

/* Gradients are added up as they are kept; along axes that divide samples or tokens, in the dtype
 * that the job has for what is sent. */
static void reduce(Case *c) {
  const PlanOperand *of = &c->plan->operands[c->record->operands_first];
  const uint32_t comm = c->record->comm;
  const uint32_t axes = comm == PLAN_NONE ? 0 : c->plan->comms[comm].axes_mask;
  bool is_sent = false;
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++)
    is_sent =
        is_sent || ((axes >> axis & 1u) != 0 && c->plan->axes[axis].divides <= DIVIDES_TOKENS);
  if (is_kernel(c, KERNEL_add)) add(c);
  for (uint32_t i = 0; i < c->record->operands_count; i++) {
    const char *used = dtype_name((DType)of[i].dtype);
    if (strcmp(used, job_setting(c->plan, "precision.reduce")) != 0 &&
        (is_sent || strcmp(used, job_setting(c->plan, "precision.grad")) != 0))
      wrong(c, "gradients are added up in %s", used);
  }
}

/* Losses, weights and requests are summed over all ranks. */
static void control(Case *c) {
  if (c->record->comm == PLAN_NONE ||
      c->plan->comms[c->record->comm].axes_mask != mesh_axes(c->plan))
    wrong(c, "does not reach every rank");
}

/* Its attrs have the names of the job's keys. */
static void loss_scale_attrs(Case *c) {
  LossScale scale;
  (void)plan_loss_scale(c->plan, &scale); /* job.c refuses a plan without all numbers */
  for (int32_t i = LOSS_SCALE_OF_WINDOW; i <= LOSS_SCALE_OF_REFILL; i++)
    attr(c, scale.number[i]);
}

static void rule_of_role(Case *c) {
  switch ((Purpose)c->record->purpose) {
  case PURPOSE_INIT: init(c); return;
  case PURPOSE_CLEAR: clear(c); return;
  case PURPOSE_UPDATE: update(c); return;
  case PURPOSE_CONTROL: control(c); return;
  case PURPOSE_REDUCE: reduce(c); return;
  case PURPOSE_NORM:
    if (is_kernel(c, KERNEL_grad_norm)) attr(c, job_clip(c->plan));
    if (is_kernel(c, KERNEL_loss_scale)) loss_scale_attrs(c);
    return;
  default: return; /* types/ checks what is moved, and where to */
  }
}

static bool is_of_node(const Case *c) {
  uint32_t purpose = c->record->purpose;
  if (purpose == PURPOSE_RECOMPUTE) /* of a node, of a part of one, or of a conversion */
    return c->contract != NULL && !is_kernel(c, KERNEL_slice) &&
           c->contract->row->role != ROLE_PIECES && c->contract->row->role != ROLE_QUANTISE;
  return purpose == PURPOSE_NODE || purpose == PURPOSE_PART;
}

void run_rule(Case *c) {
  c->dims_count = c->attrs_count = 0;
  if (!is_of_node(c))
    rule_of_role(c);
  else if (c->node == NULL || c->contract == NULL)
    wrong(c, "carries out no node");
  else
    rule_of_node(c);
}
