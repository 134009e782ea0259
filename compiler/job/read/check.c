/* check.c -- from values as written to a typed Job: kinds, units, ranges, required keys, defaults.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/mix.h"
#include "compiler/job/offload.h"
#include "compiler/job/units.h"

/* The range of a number. Most counts begin at 1; their ends keep later arithmetic inside 64 bits.
 */
typedef struct Range {
  int32_t field;
  double least, most;
  bool is_open; /* least itself is refused; for fractions below 1, most is refused too */
} Range;

static const Range ranges[] = {
    {FIELD_data_prefetch, 1, 1024, false},
    {FIELD_train_context, 1, 1 << 30, false},
    {FIELD_train_microbatch, 1, 1 << 24, false},
    {FIELD_train_seed, 0, COUNT_MOST, false},
    {FIELD_train_validate_every, 1, 1e12, false},
    {FIELD_train_validate_steps, 1, 1e9, false},
    {FIELD_train_batch, 1, 1e15, false},
    {FIELD_train_steps, 0, 1e18, true},
    {FIELD_optimizer_lr, 0, 1e6, false},
    {FIELD_optimizer_beta1, 0, 1, false},
    {FIELD_optimizer_beta2, 0, 1, false},
    {FIELD_optimizer_eps, 1e-37, 1, false}, /* less is 0 to kernels */
    {FIELD_optimizer_momentum, 0, 1, false},
    {FIELD_optimizer_weight_decay, 0, 1e6, false},
    {FIELD_optimizer_clip, 0, 1e30, false},
    {FIELD_schedule_warmup, 0, 1e12, false},
    {FIELD_schedule_warmup_floor, 0, 1, false},
    {FIELD_schedule_floor, 0, 1, false},
    {FIELD_schedule_over, 1, 1e12, false},
    {FIELD_schedule_decay, 1, 1e12, false},
    {FIELD_parallel_dp, 1, 1 << 30, false},
    {FIELD_parallel_tp, 1, 1 << 20, false},
    {FIELD_parallel_cp, 1, 1 << 20, false},
    {FIELD_parallel_pp, 1, 1 << 20, false},
    {FIELD_parallel_stages, 1, 1 << 20, false},
    {FIELD_parallel_zero, 0, 3, false},
    {FIELD_parallel_zero_group, 1, 1 << 30, false},
    {FIELD_parallel_zero_prefetch, 0, 1024, false},
    {FIELD_parallel_zero_keep, 0, 1e15, false},
    {FIELD_parallel_bucket, 1, 1e15, false},
    {FIELD_model_vocab_multiple, 1, 1 << 20, false},
    {FIELD_memory_budget, 0, 1e18, true},
    {FIELD_sample_batch, 1, 256, false},
    {FIELD_sample_context, 1, 1 << 30, false},
    {FIELD_sample_chunk, 1, 1 << 30, false},
    {FIELD_checkpoint_every, 1, 1e12, false},
    {FIELD_checkpoint_keep, 1, 1e6, false},
    {FIELD_checkpoint_milestone, 1, 1e12, false},
    {FIELD_checkpoint_memory, 1, 1e12, false},
    {FIELD_checkpoint_part, 1, 1e15, false},
    {FIELD_log_every, 1, 1e12, false},
    {FIELD_log_ranks_every, 0, 1e12, false},
    {FIELD_log_finite_every, 0, 1e12, false},
    {FIELD_cluster_nodes, 1, 1 << 20, false},
    {FIELD_cluster_devices, 1, 1024, false},
    {FIELD_cluster_memory, 1 << 20, 1e18, false},
    {FIELD_cluster_host, 1 << 20, 1e18, false},
    {FIELD_cluster_host_bandwidth, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_cluster_host_link, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_cluster_disk_read, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_cluster_disk_write, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_offload_budget, 0, 1e18, true},
    {FIELD_offload_disk, 0, 1e18, true},
    {FIELD_cluster_disk, 1 << 20, 1e18, false},
    {FIELD_offload_prefetch, 0, 1 << 16, false},
    {FIELD_cluster_cores, 1, 1 << 20, false},
    {FIELD_cluster_intra, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_cluster_inter, UNITS_RATE_LEAST, 1e18, false},
    {FIELD_cluster_intra_latency, 0, 1e9, false},
    {FIELD_cluster_inter_latency, 0, 1e9, false},
    {FIELD_cluster_price, 0, 1e9, false},
    {FIELD_cluster_mtbf, 60, 1e11, false},
    {FIELD_slurm_time, 60, 366.0 * 86400, false},
    {FIELD_slurm_spares, 0, 1 << 16, false},
    {FIELD_slurm_elastic, 1, 1 << 16, false},
    {FIELD_slurm_retries, 0, 1000, false},
    {FIELD_slurm_chain, 1, 100, false},
    {FIELD_slurm_margin, 0, 86400, false},
    {FIELD_slurm_write, 1, 1e15, false},
    {FIELD_slurm_block, 1, 1 << 16, false},
    {FIELD_cluster_block, 1, 1 << 16, false},
    {FIELD_cluster_taper, 1, 1024, false},
    {FIELD_memory_loss_chunks, 1, 1024, false},
};

