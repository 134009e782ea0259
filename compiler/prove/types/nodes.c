/* nodes.c -- a record that carries out a node: its operands hold the node's values, and what it
 * makes are the node's results, cut and owed as the kernel's form says. */
#include <string.h>

#include "compiler/prove/types/forms.h"

/* ---- parts of a joined value: rows of them stand between rows of the others */

/* The bytes of the parent that the operand would be a part of. */
static bool parent_bytes(const Typing *t, uint32_t value, const Place *places, const Where *at,
                         const View2D *view, uint64_t *first, uint64_t *end) {
  int64_t inner = 0, before = 0, stride = 0, bytes = dtype_bytes((DType)at->operand->dtype);
  meaning_row(&t->meaning, value, places, &inner, &before, &stride);
  if (inner != view->inner || stride != view->stride) return false;
  if ((uint64_t)(before * bytes) > at->first) return false;
  *first = at->first - (uint64_t)(before * bytes);
  *end = *first + (uint64_t)(view->rows * stride * bytes);
  return true;
}

/* The type of a part, read out of its parent. */
static bool read_part(Typing *t, uint32_t operand, uint32_t value, Type *type) {
  const Slice *slice = &t->meaning.slice[value];
  Where at = where(t, operand);
  View2D view;
  if (slice->parent == PLAN_NONE || !view_of(t, operand, &view)) return false;
  const Spans *spans = &at.reached->spans;
  uint32_t i = spans_find(spans, at.first);
  if (i == spans->count || spans->at[i].first > at.first) return false;
  Type parent = t->types.type[spans->at[i].type];
  uint64_t first = 0, end = 0;
  bool has = parent.part == PART_ALL ||
             (parent.part == PART_VIEWS && (parent.mask >> slice->index & 1) != 0);
  *type = parent;
  if (parent.kind != TYPE_VALUE || parent.ref != slice->parent || !has ||
      !meaning_part_places(&t->meaning, value, parent.place, type->place) ||
      !parent_bytes(t, value, type->place, &at, &view, &first, &end) ||
      first != spans->at[i].first || end != spans->at[i].end)
    return false;
  type->ref = value;
  type->part = PART_ALL;
  type->mask = 0;
  return true;
}

/* A part is written where it belongs in its parent, beside the parts that stand there. */
static bool write_part(Typing *t, uint32_t operand, uint32_t value, const Type *type) {
  const Slice *slice = &t->meaning.slice[value];
  Where at = where(t, operand);
  View2D view;
  if (slice->parent == PLAN_NONE || !view_of(t, operand, &view) || view.inner == view.stride)
    return false;
  uint64_t first = 0, end = 0;
  if (!parent_bytes(t, value, type->place, &at, &view, &first, &end)) return false;
  Type parent = *type;
  parent.ref = slice->parent;
  parent.part = PART_VIEWS;
  meaning_whole_places(&t->meaning, value, type->place, parent.place);
  Type found = t->types.type[spans_read(&t->types, &at.reached->spans, first, end)];
  parent.mask = found.mask;
  if (found.part != PART_VIEWS || memcmp(&found, &parent, sizeof found) != 0) parent.mask = 0;
  parent.mask |= 1u << slice->index;
  if (parent.mask == (1u << slice->count) - 1) {
    parent.part = PART_ALL;
    parent.mask = 0;
  }
  Span span = {first, end, type_of(&t->types, &parent), 0};
  if (!spans_write(&t->types, &at.reached->spans, span)) t->types.out_of_memory = true;
  return true;
}

/* ---- operands that are read */

static const char *axis_name(const Typing *t, uint32_t axis) {
  return plan_string(t->plan, t->plan->axes[axis].name);
}

bool read_value(Typing *t, NodeCall *c, uint32_t operand, uint32_t value) {
  Type wanted = {.dtype = (uint8_t)where(t, operand).operand->dtype, .microbatch = TYPE_ANY};
  Type *found = &c->in[operand];
  meaning_name(&t->meaning, c->region, value, &wanted);
  *found = read_type(t, operand);
  bool is_it = found->kind == wanted.kind && found->ref == wanted.ref && found->part == PART_ALL;
  if (!is_it && !read_part(t, operand, value, found)) {
    refuse_operand(t, operand, found, &wanted);
    return false;
  }
  bool in_time = found->layer == wanted.layer && !found->is_new &&
                 (!is_turned(found) || c->form.keys != 0) &&
                 (found->microbatch == TYPE_ANY || found->microbatch == 0);
  bool as_stored = found->dtype == wanted.dtype && found->state == wanted.state &&
                   (wanted.kind != TYPE_VALUE || t->plan->values[value].dtype == wanted.dtype);
  if (!in_time || !as_stored) refuse_operand(t, operand, found, &wanted);
  return in_time && as_stored;
}

