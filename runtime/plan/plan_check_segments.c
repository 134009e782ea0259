/* plan_check_segments.c -- records and operands: what can be checked of a segment without its
 * calls. */
#include "runtime/plan/limits.h"
#include "runtime/plan/plan_flat.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"
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

/* Elements of an operand, or -1 if its bytes are not a whole number of elements. */
static int64_t elements_of(const PlanOperand *operand) {
  uint64_t unit = (uint64_t)dtype_bytes((DType)operand->dtype);
  return operand->size_bytes % unit == 0 ? (int64_t)(operand->size_bytes / unit) : -1;
}

static const char *kind_name(const PlanRecord *record) {
  return RecordKind_names[record->kind];
}

/* One operand to update, or a source and a destination. */
static bool check_shape(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  const PlanOperand *operand = plan->operands + record->operands_first;
  bool in_place = record->operands_count == 1 && operand[0].access == ACCESS_UPDATE;
  bool two = record->operands_count == 2 && operand[0].access == ACCESS_READ &&
             operand[1].access == ACCESS_WRITE && operand[0].dtype == operand[1].dtype;
  if (two || (in_place && record->kind != RECORD_ALL_TO_ALL)) return true;
  return plan_refuse(why,
                     "records[%u]: operands of %s should be %sa source and a destination of "
                     "one dtype",
                     index, kind_name(record),
                     record->kind == RECORD_ALL_TO_ALL ? "" : "one to update, or ");
}

/* Sums the pairs (times, elements) to the elements of one member. */
static bool sum_pairs(const Plan *plan, const PlanRecord *record, uint32_t index, int64_t *share,
                      char *why) {
  const int64_t *dim = plan->ints + record->dims_first;
  *share = 0;
  if (record->dims_count % 2 != 0)
    return plan_refuse(why, "records[%u]: %u dims of %s are no pairs (times, elements)", index,
                       record->dims_count, kind_name(record));
  for (uint32_t i = 0; i < record->dims_count; i += 2) {
    int64_t bytes = 0;
    if (dim[i] < 1 || dim[i + 1] < 1 || __builtin_mul_overflow(dim[i], dim[i + 1], &bytes) ||
        __builtin_add_overflow(*share, bytes, share))
      return plan_refuse(why, "records[%u]: %lld pieces of %lld elements", index, (long long)dim[i],
                         (long long)dim[i + 1]);
  }
  return true;
}

static bool check_sizes(const Plan *plan, const PlanRecord *record, uint32_t index, int64_t x,
                        int64_t y, char *why) {
  const PlanOperand *operand = plan->operands + record->operands_first;
  const int64_t want[2] = {x, y};
  for (uint32_t i = 0; i < record->operands_count && i < 2; i++)
    if (elements_of(&operand[i]) != want[i])
      return plan_refuse(why,
                         "records[%u]: operand %u of %s has %llu bytes; its pieces are %lld "
                         "elements of %s",
                         index, i, kind_name(record), (unsigned long long)operand[i].size_bytes,
                         (long long)want[i], dtype_name((DType)operand[i].dtype));
  return true;
}

/* A gather's source and a scatter's destination are shares, everything else is whole. */
static bool check_pieces(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  int64_t share = 0, whole = 0, members = plan_comm_size(plan, record->comm);
  if (!sum_pairs(plan, record, index, &share, why)) return false;
  if (record->kind == RECORD_ALL_REDUCE && record->dims_count == 0) {
    whole = elements_of(&plan->operands[record->operands_first]);
    return check_sizes(plan, record, index, whole < 0 ? 0 : whole, whole < 0 ? 0 : whole, why);
  }
  if (share == 0 || __builtin_mul_overflow(share, members, &whole))
    return plan_refuse(why, "records[%u]: %s without pieces, or with too many", index,
                       kind_name(record));
  bool gathers = record->kind == RECORD_ALL_GATHER, reduces = record->kind == RECORD_ALL_REDUCE;
  bool in_place = record->operands_count == 1;
  return check_sizes(plan, record, index, gathers && !in_place ? share : whole,
                     gathers || reduces || in_place ? whole : share, why);
}

