/* rank_eval.c -- the loss over all of data.valid, of a plan that does not train. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/programs.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_use.h"

enum { PATH_BYTES = 4200 };

typedef struct Result {
  PlanLosses losses;
  LossSums sums;
  double loss, count, tokens_per_s; /* count: the targets of the loss that has most */
  double bits_per_byte;             /* NaN: the bytes of a token are not known */
} Result;

/* A token of these files is a byte of the text. */
static bool are_bytes(const Plan *plan) {
  for (uint32_t i = 0; i < plan->files_count; i++)
    if (plan->files[i].format != FORMAT_U8) return false;
  return plan->files_count > 0;
}

/* True if the model has one loss, which is a cross-entropy. */
static bool is_of_tokens(const Plan *plan) {
  const PlanLosses losses = plan_losses(plan);
  return strcmp(job_loss(plan), "cross_entropy") == 0 && !losses_are_told(&losses);
}

static double perplexity_of(const Plan *plan, const Result *result) {
  return is_of_tokens(plan) ? exp(result->loss) : NAN;
}

/* NaN: it is no cross-entropy. */
static double perplexity_of_loss(const PlanLosses *losses, const LossSums *sums, int32_t i) {
  const bool is_of_classes = strcmp(losses->at[i].op, "cross_entropy") == 0;
  return is_of_classes ? exp(loss_mean(sums, i)) : NAN;
}

void rank_add_json_losses(Text *text, const PlanLosses *losses, const LossSums *sums) {
  if (!losses_are_told(losses)) return;
  for (int32_t i = 0; i < losses->count; i++) {
    text_add(text, i == 0 ? ", \"losses\": {" : ", ");
    text_add_json_string(text, losses->at[i].name);
    text_add(text, ": {\"weight\": ");
    text_add_json_number(text, losses->at[i].weight);
    text_add(text, ", \"loss\": ");
    text_add_json_number(text, loss_mean(sums, i));
    text_add(text, ", \"loss_sum\": ");
    text_add_json_number(text, sums->sum[i]);
    text_add(text, ", \"targets\": %lld, \"perplexity\": ", (long long)sums->count[i]);
    text_add_json_number(text, perplexity_of_loss(losses, sums, i));
    text_add(text, "}");
  }
  text_add(text, "}");
}

static void add_losses(Text *text, const Result *result) {
  if (!losses_are_told(&result->losses)) return;
  for (int32_t i = 0; i < result->losses.count; i++) {
    const PlanLoss *loss = &result->losses.at[i];
    const double perplexity = perplexity_of_loss(&result->losses, &result->sums, i);
    text_add(text, "\n  %.15g x %s", loss->weight, loss->name);
    if (result->sums.count[i] <= 0)
      text_add(text, "   none: no target of it counts");
    else
      text_add(text, "   %.6g", loss_mean(&result->sums, i));
    if (!isnan(perplexity)) text_add(text, "   perplexity %.6g", perplexity);
  }
}

/* Ranks that divide features have the same targets, and each counts them. */
double rank_copies(const Plan *plan) {
  double copies = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if (plan->axes[i].divides == DIVIDES_FEATURES) copies *= plan->axes[i].size;
  return copies;
}

static const char *unit_of(const Plan *plan) {
  return job_data(plan) == DATA_TABLE ? "rows" : "tokens";
}

static void add_json(Text *text, const Plan *plan, const Result *result) {
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"loss", result->loss},
                 {"perplexity", perplexity_of(plan, result)},
                 {unit_of(plan), result->count},
                 {"bits_per_byte", result->bits_per_byte},
                 {"tokens_per_s", result->tokens_per_s}};
  text_add(text, "{\"version\": 1");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    text_add(text, ", \"%s\": ", numbers[i].name);
    text_add_json_number(text, numbers[i].value);
  }
  rank_add_json_losses(text, &result->losses, &result->sums);
  text_add(text, ", \"weights\": ");
  text_add_json_string(text, job_weights(plan));
  text_add(text, "}\n");
}

static void add_loss(Text *text, const Plan *plan, const Result *result) {
  if (result->count <= 0) {
    text_add(text, "loss     none: no target of data.valid counts");
    return;
  }
  text_add(text, "loss     %.6g", result->loss);
  if (is_of_tokens(plan))
    text_add(text, " nats a target   perplexity %.6g", perplexity_of(plan, result));
  if (!isnan(result->bits_per_byte)) text_add(text, "   %.6g bits a byte", result->bits_per_byte);
}

