/* nodes.c -- a record that carries out a node: its operands hold the node's values, and it makes
 * the node's results, with the cuts and partial sums that the kernel's row in rules.def gives. */
#include <string.h>

#include "compiler/plan/prove/types/forms.h"

/* ---- views: equal parts of a joined value, whose rows are interleaved */

/* The bytes of the value's parent, if the operand lies in it as a part with these places would. */
static bool parent_bytes(Typing *t, uint32_t operand, uint32_t value, const Place *places,
                         TypeSpan *parent) {
  const Slice *slice = &t->proof.meaning.value[value].slice;
  const Where at = where(t, operand);
  KernelView view;
  uint32_t dims = 0;
  if (slice->parent == PLAN_NONE || at.own_axes != 0 || !view_of(t, operand, &view)) return false;
  (void)meaning_dims(&t->proof.meaning, value, &dims);
  int64_t bytes = dtype_bytes((DType)at.operand->dtype);
  int64_t inner = meaning_sizes(&t->proof.meaning, value, places, slice->at, dims);
  uint64_t before = (uint64_t)(inner * slice->index * bytes);
  if (inner != view.inner || inner * slice->count != view.stride || before > at.first) return false;
  parent->first = at.first - before;
  parent->end = parent->first + (uint64_t)(view.rows * view.stride * bytes);
  return true;
}

/* The name of this value in the region of the record's node. */
static void name_here(const Typing *t, uint32_t value, Type *type) {
  meaning_name(&t->proof.meaning, t->proof.meaning.region_of[t->call.at->node], value, type);
}

/* The type of a part, read from its parent. False: it is not such a part. */
static bool read_part(Typing *t, uint32_t operand, uint32_t value, Type *type) {
  const Slice *slice = &t->proof.meaning.value[value].slice;
  const Where at = where(t, operand);
  const Spans *spans = &at.reached->spans;
  const uint32_t i = spans_find(spans, at.first);
  TypeSpan bytes;
  Type parent = {0};
  if (slice->parent == PLAN_NONE || i == spans->count || spans->at[i].first > at.first)
    return false;
  *type = type_at(&t->proof.types, spans->at[i].type);
  bool has =
      type->part == PART_ALL || (type->part == PART_VIEWS && (type->mask >> slice->index & 1) != 0);
  name_here(t, slice->parent, &parent);
  if (type->kind != TYPE_VALUE || type->ref != parent.ref || type->layer != parent.layer || !has)
    return false;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    Place *place = &type->place[axis];
    if (place->kind == PLACE_CUT && place->dim == slice->at)
      return false; /* the dim that is split */
    if (place->kind == PLACE_CUT && place->dim > slice->at) place->dim -= slice->drops;
  }
  if (!parent_bytes(t, operand, value, type->place, &bytes) || bytes.first != spans->at[i].first ||
      bytes.end != spans->at[i].end)
    return false;
  name_here(t, value, type);
  type->part = PART_ALL;
  type->mask = 0;
  return true;
}

/* Writes a part to its place in its parent, beside the parts that are there. False: it is not a
 * part and lies by itself. */
static bool write_part(Typing *t, uint32_t operand, uint32_t value, const Type *type) {
  const Slice *slice = &t->proof.meaning.value[value].slice;
  Spans *spans = &where(t, operand).reached->spans;
  TypeSpan bytes;
  if (slice->count < 2 || !parent_bytes(t, operand, value, type->place, &bytes)) return false;
  const Type found = found_in(t, spans, bytes.first, bytes.end);
  Type parent = *type;
  name_here(t, slice->parent, &parent);
  parent.part = PART_VIEWS;
  parent.mask = found.mask;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (type->place[axis].kind == PLACE_CUT && type->place[axis].dim >= slice->at)
      parent.place[axis].dim += slice->drops;
  if (memcmp(&found, &parent, sizeof parent) != 0) parent.mask = 0;
  parent.mask |= 1u << slice->index;
  if (parent.mask == (1u << slice->count) - 1) {
    parent.part = PART_ALL;
    parent.mask = 0;
  }
  put(t, spans, bytes.first, bytes.end, &parent);
  return true;
}

/* ---- operands that are read */

