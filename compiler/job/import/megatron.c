/* megatron.c -- options of Megatron-LM and Megatron-DeepSpeed, in scripts and YAML. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/import/pairs.h"

static int32_t tool_of(void) {
  return word_tool_find("megatron");
}

/* The option, or the last part of a nested key of the YAML. */
static Leaf *get(Import *im, const char *key) {
  return pair_leaf(im, "megatron", key);
}

static bool is_on(Import *im, const char *key) {
  Leaf *leaf = get(im, key);
  return leaf && leaf_true(leaf);
}

static bool number_of(Import *im, const char *key, double *number) {
  Leaf *leaf = get(im, key);
  return leaf && !leaf_is_auto(leaf) && leaf_number(im, leaf, number);
}

static void take_it(Import *im, const char *key, const char *path) {
  double number = 0;
  if (number_of(im, key, &number))
    take(im, get(im, key), path, lua_number(im->c->arena, number), "");
}

/* ---- the model */

static void mark(Import *im, const char *key, const char *path) {
  Leaf *leaf = get(im, key);
  if (leaf && leaf->how == HOW_OPEN) take_as(im, leaf, path);
}

static void convert_llama(Import *im) {
  double width = 0;
  setting_number(im, "model.width", &width);
  if (!setting_find(im, "model.vocab")) open_line(im, "model.vocab = ...   of the tokenizer");
  take_it(im, "ffn_hidden_size", "model.ffn");
  if (!setting_find(im, "model.ffn") && width > 0)
    take_default(im, "model.ffn", lua_number(im->c->arena, floor(width * 8 / 3 / 64) * 64),
                 "default of Megatron: 8/3 of the width, in steps of 64");
  take_it(im, "num_query_groups", "model.kv_heads");
  take_it(im, "rotary_base", "model.rope_base");
  mark(im, "group_query_attention", "model.kv_heads");
  take_it(im, "norm_epsilon", "model.norm_eps");
  take_it(im, "layernorm_epsilon", "model.norm_eps");
  Leaf *untied = get(im, "untie_embeddings_and_output_weights");
  if (untied && leaf_true(untied))
    take(im, untied, "model.tied", "false", "");
  else
    take_default(im, "model.tied", "true", "default of Megatron");
  for (int i = 0; i < 2; i++) {
    const char *key = i ? "attention_dropout" : "hidden_dropout";
    double dropout;
    if (number_of(im, key, &dropout))
      drop(get(im, key), HOW_IMPOSSIBLE, "llama has no dropout", dropout != 0);
  }
}

static void convert_gpt2(Import *im) {
  double width = 0, ffn = 0, dropout = 0;
  take_it(im, "norm_epsilon", "model.norm_eps");
  take_it(im, "layernorm_epsilon", "model.norm_eps");
  setting_number(im, "model.width", &width);
  if (number_of(im, "ffn_hidden_size", &ffn)) {
    if (ffn == 4 * width)
      drop(get(im, "ffn_hidden_size"), HOW_DERIVED, "4 x width", false);
    else
      take_it(im, "ffn_hidden_size", "model.ffn");
  }
  if (number_of(im, "hidden_dropout", &dropout))
    take_it(im, "hidden_dropout", "model.dropout");
  else
    take_default(im, "model.dropout", "0.1", "default of Megatron");
  double other = 0;
  if (number_of(im, "attention_dropout", &other)) {
    setting_number(im, "model.dropout", &dropout);
    if (other == dropout)
      take_as(im, get(im, "attention_dropout"), "model.dropout");
    else
      drop(get(im, "attention_dropout"), HOW_IMPOSSIBLE, "gpt2 has one dropout", true);
  }
}

/* An option whose value is what the model has anyway. */
static void drop_usual(Import *im, const char *key, double usual, const char *why) {
  double number;
  if (number_of(im, key, &number) && number == usual) drop(get(im, key), HOW_DERIVED, why, false);
}

static void drop_what_models_have(Import *im) {
  double width = 0, heads = 0;
  if (setting_number(im, "model.width", &width) && setting_number(im, "model.heads", &heads) &&
      heads > 0)
    drop_usual(im, "kv_channels", width / heads, "hidden_size / num_attention_heads");
  drop_usual(im, "rotary_percent", 1, "rotary positions turn all of a head");
  drop_usual(im, "init_method_std", 0.02, "gpt2 and llama begin with such weights");
}

