/* bench.c -- lockstep bench --kernels: which variant of the matrix product is the fastest here, as
 * a row of kernels/cpu/processors.def.
 *
 * A variant is chosen once per process, so each is measured by its own child. Each round measures
 * all variants, so that other work on the machine disturbs them alike; medians are compared. */
#include "compiler/show/cli/bench.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/product.h"
#include "runtime/process/cgroup.h"

enum { ROUNDS = 5, VARIANTS = PRODUCT_AMX_BF16 + 1, ROW_BYTES = 512 };
static const double PART_S = 0.08;
static const double CLEARLY = 0.97; /* a variant that needs more must win by this */

/* Median seconds of each part, of fp32 and of bf16; 0: not measured. */
typedef struct BenchRates {
  int32_t threads;
  double seconds[2][VARIANTS][PRODUCT_PARTS];
} BenchRates;

/* ---- measuring */

/* In a child: the variant is forced before anything asks for it. */
static bool measure_alone(Product product, bool bf16, int32_t threads, double out[PRODUCT_PARTS]) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    double seconds[PRODUCT_PARTS];
    bool good = setenv("LOCKSTEP_CPU", product_name(product), 1) == 0 &&
                *product_choice()->problem == 0 &&
                product_measure(bf16, threads, PART_S, seconds) &&
                write(ends[1], seconds, sizeof seconds) == (ssize_t)sizeof seconds;
    _exit(good ? 0 : 1);
  }
  (void)close(ends[1]);
  int code = 1;
  size_t wanted = PRODUCT_PARTS * sizeof *out;
  bool good = child > 0 && read(ends[0], out, wanted) == (ssize_t)wanted;
  (void)close(ends[0]);
  return child > 0 && waitpid(child, &code, 0) == child && code == 0 && good;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Variants that differ in bf16 alone are not candidates for fp32, nor are the plain kernels where
 * there is any other. */
static bool is_candidate(Product product, bool bf16) {
  if (!product_runs_here(product) || (!bf16 && product > PRODUCT_AVX512)) return false;
  return product != PRODUCT_REFERENCE || !product_runs_here(PRODUCT_AVX2);
}

static bool measure(BenchRates *bench) {
  static double seconds[2][VARIANTS][PRODUCT_PARTS][ROUNDS];
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < 2 * VARIANTS; i++) {
      double part[PRODUCT_PARTS];
      Product product = (Product)(i / 2);
      if (!is_candidate(product, i % 2)) continue;
      if (!measure_alone(product, i % 2, bench->threads, part)) return false;
      for (int p = 0; p < PRODUCT_PARTS; p++)
        seconds[i % 2][product][p][round] = part[p];
    }
  for (int i = 0; i < 2 * VARIANTS * PRODUCT_PARTS; i++) {
    double *rounds = (double *)seconds + (ptrdiff_t)i * ROUNDS;
    qsort(rounds, ROUNDS, sizeof *rounds, by_value);
    ((double *)bench->seconds)[i] = rounds[ROUNDS / 2];
  }
  return true;
}

static double sum_of(const double part[PRODUCT_PARTS]) {
  return part[0] + part[1] + part[2];
}

static Product fastest(const BenchRates *bench, bool bf16) {
  Product best = PRODUCT_REFERENCE;
  double best_s = 0;
  for (Product p = PRODUCT_REFERENCE; p <= PRODUCT_AMX_BF16; p++) {
    double s = sum_of(bench->seconds[bf16][p]);
    if (s == 0 || (best_s > 0 && s > CLEARLY * best_s)) continue;
    best = p;
    best_s = s;
  }
  return best;
}

/* ---- printing */

static double gflops(double parts, double seconds) {
  return parts * product_flops() / seconds * 1e-9;
}

/* "avx512-bf16" as processors.def spells it: AVX512_BF16. */
static const char *constant(Product product, char text[24]) {
  size_t i = 0;
  const char *name = product == PRODUCT_REFERENCE ? "reference" : product_name(product);
  for (; name[i] && i < 23; i++)
    text[i] = (char)(name[i] == '-' ? '_' : toupper((unsigned char)name[i]));
  text[i] = 0;
  return text;
}

