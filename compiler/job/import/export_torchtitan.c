/* export_torchtitan.c -- a job as the TOML of torchtitan's releases to 2025. */
#include <math.h>
#include <string.h>

#include "compiler/job/import/export.h"
#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

static const char *real(Config *x, double number) {
  const char *text = lua_number(x->arena, number);
  return strpbrk(text, ".e") ? text : arena_printf(x->arena, "%s.0", text);
}

/* The file's own keys of numbers with a fraction have a point. */
static void put_real(Config *x, const char *ours, double number) {
  entry_put(x, pair_key(x->tool, ours), real(x, number));
  entry_says(x, ours);
}

static void put_model(Config *x) {
  static const char *const known[][2] = {
      {"llama3-8b", "8B"}, {"llama3-70b", "70B"}, {"llama3-405b", "405B"}};
  for (int i = 0; i < 3; i++)
    if (strcmp(x->job->model.head_text, known[i][0]) == 0 && x->job->sizes.count == 0) {
      entry_word(x, "model.name", "llama3");
      entry_word(x, "model.flavor", known[i][1]);
      entry_says(x, "model");
    }
}

static void put_training(Config *x) {
  const Job *job = x->job;
  const Derived *d = x->derived;
  double local = (double)(job->train.microbatch * (d->pp > 1 ? d->accumulation : 1));
  entry_number(x, "training.local_batch_size", local);
  entry_ours(x, "train.batch", (double)d->batch_samples);
  entry_says(x, "train.microbatch");
  entry_ours(x, "train.context", (double)d->sample_tokens);
  entry_ours(x, "train.steps", (double)d->steps);
  put_real(x, "optimizer.clip", job->optimizer.clip);
  bool is_fp32 = job->precision.compute == CHOICE_FP32;
  entry_word(x, "training.mixed_precision_param", is_fp32 ? "float32" : "bfloat16");
  entry_word(x, "training.mixed_precision_reduce",
             job->precision.reduce == CHOICE_BF16 ? "bfloat16" : "float32");
  if (job->precision.head == CHOICE_FP16 || job->precision.compute == CHOICE_TF32)
    untold(x, "precision", "bfloat16 and float32 are its only dtypes, bfloat16 is written");
  entry_says(x, "precision");
  if (job->precision.reduce != CHOICE_FP16) entry_says(x, "precision.reduce");
  if (job->offload.optimizer == CHOICE_OFFLOAD_CPU) {
    entry_put(x, "training.enable_cpu_offload", "true");
    entry_says(x, "offload.optimizer");
    untold_of(x, "offload.weights, offload.grads", NULL,
              "they go to the host there, too, with enable_cpu_offload");
  }
}

static void put_schedule(Config *x) {
  const Job *job = x->job;
  const int32_t kind = job->schedule.head;
  entry_ours(x, "schedule.warmup", job->schedule.warmup.value);
  if (kind > CHOICE_WSD) return;
  entry_says(x, "schedule");
  x->formula = "titan";
  if (kind == CHOICE_CONSTANT) {
    entry_put(x, "lr_scheduler.decay_ratio", "0.0");
    entry_says(x, "schedule.floor"), entry_says(x, "schedule.over");
  } else if (kind == CHOICE_WSD) {
    int32_t shape = job->set[FIELD_schedule_shape] ? job->schedule.shape : 0;
    static const char *const shapes[] = {"\"linear\"", "\"cosine\"", "\"sqrt\""};
    double decay =
        job->set[FIELD_schedule_decay] ? job->schedule.decay.value : floor(schedule_over(x) / 10);
    entry_put(x, "lr_scheduler.decay_ratio", real(x, fmax(decay, 1) / (double)x->derived->steps));
    entry_put(x, "lr_scheduler.decay_type", shapes[shape]);
    put_real(x, "schedule.floor", job->schedule.floor);
    entry_says(x, "schedule.decay"), entry_says(x, "schedule.shape");
  } else {
    entry_word(x, "lr_scheduler.decay_type", kind == CHOICE_COSINE ? "cosine" : "linear");
    put_real(x, "schedule.floor", job->schedule.floor);
  }
  if (schedule_over(x) != (double)x->derived->steps)
    untold(x, "schedule.over", "its schedule ends with training.steps");
  else
    entry_says(x, "schedule.over");
  if (job->schedule.warmup_floor != 0)
    untold(x, "schedule.warmup_floor", "its warm-up begins at 0");
}

