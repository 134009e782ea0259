#include "tests/unit/plan_builder.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *items, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return items;
  *capacity = *capacity ? *capacity * 2 : 16;
  items = realloc(items, *capacity * item_bytes);
  if (items == NULL) abort();
  return items;
}

#define PLAN_T(Type, table)                                                                        \
  uint32_t build_##table(PlanBuilder *builder, Type record) {                                      \
    builder->table =                                                                               \
        grown(builder->table, builder->table##_count, &builder->table##_capacity, sizeof record);  \
    builder->table[builder->table##_count] = record;                                               \
    return builder->table##_count++;                                                               \
  }
PLAN_TABLES(PLAN_T)
#undef PLAN_T

uint32_t build_string(PlanBuilder *builder, const char *text) {
  size_t length = strlen(text) + 1;
  for (uint32_t at = 0; at < builder->strings_count;
       at += (uint32_t)strlen(builder->strings + at) + 1)
    if (strcmp(builder->strings + at, text) == 0) return at;
  uint32_t offset = builder->strings_count;
  for (size_t i = 0; i < length; i++)
    build_strings(builder, text[i]);
  return offset;
}

Plan build_view(const PlanBuilder *builder) {
  Plan plan = {0};
#define PLAN_T(Type, name)                                                                         \
  plan.name = builder->name;                                                                       \
  plan.name##_count = builder->name##_count;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  return plan;
}

static void *copied(const void *items, uint32_t count, size_t item_bytes) {
  void *copy = malloc((count + 1) * item_bytes);
  if (copy == NULL) abort();
  if (count > 0) memcpy(copy, items, count * item_bytes);
  return copy;
}

void build_copy(PlanBuilder *builder, const Plan *plan) {
#define PLAN_T(Type, table)                                                                        \
  builder->table = copied(plan->table, plan->table##_count, sizeof(Type));                         \
  builder->table##_count = plan->table##_count;                                                    \
  builder->table##_capacity = plan->table##_count + 1;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}

void build_free(PlanBuilder *builder) {
#define PLAN_T(Type, table) free(builder->table);
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  *builder = (PlanBuilder){0};
}

void build_peaks(PlanBuilder *b) {
  for (uint32_t c = 0; c < b->classes_count; c++) {
    for (uint32_t p = 0; p < b->classes[c].programs_count; p++) {
      uint32_t index = b->classes[c].programs_first + p;
      PlanProgram *program = &b->programs[index];
      program->peak_bytes = program->live_bytes = 0;
      for (uint32_t call = 0; call == 0 || call < program->calls_count; call++) {
        uint64_t live = 0;
        for (uint32_t i = 0; i < b->classes[c].buffers_count; i++) {
          const PlanBuffer *buffer = &b->buffers[b->classes[c].buffers_first + i];
          bool persistent = buffer->program == PLAN_NONE;
          if (!persistent &&
              (buffer->program != index || buffer->first_call > call || buffer->last_call < call))
            continue;
          live += (buffer->size_bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
          if (buffer->offset + buffer->size_bytes > program->peak_bytes)
            program->peak_bytes = buffer->offset + buffer->size_bytes;
        }
        if (live > program->live_bytes) program->live_bytes = live;
      }
    }
  }
}
