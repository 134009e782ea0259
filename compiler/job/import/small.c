/* small.c -- nanoGPT's configuration and llm.c's options. */
#include <math.h>
#include <string.h>

#include "compiler/job/import/import.h"

typedef const char *const Pairs[][2];

static void take_numbers(Import *im, int32_t tool, Pairs keys, size_t count) {
  for (size_t i = 0; i < count; i++)
    take_number(im, tool, keys[i][0], keys[i][1]);
}

static double number_or(Import *im, int32_t tool, const char *key, double otherwise) {
  Leaf *leaf = leaf_find(im, tool, key);
  double number = 0;
  return leaf && !leaf_is_auto(leaf) && leaf_number(im, leaf, &number) ? number : otherwise;
}

static void take_scaled(Import *im, Leaf *leaf, const char *path, double value, const char *note) {
  if (leaf)
    take(im, leaf, path, lua_number(im->c->arena, value), note);
  else
    take_default(im, path, lua_number(im->c->arena, value), note);
}

/* ---- nanoGPT */

/* "gpt2-xl": the sizes of a pretrained model, whose weights a folder has. */
static bool nanogpt_pretrained(Import *im, int32_t tool, Leaf *from) {
  static const char *const names[][2] = {{"gpt2", "\"gpt2-124m\""},
                                         {"gpt2-medium", "\"gpt2-355m\""},
                                         {"gpt2-large", "\"gpt2-774m\""},
                                         {"gpt2-xl", "\"gpt2-1.5b\""}};
  static const char *const fixed[] = {"n_layer", "n_head", "n_embd", "bias", "vocab_size"};
  for (int i = 0; from && from->kind == LEAF_TEXT && i < 4; i++) {
    if (strcmp(from->text, names[i][0]) != 0) continue;
    take(im, from, "model", names[i][1], "its sizes");
    VEC_PUSH(im->c->arena, &im->lost.list,
             arena_printf(im->c->arena,
                          "weights of %s: model.weights = FOLDER begins with those of a folder",
                          names[i][0]));
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
      if (leaf_find(im, tool, fixed[k]))
        drop(leaf_find(im, tool, fixed[k]), HOW_DERIVED, "the pretrained model says it", false);
    take_number(im, tool, "dropout", "model.dropout");
    take_number(im, tool, "block_size", "train.context");
    return true;
  }
  return false;
}

static void nanogpt_model(Import *im, int32_t tool) {
  static const char *const sizes[][3] = {{"n_layer", "model.layers", "12"},
                                         {"n_head", "model.heads", "12"},
                                         {"n_embd", "model.width", "768"}};
  Leaf *bias = leaf_find(im, tool, "bias"), *from = leaf_find(im, tool, "init_from");
  if (setting_find(im, "model") || nanogpt_pretrained(im, tool, from)) return;
  take_default(im, "model", "\"gpt2\"", "nanoGPT's model");
  for (int i = 0; i < 3; i++) {
    take_number(im, tool, sizes[i][0], sizes[i][1]);
    take_default(im, sizes[i][1], sizes[i][2], "default of nanoGPT");
  }
  take_number(im, tool, "vocab_size", "model.vocab");
  take_number(im, tool, "dropout", "model.dropout");
  take_number(im, tool, "block_size", "model.positions");
  take_default(im, "model.vocab", "50304", "default of nanoGPT, where the data has no meta.pkl");
  Leaf *block = leaf_find(im, tool, "block_size");
  if (block && block->how == HOW_USED)
    take(im, block, "train.context", setting_find(im, "model.positions")->value, "");
  if (bias && leaf_true(bias)) drop(bias, HOW_DERIVED, "gpt2 has biases", false);
  if (bias && !leaf_true(bias))
    drop(bias, HOW_IMPOSSIBLE, "linear layers and norms of gpt2 have biases", true);
  if (!bias)
    VEC_PUSH(im->c->arena, &im->lost.list,
             "bias, whose default is False: linear layers and norms of gpt2 have biases");
  VEC_PUSH(im->c->arena, &im->lost.list,
           "GELU, which is exact there: gpt2 here has the tanh form, as GPT-2's weights need it");
  if (from && from->kind == LEAF_TEXT && strcmp(from->text, "scratch") == 0)
    drop(from, HOW_DERIVED, "training starts from random weights", false);
  else if (from)
    drop(from, HOW_DECLINED, "its checkpoints are not read: training starts from random weights",
         true);
}

