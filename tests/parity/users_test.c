/* Models as people write them: each file of tests/parity/users is compiled for one rank, and when
 * it is accepted for the ways of dividing it; what compiles is trained for two steps, and trains to
 * the losses of one rank. Nothing ends as a defect of lockstep.
 *
 * After `-- >>> expected` come the diagnostics of the model, and the ways in which it cannot be
 * divided. With the argument `update` that part is written anew; its diff is read before it is
 * committed.
 *
 *   parity_users_test                     the files, and a few models by seed (user_models.h)
 *   parity_users_test FILE.lua            of one file
 *   parity_users_test update              the expected parts, anew
 *   parity_users_test open                those of users/open, which the proof refuses and should
 * not parity_users_test random [N [SEED]]   N (300) models by seed; one that fails is left in the
 *                                         folder of its files */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/parity/job_run.h"
#include "tests/parity/user_models.h"
#include "tests/parity/user_plan.h"
#include "tests/unit/check.h"

#define MARK "-- >>> expected\n"
#define WORK "users_test.files"
enum { NAMES_MAX = 400, STEPS = 2, PATH_BYTES = 512, TEXT_BYTES = 1 << 16 };
enum { LINES_BYTES = 512, RANDOM_WAYS = 3, RANDOM_FEW = 20, RANDOM_MANY = 300 };

static const struct {
  const char *name, *job;
  bool wants_seq; /* a way of dividing sequences */
} ways[] = {
    {"one rank", "", false},
    {"tp 2", "cluster = { 'here', devices = 2 }, parallel = { tp = 2 },", false},
    {"tp 2, whole norms",
     "cluster = { 'here', devices = 2 }, parallel = { tp = 2, sequence = false },", false},
    {"zero 3", "cluster = { 'here', devices = 2 }, parallel = { zero = 3 },", false},
    {"pp 2", "cluster = { 'here', devices = 2 }, parallel = { pp = 2 },", false},
    {"cp 2", "cluster = { 'here', devices = 2 }, parallel = { cp = 2 },", true},
    {"recompute", "memory = { recompute = 'block' },", false},
    {"recompute what is light", "memory = { recompute = 'selective' },", false},
    {"groups of 2", "memory = { recompute = { 'every', blocks = 2 } },", false},
};
enum { WAYS = sizeof ways / sizeof *ways };

static char *read_file(const char *folder, const char *name) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) exit(2);
  char *text = calloc(1, TEXT_BYTES);
  text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void write_file(const char *path, const char *text, size_t length) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(text, 1, length, file) != length) exit(2);
  fclose(file);
}

/* A job as a user would write one. `more`: lines about the ranks, the optimizer. */
static void write_job(const char *model, const char *name, const char *more, bool has_seq) {
  char text[2048];
  int length =
      snprintf(text, sizeof text,
               "return job { name = 'run.%.*s.%s', model = { './%s' }, data = 'synthetic', %s\n"
               "  train = { batch = '8 %s', microbatch = 2, steps = %d%s }, precision = 'fp32',\n"
               "  checkpoint = { resume = 'never' } }\n",
               (int)strcspn(model, "."), model, name, model, more,
               has_seq ? "sequences" : "samples", STEPS, has_seq ? ", context = 16" : "");
  write_file("job.lua", text, (size_t)length);
}

/* The loss of the last step of job.lua; NaN when the job was refused, and why is in `out`. */
static double train(const char *way, FILE *out) {
  Plan plan = {0};
  RunRecord record = {0};
  UserPlanEnd end = user_plan("job.lua", "job.plan", way, out, &plan);
  CHECK(end != USER_PLAN_DEFECT);
  if (end != USER_PLAN_DONE) return NAN;
  CHECK(job_run(&plan, 0, &record));
  CHECK_INT(record.last_step, STEPS);
  CHECK(isfinite(record.loss[STEPS]));
  plan_close(&plan);
  return record.loss[STEPS];
}

static double train_way(const char *model, int32_t way, bool has_seq, FILE *out) {
  char name[8], more[256];
  (void)snprintf(name, sizeof name, "%d", way);
  (void)snprintf(more, sizeof more, "%s optimizer = { 'adamw', lr = 1e-2 },", ways[way].job);
  write_job(model, name, more, has_seq);
  return train(way == 0 ? NULL : ways[way].name, out);
}

static void print_expected(FILE *file, const char *output) {
  for (const char *line = output; *line != '\0';) {
    int length = (int)strcspn(line, "\n");
    fprintf(file, length > 0 ? "-- %.*s\n" : "--\n", length, line);
    line += length + (line[length] == '\n');
  }
}