static uint32_t stored_as(const Typing *t, const FormSlot *slot, uint32_t value) {
  if (slot->part == PART_CODES) return slot->codes;
  return slot->part == PART_STATISTICS || slot->part == PART_SCALES ? DTYPE_F32
                                                                    : t->plan->values[value].dtype;
}

/* A record may be about one run of the tokens that all its L are. */
static void take_run(const Typing *t, const FormSlot *slot, Type *type) {
  if (t->call.at->parts == 0 || slot->letter_count == 0 || slot->letters[0] != 'L') return;
  type->run = t->call.at->part;
  type->runs = t->call.at->parts;
}

/* The columns of a matrix of codes whose blocks are rows or squares of it: the kernel's dims are
 * rows, in, out. */
static uint32_t columns_of(const Typing *t, const FormSlot *slot) {
  enum { DIM_IN = 1, DIM_OUT = 2 };
  if (slot->of == CODES_OF_ALL) return 0;
  const int32_t last = slot->turns ? slot->letters[0] : slot->letters[slot->letter_count - 1];
  return (uint32_t)t->plan->ints[t->call.at->dims_first + (last == 'I' ? DIM_IN : DIM_OUT)];
}

/* Puts the operand's type into c->in. False: it does not hold this value; refused. */
static bool read_value(Typing *t, NodeCall *c, uint32_t operand, const FormSlot *slot) {
  Type wanted = {
      .dtype = (uint8_t)operand_at(t, operand)->dtype, .part = slot->part, .microbatch = TYPE_ANY};
  Type *found = &c->in[operand];
  meaning_name(&t->proof.meaning, c->region, slot->in, &wanted);
  wanted.is_new = wanted.state == BUFFER_CACHE; /* with the keys and values of this pass */
  if (slot->part == PART_CODES || slot->part == PART_SCALES) {
    const FormSlot *codes = slot->part == PART_CODES ? slot : slot - 1;
    wanted.storage = codes_storage((DType)slot->codes, (CodesOf)slot->of);
    wanted.mask = columns_of(t, codes);
  }
  take_run(t, slot, &wanted);
  *found = read_type(t, operand);
  bool is_it = found->kind == wanted.kind && found->ref == wanted.ref && found->part == slot->part;
  is_it = (is_it || read_part(t, operand, slot->in, found)) && found->layer == wanted.layer &&
          found->is_new == wanted.is_new && (!is_turned(found) || form_has(c->form, "ring")) &&
          (found->microbatch == TYPE_ANY || found->microbatch == 0) &&
          found->dtype == wanted.dtype && found->state == wanted.state &&
          found->storage == wanted.storage && (wanted.storage == 0 || found->mask == wanted.mask) &&
          found->run == wanted.run && found->runs == wanted.runs &&
          ((found->kind != TYPE_VALUE && found->kind != TYPE_STATE) ||
           found->dtype == stored_as(t, slot, slot->in));
  return is_it || refuse_operand(t, operand, found, &wanted);
}

static bool read_inputs(Typing *t, NodeCall *c) {
  bool has_run = t->call.at->parts == 0;
  c->microbatch = TYPE_ANY;
  for (uint32_t i = 0; i < c->form->slot_count && i < t->call.at->operands_count; i++) {
    const FormSlot *slot = &c->form->slot[i];
    if (slot->in == PLAN_NONE) continue;
    if (!read_value(t, c, i, slot) || (!slot->is_rows && !is_as_said(t, i, &c->in[i])))
      return false;
    if (slot->part == PART_SCALES &&
        memcmp(c->in[i].place, c->in[i - 1].place, sizeof c->in[i].place) != 0)
      return REFUSE(t, "operand %u has the scales of another part than the codes before it", i);
    if (c->in[i].microbatch != TYPE_ANY) c->microbatch = c->in[i].microbatch;
    has_run = has_run || c->in[i].runs > 0;
  }
  return has_run || REFUSE(t, "no rule says how its kernel takes one run of tokens");
}

/* ---- the operands along one axis: the label that is cut, or partial sums */

