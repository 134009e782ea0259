#include "compiler/job/change.h"

#include "compiler/job/job_room.h"

enum { CHUNKS = 2 };

int64_t field_number(const Job *job, int32_t field) {
  const void *at = field_at((Job *)job, field);
  switch (spec_fields[field].kind) {
  case KIND_CHOICE: return *(const int32_t *)at;
  case KIND_FLAG: return *(const bool *)at;
  default: return *(const int64_t *)at;
  }
}

void field_change(Job *job, int32_t field, int64_t value) {
  static const char by_change[] = "a change";
  void *at = field_at(job, field);
  switch (spec_fields[field].kind) {
  case KIND_CHOICE: *(int32_t *)at = (int32_t)value; break;
  case KIND_FLAG: *(bool *)at = value != 0; break;
  default: *(int64_t *)at = value; break;
  }
  if (field == FIELD_parallel_pipeline && pipe_rules[value].chunks == 0)
    job->pipeline_chunks = CHUNKS;
  job->set[field] = true;
  job->origin[field] = (Origin){.kind = ORIGIN_OVERRIDE, .span = {.file = by_change}};
}

const char *field_value(Arena *arena, int32_t field, int64_t value) {
  const FieldInfo *info = &spec_fields[field];
  if (field == FIELD_parallel_pipeline && pipe_rules[value].chunks == 0)
    return arena_printf(arena, "{ \"%s\", chunks = %d }", pipe_rules[value].word, CHUNKS);
  if (field == FIELD_parallel_zero_group && value == ZERO_GROUP_NODE) return "\"node\"";
  if (info->kind == KIND_CHOICE)
    return arena_printf(arena, "\"%s\"", word_at(arena, info->values, (int32_t)value));
  if (info->kind == KIND_FLAG) return value != 0 ? "true" : "false";
  return arena_printf(arena, "%lld", (long long)value);
}

const char *field_key(int32_t field) {
  return spec_fields[field].key;
}