/* A record's numbers are held against the layouts that the plan states: they must be those. What is
 * said to be a summand is not added up earlier, which would round otherwise. Rows of numbers have
 * dims of their own. */
static bool is_as_said(Typing *t, const NodeCall *c, uint32_t operand, const Type *type) {
  uint32_t layout = t->plan->operands[t->at->operands_first + operand].layout;
  Place said[TYPE_AXES_MAX] = {0};
  if (layout == PLAN_NONE || c->form.slot[operand].is_rows) return true;
  layout_places(t->plan, layout, said);
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++) {
    Place place = type->place[axis];
    bool is_summand = (t->plan->layouts[layout].owed_axes >> axis & 1) != 0;
    if (t->plan->axes[axis].divides == DIVIDES_SAMPLES || place.kind == PLACE_OWED) continue;
    if (!is_summand && memcmp(&said[axis], &place, sizeof place) == 0) continue;
    char holds[TYPE_TEXT_BYTES];
    refuse(t, "operand %u is said to be cut otherwise along %.16s: %s", operand, axis_name(t, axis),
           type_text(t->plan, type, holds));
    return false;
  }
  return true;
}

static bool read_inputs(Typing *t, NodeCall *c) {
  c->microbatch = TYPE_ANY;
  for (uint32_t i = 0; i < c->form.slot_count && i < t->at->operands_count; i++) {
    uint8_t input = c->form.slot[i].input;
    if (input == FORM_NONE) continue;
    if (!read_value(t, c, i, input_of(t, c->node, input)) || !is_as_said(t, c, i, &c->in[i]))
      return false;
    if (c->in[i].microbatch != TYPE_ANY) c->microbatch = c->in[i].microbatch;
  }
  return true;
}

/* ---- places of the results */

/* Groups of heads are cut as heads are. */
static uint8_t head_label(const Form *form, uint8_t label) {
  return (form->groups >> label & 1) != 0 ? label_of(form->heads) : label;
}

static bool has_groups(const Form *form, const FormSlot *slot, uint8_t label, uint8_t *dim) {
  return form->groups != 0 && label == label_of(form->heads) &&
         has_label(slot, label_of(form->groups), dim);
}

/* What all operands say of one axis: the label that is cut, in joint->dim; or summands. */
static bool join_places(Typing *t, NodeCall *c, uint32_t axis, Place *joint) {
  *joint = (Place){0};
  uint32_t inputs = 0, owed = 0;
  uint8_t owed_input = FORM_NONE;
  for (uint32_t i = 0; i < c->form.slot_count; i++) {
    const FormSlot *slot = &c->form.slot[i];
    Place place = c->in[i].place[axis];
    if (slot->input == FORM_NONE) continue;
    inputs++;
    owed += place.kind == PLACE_OWED;
    if (place.kind == PLACE_OWED) owed_input = slot->input;
    if (place.kind == PLACE_WHOLE || place.kind == PLACE_OWED) continue;
    if (place.kind != PLACE_CUT || place.dim >= slot->dim_count) {
      refuse(t, "operand %u is not laid out by dims along %.16s", i, axis_name(t, axis));
      return false;
    }
    place.dim = head_label(&c->form, slot->label[place.dim]);
    if (joint->kind == PLACE_WHOLE) *joint = place;
    if (memcmp(joint, &place, sizeof place) != 0) {
      refuse(t, "operand %u is cut along %.16s otherwise than another", i, axis_name(t, axis));
      return false;
    }
  }
  if (owed == 0) return true;
  bool all = owed == inputs && c->form.is_linear;
  bool one = owed == 1 && owed_input == c->form.of;
  if (joint->kind == PLACE_WHOLE && (all || one)) {
    joint->kind = PLACE_OWED;
    return true;
  }
  refuse(t, "an operand is a summand along %.16s, still to be added up", axis_name(t, axis));
  return false;
}

/* An operand that has the dim that is cut in another is cut, too. */
static bool cut_alike(Typing *t, const NodeCall *c, uint32_t axis, const Place *joint) {
  uint8_t dim = 0;
  for (uint32_t i = 0; i < c->form.slot_count; i++) {
    const FormSlot *slot = &c->form.slot[i];
    if (slot->input == FORM_NONE || c->in[i].place[axis].kind == PLACE_CUT) continue;
    if (has_groups(&c->form, slot, joint->dim, &dim) &&
        meaning_size(&t->meaning, input_of(t, c->node, slot->input), c->in[i].place, dim) == 1)
      continue; /* all of the rank's heads share it */
    if (!has_label(slot, joint->dim, &dim) && !has_groups(&c->form, slot, joint->dim, &dim))
      continue;
    refuse(t, "operand %u is whole along %.16s, another is cut there", i, axis_name(t, axis));
    return false;
  }
  if ((c->form.whole >> joint->dim & 1) == 0) return true;
  refuse(t, "the kernel needs whole what is cut along %.16s", axis_name(t, axis));
  return false;
}

