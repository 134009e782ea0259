/* export_test.c -- jobs as files of other tools: the import of an export is the same job in all
 * that the tool can say. LINK: import job tokens plan base
 *   export_test --all       500 random jobs a tool instead of 25 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/import/export.h"
#include "tests/unit/check.h"
#include "tests/unit/words/whole_job.h"

static uint32_t seed = 11;

static int below(int n) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (uint32_t)n);
}

static const char *const ends[] = {".json", ".yaml", ".json", ".toml", ".sh"};

static const ModelFacts facts = {.positions = 128, .heads = 8};

/* ---- a random job */

typedef struct Degrees {
  int tp, pp, cp, dp, nodes, devices, micro, sums, zero, layers;
} Degrees;

static Degrees random_degrees(void) {
  Degrees d = {.tp = 1 << below(2), .pp = 1 << below(2), .cp = 1, .dp = 1 << below(3)};
  if (d.pp == 1 && below(3) == 0) d.cp = 2;
  int ranks = d.tp * d.pp * d.cp * d.dp;
  d.nodes = ranks > 1 && below(2) ? 2 : 1;
  d.devices = ranks / d.nodes;
  d.micro = 1 + below(3);
  d.sums = (d.pp > 1 ? d.pp : 1) * (1 + below(3));
  d.zero = d.dp * d.cp > 1 ? below(4) : 0;
  if (d.pp > 1 && d.zero > 1) d.zero = 1;
  d.layers = 8;
  return d;
}

static void write_optimizer(FILE *out) {
  static const char *const names[] = {"adamw", "adamw", "adamw", "sgd", "lion"};
  const char *name = names[below(5)];
  fprintf(out, "  optimizer = { \"%s\", lr = %de-4", name, 1 + below(9));
  if (strcmp(name, "sgd") != 0 && below(2))
    fprintf(out, ", beta1 = 0.8%d, beta2 = 0.99%d", below(9), below(9));
  if (strcmp(name, "adamw") == 0 && below(2)) fputs(", eps = 1e-6", out);
  if (strcmp(name, "sgd") == 0 && below(2)) fputs(", momentum = 0.8", out);
  if (below(2)) fprintf(out, ", weight_decay = 0.0%d", below(9));
  if (below(2)) fprintf(out, ", clip = %d", below(3));
  fputs(" },\n", out);
}

static void write_schedule(FILE *out) {
  static const char *const names[] = {"constant", "linear",     "cosine",
                                      "wsd",      "polynomial", "inverse_sqrt"};
  int kind = below(6);
  fprintf(out, "  schedule = { \"%s\"", names[kind]);
  bool warms = kind == 5 || below(2);
  if (warms) fprintf(out, ", warmup = %d", 2 + below(50));
  if (kind > 0 && kind < 5 && below(2)) fputs(", floor = 0.1", out);
  if (kind > 0 && kind < 5 && below(3) == 0) fputs(", over = 400", out);
  if (warms && below(4) == 0) fputs(", warmup_floor = 0.25", out);
  if (kind == 3 && below(2)) fputs(", decay = 60", out);
  if (kind == 3 && below(2)) fputs(", shape = \"sqrt\"", out);
  if (kind == 4 && below(2)) fputs(", power = 2", out);
  fputs(" },\n", out);
}

static void write_rest(FILE *out, const Degrees *d) {
  static const char *const precisions[] = {
      "\"bf16\"",
      "\"fp32\"",
      "\"fp16\"",
      "{ \"bf16\", grad = \"bf16\" }",
      "{ \"fp16\", loss_scale = 1024 }",
      "{ \"fp16\", loss_scale = { \"dynamic\", init = 4096, window = 500, hysteresis = 3 } }",
      "{ \"fp32\", compute = \"tf32\" }"};
  static const char *const again[] = {"\"none\"", "\"selective\"", "\"block\"",
                                      "{ \"every\", blocks = 2 }"};
  fprintf(out, "  precision = %s,\n  memory = { recompute = %s },\n", precisions[below(7)],
          again[below(4)]);
  fprintf(out, "  parallel = { zero = %d", d->zero);
  if (d->tp > 1) fprintf(out, ", tp = %d", d->tp);
  if (d->pp > 1) fprintf(out, ", pp = %d", d->pp);
  if (d->cp > 1) fprintf(out, ", cp = %d", d->cp);
  if (d->cp > 1 && below(2)) fputs(", cp_kind = \"ulysses\"", out);
  if (d->pp > 1 && below(2)) fputs(", pipeline = { \"interleaved\", chunks = 2 }", out);
  if (d->zero > 0 && d->dp > 2 && d->cp == 1 && below(2)) fputs(", zero_group = 2", out);
  if (d->zero > 0 && d->dp > 1 && below(3) == 0) fputs(", bucket = \"5MB\"", out);
  if (d->zero == 3 && d->dp * d->cp > 1 && below(3) == 0)
    fputs(", zero_keep = \"128KiB\", zero_prefetch = 0", out);
  fputs(" },\n", out);
  if (d->zero > 0 && below(4) == 0) fputs("  offload = { optimizer = \"cpu\" },\n", out);
  if (below(2)) fprintf(out, "  log = { every = %d },\n", 1 + below(50));
  if (below(2)) fputs("  checkpoint = { every = \"100 steps\", keep = 3 },\n", out);
  fprintf(out, "  cluster = { \"here\", device = \"cpu\", nodes = %d, devices = %d },\n}\n",
          d->nodes, d->devices);
}