static void nanogpt_schedule(Import *im, int32_t tool) {
  Leaf *decays = leaf_find(im, tool, "decay_lr"), *least = leaf_find(im, tool, "min_lr");
  const char *note = "default of nanoGPT";
  take_number(im, tool, "learning_rate", "optimizer.lr");
  take_default(im, "optimizer.lr", "6e-4", note);
  if (decays && !leaf_true(decays)) {
    take(im, decays, "schedule", "\"constant\"", "");
    static const char *const unused[] = {"warmup_iters", "lr_decay_iters", "min_lr"};
    for (int i = 0; i < 3; i++)
      if (leaf_find(im, tool, unused[i]))
        drop(leaf_find(im, tool, unused[i]), HOW_DERIVED, "decay_lr is False", false);
    return;
  }
  if (decays) take(im, decays, "schedule", "\"cosine\"", "");
  take_default(im, "schedule", "\"cosine\"", note);
  take_number(im, tool, "warmup_iters", "schedule.warmup");
  take_number(im, tool, "lr_decay_iters", "schedule.over");
  take_default(im, "schedule.warmup", "2000", note);
  take_default(im, "schedule.over", "600000", note);
  double lr = 6e-4;
  setting_number(im, "optimizer.lr", &lr);
  if (lr > 0)
    take_scaled(im, least, "schedule.floor", decimal_near(number_or(im, tool, "min_lr", 6e-5) / lr),
                least ? "min_lr / learning_rate" : "default of nanoGPT: min_lr 6e-5");
  import_rates(im, "nanoGPT", "nanogpt");
}

/* nanoGPT's autocast to `dtype` is a nullcontext unless the device is one of CUDA. */
static void nanogpt_precision(Import *im, int32_t tool) {
  Leaf *type = leaf_find(im, tool, "dtype"), *device = leaf_find(im, tool, "device");
  const bool is_cuda = !device || device->kind != LEAF_TEXT || strstr(device->text, "cuda") != NULL;
  const char *word = type && type->kind == LEAF_TEXT ? type->text : NULL;
  if (!is_cuda) {
    const char *why =
        arena_printf(im->c->arena, "nanoGPT computes in fp32 on device '%s'", device->text);
    if (word)
      take(im, type, "precision", "\"fp32\"", why);
    else
      take_default(im, "precision", "\"fp32\"", why);
    return;
  }
  if (!word) return;
  take_precision(im, type,
                 strcmp(word, "float32") == 0   ? "fp32"
                 : strcmp(word, "float16") == 0 ? "fp16"
                                                : "bf16");
  if (strcmp(word, "float16") == 0)
    take_default(im, "precision.loss_scale", "\"torch\"", "nanoGPT's GradScaler");
}

void convert_nanogpt(Import *im) {
  static const char *const keys[][2] = {
      {"max_iters", "train.steps"},    {"weight_decay", "optimizer.weight_decay"},
      {"beta1", "optimizer.beta1"},    {"beta2", "optimizer.beta2"},
      {"grad_clip", "optimizer.clip"}, {"log_interval", "log.every"}};
  int32_t tool = word_tool_find("nanogpt");
  if (!im->has_tool[tool]) return;
  nanogpt_model(im, tool);
  Leaf *micro = leaf_find(im, tool, "batch_size"),
       *sums = leaf_find(im, tool, "gradient_accumulation_steps");
  double each = number_or(im, tool, "batch_size", 12),
         sum = number_or(im, tool, "gradient_accumulation_steps", 40);
  take_scaled(im, micro, "train.microbatch", each, micro ? "" : "default of nanoGPT");
  const char *note =
      arena_printf(im->c->arena, "%g x %g steps of accumulation of all ranks", each, sum);
  if (sums)
    take_sequences(im, sums, each * sum, note);
  else if (micro)
    take_sequences(im, micro, each * sum, note);
  else
    take_default(im, "train.batch", arena_printf(im->c->arena, "\"%.0f sequences\"", each * sum),
                 note);
  take_numbers(im, tool, keys, sizeof keys / sizeof *keys);
  take_default(im, "train.steps", "600000", "default of nanoGPT");
  take_default(im, "optimizer", "\"adamw\"", "nanoGPT's optimizer");
  nanogpt_schedule(im, tool);
  nanogpt_precision(im, tool);
  Leaf *data = leaf_find(im, tool, "dataset"), *out = leaf_find(im, tool, "out_dir");
  if (data && data->kind == LEAF_TEXT) {
    take(im, data, "data.train",
         lua_text(im->c->arena, arena_printf(im->c->arena, "data/%s/train.bin", data->text)), "");
    take(im, data, "data.valid",
         lua_text(im->c->arena, arena_printf(im->c->arena, "data/%s/val.bin", data->text)), "");
    take(im, data, "data.format", "\"u16\"", "");
    take_number(im, tool, "eval_interval", "train.validate_every");
  }
  if (out && out->kind == LEAF_TEXT)
    take(im, out, "log.dir", lua_text(im->c->arena, out->text), "");
}

/* ---- llm.c */

