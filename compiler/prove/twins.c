/* twins.c -- no node of the model is carried out twice.
 *
 * Two records of one call and one node that do the same to the same operands, with nothing between
 * them writing what they read, are one record too many: what they add, they add twice, and what
 * they assign, the first one has assigned already.
 *
 * Records of two nodes may do the same: a model may compute one thing twice, and both h of h + h
 * have the same gradient. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/limits.h"

typedef struct Entry {
  uint64_t hash;
  uint32_t record;
} Entry;

static uint64_t hash_record(const Plan *plan, const PlanRecord *record) {
  uint64_t hash = hash_mix(hash_mix(record->kind, record->kernel), record->operands_count);
  hash = hash_mix(hash, record->node);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    hash = hash_mix(hash_mix(hash_mix(hash, operand->base), operand->offset), operand->size_bytes);
  }
  return hash;
}

static int compare_entries(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}

static bool same_array(const void *a, const void *b, uint32_t a_count, uint32_t b_count,
                       size_t item_bytes) {
  return a_count == b_count && memcmp(a, b, a_count * item_bytes) == 0;
}

static bool same(const Plan *plan, const PlanRecord *a, const PlanRecord *b) {
  return a->kind == b->kind && a->path == b->path && a->kernel == b->kernel && a->comm == b->comm &&
         a->key == b->key && a->accumulate == b->accumulate && a->node == b->node &&
         a->purpose == b->purpose && a->value == b->value &&
         same_array(&plan->operands[a->operands_first], &plan->operands[b->operands_first],
                    a->operands_count, b->operands_count, sizeof *plan->operands) &&
         same_array(&plan->ints[a->dims_first], &plan->ints[b->dims_first], a->dims_count,
                    b->dims_count, sizeof *plan->ints) &&
         same_array(&plan->reals[a->attrs_first], &plan->reals[b->attrs_first], a->attrs_count,
                    b->attrs_count, sizeof *plan->reals);
}

static bool meet(const PlanOperand *a, const PlanOperand *b) {
  return a->base == b->base && a->offset < b->offset + b->size_bytes &&
         b->offset < a->offset + a->size_bytes;
}

/* Does a record between the two write what they read, or read what they write? */
static bool in_use_between(const Walk *walk, uint32_t first, uint32_t second) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *twin = walk_record(walk, first);
  for (uint32_t r = first + 1; r < second; r++) {
    const PlanRecord *record = walk_record(walk, r);
    if (!walk_runs(walk, record)) continue;
    for (uint32_t i = 0; i < record->operands_count; i++) {
      const PlanOperand *other = &plan->operands[record->operands_first + i];
      for (uint32_t k = 0; k < twin->operands_count; k++) {
        const PlanOperand *own = &plan->operands[twin->operands_first + k];
        if (own->access != ACCESS_WRITE && other->access != ACCESS_READ && meet(own, other))
          return true;
      }
    }
  }
  return false;
}

static void check_call(const Walk *walk, Entry *entries) {
  const Plan *plan = walk->view->plan;
  uint32_t count = 0;
  for (uint32_t r = 0; r < walk->segment->records_count; r++)
    if (walk_runs(walk, walk_record(walk, r)))
      entries[count++] = (Entry){hash_record(plan, walk_record(walk, r)), r};
  qsort(entries, count, sizeof *entries, compare_entries);
  for (uint32_t i = 1; i < count; i++) {
    uint32_t first = entries[i - 1].record, second = entries[i].record;
    if (entries[i - 1].hash == entries[i].hash &&
        same(plan, walk_record(walk, first), walk_record(walk, second)) &&
        !in_use_between(walk, first, second))
      prove_finding(walk->view, walk, second, "values", "does again what record %u did", first);
  }
}

/* What a segment does depends on the call's flags: each pair is looked at once. */
void prove_twins(const View *view) {
  const Plan *plan = view->plan;
  uint32_t most = 0;
  for (uint32_t i = 0; i < plan->segments_count; i++)
    if (plan->segments[i].records_count > most) most = plan->segments[i].records_count;
  Entry *entries = prove_array(view, most, sizeof *entries);
  uint32_t *seen = prove_array(view, plan->segments_count, sizeof *seen);
  for (uint32_t p = 0; entries != NULL && seen != NULL && p < view->class->programs_count; p++) {
    Walk walk = walk_begin(view, &plan->programs[view->class->programs_first + p]);
    while (walk_next(&walk)) {
      uint32_t bit = 1u << (walk.call->flags & 31u); /* CALL_FLAGS_BITS is 5 */
      if (seen[walk.call->segment] & bit) continue;
      seen[walk.call->segment] |= bit;
      check_call(&walk, entries);
    }
  }
  free(entries), free(seen);
}
