/* import_test.c -- other tools' files as jobs: small files with what they become and the jobs
 * written by hand from them (by_hand.txt), random ones of which nothing is dropped, mistakes with
 * their places. LINK: import job tokens plan base
 *   import_test --update    writes what comes out; review the diff
 *   import_test --all       2,000 random files instead of 500 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/import/import.h"
#include "compiler/job/job.h"
#include "tests/unit/check.h"
#include "tests/unit/words/whole_job.h"

#define FOLDER SOURCE_FOLDER "/tests/unit/words/import"

static const char *const hows[] = {"open",       "used",      "derived", "declined",
                                   "impossible", "not-built", "unknown", "unread"};

static Import *read_one(Compile *c, const char *path, const char *const *defines, int32_t count) {
  return import_read(c, &(ImportAsk){&path, 1, NULL, NULL, defines, count, NULL});
}

/* ---- files and what they become */

static void print_import(Import *im, FILE *out) {
  import_job(im); /* in its order */
  for (int32_t i = 0; i < im->settings.count; i++) {
    const JobSetting *s = &im->settings.at[i];
    fprintf(out, "%s%s%s = %s%s\n", s->section, s->key ? "." : "", s->key ? s->key : "", s->value,
            s->leaf                      ? ""
            : strcmp(s->note, "-D") == 0 ? ""
                                         : "   default");
  }
  for (int32_t i = 0; i < im->leaves.count; i++) {
    const Leaf *leaf = &im->leaves.at[i];
    if (leaf->how != HOW_USED)
      fprintf(out, "%s %s%s\n", hows[leaf->how], leaf->shown,
              leaf->changes_training ? "   changes training" : "");
  }
  for (int32_t i = 0; i < im->lost.list.count; i++)
    fprintf(out, "lost %.40s\n", im->lost.list.at[i]);
}

static char *file_text(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
  text[size] = 0;
  if (file) fclose(file);
  return text;
}

static bool compiles(Compile *c, Import *im) {
  char path[] = "/tmp/import_test_XXXXXX";
  int file = mkstemp(path);
  const char *job = import_job(im);
  bool is_written = write(file, job, strlen(job)) == (ssize_t)strlen(job);
  close(file);
  Job *loaded = is_written ? spec_load(c, path, NULL, 0) : NULL;
  if (!loaded || compile_failed(c)) diags_print(&c->diags, stderr, false);
  unlink(path);
  return loaded && !compile_failed(c);
}

/* Settings that a user adds because no file has them. */
static bool fill_in(Import *im) {
  static const char *const lines[][2] = {
      {"model", "model={ \"gpt2\", layers = 8, width = 512, heads = 8 }"},
      {"data.train", "data=synthetic"},
      {"train.batch", "train.batch=64 sequences"},
      {"train.steps", "train.steps=1000"},
      {"optimizer", "optimizer=adamw"},
      {"optimizer.lr", "optimizer.lr=1e-3"}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const JobSetting *known = setting_find(im, lines[i][0]);
    bool has_epochs = known && strstr(known->value, "epochs") != NULL;
    if (!known || has_epochs) take_define(im, lines[i][1]);
  }
  return !compile_failed(im->c);
}

/* Files that do not say how many devices there are. */
static bool takes_devices(const char *name) {
  return strncmp(name, "ds_", 3) == 0 || strncmp(name, "tr_", 3) == 0 ||
         strncmp(name, "tt_", 3) == 0 || strcmp(name, "mg_config.yaml") == 0;
}

static int32_t file_count;

static void check_file(const char *name, bool is_update) {
  char path[512], want[600], *got;
  size_t size;
  snprintf(path, sizeof path, FOLDER "/%s", name);
  snprintf(want, sizeof want, "%s.want", path);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Import *im = read_one(c, path, (const char *[]){"cluster.devices=8"}, takes_devices(name));
  if (!im) diags_print(&c->diags, stderr, false);
  CHECK(im != NULL);
  FILE *out = open_memstream(&got, &size);
  if (im) print_import(im, out);
  fclose(out);
  if (is_update) {
    FILE *file = fopen(want, "w");
    fwrite(got, 1, size, file);
    fclose(file);
  }
  if (strcmp(got, file_text(want)) != 0) fprintf(stderr, "%s:\n%s", name, got);
  CHECK(strcmp(got, file_text(want)) == 0);
  free(got);
  CHECK(im && fill_in(im) && compiles(c, im));
  compile_free(c);
}

