/* accelerate.c -- the YAML of `accelerate config`: DDP, FSDP 1 and 2, DeepSpeed, Megatron,
 * parallelism_config. */
#include <string.h>
#include <strings.h>

#include "compiler/job/import/pairs.h"

/* A key of the file, with its table or without. */
static Leaf *get(Import *im, const char *key) {
  return pair_leaf(im, "accelerate", key);
}

void take_sharding(Import *im, Leaf *leaf, const char *word) {
  static const struct {
    const char *word, *number, *zero, *group;
  } words[] = {{"FULL_SHARD", "1", "3", NULL},
               {"SHARD_GRAD_OP", "2", "2", NULL},
               {"NO_SHARD", "3", "0", NULL},
               {"HYBRID_SHARD", "4", "3", "\"node\""},
               {"HYBRID_SHARD_ZERO2", "5", "2", "\"node\""}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!word_is_same(word, words[i].word) && strcmp(word, words[i].number) != 0) continue;
    take(im, leaf, "parallel.zero", words[i].zero, words[i].word);
    double nodes = 1;
    setting_number(im, "cluster.nodes", &nodes);
    if (words[i].group && leaf->how == HOW_USED && nodes > 1)
      take(im, leaf, "parallel.zero_group", words[i].group, "");
    else if (words[i].group && leaf->how == HOW_USED)
      open_line(im, arena_printf(im->c->arena,
                                 "parallel.zero_group: %s keeps states inside a node, which on one "
                                 "node is all ranks; on several write \"node\"",
                                 words[i].word));
    return;
  }
  error_at(im->c, leaf->at, "unknown-word",
           "%s: it is one of FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, not %s",
           leaf->shown, text_plain(im->c->arena, leaf->text));
}

static double zero_of(const Import *im) {
  double zero = 0;
  setting_number(im, "parallel.zero", &zero);
  return zero;
}

void convert_fsdp_config(Import *im) {
  Leaf *strategy = get(im, "fsdp_sharding_strategy"),
       *reshard = get(im, "fsdp_reshard_after_forward");
  if (strategy && !leaf_is_auto(strategy)) take_sharding(im, strategy, strategy->text);
  if (reshard && leaf_is_auto(reshard))
    drop(reshard, HOW_DERIVED, "FSDP's own choice, zero 3", false);
  if (reshard && reshard->how == HOW_OPEN) {
    bool is_word = reshard->kind == LEAF_TEXT && !leaf_true(reshard) &&
                   strcasecmp(reshard->text, "false") != 0;
    if (is_word)
      take_sharding(im, reshard, reshard->text);
    else
      take(im, reshard, "parallel.zero", leaf_true(reshard) ? "3" : "2", "");
  }
  take_default(im, "parallel.zero", "3", "default of FSDP");
  Leaf *ahead = get(im, "fsdp_backward_prefetch"), *wrap = get(im, "fsdp_auto_wrap_policy");
  if (ahead && ahead->kind == LEAF_TEXT && zero_of(im) == 3)
    take(im, ahead, "parallel.zero_prefetch",
         strcasestr(ahead->text, "PRE") && !strcasestr(ahead->text, "NO_") ? "1" : "0",
         ahead->text);
  else if (ahead)
    drop(ahead, HOW_DERIVED, "weights are not gathered ahead below zero 3", false);
  Leaf *size = get(im, "fsdp_min_num_params");
  double number = 0;
  bool is_sized = wrap && wrap->kind == LEAF_TEXT && strcmp(wrap->text, "SIZE_BASED_WRAP") == 0 &&
                  zero_of(im) == 3;
  if (size && is_sized && leaf_number(im, size, &number) && number > 0) {
    take(im, size, "parallel.zero_unit",
         bytes_of(im, number * precision_bytes(im, "precision.param")),
         arena_printf(im->c->arena, "%.0f parameters", number));
    take_as(im, wrap, "parallel.zero_unit");
  } else if (size) {
    drop(size, HOW_DERIVED, "it is of SIZE_BASED_WRAP", false);
  }
  Leaf *offload = get(im, "fsdp_offload_params"), *again = get(im, "fsdp_activation_checkpointing");
  if (offload && leaf_true(offload))
    take(im, offload, "offload.optimizer", "\"cpu\"", "");
  else if (offload)
    drop(offload, HOW_DERIVED, "nothing is offloaded", false);
  if (again && leaf_true(again))
    take(im, again, "memory.recompute", "\"block\"", "");
  else if (again)
    drop(again, HOW_DERIVED, "recompute follows from memory", false);
}

