/* plan_check_settings.c -- checks that the rows of settings.def come first, that each has a value
 * of its kind, and that no other row has one of their keys: a second row could be compared with a
 * checkpoint while the first one is used. */
#include <string.h>

#include "runtime/plan/control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"
#include "runtime/plan/plan_why.h"

/* A number that the kind of the row does not use is 0, so that equal settings are equal bytes. */
static bool check_kind(const Plan *plan, uint32_t index, char *why) {
  const PlanSetting *row = &plan->settings[index];
  const bool has_count = row->kind == SETTING_COUNT || row->kind == SETTING_FLAG;
  const bool has_text =
      row->kind == SETTING_TEXT || row->kind == SETTING_COUNT || row->kind == SETTING_REAL;
  const bool is_used = (has_count || row->count == 0) &&
                       (row->kind == SETTING_REAL || row->real == 0) &&
                       (has_text || *plan_string(plan, row->text) == '\0');
  if (!is_used || (row->kind == SETTING_FLAG && row->count != 0 && row->count != 1))
    return plan_refuse(why, "settings[%u] (%.40s): not a value of kind %s", index,
                       plan_string(plan, row->key), SettingKind_names[row->kind]);
  return true;
}

static bool check_word(const Plan *plan, uint32_t index, char *why) {
  const JobRowInfo *info = &job_rows[index];
  const char *text = plan_string(plan, plan->settings[index].text);
  if (info->words == NULL || *text == '\0') return true;
  for (uint32_t i = 0; i < info->word_count; i++)
    if (strcmp(info->words[i], text) == 0) return true;
  return plan_refuse(why, "settings[%u]: %s is '%.40s', no word that this program knows", index,
                     info->key, text);
}

/* In place of a number there may be a word, or nothing: they read as 0. */
static bool check_row(const Plan *plan, uint32_t index, char *why) {
  const JobRowInfo *info = &job_rows[index];
  const PlanSetting *row = &plan->settings[index];
  const char *key = plan_string(plan, row->key);
  if (strcmp(key, info->key) != 0)
    return plan_refuse(why, "settings[%u]: %.40s, expected %s", index, key, info->key);
  if (row->kind != (uint32_t)info->kind && row->kind != SETTING_NONE && row->kind != SETTING_TEXT)
    return plan_refuse(why, "settings[%u]: %s is a %s, expected a %s", index, key,
                       SettingKind_names[row->kind], SettingKind_names[info->kind]);
  if ((row->effect == SETTING_DERIVED) != (strncmp(key, "plan.", 5) == 0))
    return plan_refuse(why, "settings[%u]: %s has effect %s", index, key,
                       SettingEffect_names[row->effect]);
  if (info->kind == SETTING_COUNT && row->count < info->least)
    return plan_refuse(why, "settings[%u]: %s is %lld, at least %lld", index, key,
                       (long long)row->count, (long long)info->least);
  if (info->kind == SETTING_COUNT && row->count > info->most)
    return plan_refuse(why, "settings[%u]: %s is %lld, at most %lld", index, key,
                       (long long)row->count, (long long)info->most);
  return info->kind != SETTING_TEXT || check_word(plan, index, why);
}

static bool check_other(const Plan *plan, uint32_t index, char *why) {
  const char *key = plan_string(plan, plan->settings[index].key);
  if (plan->settings[index].effect == SETTING_DERIVED)
    return plan_refuse(why, "settings[%u]: %.40s is no row that this program knows", index, key);
  for (uint32_t i = 0; i < JOB_ROW_COUNT; i++)
    if (strcmp(key, job_rows[i].key) == 0)
      return plan_refuse(why, "settings[%u]: a second row of %s", index, key);
  return true;
}

/* Calls count micro-batches in 32 bits. */
static bool check_limits(const Plan *plan, char *why) {
  if (job_prefetch_steps(plan) < job_control_depth(plan) ||
      job_control_depth(plan) > CONTROL_DEPTH_MAX)
    return plan_refuse(
        why, "settings: plan.control_depth is %lld, at most plan.prefetch_steps, %lld, and %d",
        (long long)job_control_depth(plan), (long long)job_prefetch_steps(plan), CONTROL_DEPTH_MAX);
  if (job_accumulation(plan) > INT32_MAX)
    return plan_refuse(why, "settings: plan.accumulation is %lld, at most %d",
                       (long long)job_accumulation(plan), INT32_MAX);
  return true;
}

/* The interval that the compiler has chosen is there exactly where the job asks for one. */
static bool check_interval(const Plan *plan, char *why) {
  const bool is_auto = strcmp(job_text(plan, JOB_checkpoint_every), "auto") == 0;
  return is_auto == (job_auto_every_s(plan) > 0) ||
         plan_refuse(why,
                     "settings: checkpoint.every is %.40s, and plan.checkpoint_every_s is %lld",
                     is_auto ? "auto" : "not auto", (long long)job_auto_every_s(plan));
}

bool plan_check_settings(const Plan *plan, char *why) {
  if (!plan_has_job(plan))
    return plan_refuse(why, "settings: %u rows, at least %d", plan->settings_count, JOB_ROW_COUNT);
  for (uint32_t i = 0; i < plan->settings_count; i++)
    if (!check_kind(plan, i, why) || !(i < JOB_ROW_COUNT ? check_row : check_other)(plan, i, why))
      return false;
  return check_limits(plan, why) && check_interval(plan, why);
}
