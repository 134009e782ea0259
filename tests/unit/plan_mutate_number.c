/* plan_mutate_number.c -- mutants whose shapes, places and order are right: another kernel computes
 * on the same operands, or the same kernel computes with another number. */
#include <stdio.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "runtime/plan/plan_text.h"
#include "tests/unit/plan_mutator.h"

/* ---- choices */

/* A record of a program that runs in training; now and then one of initial values. */
static PlanRecord *any_executed(Mutator *m) {
  if (pick_below(m, 5) > 0) return pick_record(m);
  const PlanProgram *program = pick_program(m, PROGRAM_INIT);
  if (program->calls_count == 0) return NULL;
  const PlanCall *call = &m->b->calls[program->calls_first + pick_below(m, program->calls_count)];
  const PlanSegment *segment = &m->b->segments[call->segment];
  if (segment->records_count == 0) return NULL;
  return &m->b->records[segment->records_first + pick_below(m, segment->records_count)];
}

static const KernelContract *contract_for(const Mutator *m, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? contract_find(mutant_record_name(m, record)) : NULL;
}

typedef bool Wanted(const Mutator *m, const PlanRecord *record);

static PlanRecord *any_wanted(Mutator *m, Wanted *wanted) {
  for (int tries = 0; tries < 400; tries++) {
    PlanRecord *record = any_executed(m);
    if (record != NULL && wanted(m, record)) return record;
  }
  return NULL;
}

/* Numbers of its own: other records may share theirs. */
static double *own_attrs(Mutator *m, PlanRecord *record) {
  uint32_t first = m->b->reals_count;
  for (uint32_t i = 0; i < record->attrs_count; i++)
    build_reals(m->b, m->b->reals[record->attrs_first + i]);
  record->attrs_first = first;
  return &m->b->reals[first];
}

static int64_t *own_dims(Mutator *m, PlanRecord *record) {
  uint32_t first = m->b->ints_count;
  for (uint32_t i = 0; i < record->dims_count; i++)
    build_ints(m->b, m->b->ints[record->dims_first + i]);
  record->dims_first = first;
  return &m->b->ints[first];
}

/* ---- another kernel */

static bool has_kernel(const Mutator *m, const PlanRecord *record) {
  return contract_for(m, record) != NULL;
}

/* True if the operand is as long for `other`, as whose operand `index` it would serve. */
static bool operand_would_do(const Mutator *m, const PlanOperand *operand,
                             const KernelContract *other, int32_t index, const int64_t *dims,
                             const uint32_t *dtypes) {
  const Plan plan = build_view(m->b);
  WorkspaceUse use = {(KernelTarget)job_target(&plan), dims, dtypes, job_threads(&plan), false};
  if (other->operands[index].access == KERNEL_SCRATCH)
    return contract_workspace_bytes(other, &use) == (int64_t)operand->size_bytes;
  return contract_elements(other, index, dims) * (int64_t)dtype_bytes(operand->dtype) ==
         (int64_t)operand->size_bytes;
}

/* True if the record's operands but `without` (PLAN_NONE: all) serve as those of `other`. */
static bool would_do(const Mutator *m, const PlanRecord *record, const KernelContract *other,
                     uint32_t without) {
  const int64_t *dims = &m->b->ints[record->dims_first];
  const PlanOperand *operand = &m->b->operands[record->operands_first];
  uint32_t count = record->operands_count - (without != PLAN_NONE), dtypes[KERNEL_OPERANDS_MAX];
  for (uint32_t i = 0; i < count; i++)
    dtypes[i] = operand[i + (i >= without)].dtype;
  if (other == contract_for(m, record) || !contract_operands_fit(other, dtypes, count) ||
      !contract_dims_fit(other, dims, record->dims_count))
    return false;
  for (uint32_t i = 0; i < count; i++)
    if (!contract_dtype_fits(other, (int32_t)i, dtypes) ||
        !operand_would_do(m, &operand[i + (i >= without)], other, (int32_t)i, dims, dtypes))
      return false;
  return true;
}

static const KernelContract *any_that_would_do(Mutator *m, const PlanRecord *record,
                                               uint32_t without) {
  uint32_t first = pick_below(m, KERNEL_COUNT);
  for (uint32_t i = 0; i < KERNEL_COUNT; i++) {
    const KernelContract *other = contract_of((KernelId)((first + i) % KERNEL_COUNT));
    if (would_do(m, record, other, without)) return other;
  }
  return NULL;
}

