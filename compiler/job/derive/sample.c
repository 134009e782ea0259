/* sample.c -- section `sample`: how many texts grow at once, how long they may be, and how much of
 * a prompt one pass takes. */
#include "compiler/job/derive/sample.h"

#include "compiler/job/job_room.h"

enum { BATCH_USUAL = 16, CHUNK_USUAL = 512 };

static bool refuse_beyond(Compile *c, const Job *job, int64_t needed, int64_t positions) {
  const DrawOptions *draw = &job->draw;
  const int64_t most_tokens = positions - draw->prompt_tokens + 1;
  error_at(c, (Span){.file = job->path}, "range",
           "a prompt of %lld token%s and %lld more need %lld positions; the model has %lld",
           (long long)draw->prompt_tokens, plural(draw->prompt_tokens), (long long)draw->tokens,
           (long long)needed, (long long)positions);
  if (draw->prompt_tokens <= positions)
    fix_last(c, "--tokens %lld", (long long)most_tokens);
  else
    note_at(c, (Span){0},
            "the longest prompt alone is longer than the %lld positions: it must be shorter",
            (long long)positions);
  return needed <= positions;
}

/* The last token that is drawn is not read again. */
static bool derive_positions(Compile *c, Job *job, int64_t positions) {
  const DrawOptions *draw = &job->draw;
  const bool is_asked = draw->prompt_tokens > 0;
  const int64_t needed = is_asked ? draw->prompt_tokens + draw->tokens - 1 : 1;
  if (positions > 0 && needed > positions) return refuse_beyond(c, job, needed, positions);
  if (!field_is_said(job, FIELD_sample_context)) {
    const int64_t usual = is_asked ? needed + 1 : positions;
    if (usual <= 0) {
      error_at(c, (Span){.file = job->path}, "missing-key",
               "sample.context is missing: this model has no positions to take it from");
      fix_last(c, "-D sample.context=1024");
      return false;
    }
    job->sample.context = positions > 0 && usual > positions ? positions : usual;
    field_derive(job, FIELD_sample_context,
                 is_asked ? "the longest prompt and --tokens" : "model.positions");
  }
  const int64_t context = job->sample.context;
  if (context >= needed && (positions <= 0 || context <= positions)) return true;
  if (context < needed)
    error_at(c, field_place(job, FIELD_sample_context), "range",
             "a prompt of %lld token%s and %lld more need %lld positions; sample.context is %lld",
             (long long)draw->prompt_tokens, plural(draw->prompt_tokens), (long long)draw->tokens,
             (long long)needed, (long long)context);
  else
    error_at(c, field_place(job, FIELD_sample_context), "range",
             "sample.context %lld is longer than the model's %lld positions", (long long)context,
             (long long)positions);
  fix_last(c, "-D sample.context=%lld", (long long)(context < needed ? needed : positions));
  return false;
}

static void derive_batch(Job *job) {
  const int64_t texts = job->draw.sequences;
  if (field_is_said(job, FIELD_sample_batch)) return;
  job->sample.batch = texts < 1 ? 1 : texts < BATCH_USUAL ? texts : BATCH_USUAL;
  field_derive(job, FIELD_sample_batch, "as many texts as there are, at most 16");
}

static bool derive_chunk(Compile *c, Job *job) {
  const int64_t longest = job->draw.prompt_tokens;
  if (field_is_said(job, FIELD_sample_chunk)) {
    if (job->sample.chunk <= job->sample.context) return true;
    error_at(
        c, field_place(job, FIELD_sample_chunk), "range",
        "sample.chunk %lld is longer than a text, which has up to %lld tokens (sample.context)",
        (long long)job->sample.chunk, (long long)job->sample.context);
    fix_last(c, "sample.chunk=%lld", (long long)job->sample.context);
    return false;
  }
  const int64_t most = longest > 0 ? longest : job->sample.context;
  job->sample.chunk = most < CHUNK_USUAL ? most : CHUNK_USUAL;
  field_derive(job, FIELD_sample_chunk,
               longest > 0 ? "the longest prompt, at most 512" : "sample.context, at most 512");
  return true;
}

static void derive_cache(Job *job) {
  const int32_t compute = job->precision.compute;
  if (field_is_said(job, FIELD_sample_cache)) return;
  job->sample.cache = compute == CHOICE_BF16 ? CHOICE_BF16 : CHOICE_FP32;
  field_derive(job, FIELD_sample_cache, "precision.compute");
}

/* Keys that divide or measure the data of a step, which prompts are not. */
static bool check_useless(Compile *c, const Job *job) {
  static const struct {
    int32_t field;
    const char *instead;
  } keys[] = {{FIELD_train_context, "sample.context"},
              {FIELD_train_microbatch, "sample.batch"},
              {FIELD_parallel_sequence, NULL}};
  const int32_t errors = c->diags.error_count;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!field_is_said(job, keys[i].field)) continue;
    error_at(c, field_place(job, keys[i].field), "wrong-use", "sample does not read %s",
             field_name(c->arena, keys[i].field));
    if (keys[i].instead != NULL)
      fix_last(c, "%s", keys[i].instead);
    else
      fix_last(c, "remove it");
  }
  return c->diags.error_count == errors;
}

bool sample_refuse(Compile *c, const Job *job) {
  const int32_t errors = c->diags.error_count;
  for (int32_t field = FIELD_sample_batch; field <= FIELD_sample_cache; field++)
    refuse_useless(c, job, field, "lockstep sample", "nothing is drawn here");
  return c->diags.error_count == errors;
}

bool sample_derive(Compile *c, Job *job, int64_t positions) {
  if (!check_useless(c, job) || !derive_positions(c, job, positions)) return false;
  derive_batch(job);
  if (!derive_chunk(c, job)) return false;
  derive_cache(job);
  job->train.context = job->sample.chunk;
  field_derive(job, FIELD_train_context, "sample.chunk");
  job->train.microbatch = job->sample.batch;
  field_derive(job, FIELD_train_microbatch, "sample.batch");
  job->parallel.sequence = false;
  field_derive(job, FIELD_parallel_sequence, "a pass of decode has one token");
  return true;
}

bool sample_check_ranks(Compile *c, const Job *job, const Derived *derived) {
  const bool draws = job->use == USE_SAMPLE;
  if (draws && derived->cp > 1) {
    error_at(c, field_place(job, FIELD_parallel_cp), "wrong-use",
             "sample divides the model over ranks (tp, pp): cp is %lld, and keys and values of a "
             "text stay on the ranks that have its heads",
             (long long)derived->cp);
    fix_last(c, "cp = 1");
    return false;
  }
  if (derived->dp == 1) return true;
  const int64_t ranks = derived->tp * derived->pp * derived->cp;
  error_at(c, field_place(job, FIELD_parallel_dp), "wrong-use",
           "%s divides the model over ranks (tp, pp): dp is %lld, and %s are not divided over "
           "replicas",
           draws ? "sample" : "predict", (long long)derived->dp, draws ? "texts" : "rows");
  if (field_is_said(job, FIELD_parallel_dp))
    fix_last(c, "dp = 1");
  else
    fix_last(c, "-D cluster.devices=%lld", (long long)ranks);
  return false;
}
