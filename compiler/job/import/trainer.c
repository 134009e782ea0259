/* trainer.c -- TrainingArguments as JSON; its fsdp, fsdp_config and deepspeed. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/import/pairs.h"

static Leaf *get(Import *im, const char *key) {
  return leaf_find(im, word_tool_find("trainer"), key);
}

static bool is_on(Import *im, const char *key) {
  Leaf *leaf = get(im, key);
  return leaf && leaf_true(leaf);
}

/* deepspeed = { ... } in the file is a ds_config.json in it. */
static void part_deepspeed(Import *im) {
  int32_t tool = word_tool_find("trainer");
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool != tool || strncmp(leaf->key, "deepspeed.", 10) != 0) continue;
    leaf->tool = word_tool_find("deepspeed");
    leaf->key += 10;
    im->has_tool[leaf->tool] = true;
  }
}

/* fsdp_config = { backward_prefetch = ... } has Accelerate's keys without their fsdp_. */
static void part_fsdp(Import *im) {
  int32_t tool = word_tool_find("trainer");
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool != tool || strncmp(leaf->key, "fsdp_config.", 12) != 0) continue;
    const char *full = arena_printf(im->c->arena, "fsdp_%s", leaf->key + 12);
    leaf->tool = word_tool_find("accelerate");
    WordHits hits = words_find(im->c->arena, leaf->tool, full);
    if (hits.list.count > 0 && word_is_same(hits.list.at[0].name, full))
      leaf->key = arena_printf(im->c->arena, "fsdp_config.%s", full);
  }
}

/* FSDP 2 has no words for what it shares: reshard_after_forward says it. */
static bool is_resharded(Import *im) {
  int32_t tool = word_tool_find("accelerate");
  Leaf *version = leaf_find(im, tool, "fsdp_config.fsdp_version"),
       *again = leaf_find(im, tool, "fsdp_config.fsdp_reshard_after_forward");
  return version && version->kind == LEAF_NUMBER && version->number == 2 && again &&
         again->kind == LEAF_FLAG;
}

static void convert_fsdp(Import *im) {
  static const char *const words[] = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                      "hybrid_shard_zero2"};
  Leaf *leaf = get(im, "fsdp");
  if (!leaf || leaf_is_auto(leaf)) return;
  bool has_other = get(im, "deepspeed") || im->has_tool[word_tool_find("deepspeed")];
  if (leaf->kind == LEAF_TEXT && !*leaf->text && !has_other)
    take(im, leaf, "parallel.zero", "0", "DDP");
  const bool is_shared = leaf->kind == LEAF_FLAG ? leaf->number != 0 : *leaf->text != 0;
  const bool is_by_config = is_shared && is_resharded(im);
  if (is_by_config)
    take_as(im, leaf, "parallel.zero");
  else if (leaf->kind == LEAF_FLAG && is_shared)
    take_sharding(im, leaf, "FULL_SHARD");
  for (int i = 0; i < 5 && !is_by_config; i++) {
    const char *at = strstr(leaf->text, words[i]);
    size_t width = strlen(words[i]);
    if (at && !strchr("_z", at[width] ? at[width] : ' ')) take_sharding(im, leaf, words[i]);
  }
  if (leaf->how == HOW_USED && strstr(leaf->text, "offload"))
    take(im, leaf, "offload.optimizer", "\"cpu\"", "");
  if (is_by_config || (leaf->how == HOW_USED && setting_find(im, "parallel.zero")))
    convert_fsdp_config(im);
}

static void convert_batch(Import *im) {
  Leaf *each = get(im, "per_device_train_batch_size"),
       *sums = get(im, "gradient_accumulation_steps");
  int64_t micro = 8, sum = 1, dp = import_dp(im);
  if (each && leaf_count(im, each, &micro))
    take(im, each, "train.microbatch", lua_number(im->c->arena, (double)micro), "");
  take_default(im, "train.microbatch", "8", "default of Trainer");
  if (sums && !leaf_is_auto(sums)) leaf_count(im, sums, &sum);
  Leaf *from = each ? each : sums;
  const char *note = arena_printf(im->c->arena, "%lld x %lld steps of accumulation x %lld ranks",
                                  (long long)micro, (long long)sum, (long long)dp);
  if (dp > 0 && from)
    take_sequences(im, from, (double)micro * (double)sum * (double)dp, note);
  else if (dp > 0)
    take_default(im, "train.batch",
                 arena_printf(im->c->arena, "\"%.0f sequences\"", (double)micro * (double)dp),
                 note);
  else
    open_line(im, arena_printf(im->c->arena,
                               "train.batch is %lld x %lld steps of accumulation x ranks: -D "
                               "cluster.devices=N says how many",
                               (long long)micro, (long long)sum));
  if (sums && sums->how == HOW_OPEN) drop(sums, HOW_DERIVED, "batch / (dp x microbatch)", false);
}