static uint32_t access_as(const KernelOperand *wanted, const PlanRecord *record) {
  switch (wanted->access) {
  case KERNEL_READ: return ACCESS_READ;
  case KERNEL_SUM: return record->accumulate ? ACCESS_UPDATE : ACCESS_WRITE;
  case KERNEL_UPDATE:
  case KERNEL_KEEP: return ACCESS_UPDATE;
  default: return ACCESS_WRITE;
  }
}

static bool adds_up(const KernelContract *contract) {
  for (int32_t i = 0; i < contract->operand_count; i++)
    if (contract->operands[i].access == KERNEL_SUM) return true;
  return false;
}

static void set_accesses(Mutator *m, const PlanRecord *record, const KernelContract *contract) {
  for (uint32_t i = 0; i < record->operands_count; i++)
    m->b->operands[record->operands_first + i].access = access_as(&contract->operands[i], record);
}

/* As many numbers as the kernel wants: its own, then ones. */
static void set_attr_count(Mutator *m, PlanRecord *record, uint32_t count) {
  uint32_t had = record->attrs_count;
  if (count < had) record->varies_count = 0;
  if (count > had) {
    own_attrs(m, record);
    for (uint32_t i = had; i < count; i++)
      build_reals(m->b, 1);
  }
  record->attrs_count = count;
}

static void set_kernel(Mutator *m, PlanRecord *record, const KernelContract *contract) {
  uint32_t name = build_string(m->b, contract->row->name), kernel = 0;
  while (kernel < m->b->kernels_count && m->b->kernels[kernel].name != name)
    kernel++;
  if (kernel == m->b->kernels_count) build_kernels(m->b, (PlanKernel){.name = name});
  record->kernel = kernel;
  if (!adds_up(contract)) record->accumulate = 0;
  set_attr_count(m, record, (uint32_t)contract->attr_count);
  set_accesses(m, record, contract);
}

static bool another_kernel(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_kernel);
  const KernelContract *other = record == NULL ? NULL : any_that_would_do(m, record, PLAN_NONE),
                       *was;
  if (other == NULL) return false;
  was = contract_for(m, record);
  set_kernel(m, record, other);
  return mutant_said(m, "record %u (%s of %s) computes %s", NUMBER(m, records, record),
                     was->row->name, m->b->strings + record->path, other->row->name);
}

static void leave_operand_out(Mutator *m, PlanRecord *record, uint32_t without) {
  uint32_t first = m->b->operands_count;
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (i != without) build_operands(m->b, m->b->operands[record->operands_first + i]);
  record->operands_first = first;
  record->operands_count--;
}

/* A bias, a part of the state: the kernel that does without it. */
static bool one_operand_less(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_kernel);
  if (record == NULL || record->operands_count < 2) return false;
  uint32_t without = pick_below(m, record->operands_count);
  const KernelContract *other = any_that_would_do(m, record, without);
  if (other == NULL) return false;
  const char *was = contract_for(m, record)->row->name;
  leave_operand_out(m, record, without);
  set_kernel(m, record, other);
  return mutant_said(m, "record %u (%s of %s) computes %s without operand %u",
                     NUMBER(m, records, record), was, m->b->strings + record->path,
                     other->row->name, without);
}

static bool may_add_up(const Mutator *m, const PlanRecord *record) {
  const KernelContract *contract = contract_for(m, record);
  return contract != NULL && adds_up(contract);
}

static bool flip_accumulate(Mutator *m) {
  PlanRecord *record = any_wanted(m, may_add_up);
  if (record == NULL) return false;
  record->accumulate ^= 1;
  set_accesses(m, record, contract_for(m, record));
  return mutant_said(m, "record %u (%s of %s) %s", NUMBER(m, records, record),
                     mutant_record_name(m, record), m->b->strings + record->path,
                     record->accumulate ? "adds to what is there" : "adds to nothing");
}

Mutate *const mutate_kernel_ways[] = {another_kernel, another_kernel, one_operand_less,
                                      flip_accumulate, NULL};

/* ---- another number */

static bool has_attrs(const Mutator *m, const PlanRecord *record) {
  (void)m;
  return record->attrs_count > 0;
}

static double other_number(Mutator *m, double x) {
  switch (pick_below(m, 5)) {
  case 0: return x + 1;
  case 1: return -x - (x == 0);
  case 2: return x / 2 + (x == 0);
  case 3: return x == 0 ? 0.5 : 0;
  default: return 2 * x + (x == 0);
  }
}

