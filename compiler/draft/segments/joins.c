/* joins.c -- marks records that may run as one with the record before them.
 *
 * Which kernels may is said by joins.def. Two records may if, whatever the flags of a call, the
 * first runs right before the second whenever that runs, on the same lane; the second reads what
 * the first has made, at the same place; and neither writes over anything else of the other.
 * storage.c keeps the memory of such nodes apart; what edges.c finds to wait for another lane is
 * left out there. plan_check looks again, by addresses. */
#include "kernels/contract/joins.h"

#include "compiler/draft/segments/segments.h"

static bool is_same(const Operand *a, const Operand *b) {
  return a->base == b->base && a->offset_bytes == b->offset_bytes &&
         a->size_bytes == b->size_bytes && a->dtype == b->dtype;
}

static bool meet(const Operand *a, const Operand *b) {
  return a->base == b->base && a->offset_bytes < b->offset_bytes + b->size_bytes &&
         b->offset_bytes < a->offset_bytes + a->size_bytes;
}

/* Whether one of the two writes over what is the other's; of what the first writes, the second may
 * have what it reads whole. */
static bool disturb(const Record *first, const Record *second) {
  for (int32_t i = 0; i < first->operand_count; i++) {
    const Operand *a = &first->operands[i];
    bool is_read = false;
    for (int32_t k = 0; k < second->operand_count; k++)
      is_read |= second->operands[k].access != ACCESS_WRITE && is_same(a, &second->operands[k]);
    for (int32_t k = 0; k < second->operand_count; k++) {
      const Operand *b = &second->operands[k];
      bool writes = a->access != ACCESS_READ || b->access != ACCESS_READ;
      bool handed_on = a->access != ACCESS_READ && is_read && is_same(a, b);
      if (writes && meet(a, b) && !handed_on) return true;
    }
  }
  return false;
}

/* Bytes of the operand that the two have in common by joins.def; 0: they may not run as one. A
 * second that adds to what is there runs alone: what ends a product in a library assigns. */
static int64_t shared_bytes(const Draft *d, const Record *first, const Record *second) {
  if (first->kind != RECORD_KERNEL || first->joined_bytes > 0 || first->lane != second->lane ||
      second->accumulate || first->operand_count + second->operand_count > KERNEL_OPERANDS_MAX ||
      disturb(first, second))
    return 0;
  const KernelContract *a = contract_find(first->kernel), *b = contract_find(second->kernel);
  int32_t count;
  const KernelJoin *join = contract_joins(&count);
  if (a->control_count > 0 || b->control_count > 0) return 0;
  for (; count > 0; join++, count--) {
    if (join->first != a->id || join->second != b->id ||
        (join->targets >> d->cluster->target & 1u) == 0)
      continue;
    const Operand *made = &first->operands[join->first_operand];
    if (is_same(made, &second->operands[join->second_operand])) return made->size_bytes;
  }
  return 0;
}

/* The record that runs right before record i in calls with these flags, or NULL. */
static const Record *record_before(const Segment *segment, int32_t i, uint32_t flags) {
  while (i-- > 0)
    if (record_runs(&segment->records.at[i], flags)) return &segment->records.at[i];
  return NULL;
}

static int64_t joined_bytes(const Draft *d, const Segment *segment, int32_t i) {
  const Record *record = &segment->records.at[i];
  int64_t bytes = 0;
  for (uint32_t flags = 0; flags < 1u << CALL_FLAGS_BITS; flags++) {
    if (!record_runs(record, flags)) continue;
    const Record *before = record_before(segment, i, flags);
    bytes = before != NULL ? shared_bytes(d, before, record) : 0;
    if (bytes == 0) return 0;
  }
  return bytes;
}

/* Whether the kernel is the second of some pair. */
static bool is_second(const Record *record) {
  int32_t count;
  const KernelJoin *join = contract_joins(&count);
  if (record->kind != RECORD_KERNEL) return false;
  KernelId id = contract_find(record->kernel)->id;
  for (; count > 0; join++, count--)
    if (join->second == id) return true;
  return false;
}

void records_join(Draft *d) {
  for (int32_t s = 0; s < d->segments.count; s++) {
    const Segment *segment = &d->segments.at[s];
    for (int32_t i = 0; i < segment->records.count; i++)
      if (is_second(&segment->records.at[i]))
        segment->records.at[i].joined_bytes = joined_bytes(d, segment, i);
  }
}
