/* samples.h -- the samples of a job by number, and the order in which steps take them.
 *
 * Sample i of a step (i counts over the whole job's batch) is number step_first + i of an endless
 * stream. Position p of the stream is place p % count of epoch p / count; with shuffle each epoch
 * has its own permutation. In a mix (mix.h) position p is the nth sample of a source, place n %
 * count of that source's epoch n / count. So the samples of a step depend only on seed and step,
 * not on ranks, threads or restarts. */
#ifndef LOCKSTEP_SAMPLES_H
#define LOCKSTEP_SAMPLES_H

#include "runtime/data/mix.h"
#include "runtime/data/table.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/process/status.h"
#include "runtime/tokens/tokens.h"

typedef struct SampleFile {
  TokenFile tokens;
  int64_t first; /* index of its first token among the tokens of all files */
  const char *path;
} SampleFile;

/* Files whose tokens are one stream, or whose documents are packed together: all files, or the
 * files of one source of a mix. No sample has tokens of two. */
typedef struct SampleGroup {
  int64_t first_token, tokens;
  int64_t first_sample, count;
  TokPacking packing; /* windows 0: samples are cut from the stream of tokens */
} SampleGroup;

/* Read-only once opened: shared by all ranks of a process. */
typedef struct Samples {
  const Plan *plan;
  bool valid;
  bool is_apart;         /* data.documents */
  bool may_lack_targets; /* the plan has the control slot `targets` */
  PlanLosses losses;
  int64_t count; /* 0: no files of this kind */
  int64_t tokens;
  SampleFile *file;
  int32_t file_count;
  SampleGroup *group; /* of files of tokens: one, or the sources of a mix */
  int32_t group_count;
  Mix mix; /* count 0: none */
  Table table;
} Samples;

/* Training samples are whole windows of context + 1 tokens that overlap by one; validation of a
 * cross-entropy also has the last, short one, and at most validate_samples in all. With data.fill =
 * "pack" samples are windows of whole documents (tokens.h). Opening
 * validation of a plan without such files succeeds with count 0. Some ids of each token file are
 * compared with the vocabulary; samples_fill compares all that it reads. */
bool samples_open(Samples *samples, const Plan *plan, bool valid, Status *status);
void samples_close(Samples *samples);

/* The file that has token `token` of all files. */
const SampleFile *samples_file(const Samples *samples, int64_t token);

/* The group that has sample `number`, which is below count. */
const SampleGroup *samples_group(const Samples *samples, int64_t number);

/* Tokens [first, first + count) of all files; -1 for those beyond the end and, of targets, for
 * those that a file's mask leaves out. */
bool samples_read(const Samples *samples, int64_t first, int64_t count, bool targets, int32_t *out,
                  Status *status);

/* The file and the place in it where a training sample begins. */
typedef struct SampleSource {
  int32_t source; /* as data.train lists them: the file, or of a mix the source */
  int32_t file;
  int64_t sample;   /* counted within the source; packed: the window */
  int64_t token;    /* of the file */
  int64_t document; /* of the file; -1: it does not say */
  /* tokens of the sample from `first` on; for a packed sample, the tokens of its first piece */
  int64_t count;
} SampleSource;
SampleSource samples_source(const Samples *samples, int64_t number);

/* The sample at a position of the stream. */
int64_t samples_at(const Samples *samples, int64_t position);

/* Offset of an input in a staged micro-batch; the inputs are in table order, 64-byte aligned. For
 * input == inputs_count: the size of the whole. */
uint64_t samples_input_offset(const Plan *plan, uint32_t input);

/* A hash that identifies the data wherever the files are: of sizes, and the first and last tokens
 * of every file, or all numbers of a table. 0: synthetic data. */
uint64_t samples_identity(const Samples *samples);

/* Writes sample `number` into row `row` of the staged micro-batch. Numbers past the end are
 * padding: tokens 0, targets -1, columns 0, columns of ids -1. An id that is not below the
 * vocabulary is an error with file and position. */
bool samples_fill(const Samples *samples, int64_t number, int64_t row, uint8_t *slot,
                  Status *status);

/* Adds, for each loss, how many targets of row `row` of the staged micro-batch count: ids that are
 * not below 0; a loss that compares numbers counts the row. A plan without the control
 * slot `targets` counts all, and nothing is added. */
void samples_targets(const Samples *samples, const uint8_t *slot, int64_t row,
                     int64_t targets[LOSSES_MAX]);

/* How many passes read all samples once, when a pass is a micro-batch on every replica and the last
 * pass is padded; and how many samples of `replica`'s micro-batch in a pass are padding. */
int64_t samples_passes(const Samples *samples, int32_t replicas);
int64_t samples_padded(const Samples *samples, int32_t replicas, int32_t replica, int64_t pass);

/* Entropy in nats of the training tokens' own frequencies: what a model that ignores context can
 * reach. 0 when the data are not tokens or the vocabulary is large. Long files are read in parts.
 */
double samples_unigram_entropy(const Samples *samples);

#endif