static bool change_attr(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_attrs);
  if (record == NULL) return false;
  uint32_t index = pick_below(m, record->attrs_count);
  double *attr = &own_attrs(m, record)[index], was = *attr;
  *attr = other_number(m, was);
  return mutant_said(m, "attr %u of record %u (%s of %s) is %g for %g", index,
                     NUMBER(m, records, record), mutant_record_name(m, record),
                     m->b->strings + record->path, *attr, was);
}

/* The hyperparameters of another tensor, the scale of another node. */
static bool change_attrs(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_attrs);
  for (int tries = 0; record != NULL && tries < 50; tries++) {
    const PlanRecord *other = any_wanted(m, has_attrs);
    if (other->kernel != record->kernel || other->attrs_count != record->attrs_count) continue;
    if (memcmp(&m->b->reals[other->attrs_first], &m->b->reals[record->attrs_first],
               record->attrs_count * sizeof(double)) == 0)
      continue;
    record->attrs_first = other->attrs_first;
    return mutant_said(m, "record %u (%s) has the numbers of record %u", NUMBER(m, records, record),
                       mutant_record_name(m, record), NUMBER(m, records, other));
  }
  return false;
}

static bool has_two_dims(const Mutator *m, const PlanRecord *record) {
  (void)m;
  return record->dims_count >= 2;
}

/* As many elements in all. */
static bool change_dims(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_two_dims);
  if (record == NULL) return false;
  uint32_t i = pick_below(m, record->dims_count), k = pick_below(m, record->dims_count);
  int64_t *dims = own_dims(m, record), was[2] = {dims[i], dims[k]};
  if (i == k || was[0] == was[1]) return false;
  if (pick_below(m, 2) == 0)
    dims[i] = was[1], dims[k] = was[0];
  else if (was[0] > 1 && was[0] % 2 == 0)
    dims[i] = was[0] / 2, dims[k] = was[1] * 2;
  else
    return false;
  return mutant_said(m, "dims %u and %u of record %u (%s) are %lld, %lld for %lld, %lld", i, k,
                     NUMBER(m, records, record), mutant_record_name(m, record), (long long)dims[i],
                     (long long)dims[k], (long long)was[0], (long long)was[1]);
}

static bool has_flag(const Mutator *m, const PlanRecord *record) {
  const KernelContract *contract = contract_for(m, record);
  for (int32_t i = 0; contract != NULL && i < contract->dim_count; i++)
    if (contract->dims[i].is_flag) return true;
  return false;
}

static bool change_flag(Mutator *m) {
  PlanRecord *record = any_wanted(m, has_flag);
  if (record == NULL) return false;
  const KernelContract *contract = contract_for(m, record);
  int32_t flag = 0;
  while (!contract->dims[flag].is_flag)
    flag++;
  own_dims(m, record)[flag] ^= 1;
  return mutant_said(m, "%s of record %u (%s) is flipped", contract->dims[flag].name,
                     NUMBER(m, records, record), contract->row->name);
}

static bool is_random(const Mutator *m, const PlanRecord *record) {
  const KernelContract *contract = contract_for(m, record);
  return contract != NULL && (contract_control_reads(contract) & CONTROL_BIT(CONTROL_seed)) != 0;
}

static bool change_key(Mutator *m) {
  PlanRecord *record = any_wanted(m, is_random);
  const PlanRecord *other = record == NULL ? NULL : any_wanted(m, is_random);
  if (other == NULL) return false;
  record->key = other->key != record->key ? other->key : record->key + 1;
  return mutant_said(m, "record %u (%s of %s) draws other numbers", NUMBER(m, records, record),
                     mutant_record_name(m, record), m->b->strings + record->path);
}

static bool does_vary(const Mutator *m, const PlanRecord *record) {
  (void)m;
  return record->varies_count > 0;
}

static void own_values(Mutator *m, PlanVary *vary) {
  uint32_t first = m->b->reals_count;
  for (uint32_t i = 0; i < vary->values_count; i++)
    build_reals(m->b, m->b->reals[vary->values_first + i]);
  vary->values_first = first;
}

static void change_value(Mutator *m, PlanVary *vary) {
  own_values(m, vary);
  double *value = &m->b->reals[vary->values_first];
  uint32_t i = pick_below(m, vary->values_count), k = pick_below(m, vary->values_count);
  double was = value[i];
  if (was != value[k])
    value[i] = value[k], value[k] = was;
  else
    value[i] = other_number(m, was);
}

