/* plan_check_fusions.c -- two records that may be fused (`fuses`) write the same bytes fused or one
 * after the other.
 *
 * Both are kernels of one lane, and the call runs the second right after the first. The second
 * waits for nothing that the first does not wait for, and what it works on is the first's: it reads
 * something that the first reads or has written. Of what the first writes it may touch only that,
 * all of it; and it writes over nothing else that the first touches. Who waits for one of the two
 * waits for both, so no other lane sees a difference. */
#include "runtime/plan/limits.h"
#include "runtime/plan/plan_why.h"

/* The addresses of an operand over all ranks, and the binding that gives the address on each. */
typedef struct RecordPlace {
  const PlanOperand *operand;
  const PlanBinding *binding;
  uint64_t first, end;
  bool is_read, is_written;
} RecordPlace;

static RecordPlace moved(const Plan *plan, RecordPlace place, int64_t stride, uint32_t by) {
  int64_t reach = by == PLAN_NONE ? 0 : (int64_t)(plan_comm_size(plan, by) - 1) * stride;
  if (reach < 0)
    place.first -= (uint64_t)-reach;
  else
    place.end += (uint64_t)reach;
  return place;
}

static RecordPlace place_of(const Plan *plan, const PlanCall *call, uint32_t index) {
  const PlanOperand *operand = &plan->operands[index];
  const PlanBinding *binding = &plan->bindings[call->bindings_first + operand->base];
  uint64_t at = plan_address((Tier)binding->tier, binding->offset) + operand->offset;
  RecordPlace place = {operand,
                       binding,
                       at,
                       at + operand->size_bytes,
                       operand->access != ACCESS_WRITE,
                       operand->access != ACCESS_READ};
  place = moved(plan, place, operand->member_stride, operand->by);
  return moved(plan, place, binding->member_stride, binding->by);
}

/* True if the two are one value on every rank: what all ranks together may touch can be the same
 * where their operands are not. */
static bool is_same(const RecordPlace *a, const RecordPlace *b) {
  return a->first == b->first && a->end == b->end &&
         a->operand->size_bytes == b->operand->size_bytes &&
         a->operand->dtype == b->operand->dtype && a->operand->by == b->operand->by &&
         a->operand->member_stride == b->operand->member_stride &&
         a->binding->by == b->binding->by && a->binding->member_stride == b->binding->member_stride;
}

/* The reason why two records cannot be fused, or NULL. */
static const char *operand_fault(const Plan *plan, const PlanCall *call, const PlanRecord *first,
                                 const PlanRecord *second) {
  bool shares = false;
  RecordPlace of_second[KERNEL_OPERANDS_MAX];
  if (first->operands_count + second->operands_count > KERNEL_OPERANDS_MAX)
    return "the two have too many operands";
  for (uint32_t k = 0; k < second->operands_count; k++)
    of_second[k] = place_of(plan, call, second->operands_first + k);
  for (uint32_t i = 0; i < first->operands_count; i++) {
    const RecordPlace a = place_of(plan, call, first->operands_first + i);
    bool is_read = false; /* by the second, all of it */
    for (uint32_t k = 0; k < second->operands_count; k++)
      is_read = is_read || (of_second[k].is_read && is_same(&a, &of_second[k]));
    shares = shares || is_read;
    for (uint32_t k = 0; k < second->operands_count; k++) {
      const RecordPlace *b = &of_second[k];
      bool meets = a.first < b->end && b->first < a.end && (a.is_written || b->is_written);
      if (meets && !(a.is_written && is_read && is_same(&a, b)))
        return "it touches what the record before it works on";
    }
  }
  return shares ? NULL : "it reads nothing that the record before it has";
}

static const char *fault(const Plan *plan, const PlanCall *call, const PlanRecord *first,
                         const PlanRecord *second) {
  if (first == NULL || first->kind != RECORD_KERNEL) return "no kernel runs right before it";
  if (first->fuses) return "the record before it fuses another one";
  if (first->lane != second->lane) return "the record before it is on another lane";
  if (second->after_count > 0) return "it waits for another lane itself";
  if (first->controls_count > 0 || second->controls_count > 0) return "one of the two has controls";
  return operand_fault(plan, call, first, second);
}

bool plan_check_fusions(const Plan *plan, const PlanCall *call, char *why) {
  const PlanSegment *segment = &plan->segments[call->segment];
  const PlanRecord *before = NULL;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(call, record)) continue;
    const char *found = record->fuses ? fault(plan, call, before, record) : NULL;
    if (found != NULL)
      return plan_refuse(why, "records[%u]: fuses, but in call %u %s", segment->records_first + i,
                         (uint32_t)(call - plan->calls), found);
    before = record;
  }
  return true;
}
