/* masked_tokens_test.c -- tokens that a file's mask leaves out of the loss, over the ranks of a
 * sequence too.
 *
 * One rank: a step is the mean over the targets that count, so of a mask and of the mask of all
 * other targets the losses and gradients add up, each times its number of targets, to those of the
 * step without a mask. Other degrees: equal to one rank.
 *
 * f32: the loss 1e-5 relative; each number of each gradient within 1e-4 rms + 1e-8, rms that of its
 * tensor. bf16, of its own one rank: the loss 2^-9 relative; a gradient tensor within 2^-5 of its
 * length: some ten roundings of 2^-9, of which gradients of small tensors keep most. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/tokens/tokens.h"
#include "tests/parity/job_compile.h"
#include "tests/parity/tensors.h"
#include "tests/unit/check.h"

enum { CONTEXT = 16, SEQUENCES = 8, TARGETS = CONTEXT * SEQUENCES, VOCAB = 64, PATH_BYTES = 128 };

static const double LOSS = 1e-5, GRADIENT = 1e-4, GRADIENT_LEAST = 1e-8;
static const double BF16_LOSS = 0x1p-9, BF16_GRADIENT = 0x1p-5;

static const char one_rank[] = "microbatch = 8 }, cluster = { 'here', devices = 1 }";

static const char *const ways[] = {
    "microbatch = 8 }, parallel = { cp = 2 }, cluster = { 'here', devices = 2 }",
    "microbatch = 8 }, parallel = { cp = 4 }, cluster = { 'here', devices = 4 }",
    "microbatch = 4 }, parallel = { cp = 2, cp_kind = 'ulysses' }, cluster = { 'here', devices=2 }",
    "microbatch = 2 }, parallel = { cp = 2, dp = 2, zero = 3 }, cluster = { 'here', devices = 4 }",
    "microbatch = 2 }, parallel = { cp = 2, tp = 2, pp = 2 }, cluster = { 'here', devices = 8 }",
    "microbatch = 1 }, parallel = { dp = 4, zero = 1 }, cluster = { 'here', devices = 4 }",
};
static const char way_bf16[] = "microbatch = 4 }, parallel = { cp = 2, dp = 2 },"
                               " cluster = { 'here', devices = 4 }";

typedef enum Mask { EVERY, FIRST_HALVES, SECOND_HALVES, SCATTERED, NOT_SCATTERED, ONE } Mask;

static bool is_counted(Mask mask, int target) {
  const bool is_scattered = target * 7 % 16 < 7 && target / CONTEXT % 3 != 1;
  switch (mask) {
  case FIRST_HALVES: return target % CONTEXT < CONTEXT / 2;
  case SECOND_HALVES: return target % CONTEXT >= CONTEXT / 2;
  case SCATTERED: return is_scattered;
  case NOT_SCATTERED: return !is_scattered;
  case ONE: return target == TARGETS / 2 + 5;
  default: return true;
  }
}

static char folder[64];

static const char *path_to(char path[PATH_BYTES], const char *name) {
  (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return path;
}

static void write_file(const TokDocuments *all) {
  TokensWritten written;
  char why[TOKENS_WHY_BYTES] = "";
  if (tokens_write_documents(all, folder, 0, NULL, &written, why)) return;
  printf("%s\n", why);
  abort();
}

/* Returns how many targets count. */
static int write_tokens(Mask mask) {
  static uint32_t ids[TARGETS + 1];
  static uint8_t is_target[TARGETS + 1];
  static const int64_t start[] = {0, TARGETS + 1};
  int counted = 0;
  for (int i = 0; i <= TARGETS; i++) {
    ids[i] = (uint32_t)(i * 29 + i * i % 13) % VOCAB;
    is_target[i] = i > 0 && is_counted(mask, i - 1); /* target t is token t + 1 */
    counted += is_target[i];
  }
  TokDocuments all = {ids, mask == EVERY ? NULL : is_target, start, 1, VOCAB, 0};
  write_file(&all);
  return counted;
}

/* ---- documents */

enum { DOCUMENTS_MOST = 64 };

/* The set of documents that the next job reads, which is data.documents, and in how many
 * sequences. */
typedef enum Documents { ONE_DOCUMENT, CROSSING, POISONED, PACKED, FILLED, ALONE } Documents;
static Documents documents;
static int sequences = SEQUENCES;

/* Documents of 5 and 11 tokens, two a window; ALONE: one a window, and then filler. */
static int length_of(int document) {
  static const int crossing[] = {5, 11, 3, 20, 1, 9};
  return documents == CROSSING || documents == POISONED ? crossing[document % 6]
         : document % 2 == 0                            ? 5
                                                        : 11;
}