static void convert_model(Import *im) {
  Leaf *layers = get(im, "num_layers"), *norm = get(im, "normalization"),
       *place = get(im, "position_embedding_type");
  if (!layers || setting_find(im, "model")) return;
  bool has_rope =
      is_on(im, "use_rotary_position_embeddings") || (place && strcmp(place->text, "rope") == 0);
  bool has_rms = norm && strcasecmp(norm->text, "RMSNorm") == 0, has_swiglu = is_on(im, "swiglu");
  bool is_llama = has_rope && has_rms && has_swiglu;
  take(im, layers, "model", is_llama ? "\"llama\"" : "\"gpt2\"",
       is_llama ? "SwiGLU, RMSNorm and rotary positions" : "");
  const char *parts[] = {"swiglu", "normalization", "position_embedding_type",
                         "use_rotary_position_embeddings"};
  bool is_mixed = !is_llama && (has_rope || has_rms || has_swiglu);
  for (int i = 0; i < 4; i++) {
    Leaf *leaf = get(im, parts[i]);
    if (leaf && is_mixed)
      drop(leaf, HOW_IMPOSSIBLE,
           "llama has SwiGLU, RMSNorm and rotary positions together, gpt2 none of them", true);
    mark(im, parts[i], "model");
  }
  take_pairs(im, "megatron", "model.");
  if (is_llama)
    convert_llama(im);
  else
    convert_gpt2(im);
  drop_what_models_have(im);
}

/* ---- degrees */

static void convert_pipeline(Import *im) {
  double pp = 1, layers = 0, each = 0, stages = 0;
  setting_number(im, "parallel.pp", &pp);
  setting_number(im, "model.layers", &layers);
  Leaf *leaf = get(im, "num_layers_per_virtual_pipeline_stage");
  double chunks = 0;
  if (leaf && number_of(im, "num_layers_per_virtual_pipeline_stage", &each) && each > 0 &&
      layers > 0 && pp > 1) {
    chunks = layers / (pp * each);
    if (floor(chunks) != chunks) {
      error_at(im->c, leaf->at, "import-conflict", "%g layers are no multiple of %g stages x %g",
               layers, pp, each);
      return;
    }
  } else if (number_of(im, "num_virtual_stages_per_pipeline_rank", &stages)) {
    leaf = get(im, "num_virtual_stages_per_pipeline_rank");
    chunks = stages;
  }
  if (chunks > 1)
    take(im, leaf, "parallel.pipeline",
         arena_printf(im->c->arena, "{ \"interleaved\", chunks = %g }", chunks),
         "layers / (pp x layers of a virtual stage)");
}

static void convert_sharing(Import *im) {
  take_pairs(im, "megatron", "parallel.");
  convert_pipeline(im);
  double tp = 1, zero;
  setting_number(im, "parallel.tp", &tp);
  Leaf *sequence = get(im, "sequence_parallel"), *shared = get(im, "use_distributed_optimizer");
  if (sequence && leaf_true(sequence) && tp > 1)
    take(im, sequence, "parallel.sequence", "true", "");
  else if (sequence)
    drop(sequence, HOW_DERIVED, "there is no tp", false);
  else if (tp > 1)
    take_default(im, "parallel.sequence", "false", "default of Megatron");
  Leaf *strategy = get(im, "data_parallel_sharding_strategy");
  const char *stage = strategy && strategy->kind == LEAF_TEXT
                          ? pair_ours("megatron", "data_parallel_sharding_strategy", strategy->text)
                          : NULL;
  Leaf *whole = get(im, "use_torch_fsdp2");
  if (!whole) whole = get(im, "use_megatron_fsdp");
  if (stage)
    take(im, strategy, "parallel.zero", stage, "");
  else if (whole && leaf_true(whole))
    take(im, whole, "parallel.zero", is_on(im, "torch_fsdp2_no_reshard_after_forward") ? "2" : "3",
         "");
  else if (number_of(im, "zero_stage", &zero))
    take_it(im, "zero_stage", "parallel.zero");
  else if (shared && leaf_true(shared))
    take(im, shared, "parallel.zero", "1", "");
  if (whole)
    mark(im, "use_torch_fsdp2", "parallel.zero"), mark(im, "use_megatron_fsdp", "parallel.zero"),
        mark(im, "torch_fsdp2_no_reshard_after_forward", "parallel.zero");
  double copies = 0;
  int64_t ranks = import_ranks(im) / (int64_t)fmax(1, tp);
  double pp = 1;
  setting_number(im, "parallel.pp", &pp);
  ranks /= (int64_t)fmax(1, pp); /* of dp and cp */
  if (number_of(im, "num_distributed_optimizer_instances", &copies) && copies > 1 && ranks > 0 &&
      fmod((double)ranks, copies) == 0)
    take(im, get(im, "num_distributed_optimizer_instances"), "parallel.zero_group",
         lua_number(im->c->arena, (double)ranks / copies), "ranks of dp x cp divided by it");
  if (shared && leaf_true(shared)) mark(im, "use_distributed_optimizer", "parallel.zero");
  Leaf *mixed = get(im, "cp_comm_type");
  const char *kind =
      mixed && mixed->kind == LEAF_TEXT ? pair_ours("megatron", "cp_comm_type", mixed->text) : NULL;
  if (kind) take(im, mixed, "parallel.cp_kind", kind, mixed->text);
}

