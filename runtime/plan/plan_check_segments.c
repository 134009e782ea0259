/* plan_check_segments.c -- records and operands: what can be said of a segment before any call of
 * it. */
#include "runtime/plan/limits.h"
#include "runtime/plan/plan_why.h"

/* offset + member * stride + size <= limit for every member. */
static bool check_operand(const Plan *plan, const PlanSegment *segment, uint32_t index, char *why) {
  const PlanOperand *operand = &plan->operands[index];
  if (operand->base >= segment->bases_count)
    return plan_refuse(why, "operands[%u]: segment %s has no base %u", index,
                       plan_string(plan, segment->name), operand->base);
  const PlanBase *base = &plan->bases[segment->bases_first + operand->base];
  const char *name = plan_string(plan, base->name);
  uint64_t end = 0, shift = 0;
  if (operand->by == PLAN_NONE) {
    if (operand->member_stride != 0)
      return plan_refuse(why, "operands[%u]: a member_stride without a communicator", index);
  } else if (operand->member_stride < 0 ||
             __builtin_mul_overflow((uint64_t)operand->member_stride,
                                    (uint64_t)plan_comm_size(plan, operand->by) - 1, &shift)) {
    return plan_refuse(why, "operands[%u]: outside base %s", index, name);
  }
  if (__builtin_add_overflow(operand->offset, operand->size_bytes, &end) ||
      __builtin_add_overflow(end, shift, &end) || end > base->size_bytes)
    return plan_refuse(why, "operands[%u]: outside base %s of %llu bytes", index, name,
                       (unsigned long long)base->size_bytes);
  uint64_t unit = (uint64_t)dtype_bytes((DType)operand->dtype);
  if (operand->offset % unit != 0 || (uint64_t)operand->member_stride % unit != 0)
    return plan_refuse(why, "operands[%u]: not aligned to %s", index,
                       dtype_name((DType)operand->dtype));
  return true;
}

static bool is_whole(const PlanOperand *operand) {
  return operand->size_bytes % (uint64_t)dtype_bytes((DType)operand->dtype) == 0;
}

static bool check_collective(const Plan *plan, const PlanRecord *record, uint32_t index,
                             char *why) {
  const PlanOperand *operand = plan->operands + record->operands_first;
  if (record->comm == PLAN_NONE)
    return plan_refuse(why, "records[%u]: a communication without a communicator", index);
  if (record->kind == RECORD_EXCHANGE) return true;
  bool in_place = record->kind == RECORD_ALL_REDUCE;
  bool shaped = in_place
                    ? record->operands_count == 1 && operand[0].access == ACCESS_UPDATE
                    : record->operands_count == 2 && operand[0].access == ACCESS_READ &&
                          operand[1].access == ACCESS_WRITE && operand[0].dtype == operand[1].dtype;
  if (!shaped)
    return plan_refuse(why, "records[%u]: operands should be %s", index,
                       in_place ? "one to update" : "a source and a destination of one dtype");
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (!is_whole(&operand[i]))
      return plan_refuse(why, "records[%u]: %llu bytes are no whole number of %s", index,
                         (unsigned long long)operand[i].size_bytes,
                         dtype_name((DType)operand[i].dtype));
  return true;
}

/* The staging ring holds every input of a micro-batch; a load copies all of them. */
static bool check_load(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  if (record->operands_count != plan->inputs_count)
    return plan_refuse(why, "records[%u]: loads %u of %u inputs", index, record->operands_count,
                       plan->inputs_count);
  uint64_t samples = (uint64_t)plan->jobs[0].microbatch_samples;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    const PlanInput *input = &plan->inputs[i];
    /* plan_check_job made sure that this product fits. */
    uint64_t bytes =
        samples * (uint64_t)input->sample_elements * (uint64_t)dtype_bytes((DType)input->dtype);
    if (operand->access != ACCESS_WRITE || operand->dtype != input->dtype ||
        operand->size_bytes != bytes)
      return plan_refuse(why, "records[%u]: operand %u should write %llu bytes of %s", index, i,
                         (unsigned long long)bytes, dtype_name((DType)input->dtype));
  }
  return true;
}

static bool check_kernel(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  if (record->kernel == PLAN_NONE)
    return plan_refuse(why, "records[%u]: a kernel record without a kernel", index);
  const char *name = plan_string(plan, plan->kernels[record->kernel].name);
  if (record->operands_count > KERNEL_OPERANDS_MAX || record->dims_count > KERNEL_DIMS_MAX ||
      record->attrs_count > KERNEL_ATTRS_MAX)
    return plan_refuse(why, "records[%u]: %s has %u operands, %u dims, %u attrs: too many", index,
                       name, record->operands_count, record->dims_count, record->attrs_count);
  return true;
}

static bool check_edges(const Plan *plan, const PlanSegment *segment, uint32_t position,
                        char *why) {
  uint32_t index = segment->records_first + position;
  const PlanRecord *record = &plan->records[index];
  const int32_t after[4] = {record->after0, record->after1, record->after2, record->after3};
  for (int i = 0; i < 4; i++) {
    if (after[i] == -1) continue;
    if (after[i] < 0 || (uint32_t)after[i] >= position)
      return plan_refuse(why, "records[%u].after%d: %d is no earlier record of its segment", index,
                         i, after[i]);
    if (plan->records[segment->records_first + (uint32_t)after[i]].lane == record->lane)
      return plan_refuse(why, "records[%u].after%d: %d is on the same lane", index, i, after[i]);
  }
  return true;
}

static bool check_record(const Plan *plan, const PlanSegment *segment, uint32_t position,
                         char *why) {
  uint32_t index = segment->records_first + position;
  const PlanRecord *record = &plan->records[index];
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (!check_operand(plan, segment, record->operands_first + i, why)) return false;
  if (!check_edges(plan, segment, position, why)) return false;
  switch ((RecordKind)record->kind) {
  case RECORD_KERNEL: return check_kernel(plan, record, index, why);
  case RECORD_LOAD: return check_load(plan, record, index, why);
  default: return check_collective(plan, record, index, why);
  }
}

bool plan_check_segments(const Plan *plan, char *why) {
  for (uint32_t s = 0; s < plan->segments_count; s++)
    for (uint32_t i = 0; i < plan->segments[s].records_count; i++)
      if (!check_record(plan, &plan->segments[s], i, why)) return false;
  for (uint32_t i = 0; i < plan->kernels_count; i++)
    if (*plan_string(plan, plan->kernels[i].name) == '\0')
      return plan_refuse(why, "kernels[%u]: no name", i);
  return true;
}
