/* tables.h -- the tables of a plan while they grow. */
#ifndef LOCKSTEP_EMIT_TABLES_H
#define LOCKSTEP_EMIT_TABLES_H

#include "compiler/schedule/draft.h"

typedef struct Tables {
  Arena *arena;
  int32_t *string_slots; /* open addressing: offset + 1 of each string, 0 = free */
  int32_t string_slot_count, string_count;
#define PLAN_T(Type, table) VEC(Type) table;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
} Tables;

#define TABLE_PUSH(t, table, ...) VEC_PUSH((t)->arena, &(t)->table, __VA_ARGS__)

void emit_settings(Tables *t, const Draft *d);

uint32_t table_string(Tables *t, const char *text); /* NULL is "" */
uint32_t table_kernel(Tables *t, const char *name);

#endif
