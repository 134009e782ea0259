/* deepspeed.c -- ds_config.json. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "compiler/job/import/pairs.h"

enum { LOG_WARMUP_MOST = 1 };

typedef struct Deep {
  Import *im;
  int32_t tool;
  bool has_trainer; /* "auto" takes Trainer's value */
} Deep;

static Leaf *get(const Deep *d, const char *key) {
  return leaf_find(d->im, d->tool, key);
}

static bool is_on(const Deep *d, const char *key) {
  Leaf *leaf = get(d, key);
  return leaf && leaf_true(leaf);
}

/* ---- the batch: train_batch_size = micro x accumulation x dp */

static double count_of(const Deep *d, Leaf *leaf) {
  int64_t count;
  if (!leaf || leaf_is_auto(leaf) || !leaf_count(d->im, leaf, &count)) return 0;
  if (count < 1) {
    error_at(d->im->c, leaf->at, "import-conflict", "%s: at least 1 is expected, not %s",
             leaf->shown, leaf->text);
    return 0;
  }
  return (double)count;
}

static void check_batch(const Deep *d, Leaf *whole, double batch, double micro, double steps) {
  int64_t dp = import_dp(d->im);
  if (batch > 0 && micro > 0 && steps > 0) {
    double ranks = batch / (micro * steps);
    if (floor(ranks) != ranks || ranks < 1)
      error_at(d->im->c, whole->at, "import-conflict",
               "train_batch_size %g is no multiple of %g a GPU x %g steps of accumulation", batch,
               micro, steps);
    else if (dp > 0 && (double)dp != ranks)
      error_at(
          d->im->c, whole->at, "import-conflict",
          "train_batch_size %g is %g a GPU x %g steps of accumulation x %g ranks, and there are "
          "%lld",
          batch, micro, steps, ranks, (long long)dp);
    else if (dp == 0 && !setting_find(d->im, "cluster.nodes")) /* of one node, tp, pp and cp 1 */
      take_default(d->im, "cluster.devices", lua_number(d->im->c->arena, ranks),
                   arena_printf(d->im->c->arena, "%g / (%g x %g) ranks", batch, micro, steps));
  } else if (batch > 0 && dp > 0) {
    double share = micro > 0 ? micro : steps > 0 ? steps : 1;
    if (fmod(batch, share * (double)dp) != 0)
      error_at(d->im->c, whole->at, "import-conflict",
               "train_batch_size %g is no multiple of %g x %lld ranks", batch, share,
               (long long)dp);
  }
}

static void convert_batch(const Deep *d) {
  Leaf *whole = get(d, "train_batch_size"), *each = get(d, "train_micro_batch_size_per_gpu");
  Leaf *sums = get(d, "gradient_accumulation_steps");
  double batch = count_of(d, whole), micro = count_of(d, each), steps = count_of(d, sums);
  Arena *arena = d->im->c->arena;
  if (batch > 0) check_batch(d, whole, batch, micro, steps);
  int64_t dp = import_dp(d->im);
  if (batch > 0) take_sequences(d->im, whole, batch, "");
  if (micro > 0) take(d->im, each, "train.microbatch", lua_number(arena, micro), "");
  if (batch == 0 && micro > 0 && dp > 0) {
    double sum = steps > 0 ? steps : 1;
    take_sequences(d->im, each, micro * sum * (double)dp,
                   arena_printf(arena, "%g x %g steps of accumulation x %lld ranks", micro, sum,
                                (long long)dp));
  }
  if (micro == 0 && batch > 0 && dp > 0) {
    double sum = steps > 0 ? steps : 1;
    take_default(d->im, "train.microbatch", lua_number(arena, batch / (sum * (double)dp)),
                 arena_printf(arena, "%g sequences / (%g steps of accumulation x %lld ranks)",
                              batch, sum, (long long)dp));
  }
  if (sums && steps > 0)
    drop(sums, HOW_DERIVED,
         batch > 0 ? "batch / (dp x microbatch); it was checked" : "batch / (dp x microbatch)",
         false);
  if (batch == 0 && micro > 0 && dp == 0 && !d->has_trainer && !setting_find(d->im, "train.batch"))
    open_line(d->im, arena_printf(arena,
                                  "train.batch is %g x %g steps of accumulation x ranks: -D "
                                  "cluster.devices=N says how many",
                                  micro, steps > 0 ? steps : 1));
}