static void convert_length(Import *im) {
  Leaf *steps = get(im, "max_steps"), *epochs = get(im, "num_train_epochs");
  double number = 0;
  if (steps && leaf_number(im, steps, &number) && number > 0)
    take(im, steps, "train.steps", lua_number(im->c->arena, number), "");
  else if (steps)
    drop(steps, HOW_DERIVED, "epochs say the length", false);
  if (epochs && setting_find(im, "train.steps"))
    drop(epochs, HOW_DERIVED, "max_steps says the length", false);
  else if (epochs && leaf_number(im, epochs, &number))
    take(im, epochs, "train.steps", arena_printf(im->c->arena, "\"%g epochs\"", number), "");
  take_default(im, "train.steps", "\"3 epochs\"", "default of Trainer");
}

static void convert_warmup(Import *im) {
  static const char *const keys[] = {"warmup_steps", "warmup_ratio"};
  for (int i = 0; i < 2; i++) {
    Leaf *leaf = get(im, keys[i]);
    const JobSetting *length = setting_find(im, "train.steps");
    double number, steps = 0;
    if (!leaf || leaf_is_auto(leaf) || !leaf_number(im, leaf, &number)) continue;
    if (length && *length->value != '"') setting_number(im, "train.steps", &steps);
    if (number == 0)
      drop(leaf, HOW_DERIVED, "0: no warm-up of its own", false);
    else if (number >= 1 && i == 0)
      take(im, leaf, "schedule.warmup", lua_number(im->c->arena, number), "");
    else if (steps > 0)
      take(im, leaf, "schedule.warmup", lua_number(im->c->arena, ceil(number * steps)),
           "share of the steps, rounded up");
    else
      take(im, leaf, "schedule.warmup", arena_printf(im->c->arena, "\"%.10g%%\"", number * 100),
           "of the steps, whose number follows from the data");
  }
}

/* With one cycle, its default, restarts never happen. */
static bool is_plain_cosine(Import *im, const Leaf *type) {
  Leaf *cycles = get(im, "lr_scheduler_kwargs.num_cycles");
  double number = 1;
  if (!type || type->kind != LEAF_TEXT || strcmp(type->text, "cosine_with_restarts") != 0 ||
      (cycles && (!leaf_number(im, cycles, &number) || number != 1)))
    return false;
  if (cycles) drop(cycles, HOW_DERIVED, "one cycle is the cosine", false);
  return true;
}

static void convert_schedule(Import *im) {
  Leaf *type = get(im, "lr_scheduler_type");
  const char *ours = type && type->kind == LEAF_TEXT
                         ? pair_ours("trainer", "lr_scheduler_type", type->text)
                         : NULL;
  if (is_plain_cosine(im, type)) ours = "\"cosine\"";
  if (ours) take(im, type, "schedule", ours, "");
  if (type && type->how == HOW_OPEN && !leaf_is_auto(type))
    drop(type, HOW_IMPOSSIBLE,
         pair_meant(im->c->arena, "trainer", "lr_scheduler_type", type->text, NO_SCHEDULE), true);
  take_default(im, "schedule", "\"linear\"", "default of Trainer");
  convert_warmup(im);
  Leaf *least = get(im, "lr_scheduler_kwargs.min_lr"), *end = get(im, "lr_scheduler_kwargs.lr_end"),
       *shape;
  double number, lr = 5e-5;
  setting_number(im, "optimizer.lr", &lr);
  if (least && lr > 0 && leaf_number(im, least, &number))
    take(im, least, "schedule.floor", lua_number(im->c->arena, decimal_near(number / lr)),
         "min_lr / lr");
  if (end && ours && strcmp(ours, "\"polynomial\"") == 0 && lr > 0 && leaf_number(im, end, &number))
    take(im, end, "schedule.floor", lua_number(im->c->arena, decimal_near(number / lr)),
         "lr_end / lr");
  else if (ours && strcmp(ours, "\"polynomial\"") == 0 && !end && lr > 0)
    take_default(im, "schedule.floor", lua_number(im->c->arena, decimal_near(1e-7 / lr)),
                 "default of Trainer: lr_end 1e-7");
  take_pairs(im, "trainer", "schedule.floor");
  take_pairs(im, "trainer", "schedule.power");
  take_pairs(im, "trainer", "schedule.decay");
  shape = get(im, "lr_scheduler_kwargs.decay_type");
  if (shape && shape->kind == LEAF_TEXT && ours && strcmp(ours, "\"wsd\"") == 0)
    take(im, shape, "schedule.shape",
         strcmp(shape->text, "1-sqrt") == 0 ? "\"sqrt\"" : lua_text(im->c->arena, shape->text), "");
  double warmup;
  if (setting_number(im, "schedule.warmup", &warmup)) import_rates(im, "Trainer", "torch");
}