static void add_lines(Text *text, const Plan *plan, const Result *result) {
  char number[QUANTITY_BYTES];
  const char *weights = job_weights(plan);
  text_add(text, "eval     %s\n", *weights ? weights : "random weights of train.seed");
  add_loss(text, plan, result);
  add_losses(text, result);
  text_add(text, "\nread     %s %s", text_grouped(number, (int64_t)result->count), unit_of(plan));
  (void)text_count(number, result->tokens_per_s);
  text_add(text, ", %s a second\n", text_squeeze(number));
}

/* The amount that was read, in unit_of. A loss of numbers counts elements, so all samples are taken
 * for it. */
static double units_read(const Rank *rank, const LossSums *all) {
  const double samples = (double)rank->staging_setup.valid->count;
  double most = 0;
  for (int32_t i = 0; i < rank->losses.count; i++) {
    const bool is_of_classes = strcmp(rank->losses.at[i].op, "cross_entropy") == 0;
    const double of_numbers = samples * (double)job_sample_tokens(rank->plan);
    most = fmax(most, is_of_classes || all->count[i] <= 0 ? all->count[i] : of_numbers);
  }
  return most;
}

static bool print_result(const Rank *rank, const LossSums *all, int64_t took_ns, Status *status) {
  static Text text;
  Result result = {.losses = rank->losses, .sums = *all, .loss = loss_total(&rank->losses, all)};
  const char *weights = job_weights(rank->plan);
  result.count = units_read(rank, all);
  if (result.count > 0 && !isfinite(result.loss))
    return status_fail(status, STATUS_USER,
                       "%s: the loss over data.valid is %s: the weights are not finite, or numbers "
                       "of a layer are too large for precision.compute = \"%s\"",
                       *weights ? weights : "random weights",
                       isnan(result.loss) ? "no number" : "infinite", job_precision(rank->plan));
  result.tokens_per_s = result.count / ((double)took_ns / 1e9);
  result.bits_per_byte =
      are_bytes(rank->plan) && is_of_tokens(rank->plan) ? result.loss / log(2) : NAN;
  text_start(&text, STDOUT_FILENO);
  if (rank->run->options->json)
    add_json(&text, rank->plan, &result);
  else
    add_lines(&text, rank->plan, &result);
  return text_flush(&text) || status_fail(status, STATUS_WORLD, "stdout: cannot be written");
}

/* The loss whose logits are to be written, where the caller has made the file; -1: none. */
static int32_t find_logits(const Rank *rank, char path[PATH_BYTES]) {
  for (int32_t i = 0; i < rank->losses.count; i++) {
    (void)snprintf(path, PATH_BYTES, "%.4000s/logits.%d.safetensors", job_run_dir(rank->plan), i);
    if (access(path, F_OK) == 0) return i;
  }
  return -1;
}

/* By documents, or with logits, where the caller has made their file. */
static bool sum_up(Rank *rank, LossSums *all, Status *status) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/documents.jsonl", job_run_dir(rank->plan));
  if (access(path, F_OK) == 0) return rank_each_document(rank, path, all, status);
  const int32_t loss = find_logits(rank, path);
  if (rank->staging && loss < 0) staging_begin(rank->staging, 1, 0);
  if (loss >= 0 ? !rank_write_logits(rank, loss, path, all, status)
                : !rank_validate(rank, 1, all, status))
    return false;
  loss_sums_divide(all, rank_copies(rank->plan));
  return true;
}

bool rank_evaluate(Rank *rank, Status *status) {
  LossSums all;
  const int64_t begun_ns = rank_now_ns();
  rank_note_phase(rank, FLIGHT_VALIDATING, 1);
  if (!programs_reduce(rank->plan, rank->eval))
    return status_fail(status, STATUS_OURS, "plan: the loss is of one rank alone");
  if (!sum_up(rank, &all, status) || !rank_meet(rank, status)) return false;
  if (rank->stopped || rank->number != 0) return true;
  return print_result(rank, &all, rank_now_ns() - begun_ns, status);
}
