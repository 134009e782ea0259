/* records.c -- checks each record against its kernel's row, and against its node or its purpose:
 * checked once, however many calls it has, and at every coordinate of the mesh on which it depends.
 */
#include <string.h>

#include "compiler/plan/prove/records/rules.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/plan_text.h"

typedef struct Records {
  View view;
  Walk walk; /* of the segment alone */
  uint32_t index;
  PlanLosses losses;
  uint64_t slots; /* control slots that the plan has */
} Records;

/* Adds a finding about the current record. */
#define FINDING(r, ...) prove_finding(&(r)->view, &(r)->walk, (r)->index, __VA_ARGS__)

static void report_number(const Records *r, const char *kind, const KernelNumber *name,
                          double found, double wanted) {
  FINDING(r, "records", "%s %.24s is %.10g, and should be %.10g", kind,
          name != NULL ? name->name : "", found, wanted);
}

/* ---- shapes: operands have the sizes and dtypes that their kernel expects */

static bool access_fits(KernelAccess wanted, const PlanRecord *record, uint32_t access) {
  switch (wanted) {
  case KERNEL_READ: return access == ACCESS_READ;
  case KERNEL_UPDATE: return access == ACCESS_UPDATE;
  case KERNEL_SUM: return access == (record->accumulate ? ACCESS_UPDATE : ACCESS_WRITE);
  case KERNEL_KEEP: return access != ACCESS_READ;
  case KERNEL_WRITE:
  case KERNEL_SCRATCH: break;
  }
  return access == ACCESS_WRITE;
}

/* -1: overflow. */
static int64_t operand_bytes(const Plan *plan, const PlanRecord *record,
                             const KernelContract *contract, int32_t operand,
                             const uint32_t *dtypes) {
  const int64_t *dims = plan->ints + record->dims_first;
  WorkspaceUse use = {
      (KernelTarget)job_target(plan), dims, dtypes, job_threads(plan),
      contract_is_tf32(contract, plan->reals + record->attrs_first, record->attrs_count)};
  if (contract->operands[operand].access == KERNEL_SCRATCH)
    return contract_workspace_bytes(contract, &use);
  int64_t elements = contract_elements(contract, operand, dims), bytes = 0;
  int64_t unit = dtype_bytes((DType)dtypes[operand]);
  return elements < 0 || __builtin_mul_overflow(elements, unit, &bytes) ? -1 : bytes;
}

static void check_operand(const Records *r, const Case *c, int32_t i, const uint32_t *dtypes) {
  const PlanOperand *operand = &c->plan->operands[c->record->operands_first + (uint32_t)i];
  KernelAccess access = c->contract->operands[i].access;
  int64_t bytes = operand_bytes(c->plan, c->record, c->contract, i, dtypes);
  if ((uint64_t)bytes != operand->size_bytes)
    FINDING(r, "shapes",
            access == KERNEL_SCRATCH ? "operand %d has %llu bytes of scratch, not %lld"
                                     : "operand %d has %llu bytes, but its dims say %lld",
            i, (unsigned long long)operand->size_bytes, (long long)bytes);
  if (!access_fits(access, c->record, operand->access) ||
      !contract_dtype_fits(c->contract, i, dtypes))
    FINDING(r, "shapes", "operand %d has another access or dtype", i);
}

/* Kernels use their dims, the rest of the proof the sizes of operands: if the two differed, a
 * kernel would touch bytes that no property has checked. Scratch must have exactly the size that
 * the compiler gives, because a kernel splits its sums into as many parts as fit and would round
 * differently with less. What collectives and exchanges move is checked by plan_check, which knows
 * their pairs. */