static uint32_t id_of(int document, int place) {
  bool is_poisoned = documents == POISONED && document % 2 == 1;
  return (uint32_t)(document * 7 + place * 29 + place * place % 13 + is_poisoned * (place + 3)) %
         VOCAB;
}

/* Only even documents have targets where odd ones are poisoned, or will be. Returns how many. */
static int write_documents(void) {
  static uint32_t ids[2 * TARGETS + 1];
  static uint8_t is_target[2 * TARGETS + 1];
  int64_t start[DOCUMENTS_MOST + 1] = {0};
  const bool is_half = documents == CROSSING || documents == POISONED;
  int count = 0, at = 0, counted = 0;
  while (at <= sequences * CONTEXT && count < DOCUMENTS_MOST) {
    start[count] = at;
    const int length = length_of(count), end = documents == ALONE ? at + CONTEXT : at + length;
    for (int i = 0; at < end && at <= sequences * CONTEXT; i++, at++) {
      ids[at] = id_of(count, i);
      is_target[at] = i > 0 && i < length && !(is_half && count % 2 == 1);
      counted += is_target[at];
    }
    count++;
  }
  start[count] = at;
  TokDocuments all = {ids, is_target, start, count, VOCAB, 0};
  write_file(&all);
  return counted;
}

/* Parameters stay as they began: the rate is too small to move them. */
static void write_job(const char *path, const char *way, bool is_bf16) {
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fprintf(
      file,
      "return job { model = { 'gpt2', layers = 4, width = 32, heads = 4, vocab = %d, positions "
      "= %d },\n"
      "  data = { 'tokens', train = '%s/train.tok', shuffle = false, documents = '%s', fill = '%s' "
      "},\n"
      "  optimizer = { 'sgd', lr = 1e-30 }, precision = '%s',\n"
      "  train = { batch = '%d sequences', context = %d, steps = 1, %s }\n",
      VOCAB, CONTEXT, folder, documents == ONE_DOCUMENT || documents == ALONE ? "joined" : "apart",
      documents == FILLED ? "pack" : "stream", is_bf16 ? "bf16" : "fp32", sequences, CONTEXT, way);
  fclose(file);
}

/* ---- a step */

typedef struct RunOf {
  const Draft *draft;
  bool agrees;
  double loss;
  Tensors gradients;
  int targets;
} RunOf;

static void look(void *context, const Fleet *fleet, int64_t number) {
  RunOf *run = context;
  if (number == 1) run->agrees = tensors_read(&run->gradients, run->draft, fleet, BASE_GRAD);
}

static RunOf run_step(const char *way, Mask mask, bool is_bf16) {
  static FleetRank rank[FLEET_RANKS_MAX];
  char job_path[PATH_BYTES], plan[PATH_BYTES], data[PATH_BYTES];
  const char *error = "";
  JobCompile job;
  RunOf run = {.targets = documents == ONE_DOCUMENT ? write_tokens(mask) : write_documents()};
  write_job(path_to(job_path, "job.lua"), way, is_bf16);
  bool done = job_compile(&job, job_path, path_to(plan, "plan"), &error);
  if (!done) diags_print(&job.compile->diags, stdout, false);
  run.draft = job.compiled.draft;
  done = done && fleet_run(&job.plan, 1, (FleetQueues){0}, look, &run, rank) && run.agrees;
  CHECK(done);
  if (!done) abort();
  run.loss = rank[0].loss[1];
  job_compile_close(&job);
  (void)unlink(job_path), (void)unlink(plan), (void)unlink(path_to(data, "train.tok"));
  return run;
}

/* The tensor of the same name: pipelines and ranks list them in another order. */
static const Tensor *same_tensor(const Tensors *all, const Tensor *like) {
  for (int32_t i = 0; i < all->count; i++)
    if (strcmp(all->at[i].name, like->name) == 0 && all->at[i].count == like->count)
      return &all->at[i];
  printf("no gradient is named %s\n", like->name);
  abort();
}

static void compare(const char *way, const RunOf *run, const RunOf *want, bool is_bf16) {
  double loss = fabs(run->loss / want->loss - 1), worst = 0;
  CHECK(loss <= (is_bf16 ? BF16_LOSS : LOSS));
  CHECK_INT(run->gradients.count, want->gradients.count);
  for (int32_t i = 0; i < want->gradients.count; i++) {
    const Tensor *b = &want->gradients.at[i], *a = same_tensor(&run->gradients, b);
    double rms = tensor_rms(b), length = rms * sqrt((double)b->count);
    double part = is_bf16 ? tensor_distance(a, b) / (BF16_GRADIENT * length + GRADIENT_LEAST)
                          : tensor_farthest(a, b) / (GRADIENT * rms + GRADIENT_LEAST);
    if (!(part <= 1)) printf("%s: %s is %g of its bound\n", way, b->name, part);
    CHECK(part <= 1);
    worst = fmax(worst, part);
  }
  printf("  %4d targets: loss %.1e, gradients %.2f of their bound: %.60s\n", run->targets, loss,
         worst, way);
}