/* ---- precision */

static void convert_scale(const Deep *d) {
  static const char *const keys[][2] = {{"fp16.loss_scale_window", "window"},
                                        {"fp16.hysteresis", "hysteresis"},
                                        {"fp16.min_loss_scale", "min"}};
  Arena *arena = d->im->c->arena;
  Leaf *fixed = get(d, "fp16.loss_scale"), *power = get(d, "fp16.initial_scale_power");
  double number = 0;
  if (fixed && !leaf_is_auto(fixed) && leaf_number(d->im, fixed, &number) && number > 0) {
    take(d->im, fixed, "precision.loss_scale", lua_number(arena, number), "");
    return;
  }
  const char *text = "{ \"deepspeed\"";
  if (power && leaf_number(d->im, power, &number)) {
    text = arena_printf(arena, "%s, init = 2^%g", text, number);
    take_as(d->im, power, "precision.loss_scale");
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    Leaf *leaf = get(d, keys[i][0]);
    if (!leaf || leaf_is_auto(leaf) || !leaf_number(d->im, leaf, &number)) continue;
    text = arena_printf(arena, "%s, %s = %s", text, keys[i][1], lua_number(arena, number));
    take_as(d->im, leaf, "precision.loss_scale");
  }
  if (is_on(d, "fp16.consecutive_hysteresis")) {
    text = arena_printf(arena, "%s, refill = 1", text);
    take_as(d->im, get(d, "fp16.consecutive_hysteresis"), "precision.loss_scale");
  }
  text = strchr(text, ',') ? arena_printf(arena, "%s }", text) : "\"deepspeed\"";
  const char *note = "the scale moves as DeepSpeed's";
  Leaf *first = fixed ? fixed : get(d, "fp16.enabled");
  if (first)
    take(d->im, first, "precision.loss_scale", text, note);
  else
    take_default(d->im, "precision.loss_scale", text, note);
}

/* The program that reads the file gives the value of a key that is "auto". NULL: it is not. */
static const Leaf *find_auto(const Deep *d, const char *key) {
  for (int32_t i = 0; i < d->im->leaves.count; i++) {
    const Leaf *leaf = &d->im->leaves.at[i];
    if (leaf->tool == d->tool && leaf_is_auto(leaf) && word_is_same(leaf->key, key)) return leaf;
  }
  return NULL;
}

/* True if -D or another file sets precision to fp16. */
static bool is_fp16(const Import *im) {
  const JobSetting *precision = setting_find(im, "precision");
  return precision && strcmp(precision->value, "\"fp16\"") == 0;
}

