/* rules.c -- rules over several keys: contradictions, derived words, {run} and {name}. */
#include <ctype.h>
#include <float.h>
#include <string.h>

#include "compiler/job/offload.h"

/* A key of another choice: adamw's beta1 beside sgd. */
static void refuse_beside(Compile *c, const Job *job, int32_t field, const char *owner,
                          const char *section, const char *word) {
  refuse_useless(c, job, field, owner, arena_printf(c->arena, "%s is \"%s\"", section, word));
}

/* "adamw and lion": the optimizers that a key is for. */
static const char *owners_of(Compile *c, const char *key) {
  const char *text = "";
  for (size_t i = 0; i < sizeof optimizer_rows / sizeof *optimizer_rows; i++)
    if (word_index(optimizer_rows[i].attrs, key) >= 0)
      text = arena_printf(c->arena, "%s%s%s", text, *text ? " and " : "", optimizer_rows[i].name);
  return text;
}

/* Kernels update in fp32. A mean whose share is 1 there keeps no part of new values; a rate or a
 * clip that is 0 there changes no parameter, which no job means that says a number above 0. */
static void check_as_fp32(Compile *c, Job *job, int32_t field, bool below_one) {
  const double value = *(double *)field_at(job, field);
  const char *name = field_name(c->arena, field);
  const Span at = job->origin[field].span;
  if (below_one && value < 1 && (float)value >= 1)
    error_at(
        c, at, "range",
        "%s is %.17g, which is 1 in fp32, in which updates are computed: the largest below 1 is "
        "0.99999994",
        name, value);
  if (!below_one && value > 0 && value < (double)FLT_MIN)
    error_at(
        c, at, "range",
        "%s is %g, which is 0 in fp32, in which updates are computed: it is 0, or 1.2e-38 or more",
        name, value);
}

static void check_optimizer_key(Compile *c, Job *job, int32_t field, bool below_one) {
  const char *key = spec_fields[field].key, *word = job->optimizer.head_text;
  if (word_index(optimizer_rows[job->optimizer.head].attrs, key) < 0)
    refuse_beside(c, job, field, owners_of(c, key), "optimizer", word);
  if (below_one && *(double *)field_at(job, field) >= 1)
    error_at(c, job->origin[field].span, "range", "%s is below 1: a mean needs new values",
             field_name(c->arena, field));
  else if (below_one)
    check_as_fp32(c, job, field, true);
}

static void derive_number(Compile *c, Job *job, int32_t field, double value) {
  if (field_is_said(job, field)) return;
  *(double *)field_at(job, field) = value;
  const char *name = optimizer_rows[job->optimizer.head].name;
  field_derive(job, field, arena_printf(c->arena, "%s: %g", name, value));
}

static void check_optimizer(Compile *c, Job *job) {
  const OptimizerRow *row = &optimizer_rows[job->optimizer.head];
  check_optimizer_key(c, job, FIELD_optimizer_beta1, true);
  check_optimizer_key(c, job, FIELD_optimizer_beta2, true);
  check_optimizer_key(c, job, FIELD_optimizer_eps, false);
  check_optimizer_key(c, job, FIELD_optimizer_momentum, true);
  check_as_fp32(c, job, FIELD_optimizer_lr, false);
  check_as_fp32(c, job, FIELD_optimizer_clip, false);
  if (row->beta2 > 0) derive_number(c, job, FIELD_optimizer_beta2, row->beta2);
  derive_number(c, job, FIELD_optimizer_weight_decay, row->decay);
}

DType precision_dtype(int32_t word) {
  return word == CHOICE_BF16 ? DTYPE_BF16 : word == CHOICE_FP16 ? DTYPE_F16 : DTYPE_F32;
}

static void check_master(Compile *c, Job *job) {
  const bool is_narrow = job->precision.param != CHOICE_FP32;
  const bool is_nearest = job->precision.update == CHOICE_UPDATE_NEAREST;
  Span at = job->origin[FIELD_precision_master].span;
  if (!job->set[FIELD_precision_master]) {
    job->precision.master = is_narrow && is_nearest ? CHOICE_MASTER_FP32 : CHOICE_MASTER_NONE;
    field_derive(job, FIELD_precision_master,
                 !is_nearest ? "precision.update loses no update"
                 : is_narrow ? "param is narrower than fp32"
                             : "param is fp32 itself");
  } else if (!is_narrow && job->precision.master == CHOICE_MASTER_FP32) {
    error_at(c, at, "conflict",
             "precision.master: param is fp32 itself, a copy of it would be the same");
    fix_last(c, "remove master");
  } else if (job->precision.param != CHOICE_BF16 && job->precision.master == CHOICE_MASTER_SPLIT) {
    error_at(c, at, "conflict",
             "precision.master: a split master is the lower half of fp32, beside a bf16 weight as "
             "its upper half; param is %s",
             dtype_name(precision_dtype(job->precision.param)));
    fix_last(c, "param = \"bf16\"");
  }
}