/* a and b, weighted by their targets, in place of a. */
static void add_up(RunOf *a, const RunOf *b) {
  double n = a->targets, m = b->targets;
  a->loss = (a->loss * n + b->loss * m) / (n + m);
  for (int32_t i = 0; i < a->gradients.count; i++) {
    const Tensor *other = same_tensor(&b->gradients, &a->gradients.at[i]);
    float *values = a->gradients.at[i].values;
    for (int64_t k = 0; k < other->count; k++)
      values[k] = (float)(((double)values[k] * n + (double)other->values[k] * m) / (n + m));
  }
  a->targets += b->targets;
}

static void check_sum(Mask mask, Mask others) {
  RunOf a = run_step(one_rank, mask, false), b = run_step(one_rank, others, false);
  RunOf all = run_step(one_rank, EVERY, false);
  add_up(&a, &b);
  CHECK_INT(a.targets, TARGETS);
  compare("one rank, a mask and all others", &a, &all, false);
  tensors_free(&a.gradients), tensors_free(&b.gradients), tensors_free(&all.gradients);
}

static void check_way(const char *way, Mask mask, bool is_bf16) {
  RunOf want = run_step(one_rank, mask, is_bf16), run = run_step(way, mask, is_bf16);
  compare(way, &run, &want, is_bf16);
  tensors_free(&want.gradients), tensors_free(&run.gradients);
}

static RunOf run_documents(Documents which, const char *way) {
  documents = which;
  sequences = which == ALONE ? 2 * SEQUENCES : SEQUENCES;
  RunOf run = run_step(way, EVERY, false);
  documents = ONE_DOCUMENT;
  sequences = SEQUENCES;
  return run;
}

/* Bit for bit. */
static void check_same(const char *way, const RunOf *a, const RunOf *b) {
  CHECK(a->loss == b->loss);
  for (int32_t i = 0; i < a->gradients.count; i++) {
    const Tensor *x = &a->gradients.at[i], *y = same_tensor(&b->gradients, x);
    bool same = true;
    for (int64_t k = 0; k < x->count; k++)
      same = same && x->values[k] == y->values[k];
    if (!same) printf("%s: %s differs\n", way, x->name);
    CHECK(same);
  }
}

static void check_documents(const char *way, const RunOf *want) {
  RunOf run = run_documents(CROSSING, way), poisoned = run_documents(POISONED, way);
  compare(way, &run, want, false);
  check_same(way, &run, &poisoned);
  tensors_free(&run.gradients), tensors_free(&poisoned.gradients);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_masked_XXXXXX");
  if (mkdtemp(folder) == NULL) return 2;
  TEST("a step is the mean over the tokens that are targets") {
    check_sum(FIRST_HALVES, SECOND_HALVES);
    check_sum(SCATTERED, NOT_SCATTERED);
  }
  TEST("also where ranks share a sequence, and some have no target") {
    static const Mask masks[] = {FIRST_HALVES, SCATTERED, ONE};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      check_way(ways[i], masks[i % 3], false);
    check_way(ways[0], ONE, false);
    check_way(way_bf16, SCATTERED, true);
  }
  TEST("two documents in a window, apart, are as each in a window of its own") {
    RunOf packed = run_documents(PACKED, one_rank);
    RunOf alone = run_documents(ALONE, "microbatch = 16 }, cluster = { 'here', devices = 1 }");
    CHECK_INT(packed.targets, alone.targets);
    compare("packed, and alone", &packed, &alone, false);
    RunOf filled = run_documents(FILLED, one_rank), ring = run_documents(FILLED, ways[0]);
    compare("packed by length, and alone", &filled, &alone, false);
    compare("packed by length over a ring", &ring, &alone, false);
    tensors_free(&filled.gradients), tensors_free(&ring.gradients);
    tensors_free(&packed.gradients), tensors_free(&alone.gradients);
  }
  TEST("what a document says changes no bit of the others, however ranks share it") {
    RunOf want = run_documents(CROSSING, one_rank);
    check_documents(one_rank, &want);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      check_documents(ways[i], &want);
    tensors_free(&want.gradients);
  }
  (void)rmdir(folder);
  CHECK_DONE();
}
