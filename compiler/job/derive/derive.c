/* derive.c -- computes context, batch, accumulation and steps. One identity ties them together:
 * batch = microbatch x accumulation x dp, in whole sequences. */
#include <math.h>
#include <string.h>

#include "compiler/job/batch.h"
#include "compiler/job/data.h"
#include "compiler/job/derive/sample.h"
#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

typedef struct Deriving {
  Compile *c;
  Job *job;
  const Cluster *cluster;
  Derived *out;
  bool is_table;
} Deriving;

/* ---- tokens of a sample */

static bool derive_context(Deriving *d, int64_t positions) {
  Job *job = d->job;
  const bool is_chunk = job->use == USE_SAMPLE; /* sample_derive has set it */
  const bool is_known = is_chunk || field_is_said(job, FIELD_train_context);
  d->out->sample_tokens = 1;
  if (d->is_table) return true;
  if (!is_known && positions <= 0) {
    error_at(d->c, (Span){.file = job->path}, "missing-key",
             "train.context is missing: this model has no positions to take it from");
    fix_last(d->c, "context = 1024");
    return false;
  }
  if (!is_known) {
    job->train.context = positions;
    field_derive(job, FIELD_train_context, "model.positions");
  }
  d->out->sample_tokens = job->train.context;
  spec_data_pack(job, job->train.context);
  if (positions <= 0 || job->train.context <= positions) return true;
  error_at(d->c, field_place(job, FIELD_train_context), "range",
           "context %lld is longer than the model's %lld positions", (long long)job->train.context,
           (long long)positions);
  fix_last(d->c, "context = %lld", (long long)positions);
  return false;
}

/* ---- the batch */

static const char *batch_text(const Deriving *d, int64_t samples) {
  Arena *arena = d->c->arena;
  if (d->job->train.batch.unit == UNIT_TOKENS)
    return arena_printf(arena, "%s tokens",
                        units_print_count(arena, (double)(samples * d->out->sample_tokens)));
  return arena_printf(arena, "%lld %s", (long long)samples, units_word(d->job->train.batch.unit));
}

static bool refuse_batch_unit(Deriving *d, const char *needs) {
  error_at(d->c, field_place(d->job, FIELD_train_batch), "unit",
           "train.batch of this data counts %s", needs);
  bool is_count = d->job->train.batch.unit != UNIT_TOKENS; /* tokens of a table are nothing */
  fix_last(d->c, "batch = \"%.0f %s\"", is_count ? d->job->train.batch.value : 64,
           d->is_table ? "samples" : "sequences");
  return false;
}

/* Micro-batches that stages of the job's pipeline take at a time, and at least. */
static int64_t group_of(const Deriving *d) {
  int32_t stages = (int32_t)d->out->pp;
  return stages == 1 ? 1 : pipeline_group((PipeKind)d->job->parallel.pipeline, stages);
}

static int64_t least_of(const Deriving *d) {
  int32_t stages = (int32_t)d->out->pp;
  return stages == 1 ? 1 : pipeline_least((PipeKind)d->job->parallel.pipeline, stages);
}

/* Samples that every batch is a multiple of. */
static int64_t batch_step(const Deriving *d) {
  return d->out->dp * d->job->train.microbatch * group_of(d);
}

/* Evaluation runs one micro-batch of each replica at a time. */
static bool derive_pass(Deriving *d) {
  Job *job = d->job;
  d->out->accumulation = 1;
  d->out->batch_samples = d->out->dp * job->train.microbatch;
  job->train.batch = (Amount){.value = (double)d->out->batch_samples,
                              .unit = d->is_table ? UNIT_SAMPLES : UNIT_SEQUENCES};
  field_derive(job, FIELD_train_batch, "a micro-batch of each replica");
  return true;
}

static bool derive_samples(Deriving *d) {
  const Amount *batch = &d->job->train.batch;
  Arena *arena = d->c->arena;
  bool is_samples = batch->unit == UNIT_SAMPLES;
  if (d->is_table != is_samples)
    return refuse_batch_unit(d, d->is_table ? "samples" : "tokens or sequences");
  int64_t number = (int64_t)batch->value, tokens = d->out->sample_tokens;
  d->out->batch_samples = number;
  if (batch->unit != UNIT_TOKENS) return true;
  d->out->batch_samples = number / tokens;
  if (number % tokens == 0) return true;
  error_at(d->c, field_place(d->job, FIELD_train_batch), "batch-identity",
           "%s token%s %s %.2f sequences of %lld, not whole", format_count(arena, number),
           plural(number), plural_is(number), (double)number / (double)tokens, (long long)tokens);
  int64_t above =
      round_up(number / tokens + 1, batch_step(d)); /* the fix satisfies the other rules, too */
  fix_last(d->c, "batch = \"%s\"", batch_text(d, above));
  return false;
}

