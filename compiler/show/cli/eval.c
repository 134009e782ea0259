/* eval.c -- lockstep eval WHAT: the loss over all of data.valid, and of each document. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/graph/model/loss_choice.h"
#include "compiler/show/cli/use.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_losses.h"

/* The ranks fill this file. */
static const char *documents_path(const Used *used) {
  return arena_printf(used->c->arena, "%s/documents.jsonl", used->folder);
}

/* A document's targets alone are to count, so losses compare with targets of data.valid. */
static ExitCode check_targets(const Plan *plan) {
  const PlanLosses losses = plan_losses(plan);
  if (job_data(plan) == DATA_TABLE)
    return complain(EXIT_USER, "--documents is for files of tokens: a table has no documents");
  for (int32_t i = 0; i < losses.count; i++) {
    const PlanLoss *loss = &losses.at[i];
    if (loss->input == PLAN_NONE || plan->inputs[loss->input].role != INPUT_TARGETS)
      return complain(EXIT_USER,
                      "--documents counts the targets of one document at a time, and the loss '%s' "
                      "does not compare with targets of data.valid: evaluate without --documents",
                      loss->name);
  }
  return EXIT_DONE;
}

static ExitCode ask_for_documents(Used *used) {
  const Derived *d = &used->compiled.derived;
  const ExitCode code = check_targets(&used->compiled.plan);
  if (code != EXIT_DONE) return code;
  FILE *file = fopen(documents_path(used), "w");
  if (file == NULL || fclose(file) != 0)
    return complain(EXIT_WORLD, "%s: %s", documents_path(used), strerror(errno));
  if (used->compiled.job->data.fill == CHOICE_PACK)
    return complain(EXIT_USER,
                    "--documents reads data.valid as a stream, and data.fill is \"pack\": "
                    "-D data.fill=stream");
  if (d->dp == 1 && used->compiled.job->train.microbatch == 1) return EXIT_DONE;
  return complain(EXIT_USER,
                  "--documents runs one sequence at a time: ranks may divide the model and the "
                  "sequence, and dp is %lld, train.microbatch %lld",
                  (long long)d->dp, (long long)used->compiled.job->train.microbatch);
}

/* Beside its name first: a file is there as a whole or not at all. */
static ExitCode keep_documents(const Used *used, const char *path) {
  char bytes[1 << 16];
  const char *fresh = file_beside(used->c->arena, path);
  FILE *in = fopen(documents_path(used), "rb"), *out = in != NULL ? fopen(fresh, "wb") : NULL;
  bool good = out != NULL;
  for (size_t count; good && (count = fread(bytes, 1, sizeof bytes, in)) > 0;)
    good = fwrite(bytes, 1, count, out) == count;
  good = good && !ferror(in) && fflush(out) == 0 && (fsync(fileno(out)) == 0 || errno == EINVAL);
  if (in != NULL) (void)fclose(in);
  if (out != NULL && fclose(out) != 0) good = false;
  if (good && rename(fresh, path) == 0) return EXIT_DONE;
  const int failure = errno;
  file_forget(fresh, path);
  return cannot_write(path, failure);
}

/* ---- logits */

static bool has_logits(const PlanLoss *loss) {
  const KernelContract *kernel = contract_find(loss->op);
  return kernel != NULL && kernel->id == KERNEL_cross_entropy;
}

/* Sets *number to the loss that --loss names, else to the only one that has logits. */
static ExitCode choose_loss(const Used *used, const char *name, int32_t *number) {
  const PlanLosses losses = plan_losses(&used->compiled.plan);
  const LossAsk ask = {.name = name,
                       .usual = -1,
                       .verb = "--logits",
                       .fit = contract_of(KERNEL_cross_entropy)->row->name};
  LossOption options[LOSSES_MAX];
  const char *why;
  for (int32_t i = 0; i < losses.count; i++)
    options[i] = (LossOption){losses.at[i].name, losses.at[i].op, has_logits(&losses.at[i])};
  *number = loss_choose(used->c->arena, options, losses.count, &ask, &why);
  return *number >= 0 ? EXIT_DONE : complain(EXIT_USER, "%s", why);
}

/* Ranks write through a link to the file beside the name; the link's name has the loss. */
static ExitCode ask_for_logits(const Used *used, const char *loss, const char *fresh) {
  const Derived *d = &used->compiled.derived;
  char target[4096] = "";
  int32_t number;
  const ExitCode code = choose_loss(used, loss, &number);
  if (code != EXIT_DONE) return code;
  if (d->dp > 1 || d->tp > 1 || d->cp > 1)
    return complain(EXIT_USER,
                    "--logits wants all of them on one rank: dp, tp and cp are %lld, %lld and %lld",
                    (long long)d->dp, (long long)d->tp, (long long)d->cp);
  FILE *file = fopen(fresh, "wb");
  const bool is_made = file != NULL && fclose(file) == 0 && realpath(fresh, target) != NULL;
  const char *link = arena_printf(used->c->arena, "%s/logits.%d.safetensors", used->folder, number);
  if (is_made && symlink(target, link) == 0) return EXIT_DONE;
  return cannot_write(fresh, errno);
}

static ExitCode keep_logits(const char *fresh, const char *path) {
  FILE *file = fopen(fresh, "rb");
  bool good = file != NULL && (fsync(fileno(file)) == 0 || errno == EINVAL);
  if (file != NULL && fclose(file) != 0) good = false;
  if (good && rename(fresh, path) == 0) return EXIT_DONE;
  return cannot_write(path, errno);
}

static ExitCode eval_logits(Used *used, const Options *options) {
  struct stat about;
  const char *path = options->logits, *fresh = file_beside(used->c->arena, path);
  if (lstat(path, &about) == 0 && !S_ISREG(about.st_mode))
    return complain(EXIT_USER, "%s: is no file", path);
  ExitCode code = ask_for_logits(used, options->loss, fresh);
  if (code == EXIT_DONE) code = use_run(used, options);
  if (code == EXIT_DONE) code = keep_logits(fresh, path);
  if (code != EXIT_DONE) file_forget(fresh, path);
  return code;
}

ExitCode verb_eval(const Options *options) {
  Used used;
  const bool by_document = options->documents != NULL;
  if (by_document && options->logits != NULL)
    return complain(EXIT_USER, "--documents runs a sequence once for each document in it: give "
                               "--logits by itself");
  if (options->loss != NULL && options->logits == NULL)
    return complain(EXIT_USER, "--loss chooses whose logits --logits writes: give that, too");
  ExitCode code = use_open(&used, options, USE_EVAL);
  if (code == EXIT_DONE && by_document) code = try_output(used.c->arena, options->documents);
  if (code == EXIT_DONE && options->logits != NULL)
    code = try_output(used.c->arena, options->logits);
  if (code == EXIT_DONE && by_document)
    VEC_PUSH(used.c->arena, &used.settings, "train.microbatch=1");
  if (code == EXIT_DONE) code = use_compile(&used, options, USE_EVAL, (DrawOptions){0});
  const char *out = by_document ? options->documents : options->logits;
  if (code == EXIT_DONE && out != NULL) code = use_check_output(&used, out);
  if (code == EXIT_DONE && by_document) code = ask_for_documents(&used);
  if (code == EXIT_DONE)
    code = options->logits != NULL ? eval_logits(&used, options) : use_run(&used, options);
  if (code == EXIT_DONE && by_document) code = keep_documents(&used, options->documents);
  use_close(&used);
  return code;
}