static bool check_shapes(const Records *r, const Case *c) {
  const PlanRecord *record = c->record;
  uint32_t findings = r->view.report->finding_count, dtypes[KERNEL_OPERANDS_MAX] = {0};
  if (record->kind != RECORD_KERNEL) return true;
  for (uint32_t i = 0; i < record->operands_count && i < KERNEL_OPERANDS_MAX; i++)
    dtypes[i] = c->plan->operands[record->operands_first + i].dtype;
  if (c->contract == NULL)
    FINDING(r, "shapes", "no contract is known for this kernel");
  else if (!contract_dims_fit(c->contract, c->plan->ints + record->dims_first, record->dims_count))
    FINDING(r, "shapes", "its dims are not those of the kernel");
  else if (!contract_operands_fit(c->contract, dtypes, record->operands_count))
    FINDING(r, "shapes", "%u operand%s, not its kernel's number", record->operands_count,
            plural(record->operands_count));
  else if (record->attrs_count != (uint32_t)contract_attrs_in(c->contract, computes_tf32(c->plan)))
    FINDING(r, "shapes", "its attrs are not as many as the kernel's");
  if (r->view.report->finding_count > findings) return false;
  const int32_t last = c->contract->operand_count - 1;
  if ((int32_t)record->operands_count == last && c->contract->row->workspace != NULL &&
      c->plan->regions_count > 0 && operand_bytes(c->plan, record, c->contract, last, dtypes) != 0)
    FINDING(r, "shapes", "it lacks its scratch, and would add up in another order");
  for (uint32_t i = 0; i < record->operands_count; i++)
    check_operand(r, c, (int32_t)i, dtypes);
  return r->view.report->finding_count == findings;
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

/* ---- dims */

/* Neighbouring dims of a broadcast may be merged, or not. */
static bool check_dims(const Records *r, const Case *c) {
  int64_t dims[KERNEL_DIMS_MAX] = {0};
  if (c->dims_count == 0) return true;
  uint32_t count =
      c->record->dims_count; /* `shapes` has checked that the kernel allows this many */
  memcpy(dims, c->plan->ints + c->record->dims_first, count * sizeof *dims);
  if (c->contract->is_broadcast) broadcast_merge(dims, &count);
  for (uint32_t i = 0; i < c->dims_count; i++) {
    if (c->dims[i] == DIM_BY_SIZE || dims[i] == c->dims[i]) continue;
    report_number(r, "dim", c->contract->is_broadcast ? NULL : &c->contract->dims[i],
                  (double)dims[i], (double)c->dims[i]);
    return false;
  }
  return true;
}

/* ---- attrs */

/* plan_check: it varies once, if at all. */
static double attr_at(const Case *c, uint32_t attr) {
  uint32_t member = 0;
  for (uint32_t i = 0; i < c->record->varies_count; i++) {
    const PlanVary *vary = &c->plan->varies[c->record->varies_first + i];
    if (vary->attr == attr) member = plan_member(c->plan, vary->by, (const int32_t *)c->coordinate);
  }
  return attr_of_member(c->plan, c->record, attr, member);
}

static uint32_t varying_axes(const Case *c) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < c->record->varies_count; i++)
    axes |= c->plan->comms[c->plan->varies[c->record->varies_first + i].by].axes_mask;
  return axes;
}

/* The next coordinates along the axes of a mask; false after the last. */
static bool next_coordinate(Case *c, uint32_t axes) {
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++) {
    if ((axes >> axis & 1u) == 0) continue;
    if (++c->coordinate[axis] < c->plan->axes[axis].size) return true;
    c->coordinate[axis] = 0;
  }
  return false;
}

/* The first attr that has a wrong value at this coordinate of the mesh, or attrs_count. */
static uint32_t other_attr(const Case *c) {
  uint32_t i = 0;
  while (i < c->attrs_count && attr_at(c, i) == c->attrs[i])
    i++;
  return i;
}

/* Checks all coordinates on which the record or the rule depends. */
static bool attrs_fit(Case *c, uint32_t axes) {
  memset(c->coordinate, 0, sizeof c->coordinate);
  do {
    run_rule(c);
    if (other_attr(c) < c->attrs_count) return false;
  } while (next_coordinate(c, axes));
  return true;
}

