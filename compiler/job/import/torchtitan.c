/* torchtitan.c -- its TOML, and --training.steps=... of later releases. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/import/pairs.h"

static int32_t tool_of(void) {
  return word_tool_find("torchtitan");
}

static Leaf *get(Import *im, const char *key) {
  return leaf_find(im, tool_of(), key);
}

static double number_or(Import *im, const char *key, double otherwise) {
  Leaf *leaf = get(im, key);
  double number = 0;
  return leaf && !leaf_is_auto(leaf) && leaf_number(im, leaf, &number) ? number : otherwise;
}

/* Old releases have degrees under training and experimental, too. */
static Leaf *degree(Import *im, const char *name, double *number) {
  static const char *const tables[] = {"parallelism", "training", "experimental"};
  for (int i = 0; i < 3; i++) {
    Leaf *leaf = get(im, arena_printf(im->c->arena, "%s.%s", tables[i], name));
    if (leaf && leaf_number(im, leaf, number)) return leaf;
  }
  return NULL;
}

/* Copies of the model divide the ranks of dp into groups, each of which shards: a group has
 * dp_shard ranks, or, where dp_shard is -1, dp / copies. */
static void convert_copies(Import *im, Leaf *copy, double copies, double shards, double cp) {
  if (!copy) return;
  const double dp = (double)import_dp(im);
  const JobSetting *zero = setting_find(im, "parallel.zero");
  if (copies > 1 && shards < 0 && dp > 0 && fmod(dp, copies) != 0) {
    error_at(im->c, copy->at, "import-conflict", "%g ranks of dp are no multiple of %s %g", dp,
             copy->shown, copies);
    return;
  }
  const bool is_open = copies > 1 && shards < 0 && dp == 0;
  if (shards < 0 && dp > 0) shards = dp / copies;
  if (copies > 1 && shards > 1)
    take(im, copy, "parallel.zero_group", lua_number(im->c->arena, shards * cp), "shards x cp");
  else if (is_open && zero && strcmp(zero->value, "0") != 0)
    open_line(im, arena_printf(im->c->arena,
                               "parallel.zero_group = ...   ranks of dp / %g, x cp: -D "
                               "cluster.devices=N says how many",
                               copies));
  if (copy->how == HOW_OPEN)
    drop(copy, HOW_DERIVED, "replicas are what is left of the ranks", false);
}

static void convert_degrees(Import *im) {
  static const char *const names[][2] = {{"tensor_parallel_degree", "parallel.tp"},
                                         {"pipeline_parallel_degree", "parallel.pp"},
                                         {"context_parallel_degree", "parallel.cp"}};
  double number, cp = 1;
  for (int i = 0; i < 3; i++) {
    Leaf *leaf = degree(im, names[i][0], &number);
    if (leaf) take(im, leaf, names[i][1], lua_number(im->c->arena, number), "");
  }
  setting_number(im, "parallel.cp", &cp);
  double shards = -1, copies = 1;
  Leaf *shard = degree(im, "data_parallel_shard_degree", &shards),
       *copy = degree(im, "data_parallel_replicate_degree", &copies);
  Leaf *again = get(im, "parallelism.fsdp_reshard_after_forward");
  const char *policy = again && again->kind == LEAF_TEXT ? again->text : "default";
  double pp = 1;
  setting_number(im, "parallel.pp", &pp);
  /* By default weights stay gathered where a pipeline would gather them for each micro-batch. */
  bool is_never =
      strcasecmp(policy, "never") == 0 || (pp > 1 && strcasecmp(policy, "default") == 0);
  const char *zero = shards == 1 && cp == 1 ? "0" : is_never ? "2" : "3";
  if (shard)
    take(im, shard, "parallel.zero", zero, "");
  else if (copy && copies > 1)
    take(im, copy, "parallel.zero", zero, "");
  else
    take_default(im, "parallel.zero", zero, "default of torchtitan: FSDP");
  if (again) take_as(im, again, "parallel.zero");
  convert_copies(im, copy, copies, shards, cp);
  Leaf *order = get(im, "parallelism.pipeline_parallel_schedule");
  const char *ours =
      order && order->kind == LEAF_TEXT
          ? pair_ours("torchtitan", "parallelism.pipeline_parallel_schedule", order->text)
          : NULL;
  if (ours) take(im, order, "parallel.pipeline", ours, order->text);
  Leaf *rotate = get(im, "parallelism.context_parallel_rotate_method");
  if (rotate)
    drop(rotate, HOW_DERIVED, "keys and values go round: parallel.cp_kind = \"ring\"", false);
}

