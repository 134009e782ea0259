#include "runtime/plan/plan_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_text.h"

const JobRowInfo job_rows[JOB_ROW_COUNT] = {
#define COUNT(name, key, least) {#name, key, SETTING_COUNT, least, INT64_MAX, NULL, 0},
#define U64(name, key)          {#name, key, SETTING_COUNT, INT64_MIN, INT64_MAX, NULL, 0},
#define U32(name, key, least)   {#name, key, SETTING_COUNT, least, UINT32_MAX, NULL, 0},
#define F64(name, key)          {#name, key, SETTING_REAL, 0, 0, NULL, 0},
#define FLAG(name, key)         {#name, key, SETTING_FLAG, 0, 0, NULL, 0},
#define WORD(name, key, Enum)   {#name, key, SETTING_TEXT, 0, 0, Enum##_names, Enum##_COUNT},
#define TEXT(name, key)         {#name, key, SETTING_TEXT, 0, 0, NULL, 0},
#include "runtime/plan/settings.def"
#include "runtime/plan/settings_undef.h"
};

const char *job_text(const Plan *plan, JobRow row) {
  return plan_string(plan, plan->settings[row].text);
}

uint32_t job_word(const Plan *plan, JobRow row) {
  const JobRowInfo *info = &job_rows[row];
  const char *text = job_text(plan, row);
  for (uint32_t i = 0; i < info->word_count; i++)
    if (strcmp(info->words[i], text) == 0) return i;
  return 0;
}

static bool is_every(const Plan *plan, const char *unit) {
  return strcmp(job_text(plan, JOB_checkpoint_every), unit) == 0;
}

int64_t job_checkpoint_every_steps(const Plan *plan) {
  return is_every(plan, "steps") ? (int64_t)job_checkpoint_every(plan) : 0;
}

int64_t job_checkpoint_every_s(const Plan *plan) {
  return is_every(plan, "s") ? (int64_t)job_checkpoint_every(plan) : job_auto_every_s(plan);
}

Resume job_resume(const Plan *plan) {
  const char *text = job_resume_word(plan);
  for (uint32_t i = 0; i < Resume_COUNT; i++)
    if (i != RESUME_PATH && strcmp(Resume_names[i], text) == 0) return (Resume)i;
  return *text == '\0' ? RESUME_AUTO : RESUME_PATH;
}

const char *job_resume_path(const Plan *plan) {
  return job_resume(plan) == RESUME_PATH ? job_resume_word(plan) : "";
}

const PlanSetting *plan_setting(const Plan *plan, const char *key) {
  for (uint32_t i = 0; i < plan->settings_count; i++)
    if (strcmp(plan_string(plan, plan->settings[i].key), key) == 0) return &plan->settings[i];
  return NULL;
}

/* The fewest digits that read back as the same number. */
static int put_real(double real, char *text) {
  int used = 0;
  for (int digits = 15; digits <= 17; digits++) {
    used = snprintf(text, SETTING_NUMBER_BYTES, "%.*g", digits, real);
    if (strtod(text, NULL) == real) break;
  }
  return used;
}

const char *plan_setting_text(const Plan *plan, const PlanSetting *setting,
                              char number[SETTING_NUMBER_BYTES]) {
  const char *text = plan_string(plan, setting->text);
  int used = 0;
  switch ((SettingKind)setting->kind) {
  case SETTING_TEXT: return text;
  case SETTING_FLAG: return setting->count != 0 ? "true" : "false";
  case SETTING_COUNT:
    used = snprintf(number, SETTING_NUMBER_BYTES, "%lld", (long long)setting->count);
    break;
  case SETTING_REAL: used = put_real(setting->real, number); break;
  default: return "none";
  }
  (void)snprintf(number + used, SETTING_NUMBER_BYTES - (size_t)used, "%s%s", *text ? " " : "",
                 text);
  return number;
}