static void write_job(const char *path, const Degrees *d) {
  FILE *out = fopen(path, "w");
  bool is_llama = below(2);
  fprintf(out,
          "return job {\n  model = { \"%s\", layers = %d, width = 64, heads = 8, vocab = 512, "
          "positions = 128%s },\n",
          is_llama ? "llama" : "gpt2", d->layers, is_llama ? ", ffn = 192, kv_heads = 4" : "");
  fprintf(out,
          "  data = \"synthetic\",\n  train = { batch = \"%d sequences\", microbatch = %d, steps = "
          "%d, seed = %d },\n",
          d->micro * d->sums * d->dp, d->micro, 100 + below(300), below(1000));
  write_optimizer(out);
  write_schedule(out);
  write_rest(out, d);
  fclose(out);
}

static ExportModel model_of(const Job *job) {
  bool is_llama = strcmp(job->model.head_text, "llama") == 0;
  return (ExportModel){.family = is_llama ? "llama" : "gpt2",
                       .layers = 8,
                       .width = 64,
                       .heads = 8,
                       .kv_heads = is_llama ? 4 : 8,
                       .ffn = is_llama ? 192 : 256,
                       .vocab = 512,
                       .positions = 128,
                       .rope_base = 10000,
                       .norm_eps = 1e-5};
}

/* ---- the comparison */

static bool is_in(const Texts *texts, const char *key) {
  for (int32_t i = 0; i < texts->list.count; i++)
    if (strcmp(texts->list.at[i], key) == 0) return true;
  return false;
}

static bool is_untold(const Config *x, const char *key) {
  for (int32_t i = 0; i < x->untold.count; i++) {
    const char *row = x->untold.at[i].key;
    size_t length = strlen(row);
    if (strncmp(key, row, length) == 0 && (key[length] == 0 || key[length] == '.')) return true;
    if (strstr(row, key) && strstr(row, " of ")) return true;
  }
  return false;
}

static bool is_same(const Whole *a, const Whole *b, const ResolvedKey *first) {
  const ResolvedKey *second = row_of(b, first->key);
  const double steps = (double)a->derived.steps;
  double x = number_of(first), y = number_of(second);
  const char *key = first->key;
  if (second && first->kind == SETTING_TEXT && second->kind == SETTING_TEXT)
    return strcmp(first->text, second->text) == 0;
  if (strcmp(key, "schedule.over") == 0) x = isnan(x) ? steps : x, y = isnan(y) ? steps : y;
  if (strcmp(key, "schedule.decay") == 0 && isnan(x) && a->job->schedule.head == CHOICE_WSD)
    x = floor((a->job->set[FIELD_schedule_over] ? (double)a->job->schedule.over : steps) / 10);
  if (strcmp(key, "schedule.power") == 0) x = isnan(x) ? 1 : x, y = isnan(y) ? 1 : y;
  if (strcmp(key, "parallel.zero_group") == 0)
    x = (double)a->derived.shard_ranks, y = (double)b->derived.shard_ranks;
  if (strcmp(key, "parallel.zero_group") == 0 && a->derived.dp != b->derived.dp) return true;
  if (isnan(x) && isnan(y)) return true;
  if (isnan(x) && second && second->kind == SETTING_TEXT)
    return strcmp(second->text, "linear") == 0 || strcmp(second->text, "none") == 0;
  return fabs(x - y) <= 1e-12 * fmax(1e-9, fabs(x));
}

/* Keys that differ in the word alone, where numbers are compared, and those that are nobody's. */
static bool is_apart(const Whole *a, const char *key) {
  static const char *const keys[] = {"parallel.dp",
                                     "parallel.shard",
                                     "parallel.order",
                                     "precision.loss_scale",
                                     "precision.loss_scale.most_skips",
                                     "model.weights"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i], key) == 0) return true;
  return strcmp(key, "optimizer.momentum") == 0    ? a->job->optimizer.head != OPTIMIZER_SGD
         : strcmp(key, "optimizer.eps") == 0       ? a->job->optimizer.head != OPTIMIZER_ADAMW
         : strncmp(key, "optimizer.beta", 14) == 0 ? a->job->optimizer.head == OPTIMIZER_SGD
                                                   : false;
}

/* Nothing asks for recomputation there, so compile may choose it. */
static bool is_left_to_us(const Whole *a, const char *key) {
  return strcmp(key, "memory.recompute") == 0 && a->job->memory.recompute == CHOICE_RECOMPUTE_NONE;
}