/* The state of all operands together along one axis. */
typedef struct Joint {
  uint8_t kind, style, order; /* as in Place */
  bool goes_round;            /* the label is cut by tokens, and keys arrive from all ranks */
  uint32_t label;             /* PLACE_CUT: form_joint */
} Joint;

static bool join_cut(Typing *t, const NodeCall *c, uint32_t operand, uint32_t axis, Joint *joint) {
  const FormSlot *slot = &c->form->slot[operand];
  const Place place = c->in[operand].place[axis];
  if (place.kind != PLACE_CUT || place.dim >= slot->dim_count)
    return refuse_along(t, axis, "an operand is not laid out by dims", &c->in[operand]);
  uint32_t label = slot->label[place.dim];
  if (slot->part == PART_STATISTICS && form_says(c->form, "same", label))
    return refuse_along(t, axis, "the kernel needs an operand whole that is cut", NULL);
  const Joint cut = {PLACE_CUT, place.style, place.order, joint->goes_round,
                     form_joint(c->form, label, joint->goes_round)};
  if (joint->kind == PLACE_WHOLE) *joint = cut;
  if (joint->style == cut.style && joint->order == cut.order && joint->label == cut.label)
    return true;
  return refuse_along(t, axis, "an operand is cut differently from another", &c->in[operand]);
}

static bool join_inputs(Typing *t, const NodeCall *c, uint32_t axis, Joint *joint) {
  uint32_t inputs = 0, owed = 0;
  bool passes = false;
  for (uint32_t i = 0; i < c->form->slot_count; i++) {
    if (c->form->slot[i].in == PLAN_NONE || c->form->slot[i].part == PART_SCALES) continue;
    inputs++;
    if (c->in[i].place[axis].kind == PLACE_OWED) {
      owed++;
      passes = c->form->slot[i].passes;
    } else if (c->in[i].place[axis].kind != PLACE_WHOLE && !join_cut(t, c, i, axis, joint)) {
      return false;
    }
  }
  if (owed == 0) return true;
  bool shifts = form_has(c->form, "shift") && record_attrs(t)[1] != 0;
  bool all = owed == inputs && form_has(c->form, "linear") && !shifts;
  if (joint->kind != PLACE_WHOLE || !(all || (owed == 1 && passes)))
    return refuse_along(t, axis, "an operand is a partial sum", NULL);
  joint->kind = PLACE_OWED;
  return true;
}

/* The operand's dim that has this label, or dim_count. */
static uint8_t joint_dim(const Form *form, const FormSlot *slot, const Joint *joint) {
  uint8_t dim = 0;
  while (dim < slot->dim_count &&
         form_joint(form, slot->label[dim], joint->goes_round) != joint->label)
    dim++;
  return dim;
}

/* If a dim is cut in one operand, it must be cut in every operand that has it, except for a key
 * head that all of a rank's heads share. */
static bool cut_alike(Typing *t, const NodeCall *c, uint32_t axis, const Joint *joint) {
  for (uint32_t i = 0; i < c->form->slot_count; i++) {
    const FormSlot *slot = &c->form->slot[i];
    if (slot->in == PLAN_NONE || slot->part == PART_SCALES ||
        c->in[i].place[axis].kind == PLACE_CUT)
      continue;
    uint8_t dim = joint_dim(c->form, slot, joint);
    if (dim == slot->dim_count) continue;
    if (slot->part == PART_STATISTICS && form_says(c->form, "same", joint->label)) continue;
    bool is_shared = slot->label[dim] != joint->label && !joint->goes_round;
    if (!is_shared ||
        meaning_sizes(&t->proof.meaning, slot->in, c->in[i].place, dim, dim + 1u) != 1)
      return refuse_along(t, axis, "an operand is whole and another is cut", &c->in[i]);
  }
  if (joint->goes_round || !form_says(c->form, "whole", joint->label)) return true;
  return refuse_along(t, axis, "the kernel needs an operand whole that is cut", NULL);
}

