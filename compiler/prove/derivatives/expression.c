#include "compiler/prove/derivatives/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "kernels/contract/contract.h"

/* ---- what an op makes of its inputs */

static uint64_t hash_word(const char *word, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i++)
    hash = hash_mix(hash, (uint8_t)word[i]);
  return hash;
}

static uint64_t hash_real(uint64_t hash, double value) {
  uint64_t bits;
  value += 0.0; /* -0 is 0 */
  memcpy(&bits, &value, sizeof bits);
  return hash_mix(hash, bits);
}

bool layouts_alike(const Plan *plan, uint32_t a, uint32_t b) {
  const PlanLayout *one = &plan->layouts[a], *other = &plan->layouts[b];
  if (one->dims_count != other->dims_count) return false;
  for (uint32_t i = 0; i < one->dims_count; i++) {
    const PlanLayoutDim *of = &plan->layout_dims[one->dims_first + i];
    const PlanLayoutDim *as = &plan->layout_dims[other->dims_first + i];
    if (of->name != as->name || of->size != as->size) return false;
  }
  return true;
}

static uint64_t hash_dims(const Plan *plan, uint64_t hash, uint32_t layout) {
  const PlanLayout *of = &plan->layouts[layout];
  for (uint32_t i = 0; i < of->dims_count; i++)
    hash = hash_mix(hash, plan->layout_dims[of->dims_first + i].name);
  return hash;
}

static bool is_op(const Applied *applied, const char *op) {
  return strcmp(applied->op, op) == 0;
}

bool expression_is_sum(const char *op) {
  static const char *const sums[] = {"add", "subtract", "affine", "copy"};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    if (strcmp(op, sums[i]) == 0) return true;
  return false;
}

/* Attrs that the kernel of a backward op has no place for are left over from the forward node. */
static uint64_t hash_numbers(uint64_t hash, const Applied *applied) {
  const KernelContract *contract = contract_find(applied->op);
  if (contract == NULL) return hash;
  for (uint32_t i = 0; i < EXPRESSION_ATTRS_MAX && contract->attr_count > 0; i++)
    hash = hash_real(hash, applied->attrs[i]);
  bool draws = contract_control_reads(contract) & CONTROL_BIT(CONTROL_seed);
  return draws ? hash_mix(hash, applied->path) : hash;
}

/* What is made from a gradient that is zero is zero; of several that are put together, from all. */
static bool is_zero(const Applied *applied) {
  uint32_t zeros = 0;
  for (uint32_t i = 0; i < applied->input_count; i++)
    zeros += applied->inputs[i] == 0;
  return is_op(applied, "join") ? zeros == applied->input_count : zeros > 0;
}

Sum expression_apply(const Plan *plan, const Applied *applied) {
  enum { WHOLE_MAX = 1 << 20 };
  const Sum *in = applied->inputs;
  double scale = applied->attrs[0];
  if (is_op(applied, "copy")) return in[0];
  if (is_op(applied, "add") && !applied->broadcasts) return in[0] + in[1];
  if (is_op(applied, "subtract") && !applied->broadcasts) return in[0] - in[1];
  if (is_op(applied, "affine") && applied->attrs[1] == 0 && fabs(scale) < WHOLE_MAX &&
      scale == nearbyint(scale))
    return in[0] * (uint64_t)(int64_t)scale;
  if (is_op(applied, "sum_to") && layouts_alike(plan, applied->from, applied->to)) return in[0];
  if (is_zero(applied)) return 0;
  uint64_t hash = hash_word(applied->op, strlen(applied->op));
  if (is_op(applied, "sum_to")) hash = hash_dims(plan, hash, applied->to);
  hash = hash_mix(hash_numbers(hash, applied), applied->output);
  if (is_op(applied, "multiply")) return hash_mix(hash, hash_mix(1, in[0]) + hash_mix(1, in[1]));
  for (uint32_t i = 0; i < applied->input_count; i++)
    hash = hash_mix(hash, in[i]);
  return hash;
}