static bool groups_are_cut(const NodeCall *c, uint32_t axis) {
  uint8_t dim = 0;
  for (uint32_t i = 0; i < c->form.slot_count; i++)
    if (c->form.slot[i].input != FORM_NONE && c->in[i].place[axis].kind == PLACE_CUT &&
        has_label(&c->form.slot[i], label_of(c->form.groups), &dim))
      return true;
  return false;
}

static bool place_output(Typing *t, const NodeCall *c, uint32_t i, uint32_t axis,
                         const Place *joint, Place *out) {
  *out = *joint;
  if (joint->kind != PLACE_CUT) return true;
  if (has_label(&c->form.slot[i], joint->dim, &out->dim)) return true;
  if (has_groups(&c->form, &c->form.slot[i], joint->dim, &out->dim)) {
    if (!groups_are_cut(c, axis)) *out = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
    return true;
  }
  *out = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
  if ((c->form.sums >> joint->dim & 1) != 0) return true;
  refuse(t, "result %u lacks a dim that is cut along %.16s", i, axis_name(t, axis));
  return false;
}

static uint8_t axes_before(uint32_t axes, uint32_t axis) {
  return (uint8_t)__builtin_popcount(axes & ((1u << axis) - 1));
}

/* A result that is cut though nothing is that it is made of: the record's `first` differs. */
static void cut_freely(const Typing *t, const NodeCall *c, uint32_t axis, Place *joint) {
  if (c->form.free == 0 || joint->kind != PLACE_WHOLE) return;
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->at->varies_first + i];
    if ((axes_of_comm(t, vary->by) >> axis & 1) == 0) continue;
    uint8_t label = label_of(c->form.free);
    if (joint->kind == PLACE_WHOLE)
      *joint = (Place){.kind = PLACE_CUT,
                       .dim = label,
                       .style = CUT_BLOCK,
                       .order = axes_before(axes_of_comm(t, vary->by), axis)};
    if (vary->stride < 0) joint->style = CUT_ZIGZAG;
  }
}

static bool find_places(Typing *t, NodeCall *c, Type *out) {
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++) {
    Place joint;
    if (t->plan->axes[axis].size == 1) continue;
    if (is_ring(t, c, axis)) {
      if (!ring_places(t, c, axis, out)) return false;
      continue;
    }
    if (!join_places(t, c, axis, &joint)) return false;
    if (joint.kind == PLACE_CUT && !cut_alike(t, c, axis, &joint)) return false;
    cut_freely(t, c, axis, &joint);
    for (uint32_t i = 0; i < c->form.slot_count; i++)
      if (c->form.slot[i].output != FORM_NONE &&
          !place_output(t, c, i, axis, &joint, &out[i].place[axis]))
        return false;
  }
  return true;
}

/* ---- results */

static bool right_size(Typing *t, uint32_t operand, uint32_t value, const Type *type) {
  Where at = where(t, operand);
  View2D view;
  int64_t elements = (int64_t)(at.end - at.first) / dtype_bytes((DType)at.operand->dtype);
  if (view_of(t, operand, &view)) elements = view.rows * view.inner;
  int64_t wanted = meaning_elements(&t->meaning, value, type->place);
  if (elements == wanted) return true;
  refuse(t, "operand %u has %lld elements, %.40s has %lld on one rank", operand,
         (long long)elements, plan_string(t->plan, t->plan->values[value].name), (long long)wanted);
  return false;
}

static void write_output(Typing *t, const NodeCall *c, uint32_t operand, Type *type) {
  const FormSlot *slot = &c->form.slot[operand];
  uint32_t value = output_of(t, c->node, slot->output);
  type->dtype = (uint8_t)where(t, operand).operand->dtype;
  type->microbatch = c->microbatch;
  meaning_name(&t->meaning, c->region, value, type);
  if (c->form.may_lack_bias && c->node->inputs_count == 3) type->part = PART_NO_BIAS;
  if (!right_size(t, operand, value, type) || !is_as_said(t, c, operand, type)) return;
  if (type->kind == TYPE_SUM)
    add_to_sum(t, operand, type, t->at->node);
  else if (t->plan->values[value].dtype != type->dtype)
    refuse(t, "%.40s is made in %s", plan_string(t->plan, t->plan->values[value].name),
           dtype_name((DType)type->dtype));
  else if (!write_part(t, operand, value, type))
    write_type(t, operand, type);
}

