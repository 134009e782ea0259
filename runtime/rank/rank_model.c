/* rank_model.c -- keeps with a run what `export` needs to write its weights for other tools:
 *
 *   RUN/model/config.json     as the model came, with what the job changed
 *             tensors.json    which tensor of files each parameter is
 *             tokenizer.json  and other files of the tokenizer, as they came with the model, or
 *                             with the tokens of data.train
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/folder.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_state.h"
#include "runtime/tokens/tokens.h"

static const char *const tokenizer_files[] = {"tokenizer.json",
                                              "tokenizer_config.json",
                                              "tokenizer.model",
                                              "special_tokens_map.json",
                                              "vocab.json",
                                              "merges.txt",
                                              "added_tokens.json",
                                              "chat_template.jinja",
                                              "generation_config.json"};

static bool cannot_write(const char *path, Status *status) {
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
}

static bool write_file(const char *path, const char *text, Status *status) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return cannot_write(path, status);
  bool good = fwrite(text, 1, strlen(text), file) == strlen(text);
  if (fclose(file) != 0) good = false;
  return good || cannot_write(path, status);
}

/* A folder may lack any of these files. */
static bool copy_file(const char *from, const char *to, Status *status) {
  char bytes[1 << 16];
  FILE *file = fopen(from, "rb"), *out = file != NULL ? fopen(to, "wb") : NULL;
  if (file == NULL) return true;
  bool good = out != NULL;
  for (size_t count; good && (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
    good = fwrite(bytes, 1, count, out) == count;
  good = good && !ferror(file);
  fclose(file);
  if (out != NULL && fclose(out) != 0) good = false;
  return good || cannot_write(to, status);
}

/* The dtype of the first layer's tensor in the files that the run began with; "": it began with
 * none. */
static const char *dtype_of(const Run *run, const char *source) {
  char name[WEIGHTS_NAME_BYTES];
  if (run->weights.set.place_count == 0 || !weights_name(name, source, 0)) return "";
  SafePlace place = safe_set_find(&run->weights.set, name);
  return place.tensor != NULL ? safe_dtype_name(place.tensor->dtype) : "";
}

static void add_tensor(Text *text, const Rank *rank, const PlanParameter *parameter,
                       const char *source, bool first) {
  const Plan *plan = rank->plan;
  text_add(text, "%s\n  {\"parameter\": ", first ? "" : ",");
  text_add_json_string(text, plan->strings + plan->values[parameter->value].name);
  text_add(text, ", \"source\": ");
  text_add_json_string(text, source);
  text_add(text, ", \"transposed\": %s, \"out_dims\": %u, \"dtype\": \"%s\"}",
           parameter->transposed ? "true" : "false", parameter->out_dims,
           dtype_of(rank->run, source));
}

/* Tied tensors that the files had beside their parameters are written again. */
static void add_tied(Text *text, const Rank *rank) {
  const Plan *plan = rank->plan;
  const PlanSetting *tied = plan_setting(plan, PLAN_TIED_KEY);
  const char *pairs = tied != NULL ? plan->strings + tied->text : "";
  char name[WEIGHTS_NAME_BYTES], like[WEIGHTS_NAME_BYTES];
  while (weights_next_tied(&pairs, name, like))
    for (uint32_t i = 0; i < plan->parameters_count; i++)
      if (strcmp(plan->strings + plan->parameters[i].source, like) == 0)
        add_tensor(text, rank, &plan->parameters[i], name, false);
}

static bool write_tensors(const Rank *rank, const char *path, Status *status) {
  const Plan *plan = rank->plan;
  Text text;
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return cannot_write(path, status);
  text_start(&text, descriptor);
  text_add(&text, "{\"tensors\": [");
  for (uint32_t i = 0; i < plan->parameters_count; i++)
    add_tensor(&text, rank, &plan->parameters[i], plan->strings + plan->parameters[i].source,
               i == 0);
  add_tied(&text, rank);
  text_add(&text, "\n]}\n");
  bool good = text_flush(&text);
  errno = text.failure;
  if (close(descriptor) != 0) good = false;
  return good || cannot_write(path, status);
}

/* The folder of the tokens that the run trains on, if its tokenizer.json made them; else "". */
static void find_tokenizer(const Run *run, char folder[4096]) {
  *folder = '\0';
  for (int32_t i = 0; i < run->train.file_count; i++) {
    const SampleFile *file = &run->train.file[i];
    const char *slash = strrchr(file->path, '/');
    char path[4200];
    uint64_t hash;
    if (file->tokens.tokenizer == 0) continue;
    (void)snprintf(folder, 4096, "%.*s",
                   slash != NULL && slash > file->path ? (int)(slash - file->path) : 1,
                   slash != NULL ? file->path : ".");
    (void)snprintf(path, sizeof path, "%.4000s/tokenizer.json", folder);
    if (tokens_hash_file(path, &hash) && hash == file->tokens.tokenizer) return;
    *folder = '\0';
  }
}

static bool copy_tokenizer(const char *from, const char *folder, Status *status) {
  char path[4200], source[4200];
  for (size_t i = 0; *from != '\0' && i < sizeof tokenizer_files / sizeof *tokenizer_files; i++) {
    (void)snprintf(source, sizeof source, "%.4000s/%s", from, tokenizer_files[i]);
    (void)snprintf(path, sizeof path, "%.4000s/%s", folder, tokenizer_files[i]);
    if (!copy_file(source, path, status)) return false;
  }
  return true;
}

bool rank_keep_model(const Rank *rank, Status *status) {
  const char *config = job_config_json(rank->plan), *from = job_model_folder(rank->plan);
  char folder[4096], path[4200], source[4096];
  if (*config == '\0') return true;
  (void)snprintf(folder, sizeof folder, "%.4000s/model", job_run_dir(rank->plan));
  (void)snprintf(path, sizeof path, "%s/config.json", folder);
  if (!folder_make(folder, status)) return false;
  if (!write_file(path, config, status)) return false;
  (void)snprintf(path, sizeof path, "%s/tensors.json", folder);
  if (!write_tensors(rank, path, status)) return false;
  if (!copy_tokenizer(from, folder, status)) return false;
  (void)snprintf(path, sizeof path, "%s/tokenizer.json", folder);
  if (access(path, F_OK) == 0) return true;
  find_tokenizer(rank->run, source);
  return copy_tokenizer(source, folder, status);
}