static void convert_precision(const Deep *d) {
  Leaf *half = get(d, "fp16.enabled"), *brain = get(d, "bf16.enabled");
  if (!brain) brain = get(d, "bfloat16.enabled");
  if (half && leaf_true(half) && brain && leaf_true(brain)) {
    error_at(d->im->c, half->at, "import-conflict", "fp16 and bf16 (line %d) are both enabled",
             brain->at.line);
    return;
  }
  if (half && leaf_true(half)) {
    take_precision(d->im, half, "fp16");
    convert_scale(d);
  }
  if (brain && leaf_true(brain)) take_precision(d->im, brain, "bf16");
  if (half && half->how == HOW_OPEN)
    drop(half, HOW_DERIVED,
         leaf_is_auto(half) ? "the program that reads the file says it" : "precision says it",
         false);
  if (brain && brain->how == HOW_OPEN)
    drop(brain, HOW_DERIVED,
         leaf_is_auto(brain) ? "the program that reads the file says it" : "precision says it",
         false);
  const bool is_auto = find_auto(d, "fp16.enabled") != NULL;
  bool is_scaled = (half && half->how == HOW_USED) || (is_auto && is_fp16(d->im));
  if (is_scaled && is_auto) convert_scale(d);
  for (int32_t i = 0; i < d->im->leaves.count && !is_scaled; i++) {
    Leaf *leaf = &d->im->leaves.at[i];
    if (leaf->tool == d->tool && leaf->how == HOW_OPEN && strncmp(leaf->key, "fp16.", 5) == 0)
      drop(leaf, HOW_DERIVED,
           is_auto ? "fp16.enabled is auto: -D precision=fp16 takes it" : "fp16 is not enabled",
           false);
  }
  static const char *const dtypes[][2] = {{"communication_data_type", "precision.reduce"},
                                          {"data_types.grad_accum_dtype", "precision.grad"}};
  for (int i = 0; i < 2; i++) {
    Leaf *leaf = get(d, dtypes[i][0]);
    if (leaf && leaf->kind == LEAF_TEXT && !leaf_is_auto(leaf))
      take(d->im, leaf, dtypes[i][1], lua_text(d->im->c->arena, leaf->text), "");
  }
}

/* ---- ZeRO */

static void convert_bytes(const Deep *d, const char *key, const char *path, const char *dtype) {
  Leaf *leaf = get(d, key);
  double number = 0;
  if (!leaf || leaf_is_auto(leaf) || !leaf_number(d->im, leaf, &number)) return;
  double bytes = number * precision_bytes(d->im, dtype);
  if (number < 1 || bytes > 1e15) {
    drop(leaf, HOW_DECLINED, "it is beyond what a key of bytes takes", false);
    return;
  }
  take(d->im, leaf, path, bytes_of(d->im, bytes),
       arena_printf(d->im->c->arena, "%.15g elements", number));
}

/* The flags that offload_optimizer and offload_param replace; DeepSpeed still reads them. */
static void convert_old_offload(const Deep *d) {
  static const char *const keys[][2] = {
      {"zero_optimization.cpu_offload", "offload.optimizer"},
      {"zero_optimization.cpu_offload_param", "offload.weights"},
      {"zero_optimization.cpu_offload_params", "offload.weights"}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    Leaf *leaf = get(d, keys[i][0]);
    if (leaf && leaf->kind == LEAF_FLAG && leaf_true(leaf))
      take(d->im, leaf, keys[i][1], "\"cpu\"", "");
    else if (leaf && leaf->kind == LEAF_FLAG)
      drop(leaf, HOW_DERIVED, "nothing is offloaded without the key", false);
  }
}

/* One folder of each node holds all that is offloaded to files. */
static void convert_folders(const Deep *d) {
  static const struct {
    const char *path, *offloaded;
  } folders[] = {{"zero_optimization.offload_optimizer.nvme_path", "offload.optimizer"},
                 {"zero_optimization.offload_param.nvme_path", "offload.weights"}};
  for (int i = 0; i < 2; i++) {
    Leaf *folder = get(d, folders[i].path);
    const JobSetting *where = setting_find(d->im, folders[i].offloaded);
    if (!folder || folder->kind != LEAF_TEXT) continue;
    const char *ours = lua_text(d->im->c->arena, folder->text);
    const JobSetting *other = setting_find(d->im, "offload.path");
    if (!where || !strstr(where->value, "nvme"))
      drop(folder, HOW_DERIVED, "nothing of its table is offloaded to files", false);
    else if (!other)
      take(d->im, folder, "offload.path", ours, "");
    else
      drop(folder, strcmp(other->value, ours) == 0 ? HOW_DERIVED : HOW_DECLINED,
           arena_printf(d->im->c->arena, "one folder has all files: offload.path = %s",
                        other->value),
           false);
  }
}