/* The keys in a step of a ring may be those of any member, but all numbers must agree on which. */
static bool any_turn_fits(Case *c, uint32_t axes) {
  int64_t turns = 1;
  bool turns_round = c->contract->row->role == ROLE_ATTENTION;
  for (uint32_t axis = 0; turns_round && axis < c->plan->axes_count; axis++)
    if ((c->axes >> axis & 1u) != 0 && c->plan->axes[axis].divides == DIVIDES_TOKENS)
      turns = c->plan->axes[axis].size;
  for (c->turn = 0; c->turn < turns; c->turn++)
    if (attrs_fit(c, axes)) return true;
  c->turn = 0;
  (void)attrs_fit(c, axes); /* report the mismatch for the first */
  return false;
}

static void check_attrs(const Records *r, Case *c) {
  if (c->attrs_count == 0 || any_turn_fits(c, c->axes | varying_axes(c))) return;
  uint32_t i = other_attr(c);
  report_number(r, "attr", &c->contract->attrs[i], attr_at(c, i), c->attrs[i]);
}

/* ---- attributes, control slots and random keys of a kernel */

static bool sums_up(const Case *c) {
  for (int32_t i = 0; c->contract != NULL && i < c->contract->operand_count; i++)
    if (c->contract->operands[i].access == KERNEL_SUM) return true;
  return false;
}

/* The record's control slots are those of its kernel's row, in the same order. */
static bool check_control(const Records *r, const Case *c) {
  const Plan *plan = c->plan;
  uint32_t named = c->contract == NULL ? 0 : contract_controls_in(c->contract, r->slots);
  uint32_t wanted = (uint32_t)__builtin_popcount(named), i = 0;
  if (c->record->controls_count != wanted) {
    report_number(r, "number of control slots", NULL, c->record->controls_count, wanted);
    return false;
  }
  EACH_BIT (bit, named) {
    const KernelControl *row = &c->contract->controls[bit];
    const PlanControl *control = &plan->controls[c->record->controls_first + i++];
    const char *name = plan_string(plan, plan->slots[control->slot].name);
    const ControlSlot slot = plan_loss_slot(&r->losses, c->record, row->slot);
    if (strcmp(name, control_name(slot)) == 0 && control->access == (uint32_t)row->access) continue;
    FINDING(r, "records", "control slot %u: %s %.24s; its kernel wants %s %s", i - 1,
            Access_names[control->access], name, Access_names[row->access], control_name(slot));
    return false;
  }
  return true;
}

static void check_record(const Records *r, const PlanRecord *record) {
  const Plan *plan = r->view.plan;
  Case c = {.plan = plan,
            .rows = r->view.rows,
            .record = record,
            .node = record->node == PLAN_NONE ? NULL : &plan->nodes[record->node],
            .contract = contract_at(&r->view, record)};
  bool runs = (record->when_all & record->when_none) == 0;
  if (!check_shapes(r, &c) || plan->regions_count == 0 || !runs) return;
  run_rule(&c);
  if (c.wrong[0] != '\0') {
    FINDING(r, "records", "%s", c.wrong);
    return;
  }
  if (!check_control(r, &c) || !check_dims(r, &c)) return;
  check_attrs(r, &c);
  if (record->key != c.key) FINDING(r, "records", "draws the random numbers of something else");
  if (record->accumulate != 0 && !sums_up(&c))
    FINDING(r, "records", "adds to what its kernel assigns");
}

/* Each record is checked once, however many calls it has. */
void prove_records(const View *view) {
  Records r = {
      .view = *view, .losses = plan_losses(view->plan), .slots = plan_slot_mask(view->plan)};
  prove_job(view);
  prove_programs(view);
  for (uint32_t s = 0; s < view->plan->segments_count; s++) {
    r.walk = walk_segment(view, &view->plan->segments[s]);
    for (r.index = 0; r.index < r.walk.segment->records_count; r.index++)
      check_record(&r, walk_record(&r.walk, r.index));
  }
}