static void fix_batch(Deriving *d) {
  int64_t samples = d->out->batch_samples, step = batch_step(d);
  int64_t below = samples / step * step, least = least_of(d) * step;
  fix_last(d->c, "batch = \"%s\"", batch_text(d, below + step > least ? below + step : least));
  if (below >= least) note_at(d->c, (Span){0}, "nearest below: \"%s\"", batch_text(d, below));
  int64_t micro = d->job->train.microbatch, groups = step / micro;
  for (int64_t m = micro < samples ? micro : samples; m > 0; m--) /* or keep the batch */
    if (m != micro && samples % (m * groups) == 0 && samples / (m * groups) >= least_of(d)) {
      note_at(d->c, (Span){0}, "or keep the batch: microbatch = %lld", (long long)m);
      break;
    }
}

/* A plan names every micro-batch of a step. */
static bool check_microbatches(Deriving *d) {
  enum { MICROBATCHES_MOST = 1 << 20 };
  if (d->out->accumulation <= MICROBATCHES_MOST) return true;
  int64_t step = batch_step(d);
  int64_t most = MICROBATCHES_MOST * d->out->dp * d->job->train.microbatch;
  error_at(d->c, field_place(d->job, FIELD_train_batch), "micro-batches",
           "%s micro-batches in a step; a plan has at most %s",
           format_count(d->c->arena, d->out->accumulation),
           format_count(d->c->arena, MICROBATCHES_MOST));
  fix_last(d->c, "batch = \"%s\"", batch_text(d, most / step * step));
  note_at(d->c, (Span){0}, "or a larger microbatch");
  return false;
}

static bool refuse_few(Deriving *d) {
  const char *word = pipe_rules[d->job->parallel.pipeline].word;
  error_at(d->c, field_place(d->job, FIELD_train_batch), "batch-identity",
           "%lld micro-batch%s %s too few: %s on %lld stages takes %lld or more",
           (long long)d->out->accumulation, plural_es(d->out->accumulation),
           plural_is(d->out->accumulation), word, (long long)d->out->pp, (long long)least_of(d));
  fix_batch(d);
  return false;
}

static bool derive_accumulation(Deriving *d) {
  int64_t samples = d->out->batch_samples, dp = d->out->dp, micro = d->job->train.microbatch;
  int64_t pass = dp * micro;
  Span at = field_place(d->job, FIELD_train_batch);
  d->out->accumulation = samples / pass;
  bool is_whole = samples > 0 && samples % batch_step(d) == 0;
  if (is_whole && d->out->accumulation < least_of(d)) return refuse_few(d);
  if (is_whole) return check_microbatches(d);
  if (samples % pass == 0 && samples > 0)
    error_at(d->c, at, "batch-identity",
             "%lld micro-batch%s %s not a multiple of pp %lld, and interleaved stages take pp at "
             "a time",
             (long long)d->out->accumulation, plural_es(d->out->accumulation),
             plural_is(d->out->accumulation), (long long)d->out->pp);
  else
    error_at(d->c, at, "batch-identity",
             "%lld %s / (dp %lld x microbatch %lld) = %.2f passes, not whole", (long long)samples,
             d->is_table ? "samples" : "sequences", (long long)dp, (long long)micro,
             (double)samples / (double)pass);
  fix_batch(d);
  return false;
}

/* ---- steps */

static int64_t samples_of_data(const Deriving *d) {
  if (d->is_table) return d->job->train_tokens;
  if (job_is_packed(d->job)) return d->job->train_windows;
  int64_t of_sources = 0;
  for (int32_t i = 0; i < d->job->mix.count; i++)
    if (d->job->mix.at[i].tokens > 0)
      of_sources += (d->job->mix.at[i].tokens - 1) / d->out->sample_tokens;
  if (d->job->mix.count > 0) return of_sources;
  return d->job->train_tokens > 0 ? (d->job->train_tokens - 1) / d->out->sample_tokens : 0;
}

static int64_t samples_of_valid(const Deriving *d) {
  if (d->is_table) return d->job->valid_tokens;
  if (job_is_packed(d->job)) return d->job->valid_windows;
  int64_t tokens = d->out->sample_tokens, targets = d->job->valid_tokens - 1;
  return targets > 0 ? (targets + tokens - 1) / tokens : 0;
}

