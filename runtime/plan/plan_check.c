/* plan_check.c -- the generic half of the check, made from plan.def: every field refers to
 * something that exists. */
#include <stdarg.h>

#include "runtime/plan/plan_why.h"

bool plan_refuse(char *why, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(why, PLAN_WHY_BYTES, format, list);
  va_end(list);
  return false;
}

/* bounds_TABLE: fields of every record of the table. */
#define AT(f) "%s[%u]." #f ": "
#define TABLE(Type, table)                                                                         \
  static bool bounds_##table(const Plan *plan, char *why) {                                        \
    const char *name = #table;                                                                     \
    for (uint32_t i = 0; i < plan->table##_count; i++) {                                           \
      const Type *record = &plan->table[i];                                                        \
      (void)record, (void)name;
#define END(Type, table)                                                                           \
  }                                                                                                \
  (void)why;                                                                                       \
  return true;                                                                                     \
  }
#define U32(f)
#define I32(f)
#define U64(f)
#define I64(f)
#define F64(f)
#define STR(f)                                                                                     \
  if (record->f >= plan->strings_count)                                                            \
    return plan_refuse(why, AT(f) "no string at %u", name, i, record->f);
#define ENUM(f, e)                                                                                 \
  if (record->f >= e##_COUNT) return plan_refuse(why, AT(f) "%u is no " #e, name, i, record->f);
#define REF(f, t)                                                                                  \
  if (record->f >= plan->t##_count)                                                                \
    return plan_refuse(why, AT(f) "no " #t "[%u]", name, i, record->f);
#define OPT(f, t)                                                                                  \
  if (record->f != PLAN_NONE && record->f >= plan->t##_count)                                      \
    return plan_refuse(why, AT(f) "no " #t "[%u]", name, i, record->f);
#define RANGE(f, t)                                                                                \
  if ((uint64_t)record->f##_first + record->f##_count > plan->t##_count)                           \
    return plan_refuse(why, AT(f) #t "[%u..+%u) has %u records", name, i, record->f##_first,       \
                       record->f##_count, plan->t##_count);
#define FLAGS(f)                                                                                   \
  if (record->f >> CALL_FLAGS_BITS != 0)                                                           \
    return plan_refuse(why, AT(f) "unknown flags 0x%x", name, i, record->f);
#define PAD(f)                                                                                     \
  if (record->f != 0) return plan_refuse(why, AT(f) "%u, must be 0", name, i, record->f);
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"
#undef AT

static bool check_bounds(const Plan *plan, char *why) {
  if (plan->strings_count == 0 || plan->strings[plan->strings_count - 1] != '\0')
    return plan_refuse(why, "strings: does not end with a NUL");
#define TABLE(Type, table)                                                                         \
  if (!bounds_##table(plan, why)) return false;
#define END(Type, table)
#define U32(f)
#define I32(f)
#define U64(f)
#define I64(f)
#define F64(f)
#define STR(f)
#define ENUM(f, e)
#define REF(f, t)
#define OPT(f, t)
#define RANGE(f, t)
#define FLAGS(f)
#define PAD(f)
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"
  return true;
}

/* Ranges of owners must be ascending and disjoint, so that a walk over all owners visits each
 * record once: even a hostile plan cannot make a walk longer than its file. */
#define OWNS(table, field)                                                                         \
  for (uint32_t i = 0, end = 0; i < plan->table##_count; i++) {                                    \
    if (plan->table[i].field##_count == 0) continue;                                               \
    if (plan->table[i].field##_first < end)                                                        \
      return plan_refuse(why,                                                                      \
                         #table "[%u]." #field ": starts at %u, but the one before ends at %u", i, \
                         plan->table[i].field##_first, end);                                       \
    end = plan->table[i].field##_first + plan->table[i].field##_count;                             \
  }

static bool check_owners(const Plan *plan, char *why) {
  OWNS(classes, arenas)
  OWNS(classes, bounds)
  OWNS(classes, programs)
  OWNS(classes, buffers)
  OWNS(classes, tensors)
  OWNS(programs, peaks)
  OWNS(programs, parts)
  OWNS(programs, calls)
  OWNS(programs, loops)
  OWNS(programs, launches)
  OWNS(calls, waits)
  OWNS(layouts, dims)
  OWNS(layout_dims, cuts)
  OWNS(segments, bases)
  OWNS(segments, records)
  OWNS(records, after)
  return true;
}

bool plan_check(const Plan *plan, char why[PLAN_WHY_BYTES]) {
  return check_bounds(plan, why) && check_owners(plan, why) && plan_check_settings(plan, why) &&
         plan_check_mesh(plan, why) && plan_check_job(plan, why) && plan_check_control(plan, why) &&
         plan_check_places(plan, why) && plan_check_model(plan, why) &&
         plan_check_segments(plan, why) && plan_check_classes(plan, why) &&
         plan_check_mirrors(plan, why);
}
