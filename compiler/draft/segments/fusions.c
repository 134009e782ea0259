/* fusions.c -- marks records that may be fused with the record before them.
 *
 * fusions.def lists the kernels that may be fused. Two records may be fused if
 *   - the first runs right before the second in every call in which the second runs, on one lane;
 *   - the second reads the result of the first, at the same address;
 *   - neither overwrites another operand of the other.
 * The first may itself be fused with the record before it: a chain has up to FUSED_MOST records,
 * and no record of it overwrites an operand of an earlier one. A rider (RIDER of fusions.def) may
 * run between the two if
 *   - its operand is one that the second reads; the second may overwrite it;
 *   - the rider and either of the two overwrite no other operands of each other.
 * storage.c keeps the operands of such nodes apart. edges.c takes the mark from a record that waits
 * for another lane. plan_check checks the marks again, by addresses. */
#include "kernels/contract/fusions.h"

#include "compiler/draft/segments/segments.h"

static bool is_same(const Operand *a, const Operand *b) {
  return a->base == b->base && a->offset_bytes == b->offset_bytes &&
         a->size_bytes == b->size_bytes && a->dtype == b->dtype;
}

static bool meet(const Operand *a, const Operand *b) {
  return a->base == b->base && a->offset_bytes < b->offset_bytes + b->size_bytes &&
         b->offset_bytes < a->offset_bytes + a->size_bytes;
}

/* True if one record overwrites an operand of the other. The second may overwrite a result of the
 * first that it also reads; if the first is a rider, also an operand that both read. */
static bool disturb(const Record *first, const Record *second, bool is_rider) {
  for (int32_t i = 0; i < first->operand_count; i++) {
    const Operand *a = &first->operands[i];
    bool is_read = false;
    for (int32_t k = 0; k < second->operand_count; k++)
      is_read |= second->operands[k].access != ACCESS_WRITE && is_same(a, &second->operands[k]);
    for (int32_t k = 0; k < second->operand_count; k++) {
      const Operand *b = &second->operands[k];
      bool writes = a->access != ACCESS_READ || b->access != ACCESS_READ;
      bool handed_on = (is_rider || a->access != ACCESS_READ) && is_read && is_same(a, b);
      if (writes && meet(a, b) && !handed_on) return true;
    }
  }
  return false;
}

static bool has(const Record *record, const Operand *operand, Access access) {
  for (int32_t i = 0; i < record->operand_count; i++)
    if (record->operands[i].access == access && is_same(&record->operands[i], operand)) return true;
  return false;
}

/* Bytes that need not be moved if the two are fused, which share an operand by fusions.def: those
 * of the operand once, which the second does not read, and once more where the second writes over
 * it, so that the first does not write it. 0: they may not be fused. */
static int64_t shared_bytes(const Draft *d, const Record *first, const Record *second) {
  if (first->kind != RECORD_KERNEL || first->lane != second->lane ||
      first->operand_count + second->operand_count > FUSED_OPERANDS_MAX ||
      disturb(first, second, false))
    return 0;
  const KernelContract *a = contract_find(first->kernel), *b = contract_find(second->kernel);
  int32_t count;
  const KernelFusion *fusion = contract_fusions(&count);
  if (a->control_count > 0 || b->control_count > 0) return 0;
  for (; count > 0; fusion++, count--) {
    if (fusion->first != a->id || fusion->second != b->id ||
        (fusion->targets >> d->cluster->target & 1u) == 0)
      continue;
    const Operand *made = &first->operands[fusion->first_operand];
    if (!is_same(made, &second->operands[fusion->second_operand])) continue;
    return fusion->over && has(second, made, ACCESS_WRITE) ? 2 * made->size_bytes
                                                           : made->size_bytes;
  }
  return 0;
}

/* The record that runs right before record i in calls with these flags, or NULL. */
static const Record *record_before(const Segment *segment, int32_t i, uint32_t flags) {
  while (i-- > 0)
    if (record_runs(&segment->records.at[i], flags)) return &segment->records.at[i];
  return NULL;
}

static KernelId id_of(const Record *record) {
  return contract_find(record->kernel)->id;
}

/* True if the rider may run between the two, and be fused with both. */
static bool rides(const Draft *d, const Record *first, const Record *rider, const Record *second) {
  if (rider->kind != RECORD_KERNEL || rider->lane != first->lane) return false;
  const KernelRider *row =
      contract_rider(id_of(rider), id_of(first), id_of(second), (KernelTarget)d->cluster->target);
  if (row == NULL) return false;
  const Operand *operand = &rider->operands[row->operand];
  return has(second, operand, ACCESS_READ) && !has(first, operand, ACCESS_WRITE) &&
         !disturb(first, rider, false) && !disturb(rider, second, true) &&
         first->operand_count + rider->operand_count + second->operand_count <= FUSED_OPERANDS_MAX;
}

