/* plan_job.h -- the job that a plan carries out: accessors of the rows at the head of `settings`,
 * one for each row of settings.def. job_steps(plan) is the number of train.steps. Any plan that
 * plan_check accepts has all rows. */
#ifndef LOCKSTEP_PLAN_JOB_H
#define LOCKSTEP_PLAN_JOB_H

#include <string.h>

#include "runtime/plan/plan.h"

/* The places of the rows in `settings`. */
typedef enum JobRow {
#define COUNT(name, key, least) JOB_##name,
#define U64(name, key)          JOB_##name,
#define U32(name, key, least)   JOB_##name,
#define F64(name, key)          JOB_##name,
#define FLAG(name, key)         JOB_##name,
#define WORD(name, key, Enum)   JOB_##name,
#define TEXT(name, key)         JOB_##name,
#include "runtime/plan/settings.def"
#include "runtime/plan/settings_undef.h"
  JOB_ROW_COUNT
} JobRow;

/* A row as settings.def lists it. */
typedef struct JobRowInfo {
  const char *name, *key;
  SettingKind kind;
  int64_t least, most;      /* of a count */
  const char *const *words; /* of a constant: its names, word_count of them; NULL: any text */
  uint32_t word_count;
} JobRowInfo;

extern const JobRowInfo job_rows[JOB_ROW_COUNT];

/* False: the plan has no rows, because it is not a plan that compile has completed. */
static inline bool plan_has_job(const Plan *plan) {
  return plan->settings_count >= JOB_ROW_COUNT;
}

uint32_t job_word(const Plan *plan, JobRow row); /* the constant */
const char *job_text(const Plan *plan, JobRow row);

#define ACCESSOR(type, name, value)                                                                \
  static inline type job_##name(const Plan *plan) {                                                \
    return (type)(value);                                                                          \
  }
#define COUNT(name, key, least) ACCESSOR(int64_t, name, plan->settings[JOB_##name].count)
#define U64(name, key)          ACCESSOR(uint64_t, name, plan->settings[JOB_##name].count)
#define U32(name, key, least)   ACCESSOR(uint32_t, name, plan->settings[JOB_##name].count)
#define F64(name, key)          ACCESSOR(double, name, plan->settings[JOB_##name].real)
#define FLAG(name, key)         ACCESSOR(bool, name, plan->settings[JOB_##name].count != 0)
#define WORD(name, key, Enum)   ACCESSOR(Enum, name, job_word(plan, JOB_##name))
#define TEXT(name, key)         ACCESSOR(const char *, name, job_text(plan, JOB_##name))
#include "runtime/plan/settings.def"
#include "runtime/plan/settings_undef.h"
#undef ACCESSOR

/* The plan draws tokens. */
static inline bool job_draws(const Plan *plan) {
  return strcmp(job_loss(plan), "draw") == 0;
}

/* The plan hands out what the loss would compare. */
static inline bool job_predicts(const Plan *plan) {
  return strcmp(job_loss(plan), "pick") == 0;
}

/* Tokens of a sample; 1 for tables of numbers. */
static inline int64_t job_sample_tokens(const Plan *plan) {
  return job_context(plan) > 0 ? job_context(plan) : 1;
}

/* The last step of the decay. */
static inline int64_t job_decay_steps(const Plan *plan) {
  return job_schedule_over(plan) > 0 ? job_schedule_over(plan) : job_steps(plan);
}

/* One of the two is 0. Both 0: no checkpoint, not even at the end. */
int64_t job_checkpoint_every_steps(const Plan *plan);
int64_t job_checkpoint_every_s(const Plan *plan);

Resume job_resume(const Plan *plan);
const char *job_resume_path(const Plan *plan); /* of RESUME_PATH; else "" */

/* NULL: the plan has no such key. */
const PlanSetting *plan_setting(const Plan *plan, const char *key);

/* The value as people read it and as checkpoints compare it: equal values are equal texts. The text
 * is in `number`, which is large enough for any number and its unit, or in the plan. */
enum { SETTING_NUMBER_BYTES = 64 };
const char *plan_setting_text(const Plan *plan, const PlanSetting *setting,
                              char number[SETTING_NUMBER_BYTES]);

/* True for a key of the job: what follows from job and machine is no part of what a checkpoint
 * compares. */
static inline bool plan_setting_is_key(const PlanSetting *setting) {
  return setting->effect != SETTING_DERIVED;
}

#endif