/* Another rounding than to nearest is for bf16 weights that are the truth themselves. */
static void check_update(Compile *c, Job *job) {
  const char *word = job->precision.update == CHOICE_UPDATE_KAHAN ? "kahan" : "stochastic";
  Span at = job->origin[FIELD_precision_update].span;
  if (job->precision.update == CHOICE_UPDATE_NEAREST) return;
  if (job->precision.param == CHOICE_FP32) {
    error_at(c, at, "conflict",
             "precision.update: \"%s\" is for bf16 weights; param is fp32, which loses no update",
             word);
    fix_last(c, "remove update");
  } else if (job->precision.param != CHOICE_BF16) {
    error_at(c, at, "conflict", "precision.update: \"%s\" is for bf16 weights; param is fp16",
             word);
    fix_last(c, "update = \"nearest\"");
  } else if (job->precision.master != CHOICE_MASTER_NONE) {
    error_at(c, at, "conflict",
             "precision.update: \"%s\" is for weights without a master, which would keep every "
             "update",
             word);
    fix_last(c, "master = \"none\"");
  }
}

TruthStorage job_truth(const Job *job) {
  if (job->precision.master == CHOICE_MASTER_FP32) return TRUTH_MASTER;
  if (job->precision.master == CHOICE_MASTER_SPLIT) return TRUTH_SPLIT;
  return job->precision.update == CHOICE_UPDATE_KAHAN        ? TRUTH_KAHAN
         : job->precision.update == CHOICE_UPDATE_STOCHASTIC ? TRUTH_STOCHASTIC
                                                             : TRUTH_PLAIN;
}

static void check_precision(Compile *c, Job *job) {
  Arena *arena = c->arena;
  const char *row = arena_printf(arena, "precision = \"%s\"", job->precision.head_text);
  if (!job->set[FIELD_precision_param]) {
    job->precision.param = job->precision.head;
    field_derive(job, FIELD_precision_param, row);
  }
  if (!job->set[FIELD_precision_compute]) {
    job->precision.compute = job->precision.head;
    field_derive(job, FIELD_precision_compute, row);
  }
  if (!job->set[FIELD_precision_reduce]) {
    job->precision.reduce = job->precision.grad;
    field_derive(job, FIELD_precision_reduce, "as precision.grad");
  }
  check_master(c, job);
  check_update(c, job);
  loss_scale_rules(c, job);
}

static void check_data(Compile *c, Job *job) {
  const char *word = job->data.head_text;
  if (job->data.head != CHOICE_TABLE)
    refuse_beside(c, job, FIELD_data_columns, "table", "data", word);
  if (job->data.head != CHOICE_TOKENS)
    refuse_beside(c, job, FIELD_data_format, "tokens", "data", word);
  if (job->data.head == CHOICE_SYNTHETIC) {
    refuse_beside(c, job, FIELD_data_train, "tokens and table", "data", word);
    refuse_beside(c, job, FIELD_data_valid, "tokens and table", "data", word);
    refuse_beside(c, job, FIELD_data_shuffle, "tokens and table", "data", word);
  }
  if (job->data.head == CHOICE_TABLE && field_is_said(job, FIELD_train_context))
    refuse_beside(c, job, FIELD_train_context, "sequences of tokens", "data", word);
}

/* Keys that only have an effect beside another one. */
static void check_needs(Compile *c, Job *job) {
  const struct {
    bool is_met;
    int32_t field;
    const char *owner, *state;
  } needs[] = {
      {job->schedule.warmup.value > 0, FIELD_schedule_warmup_floor, "warmup above 0",
       "warmup is 0"},
      {job->parallel.tp > 1, FIELD_parallel_tp_across, "tp above 1", "tp is 1"},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_keep,
       "checkpoints that are written", "every is \"never\""},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_milestone,
       "checkpoints that are written", "every is \"never\""},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_memory,
       "checkpoints that are written", "every is \"never\""},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_drill,
       "checkpoints that are written", "every is \"never\""},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_part,
       "checkpoints that are written", "every is \"never\""},
      {job->checkpoint.every.unit != UNIT_NEVER, FIELD_checkpoint_async,
       "checkpoints that are written", "every is \"never\""},
      {job->offload.weights != CHOICE_OFFLOAD_NONE || job->offload.head == CHOICE_OFFLOAD_NVME ||
           job->offload.head == CHOICE_OFFLOAD_AUTO ||
           job->offload.activations != CHOICE_OFFLOAD_NONE ||
           job->offload.grads != CHOICE_OFFLOAD_NONE,
       FIELD_offload_prefetch, "weights, gradients or activations in host memory",
       "none of them is there"},
      {job->slurm.retries > 0, FIELD_slurm_spares, "retries above 0", "retries is 0"},
      {job->slurm.retries > 0, FIELD_slurm_elastic, "retries above 0", "retries is 0"},
      {job->set[FIELD_slurm_container], FIELD_slurm_mounts, "slurm.container", "there is none"},
      {job->set[FIELD_slurm_container], FIELD_slurm_container_by, "slurm.container",
       "there is none"},
  };
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (!needs[i].is_met) refuse_useless(c, job, needs[i].field, needs[i].owner, needs[i].state);
}

