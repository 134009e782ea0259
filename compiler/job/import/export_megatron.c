/* export_megatron.c -- a job as a launch script of Megatron-LM. */
#include <math.h>
#include <string.h>

#include "compiler/job/import/export.h"
#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

static void put_switch(Config *x, const char *key) {
  entry_put(x, key, "");
}

static void put_model(Config *x) {
  const ExportModel *m = x->ask->model;
  if (!m || !m->family) {
    untold(x, "model", "only models of the families gpt2 and llama have options there");
    return;
  }
  bool is_llama = strcmp(m->family, "llama") == 0;
  entry_says(x, "model");
  entry_ours(x, "model.layers", m->layers);
  entry_ours(x, "model.width", m->width);
  entry_ours(x, "model.heads", m->heads);
  entry_ours(x, "model.vocab", m->vocab);
  entry_ours(x, "model.positions", m->positions);
  entry_ours(x, "model.ffn", m->ffn);
  entry_ours(x, "model.norm_eps", m->norm_eps);
  double multiple = (double)x->job->model.vocab_multiple / (double)x->derived->tp;
  if (floor(multiple) == multiple && multiple >= 1)
    entry_ours(x, "model.vocab_multiple", multiple);
  else
    untold(x, "model.vocab_multiple", "it pads the vocabulary to a multiple of tp, of 1 x tp here"),
        entry_put(x, "make_vocab_size_divisible_by", "1");
  if (!is_llama) {
    entry_ours(x, "model.dropout", m->dropout);
    entry_number(x, "attention_dropout", m->dropout);
    return;
  }
  put_switch(x, "swiglu");
  entry_put(x, "normalization", "RMSNorm");
  entry_put(x, "position_embedding_type", "rope");
  entry_ours(x, "model.rope_base", m->rope_base);
  put_switch(x, "disable_bias_linear");
  if (!m->is_tied) put_switch(x, "untie_embeddings_and_output_weights");
  put_switch(x, "group_query_attention");
  entry_ours(x, "model.kv_heads", m->kv_heads);
  entry_put(x, "hidden_dropout", "0"), entry_put(x, "attention_dropout", "0");
  entry_says(x, "model.tied");
}

static void put_pipeline(Config *x) {
  const Derived *d = x->derived;
  const double layers = x->ask->model && x->ask->model->family ? x->ask->model->layers : 0;
  const double virtual = layers / (double)(d->pp * d->chunks);
  const char *word = word_at(x->arena, PIPE_WORDS, x->job->parallel.pipeline);
  const bool is_whole = virtual >= 1 && floor(virtual) == virtual;
  if (strcmp(word, "interleaved") == 0 && is_whole)
    entry_number(x, "num_layers_per_virtual_pipeline_stage", virtual);
  else if (strcmp(word, "interleaved") == 0)
    untold(x, "parallel.pipeline",
           "layers do not divide by pp x chunks: stages are not interleaved");
  else if (strcmp(word, "1f1b") != 0)
    untold(x, "parallel.pipeline", "its schedules are 1f1b, which is written, and interleaved");
  entry_says(x, "parallel.pipeline");
}

static void put_sharing(Config *x) {
  const Job *job = x->job;
  const Derived *d = x->derived;
  entry_ours(x, "parallel.tp", (double)d->tp);
  entry_ours(x, "parallel.pp", (double)d->pp);
  entry_ours(x, "parallel.cp", (double)d->cp);
  if (d->tp > 1 && d->sequence) put_switch(x, "sequence_parallel");
  entry_says(x, "parallel.sequence");
  if (d->cp > 1) {
    entry_put(x, "cp_comm_type", job->parallel.cp_kind == CHOICE_RING ? "p2p" : "a2a");
    entry_says(x, "parallel.cp_kind");
  }
  if (d->pp > 1) put_pipeline(x);
  if (d->zero > 0) put_switch(x, "use_distributed_optimizer");
  if (d->zero > 1) {
    put_switch(x, "use_megatron_fsdp");
    entry_put(x, "data_parallel_sharding_strategy",
              d->zero == 2 ? "optim_grads" : "optim_grads_params");
  }
  if (d->zero == 0) entry_put(x, "data_parallel_sharding_strategy", "no_shard");
  entry_says(x, "parallel.zero");
  bool is_hybrid = d->zero > 0 && d->shard_ranks > 1 && d->shard_ranks < d->dp * d->cp;
  if (is_hybrid && d->zero == 1) {
    entry_number(x, "num_distributed_optimizer_instances",
                 (double)(d->dp * d->cp) / (double)d->shard_ranks);
    entry_says(x, "parallel.zero_group");
  }
}