/* A result can be cut although no operand is: then the record's `first` varies. */
static void cut_freely(const Typing *t, const NodeCall *c, uint32_t axis, Joint *joint) {
  for (uint32_t i = 0; i < t->call.at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->call.at->varies_first + i];
    uint32_t axes = axes_of_comm(t, vary->by), label = form_label(c->form, "free");
    if (label == 0 || (axes >> axis & 1) == 0) continue;
    const uint32_t outside = axes & ((1u << axis) - 1);
    if (joint->kind == PLACE_WHOLE)
      *joint = (Joint){PLACE_CUT, CUT_BLOCK, (uint8_t)__builtin_popcount(outside), false, label};
    if (joint->label == label && vary->stride < 0) joint->style = CUT_ZIGZAG;
  }
}

static bool join_axes(Typing *t, const NodeCall *c, Joint *joint, uint16_t *turn) {
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++) {
    joint[axis] = (Joint){0};
    if (t->plan->axes[axis].size == 1) continue;
    joint[axis].goes_round = /* queries meet the keys of all ranks in turn */
        t->plan->axes[axis].divides == DIVIDES_TOKENS && form_has(c->form, "ring");
    if (!join_inputs(t, c, axis, &joint[axis])) return false;
    joint[axis].goes_round = joint[axis].goes_round && joint[axis].kind == PLACE_CUT &&
                             form_says(c->form, "ring", joint[axis].label);
    if (joint[axis].kind == PLACE_CUT && !cut_alike(t, c, axis, &joint[axis])) return false;
    if (joint[axis].goes_round && !ring_meets(t, c, axis, turn)) return false;
    if (joint[axis].kind != PLACE_OWED) cut_freely(t, c, axis, &joint[axis]);
  }
  return true;
}

/* ---- results */

/* True if an operand itself is cut along the axis at this label. */
static bool has_cut(const NodeCall *c, uint32_t axis, uint32_t label) {
  for (uint32_t i = 0; i < c->form->slot_count; i++) {
    const FormSlot *slot = &c->form->slot[i];
    if (slot->in != PLAN_NONE && slot->part != PART_SCALES &&
        c->in[i].place[axis].kind == PLACE_CUT && slot->label[c->in[i].place[axis].dim] == label)
      return true;
  }
  return false;
}

static bool place_output(Typing *t, const NodeCall *c, uint32_t axis, const FormSlot *slot,
                         const Joint *joint, Type *type) {
  const Place owed = {.kind = PLACE_OWED, .style = REDUCE_SUM};
  Place *place = &type->place[axis];
  if (joint->kind == PLACE_OWED) *place = owed;
  if (joint->kind != PLACE_CUT) return true;
  uint8_t dim = joint_dim(c->form, slot, joint);
  if (dim < slot->dim_count) {
    *place = (Place){PLACE_CUT, dim, joint->style, joint->order};
    bool is_shared = slot->label[dim] != joint->label && !joint->goes_round;
    if (is_shared && !has_cut(c, axis, slot->label[dim])) *place = owed;
    return true;
  }
  if (form_says(c->form, "same", joint->label)) return true;
  *place = owed;
  return form_says(c->form, "sum", joint->label) ||
         refuse_along(t, axis, "a result lacks a dim that is cut", NULL);
}

/* A layer's cache takes the keys or values of a pass once, where those of the passes before are.
 * False: refused. */
static bool append_to_cache(Typing *t, uint32_t operand, Type *type) {
  Type wanted = *type;
  wanted.microbatch = TYPE_ANY;
  const Type found = read_type(t, operand);
  *type = wanted;
  type->is_new = true;
  return memcmp(&found, &wanted, sizeof found) == 0 || refuse_operand(t, operand, &found, &wanted);
}