/* The beginning that the rows of this processor, and no others, have. */
static void row_start(const ProductChoice *here, char start[ROW_BYTES]) {
  (void)snprintf(start, ROW_BYTES, "PROCESSOR(\"%s\", %u, %u, %u, ", here->vendor, here->family,
                 here->model, here->model);
}

static void row_of(const BenchRates *bench, const ProductChoice *here, char row[ROW_BYTES]) {
  char start[ROW_BYTES], f32[24], bf16[24], day[16] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) (void)strftime(day, sizeof day, "%Y-%m-%d", &utc);
  const char *name = strchr(here->processor, '(');
  int length = name ? (int)strcspn(name + 1, ")") : 0;
  Product best[2] = {fastest(bench, false), fastest(bench, true)};
  row_start(here, start);
  (void)snprintf(row, ROW_BYTES,
                 "%.160s\"%.*s\", %s, %s,\n          \"measured %s: fp32 %.0f, bf16 %.0f GFLOP/s "
                 "on %d thread%s\")\n",
                 start, length, name ? name + 1 : "", constant(best[0], f32),
                 constant(best[1], bf16), day,
                 gflops(PRODUCT_PARTS, sum_of(bench->seconds[0][best[0]])),
                 gflops(PRODUCT_PARTS, sum_of(bench->seconds[1][best[1]])), bench->threads,
                 plural(bench->threads));
}

