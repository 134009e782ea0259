/* export_deepspeed.c -- a job as ds_config.json. */
#include <math.h>
#include <string.h>

#include "compiler/job/import/export.h"

static const char *dtype_word(int32_t choice) {
  return choice == CHOICE_BF16 ? "bf16" : choice == CHOICE_FP16 ? "fp16" : "fp32";
}

static double dtype_size(int32_t choice) {
  return choice == CHOICE_FP32 ? 4 : 2;
}

static const char *inside(Config *x, const char *prefix, const char *key) {
  return arena_printf(x->arena, "%s%s", prefix, key);
}

/* ---- precision */

static void put_scale(Config *x) {
  const double *number = x->job->loss_scale.number;
  static const struct {
    const char *key;
    int row;
  } keys[] = {{"fp16.loss_scale_window", LOSS_SCALE_OF_WINDOW},
              {"fp16.hysteresis", LOSS_SCALE_OF_HYSTERESIS},
              {"fp16.min_loss_scale", LOSS_SCALE_OF_MIN}};
  entry_says(x, "precision.loss_scale");
  if (x->job->precision.loss_scale == LOSS_SCALE_CONSTANT) {
    entry_number(x, "fp16.loss_scale", number[LOSS_SCALE_OF_INIT]);
    return;
  }
  entry_put(x, "fp16.loss_scale", "0");
  entry_number(x, "fp16.initial_scale_power", round(log2(number[LOSS_SCALE_OF_INIT])));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    entry_number(x, keys[i].key, number[keys[i].row]);
  entry_put(x, "fp16.consecutive_hysteresis", number[LOSS_SCALE_OF_REFILL] != 0 ? "true" : "false");
  if (exp2(round(log2(number[LOSS_SCALE_OF_INIT]))) != number[LOSS_SCALE_OF_INIT])
    untold_of(x, "precision.loss_scale.init", lua_number(x->arena, number[LOSS_SCALE_OF_INIT]),
              "its first scale is a power of two, the nearest is written");
  if (number[LOSS_SCALE_OF_GROWTH] != 2 || number[LOSS_SCALE_OF_BACKOFF] != 0.5)
    untold_of(x, "precision.loss_scale.growth and backoff", NULL, "its factors are 2 and 0.5");
  if (number[LOSS_SCALE_OF_LATE] != 1)
    untold_of(x, "precision.loss_scale.late", lua_number(x->arena, number[LOSS_SCALE_OF_LATE]),
              "the first good step after an overflow does not count there");
}

static void put_precision(Config *x) {
  const Job *job = x->job;
  entry_says(x, "precision");
  entry_put(x, "bf16.enabled", job->precision.head == CHOICE_BF16 ? "true" : "false");
  entry_put(x, "fp16.enabled", job->precision.head == CHOICE_FP16 ? "true" : "false");
  if (job->precision.head == CHOICE_FP16) put_scale(x);
  if (job_says(x, FIELD_precision_reduce)) {
    entry_word(x, "communication_data_type", dtype_word(job->precision.reduce));
    entry_says(x, "precision.reduce");
  }
  entry_word(x, "data_types.grad_accum_dtype", dtype_word(job->precision.grad));
  entry_says(x, "precision.grad");
}

/* ---- ZeRO and offload */

static void put_elements(Config *x, const char *key, int32_t field, int64_t bytes, int32_t dtype) {
  const char *name = field == FIELD_parallel_bucket ? "parallel.bucket" : "parallel.zero_keep";
  if (!job_says(x, field)) return;
  if (fmod((double)bytes, dtype_size(dtype)) != 0 || (double)bytes < dtype_size(dtype)) return;
  entry_number(x, key, (double)bytes / dtype_size(dtype));
  entry_says(x, name);
}

static void put_offload(Config *x, const char *prefix) {
  const Job *job = x->job;
  const struct {
    const char *ours, *key;
    int32_t where;
  } parts[] = {{"offload.optimizer", "offload_optimizer", job->offload.optimizer},
               {"offload.weights", "offload_param", job->offload.weights}};
  for (int i = 0; i < 2; i++) {
    bool is_host = parts[i].where == CHOICE_OFFLOAD_CPU,
         is_file = parts[i].where == CHOICE_OFFLOAD_NVME;
    if (!is_host && !is_file) continue;
    if (x->derived->zero < (i ? 3 : 1)) {
      untold(x, parts[i].ours,
             i ? "it offloads weights at stage 3 alone" : "it offloads states at stages 1 to 3");
      continue;
    }
    const char *table = arena_printf(x->arena, "%s%s", prefix, parts[i].key);
    entry_word(x, arena_printf(x->arena, "%s.device", table), is_file ? "nvme" : "cpu");
    if (is_file && job->offload.path) {
      entry_word(x, arena_printf(x->arena, "%s.nvme_path", table), job->offload.path);
      entry_says(x, "offload.path");
    }
    entry_says(x, parts[i].ours);
  }
  if (job->offload_part.value > 0)
    untold_of(x, "share or most of offload.optimizer", NULL, "all states are offloaded there");
}

