/* loss_scale.c -- precision.loss_scale: a word, a number, or a table that begins with a word and
 * changes its numbers. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

static const char *const key_names = ""
#define LOSS_SCALE_KEY(ID, key, ...) " " #key
    LOSS_SCALE_KEYS(LOSS_SCALE_KEY)
#undef LOSS_SCALE_KEY
    ;
static const bool is_whole[] = {
#define LOSS_SCALE_KEY(ID, key, whole, ...) whole,
    LOSS_SCALE_KEYS(LOSS_SCALE_KEY)
#undef LOSS_SCALE_KEY
};

/* The range of each number, bounds included; least is excluded where is_open, most always. Factors
 * are fp32, which has nothing between 0 and FLT_MIN. */
static const struct {
  double least, most;
  bool is_open;
} ranges[LOSS_SCALE_NUMBERS] = {
    [LOSS_SCALE_OF_INIT] = {FLT_MIN, 0x1p128, true},
    [LOSS_SCALE_OF_WINDOW] = {1, 1e9, false},
    [LOSS_SCALE_OF_GROWTH] = {1, 0x1p128, true},
    [LOSS_SCALE_OF_BACKOFF] = {FLT_MIN, 1, true},
    [LOSS_SCALE_OF_HYSTERESIS] = {1, 1e9, false},
    [LOSS_SCALE_OF_MIN] = {0, 0x1p127, false},
    [LOSS_SCALE_OF_LATE] = {0, 1, false},
    [LOSS_SCALE_OF_REFILL] = {0, 1, false},
    [LOSS_SCALE_OF_MOST_SKIPS] = {1, 1e9, false},
};

const char *loss_scale_text(Arena *arena, const Job *job) {
  return job->precision.loss_scale == LOSS_SCALE_CONSTANT
             ? arena_printf(arena, "%.15g", job->loss_scale.number[LOSS_SCALE_OF_INIT])
             : word_at(arena, LOSS_SCALE_WORDS, job->precision.loss_scale);
}

/* -D writes it as text. */
static bool read_number(const Raw *raw, double *number) {
  *number = raw->number;
  return (raw->kind == RAW_NUMBER || raw->kind == RAW_FLAG ||
          (raw->kind == RAW_TEXT && raw->is_typed && units_signed(raw->text, number))) &&
         isfinite(*number);
}

static bool is_in_range(int32_t key, double number) {
  if (is_whole[key] && number != floor(number)) return false;
  return ranges[key].is_open ? number > ranges[key].least && number < ranges[key].most
                             : number >= ranges[key].least && number <= ranges[key].most;
}

/* The number that the word of the job has. */
static double usual_number(const Job *job, int32_t key) {
  const int32_t word = job->precision.loss_scale;
  return loss_scale_rows[word == LOSS_SCALE_CONSTANT ? 0 : word].number[key];
}

static bool check_number(Compile *c, Span at, int32_t key, const Raw *raw, Job *job) {
  const char *name = loss_scale_keys[key];
  const double usual = usual_number(job, key);
  double number;
  bool is_number =
      read_number(raw, &number) && (raw->kind != RAW_FLAG || key == LOSS_SCALE_OF_REFILL);
  if (is_number && is_in_range(key, number)) {
    job->loss_scale.number[key] = number;
    return true;
  }
  if (!is_number)
    error_at(c, at, "wrong-type", "precision.loss_scale: %s is a number; got %s", name,
             raw_show(c->arena, raw));
  else
    error_at(c, at, "range", "precision.loss_scale: %s is %s%s%.8g %s %.8g; got %.15g", name,
             is_whole[key] ? "a whole number, " : "", ranges[key].is_open ? "above " : "",
             ranges[key].least, ranges[key].is_open ? "and below" : "to", ranges[key].most, number);
  fix_last(c, "%s = %.15g", name, usual);
  return false;
}

static bool set_word(Compile *c, Span at, const char *word, Job *job) {
  int32_t row = word_index(LOSS_SCALE_WORDS, word);
  if (row >= 0) {
    job->precision.loss_scale = row;
    job->loss_scale = loss_scale_rows[row];
    return true;
  }
  const char *near = meant_word(c->arena, "precision.loss_scale", LOSS_SCALE_WORDS, word);
  error_at(c, at, "unknown-word", "precision.loss_scale: \"%s\" is not one of: %s, and no number",
           text_show(c->arena, word), LOSS_SCALE_WORDS);
  double number;
  if (near == NULL && units_signed(word, &number) && is_in_range(LOSS_SCALE_OF_INIT, number))
    fix_last(c, "loss_scale = %s", word);
  else if (near != NULL)
    fix_last(c, "loss_scale = \"%s\"", near);
  else
    fix_last(c, "remove loss_scale");
  return false;
}