/* DeepSpeed clips by its own file, where "auto" is max_grad_norm. */
static void convert_clip(Import *im) {
  int32_t deepspeed = word_tool_find("deepspeed");
  if (!im->has_tool[deepspeed] || leaf_find(im, deepspeed, "gradient_clipping")) return;
  Leaf *most = get(im, "max_grad_norm");
  if (most)
    drop(most, HOW_DERIVED, "DeepSpeed clips, and its file has no gradient_clipping", false);
  take_default(im, "optimizer.clip", "0", "default of DeepSpeed: gradients are not clipped");
}

static void convert_optimizer(Import *im) {
  Leaf *optim = get(im, "optim");
  const char *word = optim && optim->kind == LEAF_TEXT ? optim->text : "adamw_torch";
  const char *ours = strstr(word, "adamw") && !strstr(word, "galore") && !strstr(word, "apollo") &&
                             !strstr(word, "schedule") && !strstr(word, "stable")
                         ? "adamw"
                     : strstr(word, "lion")     ? "lion"
                     : strcmp(word, "sgd") == 0 ? "sgd"
                                                : NULL;
  if (optim && ours) take(im, optim, "optimizer", lua_text(im->c->arena, ours), "");
  if (optim && ours && strstr(word, "8bit")) take(im, optim, "precision.moments", "\"int8\"", "");
  if (optim && !ours)
    drop(optim, HOW_DECLINED, "only adamw, sgd and lion are optimizers here", true);
  take_default(im, "optimizer", "\"adamw\"", "default of Trainer");
  take_pairs(im, "trainer", "optimizer.");
  const char *note = "default of Trainer";
  take_default(im, "optimizer.lr", "5e-5", note);
  if (ours && strcmp(ours, "sgd") == 0)
    take_default(im, "optimizer.momentum", "0", note);
  else if (ours)
    take_default(im, "optimizer.beta2", "0.999", note);
  take_default(im, "optimizer.weight_decay", "0", note);
}

static void convert_text(Import *im, const char *key, const char *path) {
  Leaf *leaf = get(im, key);
  if (leaf && leaf->kind == LEAF_TEXT && *leaf->text)
    take(im, leaf, path, lua_text(im->c->arena, leaf->text), "");
}

void convert_trainer(Import *im) {
  int32_t tool = word_tool_find("trainer");
  if (!im->has_tool[tool]) return;
  part_deepspeed(im);
  Leaf *smooth = get(im, "label_smoothing_factor");
  if (smooth && smooth->kind == LEAF_NUMBER && smooth->number != 0)
    drop(smooth, HOW_DECLINED, "cross_entropy in the model file says it: a preset has none", true);
  part_fsdp(im);
  convert_fsdp(im);
  convert_batch(im);
  convert_length(im);
  convert_clip(im);
  convert_optimizer(im);
  convert_schedule(im);
  if (is_on(im, "bf16")) take_precision(im, get(im, "bf16"), "bf16");
  if (is_on(im, "fp16")) {
    take_precision(im, get(im, "fp16"), "fp16");
    if (!im->has_tool[word_tool_find("deepspeed")])
      take_default(im, "precision.loss_scale", "\"torch\"", "default of Trainer: GradScaler");
  }
  if (!im->has_tool[word_tool_find("accelerate")])
    take_default(im, "precision", "\"fp32\"", "default of Trainer");
  if (is_on(im, "tf32") && !is_on(im, "bf16") && !is_on(im, "fp16"))
    take(im, get(im, "tf32"), "precision.compute", "\"tf32\"", "");
  else if (is_on(im, "tf32"))
    drop(get(im, "tf32"), HOW_DERIVED, "products are of 16 bits", false);
  if (is_on(im, "gradient_checkpointing"))
    take(im, get(im, "gradient_checkpointing"), "memory.recompute", "\"block\"", "");
  take_pairs(im, "trainer", "train.seed");
  take_default(im, "train.seed", "42", "default of Trainer");
  take_pairs(im, "trainer", "log.");
  take_pairs(im, "trainer", "checkpoint.");
  convert_text(im, "output_dir", "log.dir");
  if (is_on(im, "full_determinism"))
    take(im, get(im, "full_determinism"), "train.deterministic", "true", "");
  if (setting_find(im, "data.valid")) take_count(im, tool, "eval_steps", "train.validate_every");
}