static bool check_all_to_all(const Plan *plan, const PlanRecord *record, uint32_t index,
                             char *why) {
  const int64_t *dim = plan->ints + record->dims_first;
  const double *attr = plan->reals + record->attrs_first;
  int64_t elements = plan_comm_size(plan, record->comm);
  if (record->dims_count != 5)
    return plan_refuse(why, "records[%u]: all_to_all has %u dims, not 5", index,
                       record->dims_count);
  for (uint32_t i = 0; i < 5; i++)
    if (dim[i] < 1 || __builtin_mul_overflow(elements, dim[i], &elements))
      return plan_refuse(why, "records[%u]: dim %u of all_to_all is %lld", index, i,
                         (long long)dim[i]);
  if (record->attrs_count > 1 || (record->attrs_count == 1 && attr[0] != 0 && attr[0] != 1))
    return plan_refuse(why, "records[%u]: the direction of all_to_all is 0 or 1", index);
  return check_sizes(plan, record, index, elements, elements, why);
}

static bool check_exchange(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  uint32_t mask = plan->comms[record->comm].axes_mask;
  if (mask == 0 || (mask & (mask - 1)) != 0)
    return plan_refuse(why, "records[%u]: exchange over axes 0x%x; it goes along one axis", index,
                       mask);
  if (record->operands_count == 0 || record->operands_count > KERNEL_OPERANDS_MAX ||
      record->dims_count != record->operands_count)
    return plan_refuse(why, "records[%u]: exchange of %u operands over %u distances", index,
                       record->operands_count, record->dims_count);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    if (operand->access == ACCESS_UPDATE || elements_of(operand) < 0)
      return plan_refuse(why,
                         "records[%u]: operand %u of exchange should be read or written, in "
                         "whole elements",
                         index, i);
  }
  return true;
}

static bool check_flat(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  uint64_t calls = plan_flat_calls((RecordKind)record->kind, plan->ints + record->dims_first,
                                   record->dims_count);
  return record->flat_calls == calls ||
         plan_refuse(why, "records[%u]: %s says %llu flat calls, its pieces are %llu", index,
                     kind_name(record), (unsigned long long)record->flat_calls,
                     (unsigned long long)calls);
}

static bool check_communication(const Plan *plan, const PlanRecord *record, uint32_t index,
                                char *why) {
  if (record->comm == PLAN_NONE)
    return plan_refuse(why, "records[%u]: a communication without a communicator", index);
  if (record->predicted_ns != 0)
    return plan_refuse(why, "records[%u]: %s predicts %lld ns; links price it", index,
                       kind_name(record), (long long)record->predicted_ns);
  if (record->accumulate != 0 || record->varies_count != 0)
    return plan_refuse(why, "records[%u]: %s neither accumulates nor varies", index,
                       kind_name(record));
  bool fits =
      record->kind == RECORD_EXCHANGE
          ? check_exchange(plan, record, index, why)
          : check_shape(plan, record, index, why) &&
                (record->kind == RECORD_ALL_TO_ALL ? check_all_to_all(plan, record, index, why)
                                                   : check_pieces(plan, record, index, why));
  return fits && check_flat(plan, record, index, why);
}

/* True if a decode loads it: one token of each sample instead of a prefill's. */
static bool loads_one_token(const Plan *plan, const PlanRecord *record, uint64_t samples) {
  if (!plan_samples(plan) || record->operands_count == 0) return false;
  const PlanOperand *operand = &plan->operands[record->operands_first];
  return operand->size_bytes == samples * (uint64_t)dtype_bytes((DType)operand->dtype);
}

/* The staging ring holds every input of a micro-batch; a load copies all of them. (A stage that
 * needs none has no load.) */
static bool check_load(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  if (record->operands_count != plan->inputs_count)
    return plan_refuse(why, "records[%u]: loads %u of %u inputs", index, record->operands_count,
                       plan->inputs_count);
  uint64_t samples = (uint64_t)job_microbatch_samples(plan);
  const bool is_one_token = loads_one_token(plan, record, samples);
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    const PlanInput *input = &plan->inputs[i];
    /* plan_check_job has shown that this product does not overflow. */
    const uint64_t elements = is_one_token ? 1 : (uint64_t)input->sample_elements;
    uint64_t bytes = samples * elements * (uint64_t)dtype_bytes((DType)input->dtype);
    if (operand->access != ACCESS_WRITE || operand->dtype != input->dtype ||
        operand->size_bytes != bytes)
      return plan_refuse(why, "records[%u]: operand %u should write %llu bytes of %s", index, i,
                         (unsigned long long)bytes, dtype_name((DType)input->dtype));
  }
  return true;
}