/* The scale of all steps. */
static bool set_constant(Compile *c, Span at, const Raw *raw, Job *job) {
  job->precision.loss_scale = LOSS_SCALE_CONSTANT;
  job->loss_scale = loss_scale_rows[LOSS_SCALE_CONSTANT];
  double number;
  if (!read_number(raw, &number) || !is_in_range(LOSS_SCALE_OF_INIT, number)) {
    error_at(
        c, at, "range",
        "precision.loss_scale: a number that stays is above 1.2e-38 and below 2^128, as fp32 has; "
        "got %s",
        raw_show(c->arena, raw));
    fix_last(c, "remove loss_scale");
    return false;
  }
  if (!check_number(c, at, LOSS_SCALE_OF_INIT, raw, job)) return false;
  job->loss_scale.number[LOSS_SCALE_OF_MIN] = job->loss_scale.number[LOSS_SCALE_OF_INIT];
  return true;
}

static bool set_first(Compile *c, const JobValue *value, const Raw *raw, Job *job) {
  double number;
  if (raw->kind != RAW_FLAG && read_number(raw, &number))
    return set_constant(c, value->origin.span, raw, job);
  if (raw->kind == RAW_TEXT) return set_word(c, value->origin.span, raw->text, job);
  return refuse_type(c, value, FIELD_precision_loss_scale);
}

/* "growth_factor" has the name of a key; intervals are windows elsewhere. */
static const char *near_key(Arena *arena, const char *key) {
  const char *near = nearest_of(arena, key_names + 1, key);
  if (near == NULL && strstr(key, "interval") != NULL) near = "window";
  for (int32_t i = 0; near == NULL && *word_at(arena, key_names + 1, i) != '\0'; i++)
    if (strstr(key, word_at(arena, key_names + 1, i)) != NULL)
      near = word_at(arena, key_names + 1, i);
  return near;
}

static bool set_key(Compile *c, const JobValue *value, const RawEntry *entry, Job *job) {
  const Span at = value->origin.span;
  int32_t key = word_index(key_names + 1, entry->key);
  if (key < 0) {
    const char *near = near_key(c->arena, entry->key);
    error_at(c, at, "unknown-key", "precision.loss_scale has no key '%s'; it has%s",
             text_show(c->arena, entry->key), key_names);
    if (near)
      fix_last(c, "%s = %.15g", near, usual_number(job, word_index(key_names + 1, near)));
    else
      fix_last(c, "remove %s", entry->key);
    return false;
  }
  if (job->precision.loss_scale == LOSS_SCALE_CONSTANT && key != LOSS_SCALE_OF_MOST_SKIPS) {
    error_at(c, at, "conflict",
             "precision.loss_scale: %s is for a scale that moves; this one is %s", entry->key,
             loss_scale_text(c->arena, job));
    fix_last(c, "remove %s", entry->key);
    return false;
  }
  return check_number(c, at, key, entry->value, job);
}

static bool set_table(Compile *c, const JobValue *value, Job *job) {
  const Raw *raw = value->raw;
  if (raw->list.count > 1 || raw->bad_key) return refuse_type(c, value, FIELD_precision_loss_scale);
  bool is_good = raw->list.count == 0 ? set_word(c, value->origin.span, "dynamic", job)
                                      : set_first(c, value, raw->list.at[0], job);
  for (int32_t i = 0; is_good && i < raw->named.count; i++)
    is_good = set_key(c, value, &raw->named.at[i], job);
  const double *number = job->loss_scale.number;
  if (!is_good || number[LOSS_SCALE_OF_MIN] <= number[LOSS_SCALE_OF_INIT]) return is_good;
  error_at(c, value->origin.span, "conflict",
           "precision.loss_scale: min %.15g is above init %.15g, with which it begins",
           number[LOSS_SCALE_OF_MIN], number[LOSS_SCALE_OF_INIT]);
  fix_last(c, "min = %.15g", number[LOSS_SCALE_OF_INIT]);
  return false;
}

bool check_loss_scale(Compile *c, const JobValue *value, Job *job) {
  return value->raw->kind == RAW_TABLE ? set_table(c, value, job)
                                       : set_first(c, value, value->raw, job);
}

enum { FINITE_EVERY = 1000 };

/* A scale keeps fp16 gradients from rounding to zero; other dtypes have the range of fp32. */
void loss_scale_rules(Compile *c, Job *job) {
  const bool is_narrow = job->precision.compute == CHOICE_FP16;
  if (is_narrow && !job->set[FIELD_precision_loss_scale]) {
    job->precision.loss_scale = 0;
    job->loss_scale = loss_scale_rows[0];
    field_derive(job, FIELD_precision_loss_scale, "compute is fp16");
  } else if (!is_narrow && job->set[FIELD_precision_loss_scale]) {
    error_at(
        c, job->origin[FIELD_precision_loss_scale].span, "conflict",
        "precision.loss_scale is for compute = \"fp16\"; compute is %s, whose range needs no "
        "loss scale",
        word_at(c->arena, spec_fields[FIELD_precision_compute].values, job->precision.compute));
    fix_last(c, "remove loss_scale");
  }
  if (!is_narrow || job->set[FIELD_log_finite_every]) return;
  job->log.finite_every = FINITE_EVERY;
  field_derive(job, FIELD_log_finite_every, "compute is fp16");
}
