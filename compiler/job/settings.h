/* settings.h -- the keys of a resolved job with typed values, as the plan has them. */
#ifndef LOCKSTEP_SETTINGS_H
#define LOCKSTEP_SETTINGS_H

#include "compiler/job/job.h"

/* A key of the resolved job: equal values are equal rows. */
typedef struct ResolvedKey {
  SettingEffect effect;
  SettingKind kind;
  int64_t count; /* of a count; of a flag 0 or 1 */
  double real;
  const char *text;         /* of a text; of a number its unit, or "" */
  const char *key, *origin; /* "optimizer.lr"; "job: tiny.lua:8:29" */
} ResolvedKey;
typedef VEC(ResolvedKey) SettingList;

/* The effect of another value of a key on a run that is resumed. field -1: the effect of the word
 * that is the section's value. */
SettingEffect spec_effect(int32_t section, int32_t field);

/* Every key, of a job that compile has completed. */
SettingList spec_settings(Arena *arena, const Job *job, const Derived *derived);

#endif