/* The program calls DeepSpeed's checkpointing, and the file only says how: the job says both. */
static void convert_checkpointing(const Deep *d) {
  Leaf *on_host = get(d, "activation_checkpointing.cpu_checkpointing"),
       *layers = get(d, "activation_checkpointing.number_checkpoints");
  if (on_host && leaf_true(on_host))
    drop(on_host, HOW_DECLINED,
         "it moves what the program checkpoints: memory.recompute = \"full\" and "
         "offload.activations = \"cpu\" do that here",
         false);
  else if (on_host && on_host->kind == LEAF_FLAG)
    drop(on_host, HOW_DERIVED, "nothing is offloaded without the key", false);
  if (layers && layers->kind == LEAF_NUMBER)
    drop(layers, HOW_DECLINED,
         "the program says which layers are checkpointed: memory.recompute does so here", false);
}

static void convert_zero(const Deep *d) {
  Leaf *stage = get(d, "zero_optimization.stage");
  int64_t zero = 0;
  if (stage && !leaf_is_auto(stage) && leaf_count(d->im, stage, &zero)) {
    if (zero < 0 || zero > 3)
      error_at(d->im->c, stage->at, "wrong-type", "zero_optimization.stage is 0 to 3, not %s",
               stage->text);
    take(d->im, stage, "parallel.zero", lua_number(d->im->c->arena, (double)zero), "");
  }
  convert_bytes(d, "zero_optimization.reduce_bucket_size", "parallel.bucket", "precision.grad");
  static const char *const ahead[] = {"zero_optimization.stage3_prefetch_bucket_size",
                                      "zero_optimization.prefetch_bucket_size"};
  static const char *const keep[] = {"zero_optimization.stage3_param_persistence_threshold",
                                     "zero_optimization.param_persistence_threshold"};
  for (int i = 0; i < 2; i++) {
    Leaf *first = get(d, ahead[i]), *small = get(d, keep[i]);
    double number = 0;
    if (zero < 3 && first) drop(first, HOW_DERIVED, "it is of stage 3", false);
    if (zero < 3 && small) drop(small, HOW_DERIVED, "it is of stage 3", false);
    if (zero == 3 && small) convert_bytes(d, keep[i], "parallel.zero_keep", "precision.param");
    if (zero == 3 && first && !leaf_is_auto(first) && leaf_number(d->im, first, &number))
      take(d->im, first, "parallel.zero_prefetch", number > 0 ? "1" : "0",
           "elements, which are less than a few layers");
  }
  take_offload(d->im, get(d, "zero_optimization.offload_optimizer.device"), "offload.optimizer");
  take_offload(d->im, get(d, "zero_optimization.offload_param.device"), "offload.weights");
  convert_old_offload(d);
  take_states_too(d->im);
  convert_folders(d);
  convert_checkpointing(d);
  Leaf *group = get(d, "zero_optimization.zero_hpz_partition_size");
  if (group && group->kind == LEAF_NUMBER && group->number > 1 && zero == 3)
    take(d->im, group, "parallel.zero_group", lua_number(d->im->c->arena, group->number), "");
  else if (group)
    drop(group, HOW_DERIVED, "1: no groups", false);
}

/* ---- optimizer */

