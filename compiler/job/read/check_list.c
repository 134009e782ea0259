/* check_list.c -- lists of paths and of numbers, and the columns of inputs. */
#include <math.h>
#include <string.h>

#include "compiler/job/kinds.h"
#include "compiler/job/mix.h"
#include "compiler/job/units.h"

bool add_paths(Compile *c, const JobValue *value, const char *text, TextList *list) {
  if (!path_check(c, text, value->origin.span)) return false;
  VEC_PUSH(c->arena, list, path_join(c->arena, value->directory, text));
  return true;
}

bool check_list(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  TextList *list = field_at(job, field);
  *list = (TextList){0};
  if (field == FIELD_data_train) job->mix.count = 0;
  if (raw->kind == RAW_TEXT && raw->is_typed) { /* of -D: separated by commas */
    for (const char *p = raw->text;;) {
      size_t width = strcspn(p, ",");
      if (!add_paths(c, value, arena_copy_n(c->arena, p, width), list)) return false;
      if (!p[width]) return true;
      p += width + 1;
    }
  }
  if (raw->kind == RAW_TEXT) return add_paths(c, value, raw->text, list);
  bool is_list = raw->kind == RAW_TABLE && raw->named.count == 0 && !raw->bad_key;
  if (!is_list || raw->list.count == 0) return refuse_type(c, value, field);
  if (field == FIELD_data_train && is_mix(raw)) return check_mix(c, value, list, job);
  for (int32_t i = 0; i < raw->list.count; i++) {
    if (raw->list.at[i]->kind != RAW_TEXT) return refuse_type(c, value, field);
    if (!add_paths(c, value, raw->list.at[i]->text, list)) return false;
  }
  return true;
}

/* One number of a list; -D writes it as text. */
static bool add_count(Compile *c, const JobValue *value, const Raw *raw, int32_t field,
                      CountList *list) {
  double number = raw->number;
  bool is_number =
      raw->kind == RAW_NUMBER || (raw->kind == RAW_TEXT && units_count(raw->text, &number));
  if (!is_number || number != floor(number)) return refuse_type(c, value, field);
  JobValue one = *value;
  one.raw = raw;
  if (!check_range(c, &one, field, number)) return false;
  VEC_PUSH(c->arena, list, (int64_t)number);
  return true;
}

bool check_counts(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  CountList *list = field_at(job, field);
  *list = (CountList){0};
  for (const char *p = raw->is_typed ? raw->text : ""; *p;) { /* of -D: separated by commas */
    size_t width = strcspn(p, ",");
    const Raw *one = raw_typed(c->arena, arena_copy_n(c->arena, p, width));
    if (!add_count(c, value, one, field, list)) return false;
    p += width + (p[width] == ',');
  }
  bool is_list = raw->kind == RAW_TABLE && raw->named.count == 0 && !raw->bad_key;
  for (int32_t i = 0; is_list && i < raw->list.count; i++)
    if (!add_count(c, value, raw->list.at[i], field, list)) return false;
  return list->count > 0 ? true : refuse_type(c, value, field);
}

bool check_columns(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  ColumnList *inputs = field_at(job, field);
  *inputs = (ColumnList){0};
  if (raw->kind != RAW_TABLE || raw->list.count > 0 || raw->named.count == 0)
    return refuse_type(c, value, field);
  for (int32_t i = 0; i < raw->named.count; i++) {
    InputColumns columns = {.input = raw->named.at[i].key};
    const Raw *names = raw->named.at[i].value;
    if (names->kind == RAW_TEXT) VEC_PUSH(c->arena, &columns.names, names->text);
    for (int32_t j = 0; names->kind == RAW_TABLE && j < names->list.count; j++) {
      if (names->list.at[j]->kind != RAW_TEXT) return refuse_type(c, value, field);
      VEC_PUSH(c->arena, &columns.names, names->list.at[j]->text);
    }
    if (columns.names.count == 0 || (names->kind == RAW_TABLE && names->named.count > 0))
      return refuse_type(c, value, field);
    VEC_PUSH(c->arena, inputs, columns);
  }
  return true;
}