static void convert_batch(Import *im) {
  Leaf *local = get(im, "training.local_batch_size"),
       *whole = get(im, "training.global_batch_size"),
       *small = get(im, "parallelism.pipeline_parallel_microbatch_size");
  if (!local) local = get(im, "training.batch_size");
  double pp = 1, each = local && local->kind == LEAF_NUMBER ? local->number : 8,
         batch = number_or(im, "training.global_batch_size", -1);
  setting_number(im, "parallel.pp", &pp);
  int64_t dp = import_dp(im);
  if (small && pp > 1)
    take(
        im, small, "train.microbatch",
        lua_number(im->c->arena, number_or(im, "parallelism.pipeline_parallel_microbatch_size", 1)),
        "");
  else if (pp > 1)
    take_default(im, "train.microbatch", "1", "default of torchtitan");
  else if (local)
    take(im, local, "train.microbatch", lua_number(im->c->arena, each), "");
  else
    take_default(im, "train.microbatch", "8", "default of torchtitan");
  if (batch > 0) {
    if (dp > 0 && fmod(batch, each * (double)dp) != 0)
      error_at(im->c, whole->at, "import-conflict",
               "global_batch_size %g is no multiple of local_batch_size %g x %lld ranks of dp",
               batch, each, (long long)dp);
    take_sequences(im, whole, batch, "");
  } else {
    if (whole) drop(whole, HOW_DERIVED, "-1: local_batch_size x dp", false);
    const char *note = arena_printf(im->c->arena, "%g x %lld ranks of dp", each, (long long)dp);
    if (dp > 0 && local)
      take_sequences(im, local, each * (double)dp, note);
    else if (dp > 0)
      take_default(im, "train.batch",
                   arena_printf(im->c->arena, "\"%.0f sequences\"", each * (double)dp), note);
    else
      open_line(im,
                arena_printf(
                    im->c->arena,
                    "train.batch is %g sequences x ranks of dp: -D cluster.devices=N says how many",
                    each));
  }
  if (local && local->how == HOW_OPEN)
    drop(local, HOW_DERIVED, "what a rank's micro-batches add up to", false);
}

/* torchtitan shortens a warm-up that is longer than the run. */
static double convert_warmup(Import *im, double steps) {
  static const char *const keys[] = {"lr_scheduler.warmup_steps", "training.warmup_steps"};
  const char *all = lua_number(im->c->arena, steps), *note = "all steps: the run has no more";
  double warmup = steps;
  bool is_cut = false;
  for (int i = 0; i < 2; i++) {
    Leaf *leaf = get(im, keys[i]);
    if (!leaf || leaf->kind != LEAF_NUMBER || leaf->number <= steps) continue;
    take(im, leaf, "schedule.warmup", all, note);
    is_cut = true;
  }
  if (!is_cut) take_pairs(im, "torchtitan", "schedule.warmup");
  if (steps < 200) take_default(im, "schedule.warmup", all, note);
  take_default(im, "schedule.warmup", "200", "default of torchtitan");
  setting_number(im, "schedule.warmup", &warmup);
  return warmup;
}

