/* check_number.c -- counts, numbers, amounts with units, bytes and rates, and their ranges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/kinds.h"
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

/* The unit in which the range is stated. */
static const char *range_unit(const FieldInfo *info) {
  return info->kind == KIND_BYTES                                       ? " bytes"
         : info->kind == KIND_RATE                                      ? " bytes/s"
         : info->kind == KIND_AMOUNT && strcmp(info->values, "s") == 0  ? " s"
         : info->kind == KIND_AMOUNT && strcmp(info->values, "ns") == 0 ? " ns"
                                                                        : "";
}

static bool refuse_range(Compile *c, const JobValue *value, const Range *range) {
  bool is_share = strcmp(spec_fields[range->field].values, "fraction of lr") == 0;
  error_at(c, value->origin.span, "range", "%s is %s%s%.16g to %.16g%s; got %s",
           field_name(c->arena, range->field), is_share ? "a fraction of lr, " : "",
           range->is_open ? "above " : "", range->least, range->most,
           range_unit(&spec_fields[range->field]), raw_show(c->arena, value->raw));
  if (!say_derived(c, value, range->field) && is_off(range->field, value->raw))
    fix_value(c, value, range->field);
  return false;
}

bool check_range(Compile *c, const JobValue *value, int32_t field, double number) {
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    const Range *range = &ranges[i];
    if (range->field != field) continue;
    bool is_low = range->is_open ? !(number > range->least) : !(number >= range->least);
    return is_low || !(number <= range->most) ? refuse_range(c, value, range) : true;
  }
  return isfinite(number) ? true : refuse_type(c, value, field);
}

/* over = 0.1 or "10%" */
static bool refuse_share(Compile *c, const JobValue *value, int32_t field, const Job *job) {
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

bool check_count(Compile *c, const JobValue *value, int32_t field, Job *job) {
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
bool check_count_or(Compile *c, const JobValue *value, int32_t field, Job *job) {
  int32_t word = -1;
  if (value->raw->kind == RAW_TEXT) word = word_index(spec_fields[field].values, value->raw->text);
  if (word < 0) return check_count(c, value, field, job);
  *(int64_t *)field_at(job, field) = -1 - word;
  return true;
}

bool check_number(Compile *c, const JobValue *value, int32_t field, Job *job) {
  double number = value->raw->number;
  bool is_number =
      value->raw->kind == RAW_NUMBER || (value->raw->kind == RAW_TEXT && value->raw->is_typed &&
                                         units_signed(value->raw->text, &number));
  if (!is_number || !isfinite(number)) return refuse_type(c, value, field);
  if (!check_range(c, value, field, number)) return false;
  *(double *)field_at(job, field) = number;
  return true;
}

/* A value whose unit is missing, or not one that the key takes. */
static bool refuse_unit(Compile *c, const JobValue *value, int32_t field) {
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

/* warmup = 0.1 */
static bool is_bare_share(const Amount *amount, const FieldInfo *info) {
  return amount->unit == UNIT_NONE && amount->value > 0 && amount->value < 1 &&
         units_allow(info->values, "%");
}

static bool refuse_bare_share(Compile *c, const JobValue *value, int32_t field) {
  error_at(c, value->origin.span, "unit",
           "%s counts steps, or says its share of them in %%; got %s", field_name(c->arena, field),
           raw_show(c->arena, value->raw));
  fix_last(c, "%s = \"%.10g%%\"", spec_fields[field].key, value->raw->number * 100);
  return false;
}

bool check_amount(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const FieldInfo *info = &spec_fields[field];
  Amount amount = {value->raw->number, UNIT_NONE};
  bool is_good = value->raw->kind == RAW_NUMBER && units_allow(info->values, "");
  if (value->raw->kind == RAW_TEXT) is_good = units_amount(value->raw->text, info->values, &amount);
  if (!is_good) return refuse_unit(c, value, field);
  if (is_bare_share(&amount, info)) return refuse_bare_share(c, value, field);
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

bool check_bytes(Compile *c, const JobValue *value, int32_t field, Job *job) {
  double size_bytes;
  bool is_good = value->raw->kind == RAW_TEXT && units_bytes(value->raw->text, &size_bytes);
  if (!is_good) return refuse_unit(c, value, field);
  if (!check_range(c, value, field, size_bytes)) return false;
  *(int64_t *)field_at(job, field) = (int64_t)size_bytes;
  return true;
}

bool check_bytes_or(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  if (raw->kind != RAW_TEXT || strcmp(raw->text, spec_fields[field].values) != 0)
    return check_bytes(c, value, field, job);
  *(int64_t *)field_at(job, field) = -1;
  return true;
}

bool check_rate(Compile *c, const JobValue *value, int32_t field, Job *job) {
  double bytes_per_s;
  bool is_good = value->raw->kind == RAW_TEXT && units_rate(value->raw->text, &bytes_per_s);
  if (!is_good) return refuse_type(c, value, field);
  if (!check_range(c, value, field, bytes_per_s)) return false;
  *(double *)field_at(job, field) = bytes_per_s;
  return true;
}
