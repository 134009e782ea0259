/* scratch.c -- the scratch of a kernel is a function of its sizes.
 *
 * A kernel lives within what it is given, and cuts its sums into as many parts as fit: with less
 * room it rounds otherwise. So wherever it has the same sizes and dtypes it has the same room. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"

typedef struct Room {
  uint64_t key; /* of kernel, dims and dtypes */
  uint64_t size_bytes;
  uint32_t segment, record;
} Room;

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u + value;
  return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
}

static uint64_t key_of(const Plan *plan, const PlanRecord *record) {
  uint64_t key = mix(record->kernel, record->operands_count);
  for (uint32_t i = 0; i < record->dims_count; i++)
    key = mix(key, (uint64_t)plan->ints[record->dims_first + i]);
  for (uint32_t i = 0; i < record->operands_count; i++)
    key = mix(key, plan->operands[record->operands_first + i].dtype);
  return key;
}

static int compare(const void *a, const void *b) {
  const Room *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  if (x->segment != y->segment) return x->segment < y->segment ? -1 : 1;
  return x->record < y->record ? -1 : x->record > y->record;
}

/* The last operand of the contract, when it is scratch. */
static bool has_scratch(const Plan *plan, const PlanRecord *record) {
  if (record->kind != RECORD_KERNEL || record->operands_count == 0) return false;
  const char *contract = kernel_contract(plan_string(plan, plan->kernels[record->kernel].name));
  if (contract == NULL || contract[strlen(contract) - 1] != 'S') return false;
  uint32_t operands = 1;
  for (const char *at = contract; *at != '\0'; at++)
    operands += *at == ' ';
  return operands == record->operands_count;
}

static uint32_t collect(const Plan *plan, Room *rooms) {
  uint32_t count = 0;
  for (uint32_t s = 0; s < plan->segments_count; s++)
    for (uint32_t i = 0; i < plan->segments[s].records_count; i++) {
      const PlanRecord *record = &plan->records[plan->segments[s].records_first + i];
      if (!has_scratch(plan, record)) continue;
      const PlanOperand *scratch =
          &plan->operands[record->operands_first + record->operands_count - 1];
      rooms[count++] = (Room){key_of(plan, record), scratch->size_bytes, s, i};
    }
  return count;
}

void prove_scratch(const Plan *plan, ProveReport *report) {
  View view = {.plan = plan, .report = report};
  Room *rooms = prove_array(&view, plan->records_count, sizeof *rooms);
  if (rooms == NULL) return;
  uint32_t count = collect(plan, rooms);
  qsort(rooms, count, sizeof *rooms, compare);
  for (uint32_t i = 1; i < count; i++) {
    const Room *a = &rooms[i - 1], *b = &rooms[i];
    if (a->key == b->key && a->size_bytes != b->size_bytes)
      prove_finding(&view, NULL, -1, "shapes",
                    "segment %.40s record %u has %llu bytes of scratch, %.40s record %u has %llu "
                    "for the same sizes",
                    plan_string(plan, plan->segments[a->segment].name), a->record,
                    (unsigned long long)a->size_bytes,
                    plan_string(plan, plan->segments[b->segment].name), b->record,
                    (unsigned long long)b->size_bytes);
  }
  free(rooms);
}