static void fix_value(Compile *c, const Value *value, int32_t field) {
  const char *mended = mended_value(c->arena, field, value->raw);
  if (mended) fix_last(c, "%s = %s", spec_fields[field].key, mended);
}

/* dp = "auto", dp = -1: to have a value derived, leave the key out. */
static bool say_derived(Compile *c, const Value *value, int32_t field) {
  const Raw *raw = value->raw;
  bool is_auto = (raw->kind == RAW_TEXT && strcmp(raw->text, "auto") == 0) ||
                 (raw->kind == RAW_NUMBER && raw->number == -1);
  if (!is_auto || strcmp(spec_fields[field].initial, "=") != 0) return false;
  fix_last(c, "remove %s", spec_fields[field].key);
  note_at(c, (Span){0}, "it is derived when it is absent");
  return true;
}

/* The nearest word, or NULL: then the default, or to leave a derived key out. */
static void fix_choice(Compile *c, int32_t field, const char *near) {
  const FieldInfo *info = &spec_fields[field];
  const bool has_default = word_index(info->values, info->initial) >= 0;
  if (near != NULL || has_default)
    fix_last(c, "%s = \"%s\"", info->key, near != NULL ? near : info->initial);
  else if (strcmp(info->initial, "=") == 0)
    fix_last(c, "remove %s", info->key);
}

bool refuse_type(Compile *c, const Value *value, int32_t field) {
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

/* The unit in which the range is stated. */
static const char *range_unit(const FieldInfo *info) {
  return info->kind == KIND_BYTES                                       ? " bytes"
         : info->kind == KIND_RATE                                      ? " bytes/s"
         : info->kind == KIND_AMOUNT && strcmp(info->values, "s") == 0  ? " s"
         : info->kind == KIND_AMOUNT && strcmp(info->values, "ns") == 0 ? " ns"
                                                                        : "";
}

static bool refuse_range(Compile *c, const Value *value, const Range *range) {
  bool is_share = strcmp(spec_fields[range->field].values, "fraction of lr") == 0;
  error_at(c, value->origin.span, "range", "%s is %s%s%.16g to %.16g%s; got %s",
           field_name(c->arena, range->field), is_share ? "a fraction of lr, " : "",
           range->is_open ? "above " : "", range->least, range->most,
           range_unit(&spec_fields[range->field]), raw_show(c->arena, value->raw));
  if (!say_derived(c, value, range->field) && is_off(range->field, value->raw))
    fix_value(c, value, range->field);
  return false;
}

static bool check_range(Compile *c, const Value *value, int32_t field, double number) {
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    const Range *range = &ranges[i];
    if (range->field != field) continue;
    bool is_low = range->is_open ? !(number > range->least) : !(number >= range->least);
    return is_low || !(number <= range->most) ? refuse_range(c, value, range) : true;
  }
  return isfinite(number) ? true : refuse_type(c, value, field);
}