static void convert_plugin_of_deepspeed(Import *im) {
  take_pairs(im, "accelerate", "parallel.zero");
  take_pairs(im, "accelerate", "optimizer.clip");
  static const char *const devices[][2] = {{"offload_optimizer_device", "offload.optimizer"},
                                           {"offload_param_device", "offload.weights"}};
  for (int i = 0; i < 2; i++)
    take_offload(im, get(im, devices[i][0]), devices[i][1]);
}

static void convert_megatron_plugin(Import *im) {
  take_pairs(im, "accelerate", "parallel.tp");
  take_pairs(im, "accelerate", "parallel.pp");
  take_pairs(im, "accelerate", "parallel.cp");
  Leaf *shared = get(im, "megatron_lm_use_distributed_optimizer"),
       *again = get(im, "megatron_lm_recompute_activations");
  Leaf *sequence = get(im, "megatron_lm_sequence_parallelism");
  double tp = 1;
  setting_number(im, "parallel.tp", &tp);
  if (shared) take(im, shared, "parallel.zero", leaf_true(shared) ? "1" : "0", "");
  if (again && leaf_true(again)) take(im, again, "memory.recompute", "\"selective\"", "");
  if (sequence && tp > 1)
    take(im, sequence, "parallel.sequence", leaf_true(sequence) ? "true" : "false", "");
  else if (sequence)
    drop(sequence, HOW_DERIVED, "there is no tp", false);
}

static void convert_mesh(Import *im) {
  Leaf *shard = get(im, "parallelism_config_dp_shard_size"),
       *copies = get(im, "parallelism_config_dp_replicate_size");
  double cp = 1, ranks = 1, number = 1;
  setting_number(im, "parallel.cp", &cp);
  if (shard && leaf_number(im, shard, &ranks) && ranks > 1) {
    if (setting_find(im, "parallel.zero"))
      take_as(im, shard, "parallel.zero"); /* FSDP says the stage */
    else
      take(im, shard, "parallel.zero", "3", "");
  }
  if (copies && leaf_number(im, copies, &number) && number > 1 && ranks > 1)
    take(im, copies, "parallel.zero_group", lua_number(im->c->arena, ranks * cp),
         "shards, over cp too");
  else if (copies && number > 1)
    take(im, copies, "parallel.zero", "0", "");
  else if (copies)
    drop(copies, HOW_DERIVED, "one group", false);
}

static void convert_machine(Import *im) {
  Leaf *total = get(im, "num_processes"), *nodes = get(im, "num_machines");
  double count = 0, machines = 1;
  if (nodes && leaf_number(im, nodes, &machines))
    take(im, nodes, "cluster.nodes", lua_number(im->c->arena, machines), "");
  if (total && leaf_number(im, total, &count)) take_devices(im, total, count, machines);
}

void convert_accelerate(Import *im) {
  if (!im->has_tool[word_tool_find("accelerate")]) return;
  convert_machine(im);
  Leaf *precision = get(im, "mixed_precision"), *type = get(im, "distributed_type");
  if (precision && !leaf_is_auto(precision)) {
    bool is_off = precision->kind == LEAF_FLAG || strcasecmp(precision->text, "no") == 0;
    bool is_narrow = strcmp(precision->text, "fp8") == 0;
    take_precision(im, precision, is_off ? "fp32" : is_narrow ? "bf16" : precision->text);
    bool has_other = im->has_tool[word_tool_find("deepspeed")] || get(im, "zero_stage");
    if (strcmp(precision->text, "fp16") == 0 && !has_other)
      take_default(im, "precision.loss_scale", "\"torch\"", "default of Accelerate: GradScaler");
    if (is_narrow) take(im, precision, "precision.linear", "\"fp8\"", "");
  }
  if (!precision && !im->has_tool[word_tool_find("deepspeed")] &&
      !im->has_tool[word_tool_find("trainer")])
    take_default(im, "precision", "\"fp32\"", "default of Accelerate: mixed_precision no");
  const char *kind = type && type->kind == LEAF_TEXT ? type->text : "";
  if (strcmp(kind, "FSDP") == 0 || get(im, "fsdp_sharding_strategy") || get(im, "fsdp_version"))
    convert_fsdp_config(im);
  convert_plugin_of_deepspeed(im);
  convert_megatron_plugin(im);
  convert_mesh(im);
  if (strcmp(kind, "MULTI_GPU") == 0 && !setting_find(im, "parallel.zero"))
    take(im, type, "parallel.zero", "0", "DDP");
}
