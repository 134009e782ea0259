/* eval.c -- lockstep eval WHAT: the loss over all of data.valid, and of each document. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/use.h"
#include "kernels/contract/contract.h"

/* The ranks fill this file. */
static const char *documents_path(const Used *used) {
  return arena_printf(used->c->arena, "%s/documents.jsonl", used->folder);
}

/* False: the model's loss is a sum of several. */
static bool has_one_loss(const Used *used, const char *option) {
  const Graph *g = used->compiled.draft->eval;
  if (g->losses_count == 1) return true;
  (void)complain(EXIT_USER, "%s needs a model with one loss, and forward returns a sum of %d",
                 option, g->losses_count);
  return false;
}

static ExitCode ask_for_documents(Used *used) {
  const Derived *d = &used->compiled.derived;
  if (!has_one_loss(used, "--documents")) return EXIT_USER;
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

/* Ranks write through a link to the file beside the name. */
static ExitCode ask_for_logits(const Used *used, const char *fresh) {
  const Derived *d = &used->compiled.derived;
  const Graph *g = used->compiled.draft->eval;
  char target[4096] = "";
  const KernelContract *loss = contract_find(g->loss_name);
  if (!has_one_loss(used, "--logits")) return EXIT_USER;
  if (loss == NULL || loss->id != KERNEL_cross_entropy)
    return complain(EXIT_USER, "--logits is for models whose loss is cross_entropy, not %s",
                    g->loss_name);
  if (d->dp > 1 || d->tp > 1 || d->cp > 1)
    return complain(EXIT_USER,
                    "--logits wants all of them on one rank: dp, tp and cp are %lld, %lld and %lld",
                    (long long)d->dp, (long long)d->tp, (long long)d->cp);
  FILE *file = fopen(fresh, "wb");
  const bool is_made = file != NULL && fclose(file) == 0 && realpath(fresh, target) != NULL;
  const char *link = arena_printf(used->c->arena, "%s/logits.safetensors", used->folder);
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
  ExitCode code = ask_for_logits(used, fresh);
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
  ExitCode code = use_open(&used, options, USE_EVAL);
  if (code == EXIT_DONE && by_document) code = use_try_output(&used, options->documents);
  if (code == EXIT_DONE && options->logits != NULL) code = use_try_output(&used, options->logits);
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