/* A snapshot is made of copies between memories. */
static void check_async(Compile *c, const Job *job) {
  if (job->checkpoint.async != CHOICE_ASYNC_ON || job->offload.optimizer != CHOICE_OFFLOAD_NVME)
    return;
  error_at(c, job->origin[FIELD_checkpoint_async].span, "not-built",
           "checkpoint.async = \"on\" of optimizer states in files is not built yet");
  fix_last(c, "checkpoint.async = \"off\"");
}

/* The best interval follows from how often nodes fail. */
static void check_every(Compile *c, const Job *job) {
  if (job->checkpoint.every.unit != UNIT_AUTO || job->set[FIELD_cluster_mtbf]) return;
  error_at(c, job->origin[FIELD_checkpoint_every].span, "missing-key",
           "checkpoint.every is \"auto\", and the job does not say how often a node fails");
  fix_last(c, "cluster.mtbf = \"200d\"");
}

/* ---- names and folders */

static const char *name_from_path(Arena *arena, const char *path) {
  char *name = arena_copy(arena, path_stem(arena, path));
  for (char *p = name; *p; p++) {
    *p = (char)tolower((unsigned char)*p);
    if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *p)) *p = '-';
  }
  bool is_good = *name && *name != '.' && *name != '-' && strlen(name) <= 100;
  return is_good ? name : "job";
}

/* Replaces {run} and {name}; any other word in braces is refused. */
static const char *expand(Compile *c, const Job *job, int32_t field, const char *run) {
  const char *text = *(char **)field_at((Job *)job, field);
  const char *out = "";
  for (const char *p = text; *p;) {
    size_t width = strcspn(p, "{");
    out = arena_printf(c->arena, "%s%.*s", out, (int)width, p);
    p += width;
    if (!*p) break;
    const char *value = NULL;
    if (strncmp(p, "{run}", 5) == 0) value = run;
    if (strncmp(p, "{name}", 6) == 0) value = job->job.name;
    if (strncmp(p, "{scratch}", 9) == 0 && job->slurm.scratch) value = job->slurm.scratch;
    if (!value) {
      error_at(
          c, job->origin[field].span, "path",
          "%s: a path knows {name}%s, {scratch} where slurm.scratch says it, and no other word "
          "in braces",
          field_name(c->arena, field), run ? ", {run}" : "");
      return text;
    }
    out = arena_printf(c->arena, "%s%s", out, value);
    p = strchr(p, '}') + 1;
  }
  return path_join(c->arena, "", out);
}

/* A word that is none of ours: a checkpoint's name has a dot, and its path a slash. */
static void refuse_resume(Compile *c, const Job *job) {
  static const char *const none[] = {"none", "no", "false", "off", "scratch", "restart"};
  bool is_none = false;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    is_none |= strcmp(job->checkpoint.resume, none[i]) == 0;
  error_at(c, job->origin[FIELD_checkpoint_resume].span, "unknown-word",
           "checkpoint.resume: %s is not one of: auto never anyway, and no path of a checkpoint",
           text_show(c->arena, job->checkpoint.resume));
  fix_last(c, "resume = \"%s\"", is_none ? "never" : "auto");
}

static void check_paths(Compile *c, Job *job) {
  if (!job->set[FIELD_job_name]) {
    job->job.name = name_from_path(c->arena, job->path);
    field_derive(job, FIELD_job_name, "the file's name");
  }
  job->log.dir = expand(c, job, FIELD_log_dir, NULL);
  job->checkpoint.path = expand(c, job, FIELD_checkpoint_path, job->log.dir);
  if (job->set[FIELD_offload_path])
    job->offload.path = expand(c, job, FIELD_offload_path, job->log.dir);
  const char *resume = job->checkpoint.resume;
  if (strcmp(resume, "auto") == 0 || strcmp(resume, "never") == 0 || strcmp(resume, "anyway") == 0)
    return;
  if (!strpbrk(resume, "/.")) {
    refuse_resume(c, job);
    return;
  }
  if (!path_check(c, resume, job->origin[FIELD_checkpoint_resume].span)) return;
  bool is_shell = job->origin[FIELD_checkpoint_resume].kind == ORIGIN_OVERRIDE;
  if (*resume != '{' && !is_shell)
    job->checkpoint.resume = path_join(c->arena, job->directory, resume);
  job->checkpoint.resume = expand(c, job, FIELD_checkpoint_resume, job->log.dir);
}

bool job_rules(Compile *c, Job *job) {
  check_optimizer(c, job);
  schedule_rules(c, job);
  check_precision(c, job);
  offload_rules(c, job);
  check_data(c, job);
  parallel_rules(c, job);
  check_needs(c, job);
  check_every(c, job);
  check_async(c, job);
  check_paths(c, job);
  if (!compile_failed(c)) job_lints(c, job);
  return !compile_failed(c);
}
