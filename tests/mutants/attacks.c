/* attacks.c -- plans that are wrong on purpose, from files (attack.h): each is refused, in words
 * that name the record; and each is wrong indeed, for it does not run to what the plan runs to.
 *
 *   attacks FILE...   all of them
 *   attacks show FILE...   and the findings of each */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/replay/hostile.h"
#include "runtime/tokens/tokens.h"
#include "tests/common/folder.h"
#include "tests/mutants/attack.h"
#include "tests/mutants/trial.h"
#include "tests/unit/check.h"

enum { LIMIT_S = 5, FINDINGS_SHOWN = 3, ORIGINALS_MAX = 64 };

static char folder[TEST_FOLDER_BYTES];

static bool has_all(const Attack *attack, const char *finding) {
  for (int i = 0; i < attack->named_count; i++)
    if (strstr(finding, attack->named[i]) == NULL) return false;
  return true;
}

static bool is_said(const Attack *attack, const char *finding) {
  for (int i = 0; i < attack->says_count; i++) {
    size_t length = strlen(attack->says[i]);
    if (strncmp(finding, attack->says[i], length) != 0) return false;
    finding += length;
  }
  return attack->says_count == 0 || *finding == '\0';
}

/* The finding that has all words, and the text; NULL: none has. */
static const char *named(const Attack *attack, const ProveReport *report) {
  for (uint32_t i = 0; i < report->finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (has_all(attack, report->finding[i]) && is_said(attack, report->finding[i]))
      return report->finding[i];
  return NULL;
}

typedef struct Count {
  int attacks, refused, good;
} Count;

static void print_findings(const ProveReport *report) {
  for (uint32_t i = 0; i < report->finding_count && i < FINDINGS_SHOWN; i++)
    printf("    %s\n", report->finding[i]);
}

/* Many attacks are on one plan, which is run once. */
static Trial original_of(const Plan *good, TrialHow how) {
  static struct {
    uint64_t id;
    Trial trial;
  } known[ORIGINALS_MAX];
  static int count;
  int i = 0;
  while (i < count && known[i].id != good->id)
    i++;
  if (i < count) return known[i].trial;
  const Trial trial = trial_run(good, good, how);
  if (count < ORIGINALS_MAX) known[count].id = good->id, known[count++].trial = trial;
  return trial;
}

/* It would train otherwise, or not at all. Trials train: a plan that draws tokens is not run. */
static const char *harm_of(const Plan *attacked, const Plan *good) {
  if (plan_samples(good)) return "is not run";
  const TrialHow how = {.limit_s = LIMIT_S};
  Trial original = original_of(good, how), trial = trial_run(attacked, good, how);
  return trial_equal(&trial, &original) ? NULL : trial_difference(&trial, &original);
}

/* Records of two lanes in the wrong order. */
static bool is_race(const Attack *attack) {
  for (int32_t i = 0; i < attack->named_count; i++)
    if (strcmp(attack->named[i], "nothing orders the two") == 0 ||
        strncmp(attack->named[i], "lane ", 5) == 0)
      return true;
  return false;
}

/* Records of two lanes in the wrong order do harm when one is late. A hostile build runs each
 * record alone, and a trial ends each step before the next: there they do none. */
static const char *race_of(const Plan *attacked, const Plan *good, const char *said) {
  enum { TRIES = 6 };
  if (HOSTILE_RUNS_ALONE || strstr(said, "of the run before") != NULL) return "races";
  for (uint64_t seed = 1; seed <= TRIES; seed++) {
    const TrialHow how = {.limit_s = LIMIT_S, .on_queues = true, .seed = seed};
    const Trial original = original_of(good, (TrialHow){.limit_s = LIMIT_S});
    const Trial trial = trial_run(attacked, good, how);
    if (!trial_equal(&trial, &original)) return trial_difference(&trial, &original);
  }
  return NULL;
}

static void judge(const Attack *attack, const Plan *good, bool show, Count *count) {
  static ProveReport report;
  PlanBuilder builder = {0};
  build_copy(&builder, good);
  attack_apply(attack, &builder);
  Plan plan = build_view(&builder);
  bool refused = !prove(&plan, &report);
  const char *said = named(attack, &report), *harm = harm_of(&plan, good);
  if (harm == NULL && said != NULL && is_race(attack)) harm = race_of(&plan, good, said);
  count->attacks++, count->refused += refused, count->good += harm && said;
  const char *end = !harm          ? "is no attack: it runs to the same"
                    : !refused     ? "is ACCEPTED"
                    : said == NULL ? "is refused, but not in these words"
                                   : "ok";
  printf("%s\n  %s%s%s\n", attack->title, end, harm ? "; it " : "", harm ? harm : "");
  if (show || (refused && said == NULL)) print_findings(&report);
  build_free(&builder);
}

static void run_attack(const Attack *attack, bool show, Count *count) {
  JobCompile job;
  bool compiled = strategy_compile(&attack->job, folder, &job);
  CHECK(compiled);
  if (compiled) judge(attack, &job.plan, show, count);
  job_compile_close(&job);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  enum { BYTES_MAX = 1 << 16 };
  char *text = calloc(1, BYTES_MAX);
  if (file == NULL || text == NULL) {
    printf("%s: cannot be read\n", path);
    exit(1);
  }
  text[fread(text, 1, BYTES_MAX - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void run_file(const char *path, bool show, Count *count) {
  char *text = read_file(path), *rest = text;
  int line = 0;
  for (Attack attack; attack_read(path, &rest, &line, &attack);)
    run_attack(&attack, show, count);
  free(text);
}

/* Data to train and validate on, beside the job: words.u8, others.u8, and train.tok. */
static void write_words(const char *name, int seed) {
  enum { WORDS = 4000, VOCAB = 64 };
  char path[80];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (file == NULL) exit(1);
  for (int i = 0; i < WORDS; i++)
    (void)fputc((i * i / 7 + seed) % VOCAB, file);
  (void)fclose(file);
}

/* Documents of 5 and 11 tokens. */
static void write_documents(void) {
  enum { DOCUMENTS = 100, VOCAB = 64 };
  static uint32_t ids[DOCUMENTS * 8];
  int64_t start[DOCUMENTS + 1] = {0};
  char why[TOKENS_WHY_BYTES];
  TokensWritten written;
  for (int d = 0; d < DOCUMENTS; d++)
    start[d + 1] = start[d] + (d % 2 == 0 ? 5 : 11);
  for (int i = 0; i < DOCUMENTS * 8; i++)
    ids[i] = (uint32_t)(i * 29 % VOCAB);
  TokDocuments all = {ids, NULL, start, DOCUMENTS, VOCAB, 0};
  if (!tokens_write_documents(&all, folder, 0, NULL, &written, why)) exit(1);
}

static void remove_words(const char *name) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  (void)unlink(path);
}

int main(int argc, char **argv) {
  bool show = argc > 1 && strcmp(argv[1], "show") == 0;
  Count count = {0};
  if (!test_folder(folder, "attacks")) return 1;
  write_words("words.u8", 0);
  write_words("others.u8", 1);
  write_documents();
  for (int i = 1 + show; i < argc; i++)
    run_file(argv[i], show, &count);
  remove_words("words.u8");
  remove_words("others.u8");
  remove_words("train.tok");
  (void)rmdir(folder);
  printf("%d attacks, %d refused, %d with the record named\n", count.attacks, count.refused,
         count.good);
  CHECK(count.attacks > 0 && count.good == count.attacks);
  CHECK_DONE();
}
