/* rank_logits.c -- the logits of data.valid in a file of safetensors, of a plan that does not
 * train: what the record of the loss reads is written before it runs. One rank has all classes of
 * all samples. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "kernels/math/floats.h"
#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_use.h"
#include "runtime/replay/replay_look.h"
#include "runtime/safetensors/safetensors.h"

typedef struct Logits {
  FILE *out; /* opened with the first record: another stage of a pipeline may have none */
  const char *path;
  uint32_t node; /* of the loss */
  int64_t samples, context, classes;
  int64_t rows, written; /* of all samples; so far */
  int32_t *target;       /* of each row */
  float *row;
  Status *status; /* code 0: no failure so far */
} Logits;

static bool write_header(Logits *l) {
  const int64_t logits[] = {l->samples, l->context, l->classes};
  const SafeEntry entries[] = {{"logits", SAFE_F32, 3, logits}, {"targets", SAFE_I32, 2, logits}};
  size_t bytes;
  char *header = safe_header(NULL, 0, entries, 2, 64, &bytes);
  const bool good = header != NULL && fwrite(header, 1, bytes, l->out) == bytes;
  free(header);
  return good;
}

/* Rows past the last sample pad the last pass. */
static bool write_rows(Logits *l, const Work *work, DType dtype, const int64_t *dims) {
  const int64_t left = l->rows - l->written, rows = dims[0] < left ? dims[0] : left;
  if (rows > 0) memcpy(l->target + l->written, work->operand[1], (size_t)rows * sizeof *l->target);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t k = 0; k < l->classes; k++)
      l->row[k] = float_get(work->operand[0], i * dims[1] + k, dtype);
    if (fwrite(l->row, sizeof *l->row, (size_t)l->classes, l->out) != (size_t)l->classes)
      return false;
  }
  l->written += rows;
  return true;
}

/* `classes`: without padding. */
static bool begin(Logits *l, int64_t classes) {
  l->classes = classes;
  l->row = malloc((size_t)classes * sizeof *l->row);
  l->target = malloc((size_t)(l->rows + 1) * sizeof *l->target);
  l->out = l->row != NULL && l->target != NULL ? fopen(l->path, "wb") : NULL;
  return l->out != NULL && write_header(l);
}

static void see(void *context, const Replay *replay, const Work *work) {
  Logits *l = context;
  const PlanRecord *record = work->record;
  if (record->kind != RECORD_KERNEL || record->node != l->node || l->status->code != 0) return;
  const KernelContract *contract = contract_of(replay_kernel(replay, record)->id);
  if (contract->id != KERNEL_cross_entropy) return;
  const int64_t *dims = replay->setup.plan->ints + record->dims_first;
  const DType dtype = (DType)replay->operand_dtype[record->operands_first];
  if ((l->out == NULL && !begin(l, dims[2])) || !write_rows(l, work, dtype, dims))
    (void)status_fail(l->status, STATUS_WORLD, "%s: %s", l->path, strerror(errno));
}

static bool close_logits(Logits *l, Status *status) {
  bool good = l->status->code == 0;
  if (good && l->out != NULL) {
    good = l->written == l->rows &&
           fwrite(l->target, sizeof *l->target, (size_t)l->rows, l->out) == (size_t)l->rows;
    if (!good) (void)status_fail(status, STATUS_WORLD, "%s: %s", l->path, strerror(errno));
  } else if (!good) {
    *status = *l->status;
  }
  if (l->out != NULL && fclose(l->out) != 0 && good)
    good = status_fail(status, STATUS_WORLD, "%s: %s", l->path, strerror(errno));
  free(l->target), free(l->row);
  return good;
}

bool rank_write_logits(Rank *rank, int32_t loss, const char *path, LossSums *all, Status *status) {
  const Samples *data = rank->staging_setup.valid;
  Status seen = {0};
  Logits l = {.path = path,
              .node = rank->losses.at[loss].node,
              .samples = data->count,
              .context = job_sample_tokens(rank->plan),
              .rows = data->count * job_sample_tokens(rank->plan),
              .status = &seen};
  ReplayWatch watch;
  status->code = 0;
  if (rank->run->cuda != NULL)
    return status_fail(status, STATUS_USER, "--logits is for processors: -D cluster.device=cpu");
  if (rank->staging) staging_begin(rank->staging, 1, 0);
  replay_watch_begin(&watch, &rank->replay);
  watch.see = see;
  watch.context = &l;
  const bool ran = rank_validate(rank, 1, all, status);
  (void)replay_watch_end(&watch);
  if (rank->stopped) seen.code = STATUS_STOPPED;
  return close_logits(&l, ran ? status : &seen) && ran;
}
