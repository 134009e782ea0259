/* Models as people write them: each file of tests/parity/users is compiled for one rank, and when
 * it is accepted for the ways of dividing it; what compiles is trained for two steps, and trains to
 * the losses of one rank. Nothing ends as a defect of lockstep.
 *
 * Behind `-- >>> expected` stands what is said about the model, and the ways in which it cannot be
 * divided. With the argument `update` that part is written anew; its diff is read before it is
 * committed. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/parity/job_run.h"
#include "tests/parity/user_plan.h"
#include "tests/unit/check.h"

#define MARK "-- >>> expected\n"
#define WORK "users_test.files"
enum { NAMES_MAX = 400, STEPS = 2, PATH_BYTES = 512, TEXT_BYTES = 1 << 16 };

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

static void write_job(const char *model, int32_t way, bool has_seq) {
  char text[1024];
  int length =
      snprintf(text, sizeof text,
               "return job { name = 'run.%.*s.%d', model = { './%s' }, data = 'synthetic', %s\n"
               "  train = { batch = '8 %s', microbatch = 2, steps = %d%s }, precision = 'fp32',\n"
               "  optimizer = { 'adamw', lr = 1e-2 }, checkpoint = { resume = 'never' } }\n",
               (int)strcspn(model, "."), model, way, model, ways[way].job,
               has_seq ? "sequences" : "samples", STEPS, has_seq ? ", context = 16" : "");
  write_file("job.lua", text, (size_t)length);
}

/* The loss of the last step; NaN when the job was refused, and why is in `out`. */
static double train(const char *model, int32_t way, bool has_seq, FILE *out) {
  Plan plan = {0};
  RunRecord record = {0};
  write_job(model, way, has_seq);
  UserPlanEnd end = user_plan("job.lua", "job.plan", way == 0 ? NULL : ways[way].name, out, &plan);
  CHECK(end != USER_PLAN_DEFECT);
  if (end != USER_PLAN_DONE) return NAN;
  CHECK(job_run(&plan, 0, &record));
  CHECK_INT(record.last_step, STEPS);
  CHECK(isfinite(record.loss[STEPS]));
  plan_close(&plan);
  return record.loss[STEPS];
}

static void print_expected(FILE *file, const char *output) {
  for (const char *line = output; *line != '\0';) {
    int length = (int)strcspn(line, "\n");
    fprintf(file, length > 0 ? "-- %.*s\n" : "--\n", length, line);
    line += length + (line[length] == '\n');
  }
}

/* What is said about the model, as comments. The caller frees it. */
static char *try_model(const char *name, const char *text) {
  char *output = NULL, *commented = NULL;
  size_t bytes = 0, commented_bytes = 0;
  FILE *out = open_memstream(&output, &bytes);
  bool has_seq = strstr(text, "\"seq\"") != NULL;
  double one = train(name, 0, has_seq, out);
  for (int32_t way = 1; way < WAYS && isfinite(one); way++) {
    if (ways[way].wants_seq && !has_seq) continue;
    double loss = train(name, way, has_seq, out);
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

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
  const char *folder = PARITY_FOLDER "/users";
  bool update = argc > 1 && strcmp(argv[1], "update") == 0;
  char *names[NAMES_MAX];
  size_t count = 0;
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
    if (strstr(entry->d_name, ".lua") != NULL && count < NAMES_MAX)
      names[count++] = strdup(entry->d_name);
  if (directory != NULL) closedir(directory);
  qsort(names, count, sizeof *names, compare_names);
  job_folder_remove(WORK);
  (void)mkdir(WORK, 0777);
  if (chdir(WORK) != 0) return 2;
  for (size_t i = 0; i < count; i++) {
    if (argc < 2 || update || strcmp(argv[1], names[i]) == 0) run_file(folder, names[i], update);
    free(names[i]);
  }
  if (chdir("..") == 0) job_folder_remove(WORK);
  check_test_name = "every model is there";
  CHECK(count >= 100);
  CHECK_DONE();
}
