#include "compiler/prove/records/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void case_wrong(Case *c, const char *format, ...) {
  if (c->wrong[0] != '\0') return;
  va_list list;
  va_start(list, format);
  vsnprintf(c->wrong, sizeof c->wrong, format, list);
  va_end(list);
}

void case_dim(Case *c, int64_t dim) {
  if (c->dims_count < KERNEL_DIMS_MAX) c->dims[c->dims_count++] = dim;
}

void case_attr(Case *c, double attr) {
  if (c->attrs_count < KERNEL_ATTRS_MAX) c->attrs[c->attrs_count++] = attr;
}

uint32_t axis_size(const Case *c, uint32_t axis) {
  return axis < c->plan->axes_count ? c->plan->axes[axis].size : 1;
}

/* ---- parts */

static Part part_of_layout(const Case *c, uint32_t layout) {
  const PlanLayout *of = &c->plan->layouts[layout];
  return (Part){of, &c->plan->layout_dims[of->dims_first], of->dims_count};
}

Part case_part(Case *c, uint32_t operand) {
  if (operand < c->record->operands_count && case_operand(c, operand)->layout != PLAN_NONE)
    return part_of_layout(c, case_operand(c, operand)->layout);
  case_wrong(c, "the plan does not say what operand %u is", operand);
  static const PlanLayout none;
  return (Part){.layout = &none};
}

Part case_value_part(const Case *c, uint32_t value) {
  return part_of_layout(c, c->plan->values[value].layout);
}

int64_t dim_local(const Case *c, const PlanLayoutDim *dim) {
  int64_t size = dim->size;
  for (uint32_t i = 0; i < dim->cuts_count; i++)
    size /= axis_size(c, c->plan->cuts[dim->cuts_first + i].axis);
  return size > 0 ? size : 1;
}

bool dim_is(const Case *c, const PlanLayoutDim *dim, const char *name) {
  return strcmp(case_text(c, dim->name), name) == 0;
}

bool dim_is_token(const Case *c, const PlanLayoutDim *dim) {
  return dim_is(c, dim, "batch") || dim_is(c, dim, "seq");
}

bool dims_are_cut_alike(const Case *c, const PlanLayoutDim *a, const PlanLayoutDim *b) {
  if (a->name != b->name || a->size != b->size || a->cuts_count != b->cuts_count) return false;
  return a->cuts_count == 0 || memcmp(&c->plan->cuts[a->cuts_first], &c->plan->cuts[b->cuts_first],
                                      a->cuts_count * sizeof *c->plan->cuts) == 0;
}

int64_t part_product(const Case *c, const Part *part, uint32_t first, uint32_t end) {
  int64_t product = 1;
  for (uint32_t i = first; i < end && i < part->count; i++)
    product *= dim_local(c, &part->dim[i]);
  return product;
}

int64_t part_elements(const Case *c, const Part *part) {
  return part_product(c, part, 0, part->count);
}

static int64_t product_of(const Case *c, const Part *part, bool tokens) {
  int64_t product = 1;
  for (uint32_t i = 0; i < part->count; i++)
    if (dim_is_token(c, &part->dim[i]) == tokens) product *= dim_local(c, &part->dim[i]);
  return product;
}

int64_t part_tokens(const Case *c, const Part *part) {
  return product_of(c, part, true);
}
int64_t part_features(const Case *c, const Part *part) {
  return product_of(c, part, false);
}

static const PlanLayoutDim no_dim = {.size = 1, .real_size = 1};

const PlanLayoutDim *part_seq(Case *c, const Part *part) {
  for (uint32_t i = 0; i < part->count; i++)
    if (dim_is(c, &part->dim[i], "seq")) return &part->dim[i];
  case_wrong(c, "there is no seq in what it reads");
  return &no_dim;
}

const PlanLayoutDim *part_feature(Case *c, const Part *part, uint32_t n, uint32_t of) {
  const PlanLayoutDim *found = &no_dim;
  uint32_t count = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    if (dim_is_token(c, &part->dim[i])) continue;
    if (count++ == n) found = &part->dim[i];
  }
  if (count != of) case_wrong(c, "what it reads has %u features, not %u", count, of);
  return found;
}

/* ---- where a part stands */

int64_t dim_first(Case *c, const PlanLayoutDim *dim, uint32_t from, uint32_t cuts) {
  int64_t part = dim->size, first = 0;
  for (uint32_t i = 0; i < cuts; i++) {
    const PlanCut *cut = &c->plan->cuts[dim->cuts_first + i];
    part /= axis_size(c, cut->axis);
    if (i < from) continue;
    if (cut->style != CUT_BLOCK) case_wrong(c, "a part in two runs has no one beginning");
    c->axes |= 1u << cut->axis;
    first += c->coordinate[cut->axis] * part;
  }
  return first;
}

Runs dim_runs(Case *c, const PlanLayoutDim *dim, uint32_t cuts, int64_t back) {
  const PlanCut *cut = &c->plan->cuts[dim->cuts_first];
  bool zigzag = cuts > 0 && cut->style == CUT_ZIGZAG;
  int64_t size = dim->size, member = 0, members = 1;
  for (uint32_t i = 0; i < cuts; i++)
    size /= axis_size(c, cut[i].axis);
  if ((zigzag || back != 0) && cuts != 1) case_wrong(c, "two runs are cut once more");
  if (cuts == 1) {
    members = axis_size(c, cut->axis);
    c->axes |= 1u << cut->axis;
    member = ((int64_t)c->coordinate[cut->axis] + members - back) % members;
  }
  if (zigzag) return (Runs){member * (size / 2), dim->size - size / 2 - member * (size / 2)};
  int64_t first = cuts == 1 ? member * size : dim_first(c, dim, 0, cuts);
  return (Runs){first, first + size / 2};
}

int64_t case_stride(Case *c, uint32_t operand, uint32_t dim) {
  Part part = case_part(c, operand);
  int64_t dense = part_features(c, &part);
  int64_t found = dim < c->record->dims_count ? c->plan->ints[c->record->dims_first + dim] : dense;
  uint32_t value =
      operand < c->record->operands_count ? case_operand(c, operand)->value : PLAN_NONE;
  if (found == dense || value == PLAN_NONE || c->plan->values[value].view_of == PLAN_NONE)
    return dense;
  Part all = case_value_part(c, value);
  Part root = case_value_part(c, c->plan->values[value].view_of);
  int64_t parts = part_features(c, &all) / dense;
  return parts > 0 ? part_features(c, &root) / parts : dense;
}

void broadcast_merge(int64_t *dims, uint32_t *count) {
  int64_t sizes[KERNEL_DIMS_MAX], strides[KERNEL_DIMS_MAX];
  uint32_t n = 0, all = (uint32_t)dims[0];
  for (uint32_t i = 0; i < all; i++) {
    int64_t size = dims[1 + i], stride = dims[1 + all + i];
    if (size == 1) continue;
    bool follows = n > 0 && strides[n - 1] == stride * size;
    sizes[follows ? n - 1 : n] = follows ? sizes[n - 1] * size : size;
    strides[follows ? n - 1 : n] = stride;
    n += !follows;
  }
  dims[0] = n;
  for (uint32_t i = 0; i < n; i++)
    dims[1 + i] = sizes[i], dims[1 + n + i] = strides[i];
  *count = 1 + 2 * n;
}