static void convert_optimizer(const Deep *d) {
  Leaf *type = get(d, "optimizer.type");
  const char *ours =
      type && type->kind == LEAF_TEXT ? pair_ours("deepspeed", "optimizer.type", type->text) : NULL;
  if (ours) take(d->im, type, "optimizer", ours, "");
  if (type && !ours && !leaf_is_auto(type))
    drop(type, HOW_DECLINED,
         pair_meant(d->im->c->arena, "deepspeed", "optimizer.type", type->text,
                    "only adamw, sgd and lion are optimizers here"),
         true);
  take_pairs(d->im, "deepspeed", "optimizer.");
  Leaf *betas = get(d, "optimizer.params.betas");
  double first, second;
  if (betas && betas->kind == LEAF_LIST && betas->items.list.count == 2 &&
      text_number(betas->items.list.at[0], &first) &&
      text_number(betas->items.list.at[1], &second)) {
    take(d->im, betas, "optimizer.beta1", lua_number(d->im->c->arena, first), "");
    take(d->im, betas, "optimizer.beta2", lua_number(d->im->c->arena, second), "");
  } else if (betas && !leaf_is_auto(betas)) {
    error_at(d->im->c, betas->at, "wrong-type", "optimizer.params.betas is a list of two numbers");
  }
  Leaf *mode = get(d, "optimizer.params.adam_w_mode");
  double decay = 0;
  setting_number(d->im, "optimizer.weight_decay", &decay);
  if (mode && !leaf_true(mode))
    drop(mode, HOW_IMPOSSIBLE, "decay is decoupled here; coupled decay goes through the moments",
         decay > 0);
  Leaf *bias = get(d, "optimizer.params.bias_correction");
  if (bias && !leaf_true(bias))
    drop(bias, HOW_IMPOSSIBLE, "adamw always corrects the bias of its moments", true);
}

/* ---- schedule */

static void convert_warmup_floor(const Deep *d, double lr) {
  Leaf *least = get(d, "scheduler.params.warmup_min_lr");
  double number = 0;
  if (!least || leaf_is_auto(least) || !leaf_number(d->im, least, &number)) return;
  if (number == 0)
    drop(least, HOW_DERIVED, "warm-up begins at 0", false);
  else if (lr > 0 && number <= lr)
    take(d->im, least, "schedule.warmup_floor",
         lua_number(d->im->c->arena, decimal_near(number / lr)), "warmup_min_lr / lr");
}

static void convert_peak(const Deep *d) {
  Leaf *peak = get(d, "scheduler.params.warmup_max_lr"), *lr = get(d, "optimizer.params.lr");
  double number = 0;
  if (!peak || leaf_is_auto(peak) || !leaf_number(d->im, peak, &number)) return;
  const JobSetting *said = setting_find(d->im, "optimizer.lr");
  if (said && said->leaf && lr && lr->how == HOW_USED &&
      strcmp(said->value, lua_number(d->im->c->arena, number)) != 0) {
    for (int32_t i = 0; i < d->im->settings.count; i++)
      if (&d->im->settings.at[i] == said) {
        d->im->settings.at[i] = d->im->settings.at[--d->im->settings.count];
        break;
      }
    lr->as.list.count = 0;
    drop(lr, HOW_DERIVED, "the scheduler sets the rate: warmup_max_lr replaces it", false);
  }
  take(d->im, peak, "optimizer.lr", lua_number(d->im->c->arena, number), "");
}

static void convert_warmup_type(const Deep *d, double warmup) {
  Leaf *form = get(d, "scheduler.params.warmup_type");
  bool is_log = !form || leaf_is_auto(form) || word_is_same(form->text, "log");
  if (form && !is_log) drop(form, HOW_DERIVED, "warm-up is linear", false);
  import_rates(d->im, "DeepSpeed", is_log ? "log" : "deepspeed");
  if (!is_log || warmup <= LOG_WARMUP_MOST) return;
  const char *why = "its warm-up follows a logarithm: at a tenth of it the rate is 0.67 of the "
                    "full one, here 0.1";
  if (form)
    drop(form, HOW_IMPOSSIBLE, why, true);
  else
    VEC_PUSH(d->im->c->arena, &d->im->lost.list,
             "scheduler.params.warmup_type, whose default is log: warm-up is linear here");
}