/* The first record of a pair that may be fused, and the rider between; first NULL: no pair. */
typedef struct FusedPair {
  const Record *first, *between;
} FusedPair;

/* True if a chain that ends with record i, in calls with these flags, may have one record more: it
 * is not full, and `next` disturbs no record of it. A chain with a rider is full. */
static bool goes_on(const Draft *d, const Segment *segment, int32_t i, const Record *next,
                    uint32_t flags) {
  const Record *at = &segment->records.at[i];
  int32_t count = 1, operands = at->operand_count + next->operand_count;
  for (; at->fused_bytes > 0; count++) {
    const Record *before = record_before(segment, (int32_t)(at - segment->records.at), flags);
    if (before == NULL || shared_bytes(d, before, at) == 0 || disturb(before, next, false))
      return false;
    operands += before->operand_count;
    at = before;
  }
  return count < FUSED_MOST && operands <= FUSED_OPERANDS_MAX;
}

/* The pair whose second is record i, in calls with these flags. */
static FusedPair pair_at(const Draft *d, const Segment *segment, int32_t i, uint32_t flags) {
  const Record *second = &segment->records.at[i], *before = record_before(segment, i, flags);
  if (before == NULL) return (FusedPair){0};
  if (shared_bytes(d, before, second) > 0)
    return goes_on(d, segment, (int32_t)(before - segment->records.at), second, flags)
               ? (FusedPair){before, NULL}
               : (FusedPair){0};
  const Record *first = record_before(segment, (int32_t)(before - segment->records.at), flags);
  if (first != NULL && first->fused_bytes > 0) return (FusedPair){0};
  if (first == NULL || shared_bytes(d, first, second) == 0 || !rides(d, first, before, second))
    return (FusedPair){0};
  return (FusedPair){first, before};
}

/* Bytes that the record need not move when it is fused with the record before it. 0 if in some call
 * it is not fused so, and for the third record of a chain, because the first two may be fused
 * without it. */
static int64_t fused_bytes(const Draft *d, const Segment *segment, int32_t i) {
  const Record *record = &segment->records.at[i];
  int64_t bytes = 0;
  for (uint32_t flags = 0; flags < 1u << CALL_FLAGS_BITS; flags++) {
    if (!record_runs(record, flags)) continue;
    const Record *first = pair_at(d, segment, i, flags).first;
    bytes = first == NULL            ? 0
            : first->fused_bytes > 0 ? FUSED_ALONE
                                     : shared_bytes(d, first, record);
    if (bytes == 0) return 0;
  }
  return bytes;
}

/* The place of the record that runs right after record i in calls with these flags, or NO_ID. */
static int32_t place_after(const Segment *segment, int32_t i, uint32_t flags) {
  while (++i < segment->records.count)
    if (record_runs(&segment->records.at[i], flags)) return i;
  return NO_ID;
}

/* Bytes that a fused rider does not read again; 0: in some call no pair takes it. */
static int64_t ridden_bytes(const Draft *d, const Segment *segment, int32_t i) {
  const Record *record = &segment->records.at[i];
  for (uint32_t flags = 0; flags < 1u << CALL_FLAGS_BITS; flags++) {
    if (!record_runs(record, flags)) continue;
    const int32_t next = place_after(segment, i, flags);
    if (next == NO_ID || segment->records.at[next].fused_bytes == 0 ||
        pair_at(d, segment, next, flags).between != record)
      return 0;
  }
  return record->operands[0].size_bytes;
}

/* True if a row RIDER of fusions.def names the kernel. */
static bool is_rider(const Record *record) {
  int32_t count;
  const KernelRider *rider = contract_riders(&count);
  if (record->kind != RECORD_KERNEL) return false;
  for (; count > 0; rider++, count--)
    if (rider->rider == id_of(record)) return true;
  return false;
}

/* True if the kernel is the second of some pair. */
static bool is_second(const Record *record) {
  int32_t count;
  const KernelFusion *fusion = contract_fusions(&count);
  if (record->kind != RECORD_KERNEL) return false;
  KernelId id = id_of(record);
  for (; count > 0; fusion++, count--)
    if (fusion->second == id) return true;
  return false;
}

void records_fuse(Draft *d) {
  for (int32_t s = 0; s < d->segments.count; s++) {
    const Segment *segment = &d->segments.at[s];
    for (int32_t i = 0; i < segment->records.count; i++)
      if (is_second(&segment->records.at[i]))
        segment->records.at[i].fused_bytes = fused_bytes(d, segment, i);
    for (int32_t i = 0; i < segment->records.count; i++)
      if (segment->records.at[i].fused_bytes == 0 && is_rider(&segment->records.at[i]))
        segment->records.at[i].fused_bytes = ridden_bytes(d, segment, i);
  }
}