static void llmc_model(Import *im, int32_t tool) {
  static const struct {
    const char *word, *ours;
  } models[] = {
      {"d12", "gpt2-124m"}, {"d24", "gpt2-355m"}, {"d36", "gpt2-774m"}, {"d48", "gpt2-1.5b"}};
  Leaf *leaf = leaf_find(im, tool, "-e");
  for (int i = 0; leaf && leaf->kind == LEAF_TEXT && i < 4; i++)
    if (strcmp(leaf->text, models[i].word) == 0)
      take(im, leaf, "model", lua_text(im->c->arena, models[i].ours), "");
  if (leaf && leaf->how == HOW_OPEN)
    drop(leaf, HOW_NOT_BUILT,
         "d12, d24, d36 and d48 are models here; weights of a file are not loaded", true);
  if (setting_find(im, "model"))
    take_default(im, "model.vocab_multiple", "128", "default of llm.c");
}

static void llmc_rest(Import *im, int32_t tool) {
  static const char *const keys[][2] = {
      {"-b", "train.microbatch"}, {"-t", "train.context"},  {"-l", "optimizer.lr"},
      {"-u", "schedule.warmup"},  {"-q", "schedule.floor"}, {"-c", "optimizer.weight_decay"},
      {"-z", "parallel.zero"}};
  take_numbers(im, tool, keys, sizeof keys / sizeof *keys);
  Leaf *length = leaf_find(im, tool, "-x"), *kind = leaf_find(im, tool, "-k"),
       *again = leaf_find(im, tool, "-r"), *train = leaf_find(im, tool, "-i"),
       *valid = leaf_find(im, tool, "-j"), *out = leaf_find(im, tool, "-o"),
       *save = leaf_find(im, tool, "-n");
  double number = 0;
  if (length && leaf_number(im, length, &number))
    take(im, length, "train.steps", number < 0 ? "\"1 epochs\"" : lua_number(im->c->arena, number),
         number < 0 ? "one epoch" : "");
  take_default(im, "train.steps", "\"1 epochs\"", "default of llm.c");
  const char *flat = "cosine down to 1.0 x the rate, which is constant";
  bool decays = leaf_find(im, tool, "-q") || (kind && strcmp(kind->text, "cosine") != 0);
  if (kind && kind->kind == LEAF_TEXT)
    take(im, kind, "schedule", decays ? lua_text(im->c->arena, kind->text) : "\"constant\"",
         decays ? "" : flat);
  take_default(im, "schedule", decays ? "\"cosine\"" : "\"constant\"",
               decays ? "default of llm.c"
                      : arena_printf(im->c->arena, "default of llm.c: %s", flat));
  take_default(im, "optimizer", "\"adamw\"", "llm.c's optimizer");
  take_default(im, "optimizer.lr", "3e-4", "default of llm.c");
  take_default(im, "optimizer.weight_decay", "0", "default of llm.c");
  if (again && leaf_number(im, again, &number))
    take(im, again, "memory.recompute", number == 0 ? "\"none\"" : "\"selective\"", "");
  if (train && train->kind == LEAF_TEXT)
    take(im, train, "data.train", lua_text(im->c->arena, train->text), "");
  if (valid && valid->kind == LEAF_TEXT)
    take(im, valid, "data.valid", lua_text(im->c->arena, valid->text), "");
  if (out && out->kind == LEAF_TEXT)
    take(im, out, "log.dir", lua_text(im->c->arena, out->text), "");
  if (save && leaf_number(im, save, &number) && number > 0)
    take(im, save, "checkpoint.every", arena_printf(im->c->arena, "\"%.0f steps\"", number), "");
  if (setting_find(im, "data.valid")) take_number(im, tool, "-v", "train.validate_every");
  if (setting_find(im, "schedule.warmup")) import_rates(im, "llm.c", "llmc");
}

void convert_llmc(Import *im) {
  int32_t tool = word_tool_find("llmc");
  if (!im->has_tool[tool]) return;
  llmc_model(im, tool);
  Leaf *batch = leaf_find(im, tool, "-d"), *micro = leaf_find(im, tool, "-b");
  double tokens, each = number_or(im, tool, "-b", 4), context = number_or(im, tool, "-t", 1024);
  int64_t dp = import_dp(im);
  take_number(im, tool, "-b", "train.microbatch");
  take_number(im, tool, "-t", "train.context");
  if (batch && leaf_number(im, batch, &tokens)) {
    if (dp > 0 && fmod(tokens, each * context * (double)dp) != 0)
      error_at(im->c, batch->at, "import-conflict",
               "-d %.0f tokens are no multiple of -b %g x -t %g x %lld ranks", tokens, each,
               context, (long long)dp);
    take(im, batch, "train.batch", arena_printf(im->c->arena, "\"%.0f tokens\"", tokens), "");
  } else if (micro && dp > 0) {
    take_sequences(im, micro, each * (double)dp,
                   arena_printf(im->c->arena, "x %lld ranks", (long long)dp));
  }
  take_default(im, "train.microbatch", "4", "default of llm.c");
  take_default(im, "train.context", "1024", "default of llm.c");
  llmc_rest(im, tool);
}
