/* export_accelerate.c -- a job as the YAML of `accelerate config`. */
#include <string.h>

#include "compiler/job/import/export.h"

static void put_flag(Config *x, const char *key, bool is_on) {
  entry_put(x, key, is_on ? "true" : "false");
}

static void put_fsdp(Config *x) {
  const Derived *d = x->derived;
  bool is_node = d->shard_ranks == x->ask->devices && d->shard_ranks < d->dp * d->cp;
  if (d->tp > 1 || d->cp > 1) {
    entry_put(x, "fsdp_config.fsdp_version", "2");
    put_flag(x, "fsdp_config.fsdp_reshard_after_forward", d->zero == 3);
  } else {
    entry_put(x, "fsdp_config.fsdp_version", "1");
    entry_word(x, "fsdp_config.fsdp_sharding_strategy",
               is_node        ? d->zero == 3 ? "HYBRID_SHARD" : "HYBRID_SHARD_ZERO2"
               : d->zero == 3 ? "FULL_SHARD"
                              : "SHARD_GRAD_OP");
    if (is_node) entry_says(x, "parallel.zero_group");
  }
  entry_says(x, "parallel.zero");
  entry_word(x, "fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  if (d->zero == 3 && x->job->parallel.zero_prefetch <= 1) {
    entry_word(x, "fsdp_config.fsdp_backward_prefetch",
               x->job->parallel.zero_prefetch ? "BACKWARD_PRE" : "NO_PREFETCH");
    entry_says(x, "parallel.zero_prefetch");
  }
  bool is_host = x->job->offload.optimizer == CHOICE_OFFLOAD_CPU;
  put_flag(x, "fsdp_config.fsdp_offload_params", is_host);
  if (is_host) entry_says(x, "offload.optimizer");
  bool is_again = x->ask->recompute == CHOICE_RECOMPUTE_BLOCK;
  put_flag(x, "fsdp_config.fsdp_activation_checkpointing", is_again);
  if (is_again || x->ask->recompute == CHOICE_RECOMPUTE_NONE) entry_says(x, "memory.recompute");
  if (d->tp == 1 && d->cp == 1) return;
  entry_number(x, "parallelism_config.parallelism_config_dp_shard_size", (double)d->dp);
  if (d->tp > 1) {
    entry_number(x, "parallelism_config.parallelism_config_tp_size", (double)d->tp);
    entry_says(x, "parallel.tp");
  }
  if (d->cp > 1) {
    entry_number(x, "parallelism_config.parallelism_config_cp_size", (double)d->cp);
    entry_says(x, "parallel.cp");
  }
}

static void put_megatron(Config *x) {
  const Derived *d = x->derived;
  entry_number(x, "megatron_lm_config.megatron_lm_tp_degree", (double)d->tp);
  entry_number(x, "megatron_lm_config.megatron_lm_pp_degree", (double)d->pp);
  entry_says(x, "parallel.tp"), entry_says(x, "parallel.pp");
  if (d->cp > 1) {
    entry_number(x, "megatron_lm_config.megatron_lm_context_parallel_size", (double)d->cp);
    entry_says(x, "parallel.cp");
  }
  put_flag(x, "megatron_lm_config.megatron_lm_sequence_parallelism", d->sequence && d->tp > 1);
  entry_says(x, "parallel.sequence");
  put_flag(x, "megatron_lm_config.megatron_lm_use_distributed_optimizer", d->zero > 0);
  if (d->zero <= 1)
    entry_says(x, "parallel.zero");
  else
    untold(x, "parallel.zero", "its distributed optimizer is zero 1");
  entry_number(x, "megatron_lm_config.megatron_lm_gradient_clipping", x->job->optimizer.clip);
  entry_says(x, "optimizer.clip");
  bool is_some = x->ask->recompute == CHOICE_RECOMPUTE_SELECTIVE;
  put_flag(x, "megatron_lm_config.megatron_lm_recompute_activations", is_some);
  if (is_some || x->ask->recompute == CHOICE_RECOMPUTE_NONE) entry_says(x, "memory.recompute");
}

static void put_deepspeed(Config *x) {
  entry_number(x, "deepspeed_config.zero_stage", (double)x->derived->zero);
  entry_number(x, "deepspeed_config.gradient_accumulation_steps", (double)x->derived->accumulation);
  entry_number(x, "deepspeed_config.gradient_clipping", x->job->optimizer.clip);
  entry_says(x, "parallel.zero"), entry_says(x, "optimizer.clip");
  bool is_host = x->job->offload.optimizer == CHOICE_OFFLOAD_CPU;
  entry_word(x, "deepspeed_config.offload_optimizer_device", is_host ? "cpu" : "none");
  entry_word(x, "deepspeed_config.offload_param_device", "none");
  if (is_host) entry_says(x, "offload.optimizer");
}

void export_accelerate(Config *x) {
  const Derived *d = x->derived;
  const int64_t ranks = x->ask->nodes * x->ask->devices;
  bool is_megatron = d->pp > 1 || ((d->tp > 1 || d->cp > 1) && d->zero < 2);
  const char *type = is_megatron    ? "MEGATRON_LM"
                     : d->zero >= 2 ? "FSDP"
                     : d->zero == 1 ? "DEEPSPEED"
                     : ranks > 1    ? "MULTI_GPU"
                                    : "NO";
  entry_word(x, "compute_environment", "LOCAL_MACHINE");
  entry_word(x, "distributed_type", type);
  entry_number(x, "num_machines", (double)x->ask->nodes);
  entry_number(x, "num_processes", (double)ranks);
  entry_put(x, "machine_rank", "0");
  entry_word(x, "main_training_function", "main");
  static const char *const words[] = {"no", "bf16", "fp16", "no"};
  bool is_narrow = x->job->precision.linear == CHOICE_LINEAR_FP8;
  entry_word(x, "mixed_precision", is_narrow ? "fp8" : words[x->job->precision.compute]);
  if (x->job->precision.compute != CHOICE_TF32) entry_says(x, "precision");
  if (is_narrow && x->job->precision.compute == CHOICE_BF16) entry_says(x, "precision.linear");
  if (is_megatron)
    put_megatron(x);
  else if (d->zero >= 2)
    put_fsdp(x);
  else if (d->zero == 1)
    put_deepspeed(x);
  else
    entry_says(x, "parallel.zero");
  x->launch = "accelerate launch --config_file FILE TRAIN.py";
}