static void write_output(Typing *t, const NodeCall *c, uint32_t operand, const Joint *joint,
                         uint16_t turn) {
  const FormSlot *slot = &c->form->slot[operand];
  Type type = {.dtype = (uint8_t)operand_at(t, operand)->dtype,
               .part = slot->part,
               .microbatch = c->microbatch};
  meaning_name(&t->proof.meaning, c->region, slot->out, &type);
  take_run(t, slot, &type);
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++) {
    if (!place_output(t, c, axis, slot, &joint[axis], &type)) return;
    if (joint[axis].goes_round) type.ring = ring_of_result(c->form, slot, turn);
  }
  if (t->call.at->parts > 0 && type.runs == 0 && type.kind != TYPE_SUM) {
    REFUSE(t, "no rule says what its kernel makes of one run of tokens");
    return;
  }
  if (slot->part != PART_STATISTICS && (!right_size(t, operand, slot->out, &type) ||
                                        (!slot->is_rows && !is_as_said(t, operand, &type))))
    return;
  if (type.dtype != stored_as(t, slot, slot->out))
    REFUSE(t, "%.40s is made in %s", plan_string(t->plan, t->plan->values[slot->out].name),
           dtype_name((DType)type.dtype));
  else if (type.kind == TYPE_SUM)
    add_to_sum(t, operand, &type, t->call.at->node);
  else if (t->call.at->accumulate && record_contract(t) != NULL &&
           record_contract(t)->operands[operand].access == KERNEL_SUM)
    REFUSE(t, "adds to what is there, and %.40s is no sum over nodes",
           plan_string(t->plan, t->plan->values[slot->out].name));
  else if (type.state == BUFFER_CACHE) {
    if (append_to_cache(t, operand, &type)) write_type(t, operand, &type);
  } else if (!write_part(t, operand, slot->out, &type))
    write_type(t, operand, &type);
}

/* The record must have every input and result of the node, except for a bias that is added later.
 */
static bool all_there(Typing *t, const NodeCall *c) {
  const Form *form = c->form;
  bool lacks_bias = form_has(form, "bias") && form->inputs + 1 == c->node->inputs_count;
  if (form->makes_part || ((form->inputs == c->node->inputs_count || lacks_bias) &&
                           form->outputs == c->node->outputs_count))
    return true;
  return REFUSE(t, "the kernel has %u operands and results, its node %u",
                form->inputs + form->outputs, c->node->inputs_count + c->node->outputs_count);
}

static void carry_out(Typing *t, NodeCall *c) {
  Joint joint[TYPE_AXES_MAX] = {0};
  uint16_t turn = 0;
  c->form = form_of(t, c->node);
  if (c->form == NULL) {
    REFUSE(t, "no rule says how %.24s carries out the node %.40s", record_contract(t)->row->name,
           plan_string(t->plan, c->node->op));
    return;
  }
  if (c->form->unlike != NULL) {
    REFUSE(t, "%s", c->form->unlike);
    return;
  }
  if (!all_there(t, c) || !read_inputs(t, c) || !join_axes(t, c, joint, &turn)) return;
  for (uint32_t i = 0; i < c->form->slot_count && !t->class.refused; i++)
    if (c->form->slot[i].out != PLAN_NONE) write_output(t, c, i, joint, turn);
}

static bool is_dense(const Typing *t, uint32_t operand) {
  KernelView view;
  return !view_of(t, operand, &view) || view.rows == 1 || view.stride == view.inner;
}

/* A copy that makes a part of a value dense, or puts it back. */
static void copy_part(Typing *t, const PlanNode *node) {
  Type type = read_type(t, 0);
  bool found = type.kind == TYPE_VALUE && type.part == PART_ALL && is_dense(t, 0);
  for (uint32_t i = 0; i < node->inputs_count && !found; i++)
    found = read_part(t, 0, t->plan->uses[node->inputs_first + i].value, &type);
  if (!found)
    REFUSE(t, "it copies something that is not a value of its node");
  else if (write_part(t, 1, type.ref, &type))
    return;
  else if (is_dense(t, 1))
    write_type(t, 1, &type);
  else
    REFUSE(t, "it leaves gaps in %.40s", plan_string(t->plan, t->plan->values[type.ref].name));
}

void type_node(Typing *t) {
  if (t->call.at->node == PLAN_NONE || t->call.at->kind != RECORD_KERNEL) {
    REFUSE(t, "it is stated to carry out a node, but names none");
    return;
  }
  NodeCall c = {.node = &t->plan->nodes[t->call.at->node],
                .region = t->proof.meaning.region_of[t->call.at->node]};
  if (!is_call_of(t, c.region)) return;
  if (is_ring_sum(t, c.node))
    type_ring_sum(t, &c);
  else if (record_contract(t)->row->role == ROLE_COPY && !is_op(t->plan, c.node, "copy"))
    copy_part(t, c.node);
  else
    carry_out(t, &c);
}