/* ---- batch, length, schedule */

static void convert_batch(Import *im) {
  double batch, micro = 1, number;
  take_pairs(im, "megatron", "train.");
  if (number_of(im, "micro_batch_size", &number)) micro = number;
  int64_t dp = import_dp(im);
  if (number_of(im, "global_batch_size", &batch)) {
    Leaf *leaf = get(im, "global_batch_size");
    if (dp > 0 && fmod(batch, micro * (double)dp) != 0)
      error_at(im->c, leaf->at, "import-conflict",
               "global-batch-size %g is no multiple of micro-batch-size %g x %lld ranks of dp",
               batch, micro, (long long)dp);
    take_sequences(im, leaf, batch, "");
  } else if (dp > 0 && get(im, "micro_batch_size")) {
    take_sequences(im, get(im, "micro_batch_size"), micro * (double)dp,
                   arena_printf(im->c->arena, "x %lld ranks", (long long)dp));
  }
}

/* Steps, or samples that are steps x batch. */
static void take_length(Import *im, const char *steps, const char *samples, const char *path) {
  double number, batch;
  take_it(im, steps, path);
  if (!number_of(im, samples, &number) || !setting_number(im, "train.batch", &batch) || batch < 1)
    return;
  take(im, get(im, samples), path, lua_number(im->c->arena, floor(number / batch)),
       "samples / batch");
}

static void convert_schedule(Import *im) {
  Leaf *style = get(im, "lr_decay_style");
  const char *word = style && style->kind == LEAF_TEXT ? style->text : "linear";
  const char *value = pair_ours("megatron", "lr_decay_style", word);
  const char *note = "default of Megatron";
  if (style && value)
    take(im, style, "schedule", value, "");
  else if (style)
    drop(style, HOW_IMPOSSIBLE,
         pair_meant(im->c->arena, "megatron", "lr_decay_style", style->text, NO_SCHEDULE), true);
  else
    take_default(im, "schedule", "\"linear\"", note);
  const char *ours = arena_copy_n(im->c->arena, value ? value + 1 : "linear",
                                  value ? strlen(value) - 2 : strlen("linear"));
  if (strcmp(ours, "constant") != 0) {
    take_length(im, "lr_decay_iters", "lr_decay_samples", "schedule.over");
    if (strcmp(ours, "wsd") == 0) {
      take_length(im, "lr_wsd_decay_iters", "lr_wsd_decay_samples", "schedule.decay");
      Leaf *shape = get(im, "lr_wsd_decay_style");
      if (shape)
        take(im, shape, "schedule.shape",
             pair_ours("megatron", "lr_wsd_decay_style", shape->text)
                 ? pair_ours("megatron", "lr_wsd_decay_style", shape->text)
                 : lua_text(im->c->arena, shape->text),
             "");
    }
  }
  take_length(im, "lr_warmup_iters", "lr_warmup_samples", "schedule.warmup");
  double share, length, lr, least, first;
  if (number_of(im, "lr_warmup_fraction", &share) &&
      (setting_number(im, "schedule.over", &length) || setting_number(im, "train.steps", &length)))
    take(im, get(im, "lr_warmup_fraction"), "schedule.warmup",
         lua_number(im->c->arena, floor(share * length + 0.5)), "share of the schedule's steps");
  take_pairs(im, "megatron", "optimizer.lr");
  if (setting_number(im, "optimizer.lr", &lr) && lr > 0) {
    bool decays = strcmp(ours, "constant") != 0 && strcmp(ours, "inverse_sqrt") != 0;
    if (number_of(im, "min_lr", &least) && decays && least > 0)
      take(im, get(im, "min_lr"), "schedule.floor",
           lua_number(im->c->arena, decimal_near(least / lr)), "min_lr / lr");
    if (get(im, "min_lr") && get(im, "min_lr")->how == HOW_OPEN)
      drop(get(im, "min_lr"), HOW_DERIVED, "0, or the rate does not decay", false);
    if (number_of(im, "lr_warmup_init", &first) && first > 0)
      take(im, get(im, "lr_warmup_init"), "schedule.warmup_floor",
           lua_number(im->c->arena, decimal_near(first / lr)), "lr_warmup_init / lr");
  }
  if (setting_number(im, "schedule.warmup", &share)) import_rates(im, "Megatron", "torch");
}