static bool check_data_size(Deriving *d) {
  if (d->job->valid_tokens > 0 && samples_of_valid(d) == 0)
    return error_at(d->c, field_place(d->job, FIELD_data_valid), "data",
                    "data.valid has a single token, and none that it could predict");
  bool is_counted = d->job->train_tokens > 0;
  for (int32_t i = 0; is_counted && !job_is_packed(d->job) && i < d->job->mix.count; i++)
    if (d->job->mix.at[i].tokens <= d->out->sample_tokens)
      return error_at(
          d->c, field_place(d->job, FIELD_data_train), "data",
          "data.train: source %d has %s token%s, fewer than one sequence of %lld and its "
          "target",
          i + 1, format_count(d->c->arena, d->job->mix.at[i].tokens),
          plural(d->job->mix.at[i].tokens), (long long)d->out->sample_tokens);
  if (!is_counted || samples_of_data(d) > 0) return true;
  return error_at(d->c, field_place(d->job, FIELD_data_train), "data",
                  "data.train has %s token%s, fewer than one sequence of %lld and its target",
                  format_count(d->c->arena, d->job->train_tokens), plural(d->job->train_tokens),
                  (long long)d->out->sample_tokens);
}

static bool derive_steps(Deriving *d) {
  const Amount *steps = &d->job->train.steps;
  double count = steps->value;
  double batch_tokens = (double)d->out->batch_samples * (double)d->out->sample_tokens;
  if (steps->unit == UNIT_TOKENS) count = ceil(steps->value / batch_tokens);
  if (steps->unit == UNIT_EPOCHS && d->job->mix.count > 0) {
    error_at(d->c, field_place(d->job, FIELD_train_steps), "conflict",
             "train.steps in epochs: sources with weights do not end together");
    fix_last(d->c, "steps = \"1e9 tokens\"");
    return false;
  }
  if (steps->unit == UNIT_EPOCHS) {
    int64_t samples = samples_of_data(d);
    if (d->job->data.head == CHOICE_SYNTHETIC || samples == 0) {
      error_at(d->c, field_place(d->job, FIELD_train_steps), "conflict",
               "train.steps in epochs needs data files that can be counted");
      fix_last(d->c, "steps = 1000");
      return false;
    }
    count = ceil(steps->value * (double)samples / (double)d->out->batch_samples);
  }
  if (!(count >= 1 && count <= 1e12))
    return error_at(d->c, field_place(d->job, FIELD_train_steps), "range",
                    "train.steps comes to %.3g steps; it is 1 to 1e12", count);
  d->out->steps = (int64_t)count;
  return true;
}

static bool refuse_validation(Deriving *d, int32_t field) {
  const char *key = spec_fields[field].key;
  error_at(d->c, field_place(d->job, field), "conflict", "train.%s needs data.valid", key);
  fix_last(d->c, "remove %s", key);
  return false;
}

static void lint_validate_steps(const Deriving *d) {
  int64_t have = samples_of_valid(d), batch = d->out->batch_samples;
  if (have == 0 || d->out->validate_samples - batch < have) return;
  lint_at(d->c, field_place(d->job, FIELD_train_validate_steps), "no-effect",
          "validate_steps asks for %s %s, and data.valid has %s: a validation reads all of it",
          format_count(d->c->arena, d->out->validate_samples), d->is_table ? "rows" : "sequences",
          format_count(d->c->arena, have));
  fix_last(d->c, "validate_steps = %lld", (long long)((have + batch - 1) / batch));
}

/* A function of data, context and batch: what a validation measures is the same at any degrees. */
static void derive_validate_steps(Deriving *d) {
  enum { TOKENS_MOST = 1 << 20 };
  Job *job = d->job;
  int64_t batch = d->out->batch_samples, *steps = &job->train.validate_steps;
  if (field_is_said(job, FIELD_train_validate_steps)) {
    if (__builtin_mul_overflow(*steps, batch, &d->out->validate_samples))
      d->out->validate_samples = INT64_MAX;
    lint_validate_steps(d);
    return;
  }
  int64_t most = TOKENS_MOST / d->out->sample_tokens, have = samples_of_valid(d);
  if (job->use != USE_TRAIN && have > 0) most = have;
  if (most == 0) most = 1;
  d->out->validate_samples = most;
  bool is_whole = have > 0 && have <= most;
  *steps = ((is_whole ? have : most) + batch - 1) / batch;
  field_derive(job, FIELD_train_validate_steps,
               arena_printf(d->c->arena, "%s %s %s of data.valid",
                            is_whole   ? "all"
                            : have > 0 ? "first"
                                       : "at most",
                            format_count(d->c->arena, is_whole ? have : most),
                            d->is_table ? "rows" : "sequences"));
}