static void convert_schedule(const Deep *d) {
  Leaf *type = get(d, "scheduler.type");
  if (!type || type->kind != LEAF_TEXT || leaf_is_auto(type)) return;
  const char *ours = pair_ours("deepspeed", "scheduler.type", type->text);
  if (!ours) {
    drop(type, HOW_IMPOSSIBLE,
         pair_meant(d->im->c->arena, "deepspeed", "scheduler.type", type->text, NO_SCHEDULE), true);
    return;
  }
  take(d->im, type, "schedule", ours, "");
  convert_peak(d);
  double lr = 1e-3;
  setting_number(d->im, "optimizer.lr", &lr);
  convert_warmup_floor(d, lr);
  take_pairs(d->im, "deepspeed", "schedule.warmup");
  if (!get(d, "scheduler.params.warmup_num_steps"))
    take_default(d->im, "schedule.warmup", "1000", "default of DeepSpeed");
  if (strcmp(ours, "\"constant\"") != 0) take_pairs(d->im, "deepspeed", "schedule.over");
  double warmup = 0;
  setting_number(d->im, "schedule.warmup", &warmup);
  if (strcmp(ours, "\"cosine\"") == 0) {
    Leaf *start = get(d, "scheduler.params.warmup_min_ratio");
    take_pairs(d->im, "deepspeed", "schedule.floor");
    take_default(d->im, "schedule.floor", "1e-4", "default of DeepSpeed: cos_min_ratio");
    if (warmup > 0)
      take_pairs(d->im, "deepspeed", "schedule.warmup_floor");
    else if (start)
      drop(start, HOW_DERIVED, "there is no warm-up", false);
  }
  convert_warmup_type(d, warmup);
}

static void add_default(const Deep *d, const char *key, const char *path, const char *value,
                        const char *note) {
  const Leaf *leaf = find_auto(d, key);
  if (!leaf)
    take_default(d->im, path, value, note);
  else if (!setting_find(d->im, path))
    open_line(d->im,
              arena_printf(d->im->c->arena, "%s: %s is auto in %s", path, key, leaf_file(leaf)));
}

static void add_defaults(const Deep *d) {
  const char *note = "default of DeepSpeed";
  const JobSetting *kind = setting_find(d->im, "optimizer");
  bool is_adam = !kind || strcmp(kind->value, "\"adamw\"") == 0;
  bool is_sgd = kind && strcmp(kind->value, "\"sgd\"") == 0;
  take_default(d->im, "optimizer", "\"adamw\"", note);
  add_default(d, "gradient_clipping", "optimizer.clip", "0",
              "default of DeepSpeed: gradients are not clipped");
  add_default(d, "optimizer.params.lr", "optimizer.lr", "1e-3", note);
  if (is_sgd) add_default(d, "optimizer.params.momentum", "optimizer.momentum", "0", note);
  if (is_adam) add_default(d, "optimizer.params.betas", "optimizer.beta2", "0.999", note);
  if (!is_sgd) add_default(d, "optimizer.params.weight_decay", "optimizer.weight_decay", "0", note);
}

void convert_deepspeed(Import *im) {
  Deep d = {im, word_tool_find("deepspeed"), im->has_tool[word_tool_find("trainer")]};
  if (!im->has_tool[d.tool]) return;
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool != d.tool || leaf->kind != LEAF_TEXT || strcmp(leaf->text, "auto") != 0)
      continue;
    drop(leaf, HOW_DERIVED,
         d.has_trainer ? "auto: TrainingArguments say it"
                       : "auto: the program that reads the file says it",
         false);
  }
  for (int i = 0; i < 3; i++) /* before the batch, which asks for the ranks of dp */
    take_pairs(im, "deepspeed", (const char *[]){"parallel.tp", "parallel.pp", "parallel.cp"}[i]);
  convert_precision(&d); /* before elements become bytes */
  if (!d.has_trainer && !setting_find(im, "precision")) {
    const char *note = "default of DeepSpeed";
    const bool is_auto = find_auto(&d, "fp16.enabled") != NULL;
    add_default(&d, is_auto ? "fp16.enabled" : "bf16.enabled", "precision", "\"fp32\"", note);
  }
  convert_batch(&d);
  convert_zero(&d);
  convert_optimizer(&d);
  convert_schedule(&d);
  if (!d.has_trainer) add_defaults(&d);
}