static void convert_optimizer(Import *im) {
  Leaf *kind = get(im, "optimizer");
  const char *word = kind && kind->kind == LEAF_TEXT ? kind->text : "adam";
  const char *ours = pair_ours("megatron", "optimizer", word);
  if (kind && ours) take(im, kind, "optimizer", ours, "");
  if (kind && !ours) drop(kind, HOW_DECLINED, "only adamw, sgd and lion are optimizers here", true);
  take_default(im, "optimizer", "\"adamw\"", "default of Megatron");
  static const char *const betas[2][2] = {{"adam_beta1", "adam_beta2"},
                                          {"lion_beta1", "lion_beta2"}};
  for (int i = 0; i < 2; i++) { /* options of the optimizer that the run does not have */
    Leaf *other = get(im, betas[strcmp(word, "lion") != 0][i]);
    if (other) drop(other, HOW_DERIVED, "the optimizer does not look at it", false);
  }
  take_pairs(im, "megatron", "optimizer.");
  if (ours && strcmp(ours, "\"adamw\"") == 0)
    take_default(im, "optimizer.beta2", "0.999", "default of Megatron");
  if (ours && strcmp(ours, "\"lion\"") == 0) {
    take_default(im, "optimizer.beta1", "0.95", "default of Megatron");
    take_default(im, "optimizer.beta2", "0.98", "default of Megatron");
  }
  take_default(im, "optimizer.weight_decay", "0.01", "default of Megatron");
}

/* Options of the scale, or Megatron's own. */
static void convert_scale(Import *im) {
  static const char *const keys[][2] = {{"initial_loss_scale", "init"},
                                        {"loss_scale_window", "window"},
                                        {"hysteresis", "hysteresis"},
                                        {"min_loss_scale", "min"}};
  Arena *arena = im->c->arena;
  const char *text = "{ \"megatron\"";
  double number = 0;
  Leaf *first = NULL;
  if (number_of(im, "loss_scale", &number)) {
    take(im, get(im, "loss_scale"), "precision.loss_scale", lua_number(arena, number), "");
    return;
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!number_of(im, keys[i][0], &number)) continue;
    text = arena_printf(arena, "%s, %s = %s", text, keys[i][1], lua_number(arena, number));
    if (first) take_as(im, get(im, keys[i][0]), "precision.loss_scale");
    if (!first) first = get(im, keys[i][0]);
  }
  if (first)
    take(im, first, "precision.loss_scale", arena_printf(arena, "%s }", text), "");
  else
    take_default(im, "precision.loss_scale", "\"megatron\"", "default of Megatron");
}

/* full: every block is recomputed, or the blocks of each group from its first. */
static const char *recompute_of(Import *im, const char *word) {
  double blocks = 1;
  Leaf *each = get(im, "recompute_num_layers");
  if (strcmp(word, "full") != 0) return "\"selective\"";
  if (!each || !number_of(im, "recompute_num_layers", &blocks)) return "\"block\"";
  Leaf *method = get(im, "recompute_method");
  if (method && strcmp(method->text, "uniform") != 0) return "\"block\"";
  take_as(im, each, "memory.recompute");
  return blocks > 1 ? arena_printf(im->c->arena, "{ \"every\", blocks = %g }", blocks)
                    : "\"block\"";
}

/* Megatron's default recipe, "delayed", takes scales from a history of maxima. */
static void convert_fp8(Import *im, Leaf *format) {
  Leaf *recipe = get(im, "fp8_recipe");
  const char *word = recipe && recipe->kind == LEAF_TEXT ? recipe->text : "delayed";
  const bool is_block = strcmp(word, "blockwise") == 0;
  take(im, format, "precision.linear", is_block ? "{ \"fp8\", scaling = \"block\" }" : "\"fp8\"",
       "");
  if (is_block || strcmp(word, "tensorwise") == 0)
    take_as(im, recipe, "precision.linear");
  else
    VEC_PUSH(im->c->arena, &im->lost.list,
             arena_printf(im->c->arena, "fp8 with %s scaling: scales are of the tensor itself here",
                          text_plain(im->c->arena, word)));
}