static bool is_none(const Value *value, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  if (value->raw->kind != RAW_TEXT || strcmp(value->raw->text, "none") != 0) return false;
  bool has_none = info->kind == KIND_CHOICE || info->kind == KIND_FLAG ||
                  field == FIELD_parallel_zero; /* zero = "none" is no word for 0 */
  return !has_none && (strcmp(info->initial, "none") == 0 || strcmp(info->initial, "=") == 0);
}

/* ---- one function a kind */

static bool check_text(Compile *c, const Value *value, int32_t field, Job *job) {
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

static bool check_path(Compile *c, const Value *value, int32_t field, Job *job) {
  if (value->raw->kind != RAW_TEXT) return refuse_type(c, value, field);
  const char *text = value->raw->text;
  if (!path_check(c, text, value->origin.span)) return false;
  bool is_whole = *text == '{'; /* {run} begins at its own place */
  *(const char **)field_at(job, field) =
      is_whole ? text : path_join(c->arena, value->directory, text);
  return true;
}

/* warmup = 0.1 or "10%": other tools take a fraction of the run. */
static bool refuse_share(Compile *c, const Value *value, int32_t field, const Job *job) {
  double share = value->raw->number;
  char *end = NULL;
  if (value->raw->kind == RAW_TEXT) share = strtod(value->raw->text, &end) / 100;
  if ((end && strcmp(end, "%") != 0) || !(share > 0 && share < 1)) return false;
  error_at(c, value->origin.span, "wrong-type", "%s counts %s, not a share of the run; got %s",
           field_name(c->arena, field), spec_fields[field].values, raw_show(c->arena, value->raw));
  bool is_known = job->set[FIELD_train_steps] && job->train.steps.unit == UNIT_NONE;
  if (is_known)
    fix_last(c, "%s = %.0f", spec_fields[field].key, ceil(share * job->train.steps.value));
  return true;
}

static bool check_count(Compile *c, const Value *value, int32_t field, Job *job) {
  double number = value->raw->number;
  bool is_number = value->raw->kind == RAW_NUMBER;
  if (value->raw->kind == RAW_TEXT)
    is_number = value->raw->is_typed ? units_signed(value->raw->text, &number)
                                     : units_count(value->raw->text, &number);
  bool is_steps = strcmp(spec_fields[field].values, "steps") == 0;
  if (is_steps && refuse_share(c, value, field, job)) return false;
  if (!is_number) {
    bool has_unit = value->raw->kind == RAW_TEXT && strchr(value->raw->text, ' ');
    if (!has_unit) return refuse_type(c, value, field);
    error_at(c, value->origin.span, "unit", "%s is a bare number%s%s; got %s",
             field_name(c->arena, field), *spec_fields[field].values ? " of " : "",
             spec_fields[field].values, raw_show(c->arena, value->raw));
    fix_value(c, value, field);
    return false;
  }
  if (!isfinite(number) || fabs(number) > COUNT_MOST || number != floor(number))
    return refuse_type(c, value, field);
  if (!check_range(c, value, field, number)) return false;
  *(int64_t *)field_at(job, field) = (int64_t)number;
  return true;
}

/* A number, or one of the field's words. */
static bool check_count_or(Compile *c, const Value *value, int32_t field, Job *job) {
  int32_t word = -1;
  if (value->raw->kind == RAW_TEXT) word = word_index(spec_fields[field].values, value->raw->text);
  if (word < 0) return check_count(c, value, field, job);
  *(int64_t *)field_at(job, field) = -1 - word;
  return true;
}

static bool check_number(Compile *c, const Value *value, int32_t field, Job *job) {
  double number = value->raw->number;
  bool is_number =
      value->raw->kind == RAW_NUMBER || (value->raw->kind == RAW_TEXT && value->raw->is_typed &&
                                         units_signed(value->raw->text, &number));
  if (!is_number || !isfinite(number)) return refuse_type(c, value, field);
  if (!check_range(c, value, field, number)) return false;
  *(double *)field_at(job, field) = number;
  return true;
}

static bool check_flag(Compile *c, const Value *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  bool is_word = raw->kind == RAW_TEXT && raw->is_typed &&
                 (strcmp(raw->text, "true") == 0 || strcmp(raw->text, "false") == 0);
  if (raw->kind != RAW_FLAG && !is_word) return refuse_type(c, value, field);
  *(bool *)field_at(job, field) = is_word ? raw->text[0] == 't' : raw->number != 0;
  return true;
}

/* Words that come with a number: { "every", blocks = 4 }. */
typedef struct Numbered {
  int32_t field;
  const char *word, *key, *asks;
  double least;
  size_t offset; /* of the number, in Job */
} Numbered;
static const Numbered numbered_words[] = {
    {FIELD_memory_recompute, "every", "blocks", "how many blocks", 1,
     offsetof(Job, recompute_blocks)},
    {FIELD_parallel_pipeline, "interleaved", "chunks", "how many chunks of layers a stage has", 2,
     offsetof(Job, pipeline_chunks)},
};

static const Numbered *numbered_of(int32_t field) {
  for (size_t i = 0; i < sizeof numbered_words / sizeof *numbered_words; i++)
    if (numbered_words[i].field == field) return &numbered_words[i];
  return NULL;
}

const char *numbered_key(int32_t field) {
  const Numbered *n = numbered_of(field);
  return n ? n->key : NULL;
}

int64_t numbered_count(const Job *job, int32_t field) {
  const Numbered *n = numbered_of(field);
  int32_t word = n ? word_index(spec_fields[field].values, n->word) : -1;
  if (word < 0 || *(const int32_t *)field_at((Job *)job, field) != word) return 0;
  return *(const int64_t *)(const void *)((const char *)job + n->offset);
}

/* -D writes it as text. */
static bool read_whole(const Raw *raw, double *number) {
  *number = raw->number;
  bool is_number = raw->kind == RAW_NUMBER ||
                   (raw->kind == RAW_TEXT && raw->is_typed && units_count(raw->text, number));
  return is_number && *number == floor(*number);
}

static void fix_numbered(Compile *c, const Numbered *n) {
  fix_last(c, "%s = { \"%s\", %s = 2 }", spec_fields[n->field].key, n->word, n->key);
}

/* Refuses a word that has no number. The word may be from no file: -D can set the number alone. */
static bool refuse_numbered(Compile *c, const Value *value, const Numbered *n, const char *word) {
  error_at(c, value->origin.span, "wrong-type", "%s: only \"%s\" says %s",
           field_name(c->arena, n->field), n->word, n->asks);
  if (strcmp(word, spec_fields[n->field].initial) == 0)
    fix_numbered(c, n);
  else
    fix_last(c, "%s = \"%s\"", spec_fields[n->field].key, word);
  return false;
}

static bool check_numbered(Compile *c, const Value *value, const Numbered *n, Job *job) {
  enum { MOST = 1000000 };
  const Raw *raw = value->raw;
  const char *name = field_name(c->arena, n->field);
  const char *word =
      raw->list.count == 1 && raw->list.at[0]->kind == RAW_TEXT ? raw->list.at[0]->text : "";
  const Raw *number = raw->named.count == 1 && strcmp(raw->named.at[0].key, n->key) == 0
                          ? raw->named.at[0].value
                          : NULL;
  double count = 0;
  bool is_good = strcmp(word, n->word) == 0 && number && read_whole(number, &count);
  if (strcmp(word, n->word) != 0 && word_index(spec_fields[n->field].values, word) >= 0)
    return refuse_numbered(c, value, n, word);
  if (!is_good)
    error_at(c, value->origin.span, "wrong-type", "%s: expected a word, or { \"%s\", %s = N }",
             name, n->word, n->key);
  else if (!(count >= n->least && count <= MOST))
    is_good = error_at(c, value->origin.span, "range", "%s: %s is %.0f to %d; got %.15g", name,
                       n->key, n->least, MOST, count);
  if (!is_good) {
    fix_numbered(c, n);
    return false;
  }
  *(int32_t *)field_at(job, n->field) = word_index(spec_fields[n->field].values, n->word);
  *(int64_t *)(void *)((char *)job + n->offset) = (int64_t)count;
  return true;
}

static bool refuse_choice(Compile *c, const Value *value, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  const char *name = field_name(c->arena, field), *word = value->raw->text;
  if (refuse_later_word(c, value->origin.span, (int32_t)info->section, word)) return false;
  const char *near = meant_word(c->arena, name, info->values, word);
  error_at(c, value->origin.span, "unknown-word", "%s: \"%s\" is not one of: %s", name,
           text_show(c->arena, word), info->values);
  if (!say_derived(c, value, field)) fix_choice(c, field, near);
  const char *why = word_reason(name, info->values, word);
  if (why) note_at(c, (Span){0}, "%s", why);
  return false;
}

/* { "fp8", scaling = "tensor" }: how many numbers share a scale. */
static bool check_linear(Compile *c, const Value *value, Job *job) {
  const Raw *raw = value->raw;
  const char *words = spec_fields[FIELD_precision_linear].values;
  const char *word =
      raw->list.count == 1 && raw->list.at[0]->kind == RAW_TEXT ? raw->list.at[0]->text : "";
  const Raw *scaling = raw->named.count == 1 && strcmp(raw->named.at[0].key, "scaling") == 0
                           ? raw->named.at[0].value
                           : NULL;
  const char *said = scaling != NULL && scaling->kind == RAW_TEXT ? scaling->text : "";
  const char *why = NULL;
  if (strcmp(said, "delayed") == 0)
    why = "a scale of earlier steps' maxima is state to save, and the first step has none; scales "
          "are of the tensor's own maximum";
  else if (strcmp(said, "mxfp8") == 0)
    why = "scales are numbers in fp32, not exponents of 32 numbers each";
  if (strcmp(word, "fp8") != 0 || raw->named.count > 1 || *said == '\0')
    error_at(c, value->origin.span, "wrong-type",
             "precision.linear: expected a word, or { \"fp8\", scaling = \"tensor\" }");
  else if (why != NULL)
    error_at(c, value->origin.span, "declined", "precision.linear: scaling = \"%s\": %s", said,
             why);
  else if (strcmp(said, "tensor") != 0 && strcmp(said, "block") != 0)
    error_at(c, value->origin.span, "unknown-word",
             "precision.linear: scaling: \"%s\" is not one of: tensor block",
             text_show(c->arena, said));
  else {
    job->precision.linear = word_index(words, word);
    job->is_fp8_by_block = strcmp(said, "block") == 0;
    return true;
  }
  fix_last(c, "linear = { \"fp8\", scaling = \"tensor\" }");
  return false;
}

static bool check_choice(Compile *c, const Value *value, int32_t field, Job *job) {
  if (field == FIELD_precision_linear && value->raw->kind == RAW_TABLE)
    return check_linear(c, value, job);
  const Numbered *numbered = numbered_of(field);
  if (numbered && value->raw->kind == RAW_TABLE) return check_numbered(c, value, numbered, job);
  if (offload_part(job, field) != NULL && value->raw->kind == RAW_TABLE)
    return offload_check_part(c, value, field, job);
  const char *word = value->raw->kind == RAW_TEXT ? value->raw->text : NULL;
  int32_t index = word ? word_index(spec_fields[field].values, word) : -1;
  if (!word) return refuse_type(c, value, field);
  if (index < 0) return refuse_choice(c, value, field);
  if (numbered && strcmp(numbered->word, word) == 0) {
    error_at(c, value->origin.span, "wrong-type", "%s: \"%s\" says %s", field_name(c->arena, field),
             word, numbered->asks);
    fix_numbered(c, numbered);
    return false;
  }
  *(int32_t *)field_at(job, field) = index;
  return true;
}

/* A value whose unit is missing, or not one that the key takes. */
static bool refuse_unit(Compile *c, const Value *value, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  bool is_bare = value->raw->kind == RAW_NUMBER && isfinite(value->raw->number) &&
                 !units_allow(info->values, "");
  if (!is_bare && value->raw->kind != RAW_TEXT) return refuse_type(c, value, field);
  if (is_bare)
    error_at(c, value->origin.span, "unit", "%s says its unit; got %s", field_name(c->arena, field),
             raw_show(c->arena, value->raw));
  else
    error_at(c, value->origin.span, "unit", "%s: expected %s; got %s", field_name(c->arena, field),
             kind_example(info, c->arena), raw_show(c->arena, value->raw));
  fix_value(c, value, field);
  return false;
}

static bool is_whole_amount(const Amount *amount) {
  return amount->unit == UNIT_SECONDS || amount->unit == UNIT_PERCENT ||
         amount->unit == UNIT_DOLLARS_PER_HOUR || amount->unit == UNIT_EPOCHS ||
         amount->value == floor(amount->value);
}

static bool check_amount(Compile *c, const Value *value, int32_t field, Job *job) {
  const FieldInfo *info = &spec_fields[field];
  Amount amount = {value->raw->number, UNIT_NONE};
  bool is_good = value->raw->kind == RAW_NUMBER && units_allow(info->values, "");
  if (value->raw->kind == RAW_TEXT) is_good = units_amount(value->raw->text, info->values, &amount);
  if (!is_good) return refuse_unit(c, value, field);
  if (isfinite(amount.value) && !is_whole_amount(&amount))
    return error_at(c, value->origin.span, "range", "%s is a whole number; got %s",
                    field_name(c->arena, field), raw_show(c->arena, value->raw));
  if (!isfinite(amount.value)) return refuse_type(c, value, field);
  bool is_word = amount.unit == UNIT_NEVER || amount.unit == UNIT_AUTO;
  if (!is_word && !check_range(c, value, field, amount.value)) return false;
  if (amount.unit == UNIT_PERCENT && amount.value > 100)
    return error_at(c, value->origin.span, "range", "%s is at most 100%%; got %s",
                    field_name(c->arena, field), raw_show(c->arena, value->raw));
  *(Amount *)field_at(job, field) = amount;
  return true;
}

static bool check_bytes(Compile *c, const Value *value, int32_t field, Job *job) {
  double size_bytes;
  bool is_good = value->raw->kind == RAW_TEXT && units_bytes(value->raw->text, &size_bytes);
  if (!is_good) return refuse_unit(c, value, field);
  if (!check_range(c, value, field, size_bytes)) return false;
  *(int64_t *)field_at(job, field) = (int64_t)size_bytes;
  return true;
}

static bool check_bytes_or(Compile *c, const Value *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  if (raw->kind != RAW_TEXT || strcmp(raw->text, spec_fields[field].values) != 0)
    return check_bytes(c, value, field, job);
  *(int64_t *)field_at(job, field) = -1;
  return true;
}

static bool check_rate(Compile *c, const Value *value, int32_t field, Job *job) {
  double bytes_per_s;
  bool is_good = value->raw->kind == RAW_TEXT && units_rate(value->raw->text, &bytes_per_s);
  if (!is_good) return refuse_type(c, value, field);
  if (!check_range(c, value, field, bytes_per_s)) return false;
  *(double *)field_at(job, field) = bytes_per_s;
  return true;
}

bool add_paths(Compile *c, const Value *value, const char *text, TextList *list) {
  if (!path_check(c, text, value->origin.span)) return false;
  VEC_PUSH(c->arena, list, path_join(c->arena, value->directory, text));
  return true;
}

static bool check_list(Compile *c, const Value *value, int32_t field, Job *job) {
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
static bool add_count(Compile *c, const Value *value, const Raw *raw, int32_t field,
                      CountList *list) {
  double number = raw->number;
  bool is_number =
      raw->kind == RAW_NUMBER || (raw->kind == RAW_TEXT && units_count(raw->text, &number));
  if (!is_number || number != floor(number)) return refuse_type(c, value, field);
  Value one = *value;
  one.raw = raw;
  if (!check_range(c, &one, field, number)) return false;
  VEC_PUSH(c->arena, list, (int64_t)number);
  return true;
}

static bool check_counts(Compile *c, const Value *value, int32_t field, Job *job) {
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

static bool check_columns(Compile *c, const Value *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  ColumnList *inputs = field_at(job, field);
  *inputs = (ColumnList){0};
  if (raw->kind != RAW_TABLE || raw->list.count > 0 || raw->named.count == 0)
    return refuse_type(c, value, field);
  for (int32_t i = 0; i < raw->named.count; i++) {
    Columns columns = {.input = raw->named.at[i].key};
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

bool value_check(Compile *c, const Value *value, int32_t field, Job *job) {
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