static void convert_schedule(Import *im, double steps) {
  Leaf *ratio = get(im, "lr_scheduler.decay_ratio"), *shape = get(im, "lr_scheduler.decay_type");
  const char *word = shape && shape->kind == LEAF_TEXT ? shape->text : "linear";
  const double warmup = convert_warmup(im, steps);
  double share = ratio && ratio->kind == LEAF_NUMBER ? ratio->number : -1;
  const double most = steps - warmup; /* steps of a decay */
  if (share == 0 || (share > 0 && most < 1)) {
    const char *why = share == 0 ? "decay_ratio is 0" : "warm-up leaves no step to decay in";
    take(im, ratio, "schedule", "\"constant\"", why);
    if (shape) drop(shape, HOW_DERIVED, why, false);
    for (int i = 0; i < 2; i++) {
      Leaf *least = get(im, i ? "lr_scheduler.lr_min" : "lr_scheduler.min_lr_factor");
      if (least) drop(least, HOW_DERIVED, why, false);
    }
  } else if (share > 0) {
    take_pairs(im, "torchtitan", "schedule.floor");
    take(im, ratio, "schedule", "\"wsd\"", "");
    const double decay = floor(share * steps + 0.5);
    take(im, ratio, "schedule.decay", lua_number(im->c->arena, fmax(1, fmin(decay, most))),
         decay <= most ? "decay_ratio x steps" : "all steps after warm-up: the share is longer");
    if (shape)
      take(im, shape, "schedule.shape",
           pair_ours("torchtitan", "lr_scheduler.decay_type", word)
               ? pair_ours("torchtitan", "lr_scheduler.decay_type", word)
               : "\"linear\"",
           "");
  } else {
    take_pairs(im, "torchtitan", "schedule.floor");
    bool is_cosine = strcmp(word, "cosine") == 0;
    if (shape && strcmp(word, "sqrt") == 0)
      drop(shape, HOW_IMPOSSIBLE, "the root of wsd's decay needs decay_ratio here", true);
    else if (shape)
      take(im, shape, "schedule", is_cosine ? "\"cosine\"" : "\"linear\"", "");
    take_default(im, "schedule", "\"linear\"", "default of torchtitan");
    import_rates(im, "torchtitan", "titan");
  }
}

static void convert_model(Import *im) {
  static const char *const known[][3] = {{"llama3", "8B", "llama3-8b"},
                                         {"llama3", "70B", "llama3-70b"},
                                         {"llama3", "405B", "llama3-405b"}};
  Leaf *name = get(im, "model.name"), *flavor = get(im, "model.flavor");
  for (int i = 0; name && flavor && name->kind == LEAF_TEXT && i < 3; i++)
    if (strcasecmp(name->text, known[i][0]) == 0 && strcasecmp(flavor->text, known[i][1]) == 0) {
      take(im, name, "model", lua_text(im->c->arena, known[i][2]), "");
      take_as(im, flavor, "model");
    }
  for (int i = 0; i < 2; i++) {
    Leaf *leaf = i ? flavor : name;
    if (leaf && leaf->how == HOW_OPEN)
      drop(leaf, HOW_DECLINED, "no preset is called so: a line to fill in", false);
  }
}

static void convert_recompute(Import *im) {
  Leaf *mode = get(im, "activation_checkpoint.mode"),
       *option = get(im, "activation_checkpoint.selective_ac_option");
  if (!mode || mode->kind != LEAF_TEXT) return;
  double every = 0;
  if (strcmp(mode->text, "full") == 0)
    take(im, mode, "memory.recompute", "\"block\"", "");
  else if (strcmp(mode->text, "none") == 0)
    take(im, mode, "memory.recompute", "\"none\"", "");
  else if (strcmp(mode->text, "selective") == 0 && option && text_number(option->text, &every))
    take(im, mode, "memory.recompute",
         arena_printf(im->c->arena, "{ \"every\", blocks = %g }", every), "");
  else if (strcmp(mode->text, "selective") == 0)
    take(im, mode, "memory.recompute", "\"selective\"", "");
  if (option && option->how == HOW_OPEN) take_as(im, option, "memory.recompute");
}