void export_zero(Config *x, const char *prefix) {
  const Job *job = x->job;
  const Derived *d = x->derived;
  int32_t param = job->precision.param;
  entry_number(x, inside(x, prefix, "stage"), (double)d->zero);
  entry_says(x, "parallel.zero");
  put_elements(x, inside(x, prefix, "reduce_bucket_size"), FIELD_parallel_bucket,
               job->parallel.bucket, job->precision.grad);
  if (d->zero == 3) {
    if (job->parallel.zero_keep > 0)
      put_elements(x, inside(x, prefix, "stage3_param_persistence_threshold"),
                   FIELD_parallel_zero_keep, job->parallel.zero_keep, param);
    if (job_says(x, FIELD_parallel_zero_prefetch) && job->parallel.zero_prefetch <= 1) {
      entry_put(x, inside(x, prefix, "stage3_prefetch_bucket_size"),
                job->parallel.zero_prefetch ? "50000000" : "0");
      entry_says(x, "parallel.zero_prefetch");
    }
    if (d->shard_ranks > 1 && d->shard_ranks < d->dp * d->cp) {
      entry_number(x, inside(x, prefix, "zero_hpz_partition_size"), (double)d->shard_ranks);
      entry_says(x, "parallel.zero_group");
    }
  }
  put_offload(x, prefix);
}

/* ---- schedule */

static void put_schedule(Config *x) {
  const Job *job = x->job;
  const int32_t kind = job->schedule.head;
  const double lr = job->optimizer.lr;
  if (kind == CHOICE_CONSTANT && job->schedule.warmup.value == 0) {
    entry_says(x, "schedule");
    return;
  }
  if (!entry_ours_word(x, "schedule", schedule_value(x))) return;
  x->formula = "deepspeed";
  const double warmup = fmax(job->schedule.warmup.value, 1);
  if (job->schedule.warmup.value < 2)
    untold(x, "schedule.warmup", "it warms up for two steps or more");
  if (kind == CHOICE_COSINE) {
    entry_ours(x, "schedule.warmup", warmup);
    entry_ours(x, "schedule.over", schedule_over(x));
    entry_ours(x, "schedule.floor", job->schedule.floor);
    entry_ours(x, "schedule.warmup_floor", job->schedule.warmup_floor);
    entry_word(x, "scheduler.params.warmup_type", "linear");
    return;
  }
  entry_number(x, "scheduler.params.warmup_min_lr", decimal_near(job->schedule.warmup_floor * lr));
  entry_number(x, "scheduler.params.warmup_max_lr", lr);
  entry_ours(x, "schedule.warmup", warmup);
  entry_says(x, "schedule.warmup_floor");
  entry_word(x, "scheduler.params.warmup_type", "linear");
  if (kind == CHOICE_CONSTANT) {
    entry_says(x, "schedule.floor"), entry_says(x, "schedule.over");
    return;
  }
  entry_ours(x, "schedule.over", schedule_over(x));
  if (job->schedule.floor != 0) untold(x, "schedule.floor", "its WarmupDecayLR ends at 0");
}

void export_deepspeed(Config *x) {
  const Job *job = x->job;
  const Derived *d = x->derived;
  entry_ours(x, "train.batch", (double)d->batch_samples);
  entry_ours(x, "train.microbatch", (double)job->train.microbatch);
  entry_number(x, "gradient_accumulation_steps", (double)d->accumulation);
  entry_ours(x, "optimizer.clip", job->optimizer.clip);
  entry_ours_word(x, "optimizer", lua_text(x->arena, optimizer_rows[job->optimizer.head].name));
  if (job->optimizer.head != OPTIMIZER_SGD) {
    entry_put(x, "optimizer.params.betas",
              arena_printf(x->arena, "[%s, %s]", lua_number(x->arena, job->optimizer.beta1),
                           lua_number(x->arena, job->optimizer.beta2)));
    entry_says(x, "optimizer.beta1"), entry_says(x, "optimizer.beta2");
  }
  entry_adamw(x);
  if (job->optimizer.head == OPTIMIZER_ADAMW) entry_put(x, "optimizer.params.adam_w_mode", "true");
  put_schedule(x);
  put_precision(x);
  export_zero(x, "zero_optimization.");
  if (d->tp > 1) entry_ours(x, "parallel.tp", (double)d->tp);
  if (d->pp > 1) entry_ours(x, "parallel.pp", (double)d->pp);
  if (d->cp > 1) {
    entry_ours(x, "parallel.cp", (double)d->cp);
    if (job->parallel.cp_kind == CHOICE_RING)
      untold(x, "parallel.cp_kind", "it exchanges heads for tokens (Ulysses)");
  }
  entry_ours(x, "log.every", (double)job->log.every);
  x->launch = arena_printf(
      x->arena, "deepspeed --num_nodes %lld --num_gpus %lld TRAIN.py --deepspeed_config FILE",
      (long long)x->ask->nodes, (long long)x->ask->devices);
}
