/* plan_check_fusions.c -- records that may be fused (`fuses`) write the same bytes fused or one
 * after the other.
 *
 * All are kernels of one lane, and the call runs them in order, with no other record between. None
 * waits for anything that the first does not wait for. Each reads an operand that another one reads
 * or has written. A record may overwrite an operand that an earlier one has written, or that one
 * after the first reads, only if it reads all of it; no record overwrites any other operand of
 * another. A record that waits for one of them waits for all, so no other lane sees a difference.
 */
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

/* Records that are fused in a call, in order. */
typedef struct FusedChain {
  const PlanRecord *record[FUSED_MOST];
  uint32_t number[FUSED_MOST];
  bool shares[FUSED_MOST]; /* the record has an operand in common with another one */
  int32_t count;
} FusedChain;

/* Returns the reason why two records cannot be fused, or NULL. *shares: the second reads an operand
 * that the first reads or has written. may_end: the second record may also overwrite an operand
 * that the first one reads. */
static const char *operand_fault(const Plan *plan, const PlanCall *call, const PlanRecord *first,
                                 const PlanRecord *second, bool may_end, bool *shares) {
  RecordPlace of_second[KERNEL_OPERANDS_MAX];
  for (uint32_t k = 0; k < second->operands_count; k++)
    of_second[k] = place_of(plan, call, second->operands_first + k);
  for (uint32_t i = 0; i < first->operands_count; i++) {
    const RecordPlace a = place_of(plan, call, first->operands_first + i);
    bool is_read = false; /* by the second, all of it */
    for (uint32_t k = 0; k < second->operands_count; k++)
      is_read = is_read || (of_second[k].is_read && is_same(&a, &of_second[k]));
    *shares = *shares || is_read;
    for (uint32_t k = 0; k < second->operands_count; k++) {
      const RecordPlace *b = &of_second[k];
      bool meets = a.first < b->end && b->first < a.end && (a.is_written || b->is_written);
      if (meets && !((may_end || a.is_written) && is_read && is_same(&a, b)))
        return "it overwrites an operand of a record before it, or reads a part of one";
    }
  }
  return NULL;
}

static const char *fault(const Plan *plan, const PlanCall *call, FusedChain *chain,
                         const PlanRecord *next) {
  const PlanRecord *first = chain->count > 0 ? chain->record[0] : NULL;
  uint32_t operands = next->operands_count;
  const char *found = NULL;
  if (first == NULL || first->kind != RECORD_KERNEL) return "no kernel runs right before it";
  if (chain->count == FUSED_MOST)
    return "the records before it are fused already, and no more may be";
  if (first->lane != next->lane) return "the record before it is on another lane";
  if (next->after_count > 0) return "it waits for another lane itself";
  if (first->controls_count > 0 || next->controls_count > 0) return "one of the two has controls";
  for (int32_t i = 0; i < chain->count; i++)
    operands += chain->record[i]->operands_count;
  if (operands > FUSED_OPERANDS_MAX) return "they have too many operands";
  for (int32_t i = 0; i < chain->count && found == NULL; i++) {
    bool shares = false;
    found = operand_fault(plan, call, chain->record[i], next, i > 0, &shares);
    if (shares) chain->shares[i] = chain->shares[chain->count] = true;
  }
  return found;
}

static void add(FusedChain *chain, const PlanRecord *record, uint32_t number) {
  chain->record[chain->count] = record;
  chain->number[chain->count++] = number;
}

static bool refuse(const PlanCall *call, const Plan *plan, uint32_t number, const char *found,
                   char *why) {
  return plan_refuse(why, "records[%u]: fuses, but in call %u %s", number,
                     (uint32_t)(call - plan->calls), found);
}

/* Every record of a complete chain must share an operand with another one. */
static bool check_shares(const Plan *plan, const PlanCall *call, const FusedChain *chain,
                         char *why) {
  for (int32_t i = 1; i < chain->count; i++)
    if (!chain->shares[i])
      return refuse(call, plan, chain->number[i], "it shares no operand with the records before it",
                    why);
  return true;
}

bool plan_check_fusions(const Plan *plan, const PlanCall *call, char *why) {
  const PlanSegment *segment = &plan->segments[call->segment];
  FusedChain chain = {0};
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const uint32_t number = segment->records_first + i;
    const PlanRecord *record = &plan->records[number];
    if (!plan_runs(call, record)) continue;
    const char *found = record->fuses ? fault(plan, call, &chain, record) : NULL;
    if (found != NULL) return refuse(call, plan, number, found, why);
    if (!record->fuses) {
      if (!check_shares(plan, call, &chain, why)) return false;
      chain = (FusedChain){0};
    }
    add(&chain, record, number);
  }
  return check_shares(plan, call, &chain, why);
}