/* One operand in, one out, of equal bytes and dtype: the bytes pass as they are. */
static bool check_copy(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  const PlanOperand *operand = plan->operands + record->operands_first;
  if (record->dims_count + record->attrs_count + record->varies_count + record->accumulate > 0 ||
      record->comm != PLAN_NONE)
    return plan_refuse(why, "records[%u]: a copy has no numbers and no communicator", index);
  return (check_shape(plan, record, index, why) && record->operands_count == 2 &&
          operand[0].size_bytes == operand[1].size_bytes) ||
         plan_refuse(why, "records[%u]: a copy reads one operand and writes one of equal bytes",
                     index);
}

/* At most one for each attr: a walk over the varies of all records is as long as the file. */
static bool check_varies(const Plan *plan, const PlanRecord *record, uint32_t index, char *why) {
  if (record->varies_count > record->attrs_count)
    return plan_refuse(why, "records[%u]: %u of its %u attrs vary", index, record->varies_count,
                       record->attrs_count);
  uint32_t seen = 0;
  for (uint32_t i = 0; i < record->varies_count; i++) {
    const PlanVary *vary = &plan->varies[record->varies_first + i];
    uint32_t members = plan_comm_size(plan, vary->by);
    if (vary->attr >= record->attrs_count || (seen >> vary->attr & 1u) != 0)
      return plan_refuse(why, "varies[%u]: attr %u of %u, or for the second time",
                         record->varies_first + i, vary->attr, record->attrs_count);
    if (vary->values_count != 0 && vary->values_count != members)
      return plan_refuse(why, "varies[%u]: %u values for %u members", record->varies_first + i,
                         vary->values_count, members);
    seen |= 1u << vary->attr;
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
  return check_varies(plan, record, index, why);
}

static bool check_edges(const Plan *plan, const PlanSegment *segment, uint32_t position,
                        char *why) {
  uint32_t index = segment->records_first + position;
  const PlanRecord *record = &plan->records[index];
  for (uint32_t i = 0; i < record->after_count; i++) {
    uint32_t after = plan->edges[record->after_first + i].record;
    if (after >= position)
      return plan_refuse(why, "records[%u].after: %u is no earlier record of its segment", index,
                         after);
    if (plan->records[segment->records_first + after].lane == record->lane)
      return plan_refuse(why, "records[%u].after: %u is on the same lane", index, after);
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
  if (plan_is_host_lane(plan, record->lane) && record->kind != RECORD_KERNEL &&
      !plan_is_copy(record))
    return plan_refuse(why, "records[%u]: %s on lane %s, which is the host's", index,
                       kind_name(record), plan_lane_name(plan, record->lane));
  if (record->fuses > 1 || (record->fuses == 1 && record->kind != RECORD_KERNEL))
    return plan_refuse(why, "records[%u]: %s has fuses %u", index, kind_name(record),
                       record->fuses);
  if (record->parts == 1 || (record->part > 0 && record->part >= record->parts))
    return plan_refuse(why, "records[%u]: run %u of %u", index, record->part, record->parts);
  if (record->purpose == PURPOSE_TRANSFER &&
      (record->kind != RECORD_EXCHANGE || segment->records_count != 1))
    return plan_refuse(why, "records[%u]: a transfer is an exchange alone in its segment", index);
  switch ((RecordKind)record->kind) {
  case RECORD_KERNEL: return check_kernel(plan, record, index, why);
  case RECORD_LOAD:
    return (record->varies_count == 0 ||
            plan_refuse(why, "records[%u]: a load is the same for all members of a communicator",
                        index)) &&
           check_load(plan, record, index, why);
  case RECORD_COPY:
  case RECORD_READ:
  case RECORD_WRITE: return check_copy(plan, record, index, why);
  default: return check_communication(plan, record, index, why);
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