/* The diagnostics of the model, as comments. The caller frees them. */
static char *try_model(const char *name, const char *text) {
  char *output = NULL, *commented = NULL;
  size_t bytes = 0, commented_bytes = 0;
  FILE *out = open_memstream(&output, &bytes);
  bool has_seq = strstr(text, "\"seq\"") != NULL;
  double one = train_way(name, 0, has_seq, out);
  for (int32_t way = 1; way < WAYS && isfinite(one); way++) {
    if (ways[way].wants_seq && !has_seq) continue;
    double loss = train_way(name, way, has_seq, out);
    if (isfinite(loss)) CHECK_NEAR(loss, one, 1e-5 * (1 + fabs(one)));
  }
  fclose(out);
  FILE *file = open_memstream(&commented, &commented_bytes);
  print_expected(file, output);
  fclose(file);
  free(output);
  return commented;
}

static void run_file(const char *folder, const char *name, bool update) {
  char *text = read_file(folder, name), *mark = strstr(text, MARK);
  size_t length = mark != NULL ? (size_t)(mark - text) : strlen(text);
  check_test_name = name;
  write_file(name, text, length);
  char *found = try_model(name, text);
  if (update) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    fprintf(file, "%.*s%s%s", (int)length, text, MARK, found);
    fclose(file);
  } else {
    CHECK_TEXT(found, mark != NULL ? mark + strlen(MARK) : "no expected part");
  }
  free(found);
  free(text);
}

/* ---- models by seed */

/* SGD: what is a rounding error in one gradient stays one in the loss. */
static double train_lines(const char *name, const char *lines, bool has_seq) {
  char more[LINES_BYTES + 64];
  (void)snprintf(more, sizeof more, "optimizer = { 'sgd', lr = 1e-2 },\n%s", lines);
  write_job("random.lua", name, more, has_seq);
  return train("  refused", stdout);
}

static void random_lines(char lines[LINES_BYTES], uint64_t seed, bool has_seq) {
  FILE *out = fmemopen(lines, LINES_BYTES, "w");
  if (out == NULL) exit(2);
  user_way_write(out, seed, "here", has_seq);
  fclose(out);
}

/* Prints refusals and differences, and keeps the model and the job for a look. */
static bool run_random(uint64_t seed) {
  static char name[32], job[48];
  int failed = check_failures;
  FILE *out = fopen("random.lua", "wb");
  if (out == NULL) exit(2);
  bool has_seq = user_model_write(out, seed);
  fclose(out);
  (void)snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
  check_test_name = name;
  double one = train_lines(name + 5, "", has_seq);
  for (uint64_t way = 0; way < RANDOM_WAYS && isfinite(one); way++) {
    char lines[LINES_BYTES] = "";
    (void)snprintf(job, sizeof job, "%llu.%llu", (unsigned long long)seed, (unsigned long long)way);
    random_lines(lines, seed * RANDOM_WAYS + way, has_seq);
    double loss = train_lines(job, lines, has_seq);
    if (isfinite(loss)) CHECK_NEAR(loss, one, 1e-4 * (1 + fabs(one)));
    if (check_failures > failed) {
      printf("seed %llu, way %llu:\n%s", (unsigned long long)seed, (unsigned long long)way, lines);
      return false;
    }
  }
  return isfinite(one);
}

static void run_many(uint64_t count, uint64_t first) {
  uint64_t trained = 0;
  for (uint64_t seed = first; seed < first + count; seed++)
    trained += run_random(seed);
  printf("%llu models, %llu trained in every way that they may be divided\n",
         (unsigned long long)count, (unsigned long long)trained);
  check_test_name = "models are trained";
  CHECK(trained * 10 >= count * 8); /* the others leave a parameter unused, or the like */
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_names(const char *folder, char *names[NAMES_MAX]) {
  size_t count = 0;
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    if (strstr(entry->d_name, ".lua") != NULL && count < NAMES_MAX)
      names[count++] = strdup(entry->d_name);
  if (directory != NULL) closedir(directory);
  qsort(names, count, sizeof *names, compare_names);
  return count;
}

static void run_files(const char *only, bool update) {
  const char *folder = PARITY_FOLDER "/users";
  char *names[NAMES_MAX];
  size_t count = list_names(folder, names);
  for (size_t i = 0; i < count; i++) {
    if (only == NULL || strcmp(only, names[i]) == 0) run_file(folder, names[i], update);
    free(names[i]);
  }
  check_test_name = "models are there";
  CHECK(count > 0);
}

int main(int argc, char **argv) {
  bool update = argc > 1 && strcmp(argv[1], "update") == 0;
  bool random = argc > 1 && strcmp(argv[1], "random") == 0;
  job_folder_remove(WORK);
  (void)mkdir(WORK, 0777);
  if (chdir(WORK) != 0) return 2;
  if (random)
    run_many(argc > 2 ? strtoull(argv[2], NULL, 10) : RANDOM_MANY,
             argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
  else
    run_files(argc > 1 && !update ? argv[1] : NULL, update);
  if (argc == 1) run_many(RANDOM_FEW, 0);
  if (check_failures == 0 && chdir("..") == 0) job_folder_remove(WORK);
  CHECK_DONE();
}
