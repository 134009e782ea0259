#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_text.h"

#define PLAN_E(name)           const char *const name##_names[] = {
#define PLAN_V(constant, text) text,
#define PLAN_X(name)                                                                               \
  }                                                                                                \
  ;
PLAN_ENUMS(PLAN_E, PLAN_V, PLAN_X)
#undef PLAN_E
#undef PLAN_V
#undef PLAN_X
const char *const DType_names[] = {"fp32", "bf16", "i32",  "fp64", "i16",
                                   "fp16", "e4m3", "e5m2", "u8"};
_Static_assert(sizeof DType_names / sizeof *DType_names == DTYPE_COUNT, "dtype.h has more");
const char *const CALL_names[CALL_FLAGS_BITS] = {"first_microbatch", "last_microbatch",
                                                 "first_layer", "last_layer", "group_last"};

static uint32_t hash_text(const char *text) {
  uint32_t hash = 2166136261u;
  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash ^ hash >> 15;
}

/* The slot of `text`, or the empty slot where it would go. */
static uint32_t *find_slot(const PlanNames *names, const char *text) {
  uint32_t mask = names->slot_count - 1;
  for (uint32_t at = hash_text(text) & mask;; at = (at + 1) & mask) {
    uint32_t *slot = &names->slot[at];
    if (*slot == 0 || strcmp(names->strings + *slot - 1, text) == 0) return slot;
  }
}

bool plan_names_begin(PlanNames *names, const char *strings, uint32_t strings_count) {
  uint32_t text_count = 0;
  for (uint32_t i = 0; i < strings_count; i++)
    text_count += strings[i] == '\0';
  uint32_t slot_count = 16;
  while (slot_count < 2 * (uint64_t)text_count && slot_count < 1u << 31)
    slot_count *= 2;
  *names = (PlanNames){strings, calloc(slot_count, sizeof(uint32_t)), slot_count};
  if (names->slot == NULL) return false;
  for (uint32_t at = 0; at < strings_count; at += (uint32_t)strlen(strings + at) + 1) {
    uint32_t *slot = find_slot(names, strings + at);
    if (*slot == 0) *slot = at + 1;
  }
  return true;
}

uint32_t plan_names_find(const PlanNames *names, const char *text) {
  return *find_slot(names, text) - 1; /* 0 - 1 is PLAN_NONE */
}

void plan_names_end(PlanNames *names) {
  free(names->slot);
  *names = (PlanNames){0};
}