/* Varies are not shared: a record's are the ones it names. */
static bool change_vary(Mutator *m) {
  PlanRecord *record = any_wanted(m, does_vary);
  if (record == NULL) return false;
  PlanVary *vary = &m->b->varies[record->varies_first + pick_below(m, record->varies_count)];
  switch (pick_below(m, 5)) {
  case 0: record->varies_count = 0; break;
  case 1: vary->by = pick_below(m, m->b->comms_count); break;
  case 2: vary->attr = pick_below(m, record->attrs_count); break;
  default:
    if (vary->values_count > 0)
      change_value(m, vary);
    else
      vary->stride = other_number(m, vary->stride);
  }
  return mutant_said(m, "record %u (%s of %s) differs otherwise from rank to rank",
                     NUMBER(m, records, record), mutant_record_name(m, record),
                     m->b->strings + record->path);
}

/* Every message of an exchange the other way, or one further. */
static bool change_distances(Mutator *m) {
  for (int tries = 0; tries < 50; tries++) {
    PlanRecord *record = pick_communication(m);
    if (record == NULL) return false;
    if (record->kind != RECORD_EXCHANGE || record->comm == PLAN_NONE) continue;
    Plan plan = build_view(m->b);
    int64_t size = plan_comm_size(&plan, record->comm), *distance = own_dims(m, record);
    bool back = pick_below(m, 2) == 0;
    for (uint32_t i = 0; i < record->dims_count; i++)
      distance[i] = (back ? size - distance[i] : distance[i] + 1) % size;
    return mutant_said(m, "record %u (%s of %s) sends %s", NUMBER(m, records, record),
                       mutant_record_name(m, record), m->b->strings + record->path,
                       back ? "the other way" : "one further");
  }
  return false;
}

/* The times and elements of a collective: as much, in other pieces. */
static bool change_pieces(Mutator *m) {
  for (int tries = 0; tries < 50; tries++) {
    PlanRecord *record = pick_communication(m);
    if (record == NULL) return false;
    if (record->kind == RECORD_EXCHANGE || record->dims_count < 2) continue;
    int64_t *pair = own_dims(m, record) + 2 * (size_t)pick_below(m, record->dims_count / 2);
    if (pair[0] > 1)
      pair[1] *= pair[0], pair[0] = 1;
    else if (pair[1] % 2 == 0)
      pair[0] = 2, pair[1] /= 2;
    else
      continue;
    return mutant_said(m, "record %u (%s of %s) moves %lld pieces of %lld",
                       NUMBER(m, records, record), mutant_record_name(m, record),
                       m->b->strings + record->path, (long long)pair[0], (long long)pair[1]);
  }
  return false;
}

/* Along which axes ranks save other state. */
static bool change_state_axes(Mutator *m) {
  uint32_t axis = pick_below(m, m->b->axes_count);
  if (m->b->axes[axis].size == 1) return false;
  *build_count(m->b, JOB_state_axes) ^= 1LL << axis;
  return mutant_said(m, "state differs along %s, or no longer, by the plan",
                     m->b->strings + m->b->axes[axis].name);
}

static bool change_tensor_layout(Mutator *m) {
  if (m->b->tensors_count == 0) return false;
  PlanTensor *tensor = ANY(m, tensors);
  const PlanTensor *other = ANY(m, tensors);
  if (tensor->layout == other->layout) return false;
  tensor->layout = other->layout;
  return mutant_said(m, "tensor %u has the layout of tensor %u", NUMBER(m, tensors, tensor),
                     NUMBER(m, tensors, other));
}

/* Changes what an axis divides, from which follows who reads which samples. */
static bool change_divides(Mutator *m) {
  PlanAxis *axis = ANY(m, axes);
  if (axis->size == 1) return false;
  axis->divides = pick_below(m, Divides_COUNT);
  return mutant_said(m, "axis %s divides %s", m->b->strings + axis->name,
                     Divides_names[axis->divides]);
}

static bool is_in_parts(const Mutator *m, const PlanRecord *record) {
  (void)m;
  return record->parts > 0;
}

static bool change_part(Mutator *m) {
  PlanRecord *record = any_wanted(m, is_in_parts);
  if (record == NULL) return false;
  record->part = (record->part + 1) % record->parts;
  return mutant_said(m, "record %u (%s of %s) is about run %u of %u", NUMBER(m, records, record),
                     mutant_record_name(m, record), m->b->strings + record->path, record->part,
                     record->parts);
}

Mutate *const mutate_constant_ways[] = {
    change_attr,          change_attr,    change_attrs,  change_dims,
    change_flag,          change_key,     change_vary,   change_vary,
    change_distances,     change_pieces,  change_pieces, change_state_axes,
    change_tensor_layout, change_divides, change_part,   NULL};
