/* mix.c -- data.train = { { "a.tok", weight = 5 }, "b.tok" }: sources with weights. */
#include "compiler/job/mix.h"

#include <math.h>
#include <string.h>

#include "runtime/plan/limits.h"

bool is_mix(const Raw *raw) {
  for (int32_t i = 0; i < raw->list.count; i++)
    if (raw->list.at[i]->kind == RAW_TABLE) return true;
  return false;
}

static bool refuse_source(Compile *c, const JobValue *value, int32_t number, const char *why) {
  error_at(c, value->origin.span, "data", "data.train: source %d %s", number + 1, why);
  fix_last(c, "train = { { \"a.tok\", weight = 5 }, \"b.tok\" }");
  return false;
}

/* Paths of one stream, and how much of a step's samples it gives. */
static bool add_source(Compile *c, const JobValue *value, int32_t number, TextList *list,
                       Job *job) {
  const Raw *raw = value->raw->list.at[number];
  MixSource source = {.weight = 1};
  if (raw->kind == RAW_TEXT) {
    source.files = 1;
    VEC_PUSH(c->arena, &job->mix, source);
    return add_paths(c, value, raw->text, list);
  }
  if (raw->kind != RAW_TABLE || raw->bad_key || raw->list.count == 0)
    return refuse_source(c, value, number, "is no path and no table of paths and a weight");
  for (int32_t i = 0; i < raw->named.count; i++) {
    const RawEntry *entry = &raw->named.at[i];
    if (strcmp(entry->key, "weight") != 0)
      return refuse_source(
          c, value, number,
          arena_printf(c->arena, "has the key '%s'; it takes paths and a weight", entry->key));
    source.weight = entry->value->kind == RAW_NUMBER ? entry->value->number : 0;
    if (!(source.weight > 0) || isinf(source.weight))
      return refuse_source(c, value, number,
                           arena_printf(c->arena, "has weight %s: expected a number above 0",
                                        raw_show(c->arena, entry->value)));
  }
  for (int32_t i = 0; i < raw->list.count; i++, source.files++) {
    if (raw->list.at[i]->kind != RAW_TEXT)
      return refuse_source(c, value, number, "is no path and no table of paths and a weight");
    if (!add_paths(c, value, raw->list.at[i]->text, list)) return false;
  }
  VEC_PUSH(c->arena, &job->mix, source);
  return true;
}

bool check_mix(Compile *c, const JobValue *value, TextList *list, Job *job) {
  double least = INFINITY, most = 0;
  const int32_t count = value->raw->list.count;
  job->mix.count = 0;
  if (count > PLAN_SOURCES_MAX)
    return error_at(c, value->origin.span, "data",
                    "data.train: %d sources; at most %d have weights", count, PLAN_SOURCES_MAX);
  for (int32_t i = 0; i < count; i++) {
    if (!add_source(c, value, i, list, job)) return false;
    least = fmin(least, job->mix.at[i].weight);
    most = fmax(most, job->mix.at[i].weight);
  }
  return most <= PLAN_WEIGHT_RANGE * least ||
         error_at(c, value->origin.span, "data",
                  "data.train: weights from %g to %g; the largest is at most %g times the smallest",
                  least, most, PLAN_WEIGHT_RANGE);
}
