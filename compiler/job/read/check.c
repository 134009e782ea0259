/* check.c -- from a value as written to a field of the typed Job: a row for each kind. Texts, paths
 * and flags are checked here, the other kinds in check_number.c, check_choice.c and check_list.c.
 */
#include <string.h>

#include "compiler/job/kinds.h"
#include "compiler/job/units.h"

void fix_value(Compile *c, const JobValue *value, int32_t field) {
  const char *mended = mended_value(c->arena, field, value->raw);
  if (mended) fix_last(c, "%s = %s", spec_fields[field].key, mended);
}

bool say_derived(Compile *c, const JobValue *value, int32_t field) {
  const Raw *raw = value->raw;
  bool is_auto = (raw->kind == RAW_TEXT && strcmp(raw->text, "auto") == 0) ||
                 (raw->kind == RAW_NUMBER && raw->number == -1);
  if (!is_auto || strcmp(spec_fields[field].initial, "=") != 0) return false;
  fix_last(c, "remove %s", spec_fields[field].key);
  note_at(c, (Span){0}, "it is derived when it is absent");
  return true;
}

void fix_choice(Compile *c, int32_t field, const char *near) {
  const FieldInfo *info = &spec_fields[field];
  const bool has_default = word_index(info->values, info->initial) >= 0;
  if (near != NULL || has_default)
    fix_last(c, "%s = \"%s\"", info->key, near != NULL ? near : info->initial);
  else if (strcmp(info->initial, "=") == 0)
    fix_last(c, "remove %s", info->key);
}

bool refuse_type(Compile *c, const JobValue *value, int32_t field) {
  error_at(c, value->origin.span, "wrong-type", "%s: expected %s; got %s",
           field_name(c->arena, field), kind_example(&spec_fields[field], c->arena),
           raw_show(c->arena, value->raw));
  const int32_t kind = (int32_t)spec_fields[field].kind;
  if (say_derived(c, value, field)) return false;
  if ((kind == KIND_CHOICE || kind == KIND_SCALE) &&
      mended_value(c->arena, field, value->raw) == NULL)
    fix_choice(c, field, NULL);
  else
    fix_value(c, value, field);
  return false;
}

static bool is_none(const JobValue *value, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  if (value->raw->kind != RAW_TEXT || strcmp(value->raw->text, "none") != 0) return false;
  bool has_none = info->kind == KIND_CHOICE || info->kind == KIND_FLAG ||
                  field == FIELD_parallel_zero; /* zero = "none" is no word for 0 */
  return !has_none && (strcmp(info->initial, "none") == 0 || strcmp(info->initial, "=") == 0);
}

/* ---- one function a kind */

static bool check_text(Compile *c, const JobValue *value, int32_t field, Job *job) {
  if (value->raw->kind != RAW_TEXT) return refuse_type(c, value, field);
  const char *text = value->raw->text;
  if (field == FIELD_cluster_device) text = path_located(c->arena, value->directory, text);
  for (const char *p = text; *p; p++)
    if ((unsigned char)*p < 0x20 && *p != '\n')
      return error_at(c, value->origin.span, "wrong-type", "%s holds a control character",
                      field_name(c->arena, field));
  if (field == FIELD_job_name) {
    size_t good = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    if (!*text || text[good] || *text == '.' || *text == '-' || strlen(text) > 100) {
      error_at(c, value->origin.span, "name",
               "a name has a-z 0-9 . _ - and begins with a letter or digit; got %s",
               raw_show(c->arena, value->raw));
      fix_value(c, value, field);
      return false;
    }
  }
  *(const char **)field_at(job, field) = text;
  return true;
}

static bool check_path(Compile *c, const JobValue *value, int32_t field, Job *job) {
  if (value->raw->kind != RAW_TEXT) return refuse_type(c, value, field);
  const char *text = value->raw->text;
  if (!path_check(c, text, value->origin.span)) return false;
  bool is_whole = *text == '{'; /* {run} begins at its own place */
  *(const char **)field_at(job, field) =
      is_whole ? text : path_join(c->arena, value->directory, text);
  return true;
}

static bool check_flag(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  bool is_word = raw->kind == RAW_TEXT && raw->is_typed &&
                 (strcmp(raw->text, "true") == 0 || strcmp(raw->text, "false") == 0);
  if (raw->kind != RAW_FLAG && !is_word) return refuse_type(c, value, field);
  *(bool *)field_at(job, field) = is_word ? raw->text[0] == 't' : raw->number != 0;
  return true;
}

bool value_check(Compile *c, const JobValue *value, int32_t field, Job *job) {
  job->origin[field] = value->origin;
  if (is_none(value, field)) return true;
  bool is_good = false;
  switch (spec_fields[field].kind) {
  case KIND_TEXT: is_good = check_text(c, value, field, job); break;
  case KIND_PATH: is_good = check_path(c, value, field, job); break;
  case KIND_COUNT: is_good = check_count(c, value, field, job); break;
  case KIND_COUNT_OR: is_good = check_count_or(c, value, field, job); break;
  case KIND_COUNTS: is_good = check_counts(c, value, field, job); break;
  case KIND_NUMBER: is_good = check_number(c, value, field, job); break;
  case KIND_FLAG: is_good = check_flag(c, value, field, job); break;
  case KIND_CHOICE: is_good = check_choice(c, value, field, job); break;
  case KIND_SCALE: is_good = check_loss_scale(c, value, job); break;
  case KIND_AMOUNT: is_good = check_amount(c, value, field, job); break;
  case KIND_BYTES: is_good = check_bytes(c, value, field, job); break;
  case KIND_BYTES_OR: is_good = check_bytes_or(c, value, field, job); break;
  case KIND_RATE: is_good = check_rate(c, value, field, job); break;
  case KIND_LIST: is_good = check_list(c, value, field, job); break;
  case KIND_COLUMNS: is_good = check_columns(c, value, field, job); break;
  case KIND_WORDS: is_good = check_words(c, value, field, job); break;
  case KIND_PAIRS: is_good = check_pairs(c, value, field, job); break;
  }
  job->set[field] = is_good;
  return is_good;
}
