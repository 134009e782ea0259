/* export_trainer.c -- a job as TrainingArguments in JSON. */
#include <string.h>

#include "compiler/job/import/export.h"
#include "compiler/job/units.h"

static void put_schedule(Config *x) {
  const Job *job = x->job;
  const int32_t kind = job->schedule.head;
  const bool has_floor = job->schedule.floor != 0;
  x->formula = "torch";
  entry_says(x, "schedule");
  if (kind == CHOICE_CONSTANT && job->schedule.warmup.value > 0)
    entry_word(x, "lr_scheduler_type", "constant_with_warmup");
  else if (kind == CHOICE_COSINE && has_floor)
    entry_word(x, "lr_scheduler_type", "cosine_with_min_lr");
  else
    entry_ours_word(x, "schedule", schedule_value(x));
  entry_ours(x, "schedule.warmup", job->schedule.warmup.value);
  if (kind == CHOICE_COSINE && has_floor) entry_ours(x, "schedule.floor", job->schedule.floor);
  if (kind == CHOICE_POLYNOMIAL) {
    entry_number(x, "lr_scheduler_kwargs.lr_end",
                 decimal_near(job->schedule.floor * job->optimizer.lr));
    entry_ours(x, "schedule.power", job->set[FIELD_schedule_power] ? job->schedule.power : 1);
    entry_says(x, "schedule.floor");
  }
  if (kind == CHOICE_WSD) {
    double decay =
        job->set[FIELD_schedule_decay] ? job->schedule.decay.value : schedule_over(x) / 10;
    static const char *const shapes[] = {"linear", "cosine", "1-sqrt"};
    int32_t shape = job->set[FIELD_schedule_shape] ? job->schedule.shape : 0;
    entry_ours(x, "schedule.decay", decay < 1 ? 1 : (double)(int64_t)decay);
    entry_number(x, "lr_scheduler_kwargs.min_lr_ratio", job->schedule.floor);
    entry_word(x, "lr_scheduler_kwargs.decay_type", shapes[shape]);
    entry_says(x, "schedule.floor"), entry_says(x, "schedule.shape");
  }
  if (has_floor && kind == CHOICE_LINEAR)
    untold(x, "schedule.floor", "its linear schedule ends at 0");
  if (schedule_over(x) == (double)x->derived->steps)
    entry_says(x, "schedule.over");
  else
    untold(x, "schedule.over", "its schedule ends with max_steps");
  if (job->schedule.warmup_floor == 0)
    entry_says(x, "schedule.warmup_floor");
  else
    untold(x, "schedule.warmup_floor", "its warm-up begins at 0");
}

/* FSDP says zero 2 and 3, a ds_config.json inside the file says 1. */
static void put_sharing(Config *x) {
  const Derived *d = x->derived;
  const bool is_hybrid = d->shard_ranks > 1 && d->shard_ranks < d->dp * d->cp;
  const bool is_host = x->job->offload.optimizer == CHOICE_OFFLOAD_CPU;
  if (d->zero == 1) {
    export_zero(x, "deepspeed.zero_optimization.");
    entry_put(x, "deepspeed.train_micro_batch_size_per_gpu", "\"auto\"");
    entry_put(x, "deepspeed.gradient_accumulation_steps", "\"auto\"");
    entry_put(x, "deepspeed.gradient_clipping", "\"auto\"");
    static const char *const words[] = {"fp32", "bf16", "fp16"};
    entry_word(x, "deepspeed.data_types.grad_accum_dtype", words[x->job->precision.grad]);
    entry_says(x, "precision.grad");
    entry_put(x, "deepspeed.bf16.enabled", "\"auto\"");
    entry_put(x, "deepspeed.fp16.enabled", "\"auto\"");
    return;
  }
  if (d->zero < 2) {
    entry_put(x, "fsdp", "\"\"");
    entry_says(x, "parallel.zero");
    return;
  }
  bool is_node = is_hybrid && d->shard_ranks == x->ask->devices;
  const char *word = d->zero == 2 ? is_node ? "hybrid_shard_zero2" : "shard_grad_op"
                     : is_node    ? "hybrid_shard"
                                  : "full_shard";
  entry_word(x, "fsdp", is_host ? arena_printf(x->arena, "%s offload", word) : word);
  entry_says(x, "parallel.zero");
  if (is_node) entry_says(x, "parallel.zero_group");
  if (is_hybrid && !is_node) untold(x, "parallel.zero_group", "its groups are nodes");
  if (is_host) entry_says(x, "offload.optimizer");
}

/* Trainer gives every rank another batch, even ranks that share a sequence (cp) or a matrix (tp)
 * here. */
static void put_accumulation(Config *x) {
  const Derived *d = x->derived;
  const int64_t each = x->job->train.microbatch * x->ask->nodes * x->ask->devices;
  const int64_t sums = d->batch_samples / each;
  entry_number(x, "gradient_accumulation_steps", (double)(sums > 1 ? sums : 1));
  if (sums * each == d->batch_samples)
    entry_says(x, "train.batch");
  else
    untold(x, "train.batch",
           arena_printf(x->arena, "it is a multiple of %lld there, a micro-batch of every rank",
                        (long long)each));
}

void export_trainer(Config *x) {
  const Job *job = x->job;
  entry_ours(x, "train.microbatch", (double)job->train.microbatch);
  put_accumulation(x);
  entry_training(x);
  put_schedule(x);
  entry_put(x, "bf16", job->precision.head == CHOICE_BF16 ? "true" : "false");
  entry_put(x, "fp16", job->precision.head == CHOICE_FP16 ? "true" : "false");
  entry_put(x, "tf32", job->precision.compute == CHOICE_TF32 ? "true" : "false");
  entry_says(x, "precision");
  if (job->precision.compute == CHOICE_TF32) entry_says(x, "precision.compute");
  entry_put(x, "gradient_checkpointing",
            x->ask->recompute == CHOICE_RECOMPUTE_BLOCK ? "true" : "false");
  if (x->ask->recompute == CHOICE_RECOMPUTE_BLOCK || x->ask->recompute == CHOICE_RECOMPUTE_NONE)
    entry_says(x, "memory.recompute");
  else
    untold(x, "memory.recompute", "it recomputes all blocks or none: none");
  entry_ours(x, "log.every", (double)job->log.every);
  if (job->checkpoint.every.unit == UNIT_STEPS) {
    entry_word(x, "save_strategy", "steps");
    entry_ours(x, "checkpoint.every", job->checkpoint.every.value);
    entry_ours(x, "checkpoint.keep", (double)job->checkpoint.keep);
  }
  put_sharing(x);
  x->launch = arena_printf(x->arena, "torchrun --nnodes %lld --nproc_per_node %lld TRAIN.py FILE",
                           (long long)x->ask->nodes, (long long)x->ask->devices);
}