/* The copy rate of all threads together; 0: not measured. */
static double copied_bytes_per_s(int32_t threads) {
  enum { COPY_BYTES = 64 << 20, COPIES = 6 };
  int ends[2];
  double bytes_per_s = 0, rate;
  if (pipe(ends) != 0) return 0;
  fflush(NULL);
  for (int32_t t = 0; t < threads; t++) {
    if (fork() != 0) continue;
    char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    double best_s = 0;
    if (!from || !to) _exit(1);
    memset(from, 1, COPY_BYTES);
    for (int i = 0; i < COPIES; i++) {
      struct timespec start, end;
      (void)clock_gettime(CLOCK_MONOTONIC, &start);
      memcpy(to, from, COPY_BYTES);
      from[i] = to[COPY_BYTES - 1];
      (void)clock_gettime(CLOCK_MONOTONIC, &end);
      double took_s =
          (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
      if (i == 1 || (i > 1 && took_s < best_s)) best_s = took_s; /* the first finds new pages */
    }
    rate = 2.0 * COPY_BYTES / best_s;
    _exit(write(ends[1], &rate, sizeof rate) == (ssize_t)sizeof rate ? 0 : 1);
  }
  (void)close(ends[1]);
  while (read(ends[0], &rate, sizeof rate) == (ssize_t)sizeof rate)
    bytes_per_s += rate;
  (void)close(ends[0]);
  while (wait(NULL) > 0) {
  }
  return bytes_per_s;
}

static void print_device(const BenchRates *bench) {
  double rate[2];
  for (int i = 0; i < 2; i++)
    rate[i] = gflops(PRODUCT_PARTS, sum_of(bench->seconds[i][fastest(bench, i)]));
  printf("\nas a device file, for device = \"./mine.lua\" (on an idle machine):\n"
         "return { cores = %d, fp32 = \"%.0fGFLOP/s\", bf16 = \"%.0fGFLOP/s\", bandwidth = "
         "\"%.0fGB/s\" }\n",
         bench->threads, rate[0], rate[1], copied_bytes_per_s(bench->threads) * 1e-9);
}

static void print_text(const BenchRates *bench, const ProductChoice *here, const char *row) {
  printf("%s, %d thread%s, GFLOP/s\n\n      variant       forward        dx        dw\n",
         here->processor, bench->threads, plural(bench->threads));
  for (int i = 0; i < 2; i++)
    for (Product p = PRODUCT_REFERENCE; p <= PRODUCT_AMX_BF16; p++) {
      const double *s = bench->seconds[i][p];
      if (sum_of(s) == 0) continue;
      printf("%s  %-12s %8.0f  %8.0f  %8.0f%s\n", i ? "bf16" : "fp32", product_name(p),
             gflops(1, s[0]), gflops(1, s[1]), gflops(1, s[2]),
             p == fastest(bench, i) ? "  fastest" : "");
    }
  printf("\nfor kernels/cpu/processors.def:\n%s", row);
  print_device(bench);
}

static void print_json(const BenchRates *bench, const ProductChoice *here) {
  printf(
      "{\"version\": 1, \"processor\": \"%s\", \"threads\": %d,\n \"fastest\": {\"fp32\": \"%s\", "
      "\"bf16\": \"%s\"},\n \"gflops\": [",
      here->processor, bench->threads, product_name(fastest(bench, false)),
      product_name(fastest(bench, true)));
  const char *between = "";
  for (int i = 0; i < 2; i++)
    for (Product p = PRODUCT_REFERENCE; p <= PRODUCT_AMX_BF16; p++) {
      const double *s = bench->seconds[i][p];
      if (sum_of(s) == 0) continue;
      printf("%s\n  {\"dtype\": \"%s\", \"variant\": \"%s\", \"forward\": %.1f, \"dx\": %.1f, "
             "\"dw\": %.1f}",
             between, i ? "bf16" : "fp32", product_name(p), gflops(1, s[0]), gflops(1, s[1]),
             gflops(1, s[2]));
      between = ",";
    }
  printf("]}\n");
}

/* ---- the table file */

/* True if the file has a row of this table: any other file must not be written over. */
static bool is_table(const char *path) {
  char line[1024];
  bool is_it = false;
  FILE *file = fopen(path, "r");
  while (file != NULL && !is_it && fgets(line, sizeof line, file))
    is_it = strncmp(line, "PROCESSOR(", strlen("PROCESSOR(")) == 0;
  if (file != NULL) (void)fclose(file);
  return is_it;
}

/* `from` with `row` before its first row, and without an older row of the same processor. */
static void copy_table(FILE *from, FILE *to, const char *start, const char *row) {
  char line[1024];
  bool is_written = false, is_old = false;
  while (fgets(line, sizeof line, from)) {
    bool begins = strncmp(line, "PROCESSOR(", strlen("PROCESSOR(")) == 0;
    if (begins && !is_written) is_written = fputs(row, to) >= 0;
    if (begins) is_old = strncmp(line, start, strlen(start)) == 0;
    if (!is_old) fputs(line, to);
  }
  if (!is_written) fputs(row, to);
}

static ExitCode refuse_table(const char *path) {
  return complain(
      EXIT_USER, "-o %s: %s; it is the table of this program's sources, kernels/cpu/processors.def",
      path, strerror(errno));
}

static ExitCode write_table(const char *path, const ProductChoice *here, const char *row) {
  char start[ROW_BYTES], temporary[4096];
  row_start(here, start);
  (void)snprintf(temporary, sizeof temporary, "%.4000s.new", path);
  FILE *from = fopen(path, "r");
  if (!from) return refuse_table(path);
  FILE *to = fopen(temporary, "w");
  if (to) copy_table(from, to, start, row);
  bool good = to && !ferror(from) && !ferror(to);
  if (to) good = fclose(to) == 0 && good;
  (void)fclose(from);
  if (good && rename(temporary, path) == 0) return EXIT_DONE;
  int failure = errno;
  (void)unlink(temporary);
  return cannot_write(path, failure);
}

ExitCode verb_bench(const Options *options) {
  if (options->words.count > 0 && options->products)
    return complain(EXIT_USER, "bench: either %s or --kernels", options->words.at[0]);
  if (options->words.count > 0) return bench_rates(options);
  if (!options->products)
    return complain(EXIT_USER,
                    "say what to measure: lockstep bench copies, kernels, collectives, files "
                    "DIRECTORY, or bench --kernels");
  if (options->out && access(options->out, R_OK | W_OK) != 0) /* before minutes of measurements */
    return refuse_table(options->out);
  if (options->out && !is_table(options->out))
    return complain(
        EXIT_USER,
        "-o %s: it has no row PROCESSOR(...); it is the table of this program's sources, "
        "kernels/cpu/processors.def",
        options->out);
  static BenchRates bench;
  bench.threads = processors_here();
  if (!measure(&bench)) return complain(EXIT_WORLD, "not enough memory or processes to measure");
  /* the row describes this processor, not the level that the variable forces */
  (void)unsetenv("LOCKSTEP_CPU");
  const ProductChoice *here = product_choice();
  char row[ROW_BYTES];
  row_of(&bench, here, row);
  if (options->json)
    print_json(&bench, here);
  else
    print_text(&bench, here, row);
  return options->out ? write_table(options->out, here, row) : EXIT_DONE;
}