static void test_files(bool is_update) {
  TEST("each file becomes the job that a person would write, and that job is right") {
    DIR *folder = opendir(FOLDER);
    int32_t count = 0;
    CHECK(folder != NULL);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
      size_t length = strlen(entry->d_name);
      if (entry->d_name[0] == '.' ||
          (length > 5 && strcmp(entry->d_name + length - 5, ".want") == 0))
        continue;
      check_file(entry->d_name, is_update);
      count++;
    }
    if (folder) closedir(folder);
    CHECK(count >= 60);
    file_count = count;
  }
}

/* ---- the job that a person wrote */

static bool is_same_value(const ResolvedKey *a, const ResolvedKey *b) {
  if (!b || a->kind != b->kind) return false;
  if (a->kind == SETTING_TEXT) return strcmp(a->text, b->text) == 0;
  double x = number_of(a), y = number_of(b);
  return (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-12 * fabs(y);
}

static void say_value(const char *who, const ResolvedKey *row) {
  fprintf(stderr, "  %s: %s %.17g\n", who, row && row->text ? row->text : "", number_of(row));
}

static void compare_jobs(const char *name, const Whole *imported, const Whole *by_hand) {
  for (int32_t i = 0; i < by_hand->settings.count; i++) {
    const ResolvedKey *b = &by_hand->settings.at[i], *a = row_of(imported, b->key);
    if (!counts_for_training(b) || strncmp(b->key, "data", 4) == 0) continue;
    bool is_right = is_same_value(b, a);
    CHECK(is_right);
    if (is_right) continue;
    fprintf(stderr, "%s: %s differs\n", name, b->key);
    say_value("imported", a), say_value("by hand", b);
  }
}

static void write_text(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  CHECK(out != NULL);
  if (!out) return;
  fputs(text, out);
  fclose(out);
}

/* `keys` are the lines of the job written by hand. */
static void check_by_hand(const char *name, const char *keys) {
  static const char *const on_cpu[] = {"cluster.device=cpu", "job.name=x"};
  const ModelFacts facts = {.positions = strncmp(name, "ng_", 3) == 0 ? 1024 : 8192, .heads = 32};
  char path[512], job[] = "/tmp/import_test_XXXXXX", hand[] = "/tmp/import_test_XXXXXX";
  snprintf(path, sizeof path, FOLDER "/%s", name);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Import *im = read_one(c, path, (const char *[]){"cluster.devices=8"}, takes_devices(name));
  CHECK(im && fill_in(im));
  close(mkstemp(job)), close(mkstemp(hand));
  if (im) write_text(job, import_job(im));
  write_text(hand, arena_printf(c->arena,
                                "local gpt = { \"gpt2\", layers = 8, width = 512, heads = 8 }\n"
                                "return job {\n%s\n}\n",
                                keys));
  Whole a = {0}, b = {0};
  bool is_read =
      im && complete(c, job, on_cpu, 2, facts, &a) && complete(c, hand, on_cpu, 2, facts, &b);
  if (!is_read) fprintf(stderr, "%s:\n", name), diags_print(&c->diags, stderr, false);
  CHECK(is_read);
  if (is_read) compare_jobs(name, &a, &b);
  compile_free(c);
  unlink(job), unlink(hand);
}

static void test_by_hand(void) {
  TEST("each file becomes the job that was written by hand without the importer") {
    static char text[1 << 16];
    int32_t count = 0;
    snprintf(text, sizeof text, "%s", file_text(SOURCE_FOLDER "/tests/unit/words/by_hand.txt"));
    for (char *at = strstr(text, "\n== "); at; count++) {
      char *name = at + 4, *keys = strchr(name, '\n'), *end = strstr(keys, "\n== ");
      *keys++ = 0;
      if (end) *end = 0;
      for (char *line = keys;
           (line = strchr(line, '#')) != NULL;) /* comments, which are Lua's then */
        line[0] = '-', line[1] = '-';
      check_by_hand(name, keys);
      at = end;
      if (end) *end = '\n';
    }
    CHECK_INT(count, file_count);
  }
}

static void test_places(void) {
  static const struct {
    const char *key;
    int32_t line;
  } places[] = {{"num_layers", 4},
                {"num_attention_heads", 5},
                {"data_path", 8},
                {"lr", 9},
                {"vocab_size", 11},
                {"train_iters", 13},
                {"global_batch_size", 14},
                {"bf16", 15},
                {"clip_grad", 17},
                {"weight_decay", 18},
                {"use_distributed_optimizer", 21},
                {"micro_batch_size", 22},
                {"nproc_per_node", 24}};
  TEST("an option has the place where it is written, also in a variable") {
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    Import *im = read_one(c, FOLDER "/mg_variables.sh", NULL, 0);
    CHECK(im != NULL);
    for (size_t i = 0; im && i < sizeof places / sizeof *places; i++) {
      int32_t found = 0;
      for (int32_t k = 0; k < im->leaves.count; k++)
        if (word_is_same(im->leaves.at[k].key, places[i].key)) found = im->leaves.at[k].at.line;
      CHECK_INT(found, places[i].line);
    }
    compile_free(c);
  }
}

/* ---- nothing is dropped */

static uint32_t seed = 7;

static uint32_t random_below(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static bool is_toml; /* "key" = value, and no null; else JSON, which YAML reads as well */

static void write_value(FILE *out, const char *key, int32_t depth, int32_t *leaves);

static void write_table(FILE *out, int32_t depth, int32_t *leaves) {
  int32_t count = 1 + (int32_t)random_below(6);
  fputs("{", out);
  for (int32_t i = 0; i < count; i++) {
    char key[64];
    const WordRow *row = word_row((int32_t)random_below((uint32_t)word_row_count()));
    int width = (int)strcspn(row->names, " ");
    if (random_below(3) == 0)
      snprintf(key, sizeof key, "key_%d", (int)random_below(1000000));
    else
      snprintf(key, sizeof key, "%.*s%s%d", width < 40 ? width : 40, row->names, i ? "_" : "", i);
    fprintf(out, "%s\"%s\"%s ", i ? ", " : "", key, is_toml ? " =" : ":");
    write_value(out, key, depth, leaves);
  }
  fputs("}", out);
}

static void write_value(FILE *out, const char *key, int32_t depth, int32_t *leaves) {
  (void)key;
  switch (random_below(depth < 4 ? 7 : 5)) {
  case 0: fprintf(out, "%d", (int)random_below(100)); break;
  case 1: fputs("\"a word\"", out); break;
  case 2: fputs("true", out); break;
  case 3: fputs("[1, 2.5e-3, \"x\"]", out); break;
  case 4: fputs(is_toml ? "false" : "null", out); break;
  default: write_table(out, depth + 1, leaves); return;
  }
  ++*leaves;
}

static const char *const values[] = {"7", "2.5e-3", "word", "'a b'", "True", "1_000"};

/* Options of a command, after arrays and lines that go on; a script's own lines are no leaves. */
static void write_shell(FILE *out, int32_t *leaves) {
  int32_t first = (int32_t)random_below(4), count = first + 1 + (int32_t)random_below(12);
  fputs("#!/bin/bash\nN=2\nMORE=(\n", out);
  for (int32_t i = 0; i < count; i++) {
    if (i == first) fputs(")\ntorchrun --nproc_per_node $N pretrain_gpt.py \"${MORE[@]}\"", out);
    const char *value = values[random_below(6)];
    switch (random_below(4)) {
    case 0: fprintf(out, " --option-%d", (int)i); break;
    case 1: fprintf(out, " --option-%d=%s", (int)i, value); break;
    case 2: fprintf(out, " --option_%d \"%s\"", (int)i, value); break;
    default: fprintf(out, " --option.%d %s%s", (int)i, value, i > first ? " \\\n" : "");
    }
    ++*leaves;
  }
  fputs("\n", out);
}

/* Assignments, and lines that are not read, each of which is a leaf too. */
static void write_python(FILE *out, int32_t *leaves) {
  static const char *const texts[] = {
      "'word'", "2 * 300_000", "3e-4 # a comment", "False", "os.path.join('a', 'b')", "[1, 2]"};
  int32_t count = 1 + (int32_t)random_below(12);
  fputs("# a comment\nimport time\n\n", out);
  for (int32_t i = 0; i < count; i++, ++*leaves)
    fprintf(out, "key_%d %s %s\n", (int)i, random_below(5) == 0 ? "+=" : "=",
            texts[random_below(6)]);
}

/* A file of one of the five readers; its leaves. */
static int32_t write_random(FILE *out, int32_t kind) {
  static const char *const begins[] = {
      "{\"train_batch_size\": 64, \"more\": ", "num_machines: 1\nmore: ", "\"more\" = "};
  static const char *const ends[] = {"}\n", "\n", "\n[training]\nsteps = 64\n"};
  int32_t leaves = kind == 3 ? 3 : 1; /* the launcher, its devices, the program; `import time` */
  if (kind >= 3) {
    (kind == 3 ? write_shell : write_python)(out, &leaves);
    return leaves;
  }
  is_toml = kind == 2;
  fputs(begins[kind], out);
  write_table(out, 0, &leaves);
  fputs(ends[kind], out);
  return leaves;
}

static void check_random(int32_t kind) {
  static const char *const ends[] = {".json", ".yaml", ".toml", ".sh", ".py"};
  static const char *const tools[] = {"deepspeed", "accelerate", "torchtitan", "megatron",
                                      "nanogpt"};
  char path[64];
  snprintf(path, sizeof path, "/tmp/import_test_XXXXXX%s", ends[kind]);
  close(mkstemps(path, (int)strlen(ends[kind])));
  FILE *out = fopen(path, "w");
  int32_t leaves = write_random(out, kind);
  fclose(out);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  const char *file = path;
  Import *im = import_read(c, &(ImportAsk){&file, 1, NULL, tools[kind], NULL, 0, NULL});
  if (!im) diags_print(&c->diags, stderr, false);
  CHECK(im != NULL);
  if (im && im->leaves.count != leaves) fprintf(stderr, "%s", file_text(path));
  if (im) CHECK_INT(im->leaves.count, leaves);
  for (int32_t k = 0; im && k < im->leaves.count; k++)
    CHECK(im->leaves.at[k].how != HOW_OPEN &&
          (im->leaves.at[k].how == HOW_USED || im->leaves.at[k].why));
  compile_free(c);
  unlink(path);
}

static void test_random(int32_t files) {
  TEST("of random files each leaf is a row of the report, once") {
    for (int32_t i = 0; i < files; i++)
      check_random(i % 5);
  }
}

/* ---- mistakes */

static void refuses(const char *end, const char *text, const char *name, int32_t line,
                    const char *message) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/import_test_XXXXXX%s", end);
  int file = mkstemps(path, (int)strlen(end));
  CHECK(write(file, text, strlen(text)) == (ssize_t)strlen(text));
  close(file);
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  const char *const defines[] = {"cluster.devices=8"};
  CHECK(read_one(c, path, defines, 1) == NULL);
  const Diag *diag = c->diags.list.count > 0 ? &c->diags.list.at[0] : NULL;
  bool is_it = diag && strcmp(diag->name, name) == 0 && diag->span.line == line &&
               strstr(diag->message, message);
  if (diag && !is_it)
    fprintf(stderr, "%s: %s:%d: %s\n", text, diag->name, diag->span.line, diag->message);
  CHECK(is_it);
  unlink(path);
  compile_free(c);
}

static void test_mistakes(void) {
  TEST("a mistake of the file is refused with its place") {
    refuses(".json", "{\"train_batch_size\": 8,\n \"fp16\": {\"enabled\": true}, \"fp16\": 3}",
            "repeated-key", 2, "1");
    refuses(".json", "{\"train_batch_size\": 8,\n \"fp16\": {\"enabled\": yes}}", "import-syntax",
            2, "no value");
    refuses(".json", "{\"train_batch_size\": 8", "import-syntax", 1, "not closed");
    refuses(".json",
            "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 3,\n "
            "\"gradient_accumulation_steps\": 2}",
            "import-conflict", 1, "no multiple");
    refuses(".json",
            "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 4, "
            "\"gradient_accumulation_steps\": 1}",
            "import-conflict", 1, "there are 8");
    refuses(".json", "{\"train_batch_size\": \"many\"}", "wrong-type", 1, "number");
    refuses(".json", "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 5}}",
            "wrong-type", 1, "0 to 3");
    refuses(".json", "{\"a\": 1}", "import-kind", 0, "no key of DeepSpeed");
    refuses(".yaml", "num_processes: 8\nnum_machines: &a 1\n", "import-syntax", 2, "anchors");
    refuses(".yaml", "num_processes: 8\nnum_processes: 8\n", "repeated-key", 2, "twice");
    refuses(".yaml", "num_processes: [8\n", "import-syntax", 2, "not YAML");
    refuses(".toml", "[training]\nsteps = 1979-05-27\n", "import-syntax", 2, "dates");
    refuses(".toml", "[training]\nsteps = 1\n[training]\n", "repeated-key", 3, "twice");
    refuses(".sh", "torchrun pretrain_gpt.py --num-layers \"2\n", "import-syntax", 1, "quote");
    refuses(".json",
            "\x7f"
            "ELF\x01",
            "import-syntax", 1, "begins with {");
    refuses(".json", "{\"\xff\": 1}", "not-text", 0, "UTF-8");
  }
}

static void test_hostile(void) {
  TEST("deep, long and escaped files end, and their names never reach a terminal raw") {
    char *text = malloc(1 << 20), *at = text;
    for (int i = 0; i < 200; i++)
      at += sprintf(at, "{\"a\":");
    *at = 0;
    refuses(".json", text, "import-syntax", 1, "64");
    at = text + sprintf(text, "{\"");
    memset(at, 'k', 100000);
    memcpy(at + 100000, "\": 1}", 6);
    refuses(".json", text, "import-syntax", 1, "1,024");
    free(text);
    char path[] = "/tmp/import_test_XXXXXX.json";
    FILE *out = fdopen(mkstemps(path, 5), "w");
    fputs("{\"train_batch_size\": 8, \"\\u001b[31m\\n-- x\\u009b\": \"\\u001b]0;a\\u0007\"}", out);
    fclose(out);
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    Import *im = read_one(c, path, NULL, 0);
    CHECK(im != NULL);
    const char *job = im ? import_job(im) : "";
    CHECK(strchr(job, 0x1b) == NULL && strchr(job, 7) == NULL && strstr(job, "\xc2\x9b") == NULL);
    CHECK(im && im->leaves.count == 2);
    unlink(path);
    compile_free(c);
  }
}

/* ---- a model that other files do not say */

static const char *model_text(Compile *c, const char *const *files, const char *const *defines,
                              const char *out) {
  const ImportAsk ask = {files, files[0] == files[1] ? 1 : 2, NULL, NULL, defines, 1, out};
  Import *im = import_read(c, &ask);
  const JobSetting *model = im ? setting_find(im, "model") : NULL;
  CHECK(im != NULL && import_lost(im) == 0 && import_unknown(im) == 0);
  return model ? model->value : "";
}

static void test_models(void) {
  TEST("-D model or a model's folder replaces the sizes of a script, wherever the job is written") {
    const char *const script = FOLDER "/mg_lion.sh";
    char folder[] = "/tmp/import_test_XXXXXX", path[64], here[512], want[64];
    CHECK(mkdtemp(folder) != NULL && getcwd(here, sizeof here) != NULL && chdir("/tmp") == 0);
    snprintf(path, sizeof path, "%s/config.json", folder + strlen("/tmp/"));
    snprintf(want, sizeof want, "\"./%s\"", folder + strlen("/tmp/"));
    FILE *file = fopen(path, "w");
    fputs("{\"model_type\": \"llama\", \"hidden_size\": 64}", file);
    fclose(file);
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    const char *const *nodes = (const char *[]){"cluster.nodes=1"};
    const char *const *both = (const char *[]){path, script};
    CHECK_TEXT(
        model_text(c, (const char *[]){script, script}, (const char *[]){"model=llama3-8b"}, NULL),
        "\"llama3-8b\"");
    CHECK_TEXT(model_text(c, both, nodes, NULL), want);
    CHECK_TEXT(model_text(c, both, nodes, "job.lua"), want);
    snprintf(want, sizeof want, "\"%s\"", folder);
    CHECK_TEXT(model_text(c, both, nodes, "jobs/job.lua"), want);
    compile_free(c);
    unlink(path), rmdir(folder);
    CHECK(chdir(here) == 0);
  }
}

/* ---- rates */

/* tests/unit/words/record_rates made it with the tools' own code. */
static void test_recorded_rates(void) {
  TEST("the formulas of the comment are those of the tools, at every step") {
    char tool[16], formula[16], schedule[16], *line = NULL;
    size_t room = 0;
    int32_t count = 0;
    FILE *file = fopen(SOURCE_FOLDER "/tests/unit/words/rates.txt", "r");
    CHECK(file != NULL);
    while (file && getline(&line, &room, file) > 0) {
      double warmup, over, start, end;
      int at = 0;
      CHECK_INT(sscanf(line, "%15s %15s %15s %lf %lf %lf %lf%n", tool, formula, schedule, &warmup,
                       &over, &start, &end, &at),
                7);
      char *next = line + at;
      for (int step = 1; step <= 30; step++) {
        double rate = strtod(next, &next);
        double ours = rate_theirs(formula, schedule, step, warmup, over, start, end);
        if (fabs(rate - ours) > 1e-9) fprintf(stderr, "%s %s %d\n", tool, schedule, step);
        CHECK_NEAR(ours, rate, 1e-9);
      }
      count++;
    }
    CHECK(count >= 19);
    free(line);
    if (file) fclose(file);
  }
}

static void test_decimals(void) {
  TEST("a product of two decimals has few digits, and its quotient is the first again") {
    char text[40];
    for (int i = 1; i < 10000; i++) {
      const double lr = 3e-4 + 1e-6 * (i % 7), share = i / 1e4;
      const double product = decimal_near(share * lr);
      snprintf(text, sizeof text, "%.15g", product);
      CHECK(strtod(text, NULL) == product && fabs(product - share * lr) <= 1e-15 * product);
      CHECK(decimal_near(product / lr) == share);
    }
    CHECK(decimal_near(1.0 / 3) == 1.0 / 3 && decimal_near(0) == 0);
  }
}

static void test_rates(void) {
  TEST("the rates here are those of docs/training.md") {
    CHECK_NEAR(rate_ours("linear", 5, 10, 100, 0, 0), 0.5, 1e-12);
    CHECK_NEAR(rate_ours("constant", 5, 10, 100, 0.5, 0), 0.75, 1e-12);
    CHECK_NEAR(rate_ours("linear", 10, 10, 100, 0, 0), 1, 1e-12);
    CHECK_NEAR(rate_ours("linear", 100, 10, 100, 0, 0), 1.0 / 91, 1e-12);
  }
}

int main(int count, char **words) {
  test_files(count > 1 && strcmp(words[1], "--update") == 0);
  test_by_hand();
  test_places();
  test_random(count > 1 && strcmp(words[1], "--all") == 0 ? 2000 : 500);
  test_mistakes();
  test_hostile();
  test_models();
  test_recorded_rates();
  test_rates();
  test_decimals();
  return check_failures != 0;
}