/* Every input and result of the node is one of the record's, but for a bias that comes later. */
static bool all_there(Typing *t, const NodeCall *c) {
  uint32_t inputs = 0, outputs = 0;
  for (uint32_t i = 0; i < c->form.slot_count; i++) {
    inputs += c->form.slot[i].input != FORM_NONE;
    outputs += c->form.slot[i].output != FORM_NONE;
  }
  bool lacks_bias = c->form.may_lack_bias && inputs + 1 == c->node->inputs_count;
  if ((inputs == c->node->inputs_count || lacks_bias) && outputs == c->node->outputs_count)
    return true;
  refuse(t, "the kernel has %u operands and results, its node %u", inputs + outputs,
         c->node->inputs_count + c->node->outputs_count);
  return false;
}

/* A row's bias, added to a linear that has been summed up. */
static void add_bias(Typing *t, NodeCall *c) {
  uint32_t y = output_of(t, c->node, 0), count = 0, bias_count = 0;
  Type wanted = {.dtype = (uint8_t)t->plan->values[y].dtype, .part = PART_NO_BIAS};
  meaning_name(&t->meaning, c->region, y, &wanted);
  Type found = read_type(t, 0);
  if (found.kind != wanted.kind || found.ref != wanted.ref || found.part != PART_NO_BIAS ||
      found.layer != wanted.layer || (found.microbatch != TYPE_ANY && found.microbatch != 0)) {
    refuse_operand(t, 0, &found, &wanted);
    return;
  }
  if (!read_value(t, c, 1, input_of(t, c->node, 2))) return;
  (void)meaning_dims(&t->meaning, y, &count);
  (void)meaning_dims(&t->meaning, input_of(t, c->node, 2), &bias_count);
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++) {
    Place wants = found.place[axis];
    bool in_bias = wants.kind == PLACE_CUT && wants.dim >= count - bias_count;
    wants = in_bias ? wants : (Place){0};
    if (in_bias) wants.dim = (uint8_t)(wants.dim - (count - bias_count));
    if (found.place[axis].kind == PLACE_OWED ||
        memcmp(&wants, &c->in[1].place[axis], sizeof wants) != 0) {
      refuse(t, "a bias is added once for each rank along %.16s", axis_name(t, axis));
      return;
    }
  }
  found.part = PART_ALL;
  write_type(t, 2, &found);
}

static bool is_bias(const Typing *t, const PlanNode *node) {
  return record_contract(t)->id == KERNEL_add && node->inputs_count == 3 &&
         t->at->operands_count == 3 && strcmp(plan_string(t->plan, node->op), "linear") == 0;
}

/* A dense copy of a part of a value, or the other way round. */
static void copy_part(Typing *t, const NodeCall *c) {
  Type type = read_type(t, 0);
  bool found = type.kind == TYPE_VALUE && type.part == PART_ALL;
  for (uint32_t i = 0; i < c->node->inputs_count && !found; i++)
    found = read_part(t, 0, input_of(t, c->node, i), &type);
  if (!found) {
    refuse(t, "it copies what is no value of its node");
    return;
  }
  if (!write_part(t, 1, type.ref, &type)) write_type(t, 1, &type);
}

void type_node(Typing *t) {
  if (t->at->node == PLAN_NONE || t->at->kind != RECORD_KERNEL) {
    refuse(t, "it is said to carry out a node, and names none");
    return;
  }
  NodeCall c = {.node = &t->plan->nodes[t->at->node], .region = t->meaning.region_of[t->at->node]};
  if (is_bias(t, c.node)) {
    add_bias(t, &c);
    return;
  }
  if (is_ring_sum(t, c.node)) {
    type_ring_sum(t, &c);
    return;
  }
  bool is_copy = strcmp(plan_string(t->plan, c.node->op), "copy") == 0; /* has a name of its own */
  if (record_contract(t)->row->role == ROLE_COPY && !is_copy) {
    copy_part(t, &c);
    return;
  }
  if (is_shared_loss(t)) {
    type_shared_loss(t, &c);
    return;
  }
  if (!form_of(t, c.node, &c.form)) {
    refuse(t, "no rule says how %.24s carries out the node %.40s", record_contract(t)->row->name,
           plan_string(t->plan, c.node->op));
    return;
  }
  Type out[FORM_SLOTS_MAX] = {0};
  if (!all_there(t, &c) || !read_inputs(t, &c) || !find_places(t, &c, out)) return;
  for (uint32_t i = 0; i < c.form.slot_count && !t->refused; i++)
    if (c.form.slot[i].output != FORM_NONE) write_output(t, &c, i, &out[i]);
}