static void put_schedule(Config *x) {
  const Job *job = x->job;
  const double lr = job->optimizer.lr;
  entry_ours(x, "schedule.warmup", job->schedule.warmup.value);
  entry_number(x, "lr_warmup_init", decimal_near(job->schedule.warmup_floor * lr));
  entry_says(x, "schedule.warmup_floor");
  if (!entry_ours_word(x, "schedule", schedule_value(x))) {
    untold(x, "schedule", "it has no such schedule: the rate is constant");
    entry_put(x, "lr_decay_style", "constant");
    return;
  }
  x->formula = "torch";
  if (job->schedule.head == CHOICE_CONSTANT || job->schedule.head == CHOICE_INVERSE_SQRT) {
    entry_says(x, "schedule.floor"), entry_says(x, "schedule.over");
    return;
  }
  entry_ours(x, "schedule.over", schedule_over(x));
  entry_number(x, "min_lr", decimal_near(job->schedule.floor * lr));
  entry_says(x, "schedule.floor");
  if (job->schedule.head != CHOICE_WSD) return;
  static const char *const shapes[] = {"linear", "cosine", "minus_sqrt"};
  double decay =
      job->set[FIELD_schedule_decay] ? job->schedule.decay.value : floor(schedule_over(x) / 10);
  entry_ours(x, "schedule.decay", fmax(decay, 1));
  entry_put(x, "lr_wsd_decay_style",
            shapes[job->set[FIELD_schedule_shape] ? job->schedule.shape : 0]);
  entry_says(x, "schedule.shape");
}

static void put_precision(Config *x) {
  const Job *job = x->job;
  static const char *const heads[] = {NULL, "bf16", "fp16"};
  const double *number = job->loss_scale.number;
  entry_says(x, "precision");
  if (heads[job->precision.head]) put_switch(x, heads[job->precision.head]);
  if (job->precision.head == CHOICE_BF16) {
    bool is_narrow = job->precision.grad == CHOICE_BF16 && job->precision.reduce == CHOICE_BF16;
    put_switch(x, is_narrow ? "grad_reduce_in_bf16" : "accumulate_allreduce_grads_in_fp32");
    if (is_narrow || job->precision.grad == CHOICE_FP32) entry_says(x, "precision.grad");
    if (is_narrow || job->precision.reduce == CHOICE_FP32) entry_says(x, "precision.reduce");
  }
  if (job->precision.linear == CHOICE_LINEAR_FP8) {
    entry_put(x, "fp8_format", job->is_fp8_by_block ? "e4m3" : "hybrid");
    entry_put(x, "fp8_recipe", job->is_fp8_by_block ? "blockwise" : "tensorwise");
    entry_says(x, "precision.linear");
  }
  if (job->precision.head != CHOICE_FP16) return;
  entry_says(x, "precision.loss_scale");
  if (job->precision.loss_scale == LOSS_SCALE_CONSTANT) {
    entry_number(x, "loss_scale", number[LOSS_SCALE_OF_INIT]);
    return;
  }
  entry_number(x, "initial_loss_scale", number[LOSS_SCALE_OF_INIT]);
  entry_number(x, "min_loss_scale", number[LOSS_SCALE_OF_MIN]);
  entry_number(x, "loss_scale_window", number[LOSS_SCALE_OF_WINDOW]);
  entry_number(x, "hysteresis", number[LOSS_SCALE_OF_HYSTERESIS]);
  if (number[LOSS_SCALE_OF_GROWTH] != 2 || number[LOSS_SCALE_OF_BACKOFF] != 0.5 ||
      number[LOSS_SCALE_OF_LATE] != 0 || number[LOSS_SCALE_OF_REFILL] != 0)
    untold_of(x, "growth, backoff, late, refill of precision.loss_scale", NULL,
              "they are 2, 0.5, 0 and 0 there");
}

static void put_offload(Config *x) {
  const Job *job = x->job;
  const Amount *part = &job->offload_part;
  if (job->offload.optimizer != CHOICE_OFFLOAD_CPU) return;
  put_switch(x, "optimizer_cpu_offload");
  if (part->value > 0 && part->unit == UNIT_PERCENT)
    entry_number(x, "optimizer_offload_fraction", part->value / 100);
  else if (part->value > 0)
    untold_of(x, "most of offload.optimizer", NULL, "all states are offloaded there");
  entry_says(x, "offload.optimizer");
}

static void put_recompute(Config *x) {
  switch (x->ask->recompute) {
  case CHOICE_RECOMPUTE_BLOCK:
    entry_put(x, "recompute_granularity", "full");
    entry_put(x, "recompute_method", "uniform");
    entry_put(x, "recompute_num_layers", "1");
    break;
  case CHOICE_RECOMPUTE_EVERY:
    entry_put(x, "recompute_granularity", "full");
    entry_put(x, "recompute_method", "uniform");
    entry_number(x, "recompute_num_layers", (double)x->ask->recompute_blocks);
    break;
  case CHOICE_RECOMPUTE_SELECTIVE: entry_put(x, "recompute_granularity", "selective"); break;
  default:;
  }
  entry_says(x, "memory.recompute");
}

void export_megatron(Config *x) {
  const Job *job = x->job;
  const Derived *d = x->derived;
  put_model(x);
  put_sharing(x);
  entry_ours(x, "train.microbatch", (double)job->train.microbatch);
  entry_ours(x, "train.batch", (double)d->batch_samples);
  entry_ours(x, "train.context", (double)d->sample_tokens);
  entry_training(x);
  put_schedule(x);
  put_precision(x);
  put_recompute(x);
  put_offload(x);
  entry_ours(x, "log.every", (double)job->log.every);
  if (job->checkpoint.every.unit == UNIT_STEPS)
    entry_ours(x, "checkpoint.every", job->checkpoint.every.value);
  x->launch = arena_printf(x->arena, "torchrun --nnodes %lld --nproc_per_node %lld pretrain_gpt.py",
                           (long long)x->ask->nodes, (long long)x->ask->devices);
}
