#include "compiler/draft/emit/tables.h"

#include <string.h>

static int32_t find_slot(const Tables *t, const char *text) {
  int32_t at = (int32_t)(hash_text(text) % (uint64_t)t->string_slot_count);
  while (t->string_slots[at] != 0 && strcmp(t->strings.at + t->string_slots[at] - 1, text) != 0)
    at = (at + 1) % t->string_slot_count;
  return at;
}

static void grow_slots(Tables *t) {
  int32_t old_count = t->string_slot_count, *old = t->string_slots;
  t->string_slot_count = old_count == 0 ? 256 : old_count * 2;
  t->string_slots = ARENA_ARRAY(t->arena, int32_t, t->string_slot_count);
  for (int32_t i = 0; i < old_count; i++)
    if (old[i] != 0) t->string_slots[find_slot(t, t->strings.at + old[i] - 1)] = old[i];
}

uint32_t table_string(Tables *t, const char *text) {
  if (text == NULL) text = "";
  if (2 * t->string_count >= t->string_slot_count) grow_slots(t);
  int32_t slot = find_slot(t, text);
  if (t->string_slots[slot] == 0) {
    t->string_slots[slot] = t->strings.count + 1;
    t->string_count++;
    for (const char *c = text;; c++) {
      VEC_PUSH(t->arena, &t->strings, *c);
      if (*c == '\0') break;
    }
  }
  return (uint32_t)(t->string_slots[slot] - 1);
}

uint32_t table_kernel(Tables *t, const char *name) {
  uint32_t text = table_string(t, name);
  for (int32_t i = 0; i < t->kernels.count; i++)
    if (t->kernels.at[i].name == text) return (uint32_t)i;
  TABLE_PUSH(t, kernels, (PlanKernel){.name = text});
  return (uint32_t)t->kernels.count - 1;
}

void table_view(const Tables *t, Plan *plan) {
  *plan = (Plan){0};
#define PLAN_T(Type, table)                                                                        \
  plan->table = t->table.at;                                                                       \
  plan->table##_count = (uint32_t)t->table.count;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}