static void compare(const Config *x, const Whole *a, const Whole *b, const char *text) {
  for (int32_t i = 0; i < a->settings.count; i++) {
    const ResolvedKey *row = &a->settings.at[i];
    bool counts = counts_for_training(row) || is_in(&x->told, row->key);
    if (strncmp(row->key, "data", 4) == 0 || !counts || is_untold(x, row->key) ||
        is_apart(a, row->key) || is_left_to_us(a, row->key) ||
        (strcmp(row->key, "parallel.sequence") == 0 && is_untold(x, "parallel.tp")) ||
        (strcmp(row->key, "parallel.zero_group") == 0 && is_untold(x, "parallel.zero")) ||
        (strcmp(row->key, "precision.reduce") == 0 && is_untold(x, "precision.grad")))
      continue;
    bool is_right = is_same(a, b, row);
    if (!is_right)
      fprintf(stderr, "%s: %s differs: %s %.17g, %s %.17g\n%s\n", x->tool, row->key,
              row->text ? row->text : "", number_of(row),
              row_of(b, row->key) && row_of(b, row->key)->text ? row_of(b, row->key)->text : "",
              number_of(row_of(b, row->key)), text);
    CHECK(is_right);
  }
}

/* Adds settings that no file of the tool can have. */
static void fill_in(Import *im, const Whole *a, const Degrees *d) {
  static const char *const lines[][2] = {
      {"model", "model={ \"gpt2\", layers = 8, width = 64, heads = 8, positions = 128 }"},
      {"data", "data=synthetic"},
      {"optimizer", "optimizer=adamw"},
      {"optimizer.lr", "optimizer.lr=1e-3"}};
  Arena *arena = im->c->arena;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (!setting_find(im, lines[i][0])) take_define(im, lines[i][1]);
  if (!setting_find(im, "train.steps"))
    take_define(im, arena_printf(arena, "train.steps=%d", (int)a->derived.steps));
  if (!setting_find(im, "train.batch"))
    take_define(im, arena_printf(arena, "train.batch=%d sequences", d->micro * d->sums * d->dp));
  if (!setting_find(im, "train.microbatch"))
    take_define(im, arena_printf(arena, "train.microbatch=%d", d->micro));
}

static void write_file(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  CHECK(out != NULL);
  if (!out) return;
  fputs(text, out);
  fclose(out);
}

typedef struct Paths {
  char job[32], file[32], again[32];
} Paths;

/* The file of the export becomes a job again. */
static void read_again(Compile *c, Config *x, const Whole *a, const Degrees *d, const Paths *at) {
  const char *text = export_text(x), *file = at->file;
  const char *const defines[] = {arena_printf(c->arena, "cluster.devices=%d", d->devices),
                                 arena_printf(c->arena, "cluster.nodes=%d", d->nodes)};
  write_file(at->file, text);
  Import *im = import_read(c, &(ImportAsk){&file, 1, NULL, x->tool, defines, 2, NULL});
  CHECK(im != NULL);
  if (!im) return;
  fill_in(im, a, d);
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    bool is_known = leaf->how != HOW_UNKNOWN && leaf->how != HOW_UNREAD;
    if (!is_known) fprintf(stderr, "%s: %s: %s\n", x->tool, leaf->shown, leaf->why);
    CHECK(is_known);
  }
  Whole b = {0};
  write_file(at->again, import_job(im));
  bool is_read = complete(c, at->again, (const char *[]){"cluster.device=cpu"}, 1, facts, &b);
  CHECK(is_read);
  if (is_read) compare(x, a, &b, text);
}

static void round_trip(const char *tool, const char *end) {
  Paths at = {.job = "/tmp/export_test_XXXXXX.lua", .again = "/tmp/export_test_XXXXXX.lua"};
  snprintf(at.file, sizeof at.file, "/tmp/export_test_XXXXXX%s", end);
  close(mkstemps(at.job, 4));
  close(mkstemps(at.again, 4));
  close(mkstemps(at.file, (int)strlen(end)));
  const Degrees d = random_degrees();
  write_job(at.job, &d);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Whole a = {0};
  bool is_good = complete(c, at.job, NULL, 0, facts, &a);
  CHECK(is_good);
  if (is_good) {
    ExportModel model = model_of(a.job);
    const ExportAsk ask = {.job = a.job,
                           .derived = &a.derived,
                           .nodes = a.cluster.nodes,
                           .devices = a.cluster.devices,
                           .recompute = (RecomputeChoice)a.job->memory.recompute,
                           .recompute_blocks = a.job->recompute_blocks,
                           .model = &model};
    read_again(c, export_config(c->arena, &ask, tool), &a, &d, &at);
  }
  if (compile_failed(c)) diags_print(&c->diags, stderr, false);
  compile_free(c);
  unlink(at.file);
  unlink(at.job);
  unlink(at.again);
}

int main(int count, char **words) {
  static const char *const tools[] = {"deepspeed", "accelerate", "trainer", "torchtitan",
                                      "megatron"};
  int jobs = count > 1 && strcmp(words[1], "--all") == 0 ? 500 : 25;
  TEST("the import of an export is the same job in all that the tool can say") {
    for (int i = 0; i < 5; i++)
      for (int k = 0; k < jobs; k++)
        round_trip(tools[i], ends[i]);
  }
  return check_failures != 0;
}