/* The host holds the states of the optimizer, all or a share of them; a share of 0 is none. */
static void convert_offload(Import *im) {
  Leaf *on = get(im, "optimizer_cpu_offload"), *share = get(im, "optimizer_offload_fraction");
  double number = 1;
  const bool offloads = on && leaf_true(on);
  const bool has_number = offloads && share && leaf_number(im, share, &number);
  if (!offloads || number == 0) {
    if (on) drop(on, HOW_DERIVED, "nothing is offloaded", false);
    if (share) drop(share, HOW_DERIVED, "nothing is offloaded", false);
    return;
  }
  const bool is_part = has_number && number > 0 && number < 1;
  take(im, on, "offload.optimizer",
       is_part ? arena_printf(im->c->arena, "{ \"cpu\", share = \"%s%%\" }",
                              lua_number(im->c->arena, decimal_near(number * 100)))
               : "\"cpu\"",
       "");
  if (share && number >= 0 && number <= 1) take_as(im, share, "offload.optimizer");
}

static void convert_precision(Import *im) {
  Leaf *leaf = is_on(im, "bf16") ? get(im, "bf16") : is_on(im, "fp16") ? get(im, "fp16") : NULL;
  if (leaf)
    take_precision(im, leaf,
                   strcmp(leaf->key, "bf16") == 0 || strstr(leaf->key, ".bf16") ? "bf16" : "fp16");
  take_default(im, "precision", "\"fp32\"", "default of Megatron");
  Leaf *narrow = get(im, "grad_reduce_in_bf16"), *eight = get(im, "fp8_format"),
       *wide = get(im, "accumulate_allreduce_grads_in_fp32");
  if (narrow && leaf_true(narrow)) {
    take(im, narrow, "precision.grad", "\"bf16\"", "");
    take(im, narrow, "precision.reduce", "\"bf16\"", "");
  }
  if (wide && leaf_true(wide) && !narrow) take(im, wide, "precision.grad", "\"fp32\"", "");
  if (!eight) eight = get(im, "fp8");
  if (leaf && is_on(im, "fp16")) convert_scale(im);
  if (eight && eight->kind == LEAF_TEXT) convert_fp8(im, eight);
  Leaf *again = get(im, "recompute_granularity"), *old = get(im, "checkpoint_activations"),
       *some = get(im, "recompute_activations");
  if (again && again->kind == LEAF_TEXT)
    take(im, again, "memory.recompute", recompute_of(im, again->text), again->text);
  if (old && leaf_true(old)) take(im, old, "memory.recompute", "\"block\"", "");
  if (some && leaf_true(some)) take(im, some, "memory.recompute", "\"selective\"", "");
}

static void convert_run(Import *im) {
  Leaf *multiple = get(im, "make_vocab_size_divisible_by");
  double tp = 1, number = 128;
  setting_number(im, "parallel.tp", &tp);
  if (multiple && number_of(im, "make_vocab_size_divisible_by", &number))
    take(im, multiple, "model.vocab_multiple", lua_number(im->c->arena, number * tp), "x tp");
  else
    take_default(im, "model.vocab_multiple", lua_number(im->c->arena, 128 * tp),
                 "default of Megatron: 128 x tp");
  take_default(im, "train.seed", "1234", "default of Megatron");
  take_pairs(im, "megatron", "log.");
  take_pairs(im, "megatron", "checkpoint.");
  Leaf *save = get(im, "save"), *train = get(im, "train_data_path"), *mock = get(im, "mock_data");
  if (save && save->kind == LEAF_TEXT)
    take(im, save, "checkpoint.path", lua_text(im->c->arena, save->text), "");
  if (!train) train = get(im, "data_path");
  if (mock && leaf_true(mock)) take(im, mock, "data", "\"synthetic\"", "");
  if (train && train->kind == LEAF_TEXT)
    take(im, train, "data.train",
         lua_text(im->c->arena, arena_printf(im->c->arena, "%s.bin", train->text)),
         "its .bin and .idx");
  if (setting_find(im, "data.valid")) take_it(im, "eval_interval", "train.validate_every");
}

void convert_megatron(Import *im) {
  if (!im->has_tool[tool_of()]) return;
  convert_model(im);
  convert_sharing(im);
  convert_batch(im);
  take_length(im, "train_iters", "train_samples", "train.steps");
  convert_optimizer(im);
  convert_schedule(im);
  convert_precision(im);
  convert_offload(im);
  convert_run(im);
}