static bool derive_validation(Deriving *d) {
  Job *job = d->job;
  bool has_valid = job->set[FIELD_data_valid];
  static const int32_t fields[] = {FIELD_train_validate_every, FIELD_train_validate_steps};
  for (size_t i = 0; i < sizeof fields / sizeof *fields && !has_valid; i++)
    if (field_is_said(job, fields[i])) return refuse_validation(d, fields[i]);
  if (!field_is_said(job, FIELD_train_validate_every)) {
    job->train.validate_every = has_valid ? 250 : 0;
    field_derive(job, FIELD_train_validate_every,
                 has_valid ? "data.valid is given: 250" : "no data.valid");
  }
  d->out->validate_every = job->train.validate_every;
  if (has_valid)
    derive_validate_steps(d);
  else
    field_derive(job, FIELD_train_validate_steps, "no data.valid");
  return true;
}

static bool refuse_later(Compile *c, const Job *job, int32_t field) {
  error_at(c, field_place(job, field), "nothing-saved",
           "%s starts the job again from its last checkpoint; checkpoint.every is \"never\"",
           field_name(c->arena, field));
  fix_last(c, "remove %s", spec_fields[field].key);
  return false;
}

/* A job that saves nothing would start from the beginning each time, and never end. */
static bool derive_requeue(Compile *c, Job *job) {
  if (job->checkpoint.every.unit != UNIT_NEVER) return true;
  if (field_is_said(job, FIELD_slurm_chain) && job->slurm.chain > 1)
    return refuse_later(c, job, FIELD_slurm_chain);
  if (field_is_said(job, FIELD_slurm_requeue) && job->slurm.requeue)
    return refuse_later(c, job, FIELD_slurm_requeue);
  job->slurm.requeue = false;
  job->slurm.chain = 1;
  field_derive(job, FIELD_slurm_requeue, "checkpoint.every is never");
  field_derive(job, FIELD_slurm_chain, "checkpoint.every is never");
  return true;
}

/* Synthetic data feeds single samples to a model without sequences. */
static bool feeds_samples(const Job *job, const ModelFacts *model) {
  if (job->data.head != CHOICE_SYNTHETIC) return job->data.head == CHOICE_TABLE;
  return model->positions <= 0 && !job->set[FIELD_train_context] &&
         job->train.batch.unit == UNIT_SAMPLES;
}

bool spec_check_batch(Compile *c, const Job *job, const ModelFacts *model, int64_t ranks) {
  Job copy = *job;
  Derived derived = {.dp = ranks, .pp = 1};
  Deriving d = {c, &copy, NULL, &derived, feeds_samples(job, model)};
  if (!field_is_said(job, FIELD_train_microbatch)) copy.train.microbatch = 1;
  if (!derive_context(&d, model->positions)) return false;
  const double samples = job->train.batch.value / (double)derived.sample_tokens;
  while (derived.dp > 1 && (ranks % derived.dp != 0 || (double)derived.dp > samples))
    derived.dp--;
  return derive_samples(&d);
}

bool spec_derive(Compile *c, Job *job, const Cluster *cluster, const ModelFacts *model,
                 Derived *derived) {
  *derived = (Derived){0};
  Deriving d = {c, job, cluster, derived, feeds_samples(job, model)};
  if (job->use == USE_SAMPLE && !sample_derive(c, job, model->positions)) return false;
  if ((job->use == USE_EVAL || job->use == USE_PREDICT) && !sample_refuse(c, job)) return false;
  bool is_good =
      derive_degrees(c, job, cluster, derived) && derive_shards(c, job, cluster, derived);
  if (is_good && (job->use == USE_SAMPLE || job->use == USE_PREDICT))
    is_good = sample_check_ranks(c, job, derived);
  is_good = derive_context(&d, model->positions) && is_good;
  if (!is_good) return false; /* later checks would report the same mistake again */
  is_good = derive_cuts(c, job, model, !d.is_table, derived);
  is_good =
      (job->use != USE_TRAIN ? derive_pass(&d) : derive_samples(&d) && derive_accumulation(&d)) &&
      is_good;
  if (!is_good) return false;
  return check_data_size(&d) && derive_steps(&d) && derive_schedule(c, job, derived->steps) &&
         derive_validation(&d) && derive_requeue(c, job);
}