double node_attr(const Plan *plan, const PlanNode *node, uint32_t attr) {
  return attr < node->attrs_count ? plan->reals[node->attrs_first + attr] : 0;
}

/* ---- reading a row */

typedef struct Reader {
  const Around *around;
  const char *at;
  uint32_t input; /* of the forward node: whose gradient this is */
  bool failed;
} Reader;

static bool take(Reader *r, const char *word) {
  while (*r->at == ' ')
    r->at++;
  size_t length = strlen(word);
  if (strncmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static uint32_t number(Reader *r) {
  char *end;
  unsigned long value = strtoul(r->at, &end, 10);
  if (end == r->at) r->failed = true;
  r->at = end;
  return (uint32_t)value;
}

static uint32_t value_of(Reader *r, bool output, uint32_t index) {
  const PlanNode *node = r->around->node;
  uint32_t count = output ? node->outputs_count : node->inputs_count;
  if (index >= count) r->failed = true;
  if (r->failed) return 0;
  return r->around->plan->uses[(output ? node->outputs_first : node->inputs_first) + index].value;
}

static Sum at_value(const Reader *r, const Sum *of, uint32_t value) {
  return r->failed ? 0 : of[value];
}

static void read_attrs(Reader *r, Applied *applied) {
  if (!take(r, "[")) return;
  for (uint32_t i = 0; i < EXPRESSION_ATTRS_MAX && !take(r, "]") && !r->failed; i++) {
    double sign = take(r, "-") ? -1 : 1;
    if (take(r, "a"))
      applied->attrs[i] = sign * node_attr(r->around->plan, r->around->node, number(r));
    else
      applied->attrs[i] = sign * number(r);
  }
}

static Sum read_term(Reader *r);

static void add_input(Reader *r, Applied *applied, Sum sum) {
  if (applied->input_count == EXPRESSION_INPUTS_MAX)
    r->failed = true;
  else
    applied->inputs[applied->input_count++] = sum;
}

static void read_inputs(Reader *r, Applied *applied) {
  if (!take(r, "(")) r->failed = true;
  while (!r->failed && !take(r, ")")) {
    (void)take(r, ",");
    if (!take(r, "dy...")) {
      add_input(r, applied, read_term(r));
      continue;
    }
    for (uint32_t i = 0; i < r->around->node->outputs_count; i++)
      add_input(r, applied, at_value(r, r->around->wanted, value_of(r, true, i)));
  }
}

static Sum read_op(Reader *r) {
  char op[KERNEL_NAME_BYTES];
  size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
  if (length == 0 || length >= sizeof op) r->failed = true;
  if (r->failed) return 0;
  memcpy(op, r->at, length);
  op[length] = '\0';
  r->at += length;
  const Plan *plan = r->around->plan;
  Applied applied = {.op = op,
                     .path = r->around->node->path,
                     .from = plan->values[value_of(r, true, 0)].layout,
                     .to = plan->values[value_of(r, false, r->input)].layout};
  read_attrs(r, &applied);
  read_inputs(r, &applied);
  if (take(r, ".")) applied.output = number(r);
  if (r->failed) return 0;
  Sum sum = expression_apply(plan, &applied);
  r->around->made(r->around->context, sum);
  return sum;
}

/* "dy", "x0", "y1", or an op. */
static Sum read_term(Reader *r) {
  if (take(r, "dy")) return at_value(r, r->around->wanted, value_of(r, true, 0));
  bool output = *r->at == 'y';
  if ((*r->at != 'x' && !output) || !isdigit((unsigned char)r->at[1])) return read_op(r);
  r->at++;
  return at_value(r, r->around->name, value_of(r, output, number(r)));
}

bool expression_read(const Around *around, const char *text, uint32_t input, Sum *out) {
  Reader r = {.around = around, .at = text, .input = input};
  *out = read_term(&r);
  return !r.failed && *r.at == '\0';
}