static void put_parallel(Config *x) {
  const Derived *d = x->derived;
  const char *key = "parallelism.pipeline_parallel_schedule";
  bool is_hybrid = d->zero > 0 && d->shard_ranks > 1 && d->shard_ranks < d->dp * d->cp;
  double shards = d->zero == 0 ? 1 : (double)(is_hybrid ? d->shard_ranks / d->cp : d->dp);
  double copies = shards > 0 ? (double)d->dp / fmax(shards, 1) : 1;
  bool is_shardable = !is_hybrid || d->shard_ranks % d->cp == 0;
  entry_number(x, "parallelism.data_parallel_replicate_degree", is_shardable ? copies : 1);
  entry_number(x, "parallelism.data_parallel_shard_degree", is_shardable ? shards : (double)d->dp);
  entry_word(x, "parallelism.fsdp_reshard_after_forward", d->zero == 3 ? "always" : "never");
  if (is_hybrid && is_shardable) entry_says(x, "parallel.zero_group");
  if (is_hybrid && !is_shardable) untold(x, "parallel.zero_group", "its shards span cp");
  if (d->zero == 1)
    untold(x, "parallel.zero", "FSDP shares gradients, too: zero 2");
  else if (d->zero == 0 && d->cp > 1)
    untold(x, "parallel.zero", "FSDP always shares over cp: zero 2");
  else
    entry_says(x, "parallel.zero");
  entry_ours(x, "parallel.tp", (double)d->tp);
  if (d->tp > 1 && d->sequence)
    entry_says(x, "parallel.sequence");
  else if (d->tp > 1)
    untold(x, "parallel.sequence", "with tp it always cuts norms and residuals");
  entry_ours(x, "parallel.cp", (double)d->cp);
  entry_ours(x, "parallel.pp", (double)d->pp);
  if (d->pp == 1) return;
  entry_number(x, "parallelism.pipeline_parallel_microbatch_size",
               (double)x->job->train.microbatch);
  const char *values[] = {"\"gpipe\"", "\"1f1b\"", "{ \"interleaved\", chunks = 2 }", "\"zb-h1\"",
                          "\"zb-v\""};
  const char *ours = lua_text(x->arena, word_at(x->arena, PIPE_WORDS, x->job->parallel.pipeline));
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    bool is_it = strcmp(values[i], ours) == 0 || (strstr(values[i], "interleaved") &&
                                                  strstr(ours, "interleaved") && d->chunks == 2);
    if (!is_it || !pair_word(x->tool, key, values[i])) continue;
    entry_word(x, key, pair_word(x->tool, key, values[i]));
    entry_says(x, "parallel.pipeline");
  }
}

static void put_recompute(Config *x) {
  switch (x->ask->recompute) {
  case CHOICE_RECOMPUTE_BLOCK: entry_word(x, "activation_checkpoint.mode", "full"); break;
  case CHOICE_RECOMPUTE_EVERY:
    entry_word(x, "activation_checkpoint.mode", "selective");
    entry_word(x, "activation_checkpoint.selective_ac_option",
               arena_printf(x->arena, "%lld", (long long)x->ask->recompute_blocks));
    break;
  case CHOICE_RECOMPUTE_SELECTIVE:
    entry_word(x, "activation_checkpoint.mode", "selective");
    entry_word(x, "activation_checkpoint.selective_ac_option", "op");
    break;
  default: entry_word(x, "activation_checkpoint.mode", "none");
  }
  entry_says(x, "memory.recompute");
}

void export_torchtitan(Config *x) {
  const Job *job = x->job;
  put_model(x);
  put_training(x);
  if (job->optimizer.head == OPTIMIZER_ADAMW) {
    entry_word(x, "optimizer.name", "AdamW");
    put_real(x, "optimizer.lr", job->optimizer.lr);
    put_real(x, "optimizer.beta1", job->optimizer.beta1);
    put_real(x, "optimizer.beta2", job->optimizer.beta2);
    put_real(x, "optimizer.eps", job->optimizer.eps);
    put_real(x, "optimizer.weight_decay", job->optimizer.weight_decay);
    entry_says(x, "optimizer");
  } else {
    untold(x, "optimizer", "Adam and AdamW are its optimizers: none is written");
    untold(x, "optimizer.lr", "no optimizer is written");
  }
  put_schedule(x);
  put_parallel(x);
  put_recompute(x);
  if (job->checkpoint.every.unit == UNIT_STEPS) {
    entry_put(x, "checkpoint.enable", "true");
    entry_ours(x, "checkpoint.every", job->checkpoint.every.value);
    if (job_says(x, FIELD_checkpoint_keep) && job->checkpoint.keep != 1)
      entry_ours(x, "checkpoint.keep", (double)job->checkpoint.keep);
    else if (job_says(x, FIELD_checkpoint_keep))
      untold(x, "checkpoint.keep", "it keeps at least 2");
  }
  entry_ours(x, "log.every", (double)job->log.every);
  entry_ours(x, "train.seed", (double)job->train.seed);
  x->launch = arena_printf(
      x->arena,
      "torchrun --nnodes %lld --nproc_per_node %lld -m torchtitan.train --job.config_file FILE",
      (long long)x->ask->nodes, (long long)x->ask->devices);
}
