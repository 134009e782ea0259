/* rank_documents.c -- the loss of each document of data.valid, of a plan that does not train: a
 * sample is run once for each document in it, with the targets of that document alone. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_use.h"

/* A walk over all documents, file after file; `first` and `end` count the tokens of all files. */
typedef struct Documents {
  Rank *rank;
  const Samples *data;
  FILE *out; /* NULL: another rank writes */
  int32_t file;
  int64_t number, first, end; /* number: in its file */
  LossSums sums;              /* of the document, so far */
  LossSums *all;
} Documents;

static bool has_documents(const Samples *data, Status *status) {
  for (int32_t i = 0; i < data->file_count; i++)
    if (data->file[i].tokens.document_count == 0)
      return status_fail(status, STATUS_USER,
                         "%s has no documents: lockstep tokenize FILE.jsonl makes files that have",
                         data->file[i].path);
  return data->file_count > 0 ||
         status_fail(status, STATUS_USER, "--documents wants files of tokens");
}

static void find_ends(Documents *d) {
  const SampleFile *file = &d->data->file[d->file];
  const TokenFile *tokens = &file->tokens;
  d->first = file->first + tokens_document(tokens, d->number);
  d->end =
      file->first + (d->number + 1 < tokens->document_count ? tokens_document(tokens, d->number + 1)
                                                            : tokens->count);
}

/* False: the line cannot be written. */
static bool tell(const Documents *d) {
  static Text line;
  const PlanLosses *losses = &d->rank->losses;
  if (d->out == NULL) return true;
  const bool is_sum = losses_are_told(losses);
  const double mean = loss_total(losses, &d->sums);
  text_start(&line, -1);
  text_add(&line, "{\"file\": ");
  text_add_json_string(&line, d->data->file[d->file].path);
  text_add(&line, ", \"document\": %lld, \"tokens\": %lld, \"loss_sum\": ", (long long)d->number,
           (long long)loss_sums_most(&d->sums));
  text_add_json_number(&line, is_sum ? NAN : d->sums.sum[0]);
  text_add(&line, ", \"loss\": ");
  text_add_json_number(&line, mean);
  text_add(&line, ", \"perplexity\": ");
  text_add_json_number(&line, is_sum ? NAN : exp(mean));
  rank_add_json_losses(&line, losses, &d->sums);
  text_add(&line, "}\n");
  return fwrite(line.bytes, 1, line.length, d->out) == line.length;
}

/* Goes to the next document. False: there is none, or the line of this one cannot be written. */
static bool next(Documents *d, Status *status) {
  loss_sums_divide(&d->sums, rank_copies(d->rank->plan));
  for (int32_t i = 0; i < LOSSES_MAX; i++) {
    d->all->sum[i] += d->sums.sum[i];
    d->all->count[i] += d->sums.count[i];
  }
  if (!tell(d)) return status_fail(status, STATUS_WORLD, "documents.jsonl: %s", strerror(errno));
  d->sums = (LossSums){0};
  if (++d->number == d->data->file[d->file].tokens.document_count) d->number = 0, d->file++;
  if (d->file == d->data->file_count) return false;
  find_ends(d);
  return true;
}

/* Leaves targets out that are no tokens of the document: target i of the window is token first +
 * i + 1. */
static void mask_targets(const Documents *d, const PlanInput *input, int64_t first,
                         int32_t *targets) {
  for (int64_t i = 0; i < input->sample_elements; i++)
    if (first + i + 1 < d->first || first + i + 1 >= d->end) targets[i] = -1;
}

static bool run_window(Documents *d, int64_t sample, Status *status) {
  Rank *rank = d->rank;
  const Plan *plan = rank->plan;
  uint8_t *slot = rank->staging_setup.ring;
  Control in = rank_control_in(rank, 1);
  ReplayLeft left;
  if (!samples_fill(d->data, sample, 0, slot, status)) return false;
  for (uint32_t i = 0; i < plan->inputs_count; i++)
    if (plan->inputs[i].role == INPUT_TARGETS)
      mask_targets(d, &plan->inputs[i], sample * job_sample_tokens(plan),
                   (int32_t *)(void *)(slot + samples_input_offset(plan, i)));
  in.stop = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
  if (!replay_run(&rank->replay, rank->eval, &in, slot, &left, status)) return false;
  rank->stopped = left.control.stop > 0;
  loss_sums_add(&d->sums, &left.control, rank->losses.count);
  return true;
}

/* Documents are in the order of their tokens, and so are samples. */
static bool run_all(Documents *d, Status *status) {
  const int64_t context = job_sample_tokens(d->rank->plan);
  find_ends(d);
  for (int64_t sample = 0; sample < d->data->count && !d->rank->stopped;) {
    if (!run_window(d, sample, status)) return false;
    const bool is_over = d->end <= (sample + 1) * context + 1; /* no target is in the next sample */
    if (is_over && !next(d, status)) return status->code == 0;
    sample = is_over ? sample : sample + 1;
    if (is_over && d->first > (sample + 1) * context) sample++;
  }
  return true;
}

bool rank_each_document(Rank *rank, const char *path, LossSums *all, Status *status) {
  Documents d = {.rank = rank, .data = rank->staging_setup.valid, .all = all};
  *all = (LossSums){0};
  status->code = 0;
  if (!has_documents(d.data, status)) return false;
  if (rank->number == 0 && (d.out = fopen(path, "w")) == NULL)
    return status_fail(status, STATUS_WORLD, "%s: %s", path, strerror(errno));
  bool done = run_all(&d, status);
  if (d.out != NULL && fclose(d.out) != 0 && done)
    done = status_fail(status, STATUS_WORLD, "%s: %s", path, strerror(errno));
  return done;
}