/* torchtitan's FSDP moves weights, gradients and states to the host together. */
static void convert_offload(Import *im) {
  Leaf *offload = get(im, "training.enable_cpu_offload"), *kinds = get(im, "model.converters");
  if (offload && leaf_true(offload))
    take(im, offload, "offload.optimizer", "\"cpu\"", "there with weights and gradients");
  else if (offload)
    drop(offload, HOW_DERIVED, "nothing is offloaded", false);
  for (int32_t i = 0; kinds && kinds->kind == LEAF_LIST && i < kinds->items.list.count; i++) {
    const char *dot = strrchr(kinds->items.list.at[i], '.'),
               *kind = dot ? dot + 1 : kinds->items.list.at[i];
    if (strcmp(kind, "float8") == 0) take(im, kinds, "precision.linear", "\"fp8\"", "");
  }
}

static void convert_folders(Import *im, bool saves) {
  Leaf *dump = get(im, "job.dump_folder"), *folder = get(im, "checkpoint.folder"),
       *mode = get(im, "checkpoint.async_mode");
  const bool is_dump = dump && dump->kind == LEAF_TEXT && *dump->text;
  if (is_dump) take(im, dump, "log.dir", lua_text(im->c->arena, dump->text), "");
  if (folder && folder->kind == LEAF_TEXT && saves)
    take(im, folder, "checkpoint.path",
         lua_text(im->c->arena, is_dump
                                    ? arena_printf(im->c->arena, "%s/%s", dump->text, folder->text)
                                    : folder->text),
         is_dump ? "below dump_folder" : "");
  else if (folder)
    drop(folder, HOW_DERIVED, "nothing is saved", false);
  const char *async = mode && mode->kind == LEAF_TEXT
                          ? pair_ours("torchtitan", "checkpoint.async_mode", mode->text)
                          : NULL;
  if (async && saves)
    take(im, mode, "checkpoint.async", async, "");
  else if (mode && !saves)
    drop(mode, HOW_DERIVED, "nothing is saved", false);
}

void convert_torchtitan(Import *im) {
  if (!im->has_tool[tool_of()]) return;
  const char *note = "default of torchtitan";
  convert_model(im);
  convert_degrees(im);
  convert_batch(im);
  take_pairs(im, "torchtitan", "train.");
  take_pairs(im, "torchtitan", "optimizer.");
  take_pairs(im, "torchtitan", "log.");
  take_default(im, "train.context", "2048", note);
  take_default(im, "train.steps", "10000", note);
  Leaf *kind = get(im, "optimizer.name");
  if (kind && kind->kind == LEAF_TEXT && strcasecmp(kind->text, "AdamW") == 0)
    take(im, kind, "optimizer", "\"adamw\"", "");
  else if (kind)
    drop(kind, HOW_DECLINED,
         "torch's Adam decays through the moments; only adamw, sgd and lion are optimizers here",
         true);
  take_default(im, "optimizer", "\"adamw\"", note);
  take_default(im, "optimizer.lr", "8e-4", note);
  double steps = 10000;
  setting_number(im, "train.steps", &steps);
  convert_schedule(im, steps);
  convert_recompute(im);
  Leaf *param = get(im, "training.mixed_precision_param"),
       *reduce = get(im, "training.mixed_precision_reduce");
  if (param && param->kind == LEAF_TEXT)
    take_precision(im, param, strcmp(param->text, "float32") == 0 ? "fp32" : "bf16");
  if (reduce && reduce->kind == LEAF_TEXT)
    take(im, reduce, "precision.reduce",
         strcmp(reduce->text, "bfloat16") == 0 ? "\"bf16\"" : "\"fp32\"", "");
  convert_offload(im);
  Leaf *enable = get(im, "checkpoint.enable_checkpoint");
  if (!enable) enable = get(im, "checkpoint.enable");
  if (enable && leaf_true(enable)) take_pairs(im, "torchtitan", "checkpoint.");
  convert_folders(im, enable && leaf_true(enable));
  if (enable) drop(enable, HOW_DERIVED, "checkpoint.every says it", false);
}
