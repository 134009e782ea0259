/* config_fuzz.c -- LINK: model job tokens plan base
 * Bytes as the config.json of a model folder: whatever they are, the model opens, or diagnostics
 * say why not, and everything is freed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/graph/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void write_file(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static char folder[64], config[96], job_path[96];
  static FILE *ignored;
  if (!*folder) {
    static const char job[] = "return job { model = { \"./m\", weights = \"none\" }, precision = "
                              "\"fp32\", data = \"synthetic\", train = { batch = \"4 sequences\", "
                              "context = 8, steps = 1 }, optimizer = { \"adamw\", lr = 1e-3 } }";
    snprintf(folder, sizeof folder, "/tmp/config_fuzz_%d", (int)getpid());
    snprintf(config, sizeof config, "%s/m", folder);
    if (mkdir(folder, 0777) != 0 || mkdir(config, 0777) != 0) abort();
    snprintf(config, sizeof config, "%s/m/config.json", folder);
    snprintf(job_path, sizeof job_path, "%s/job.lua", folder);
    write_file(job_path, job, sizeof job - 1);
    ignored = fopen("/dev/null", "w");
  }
  write_file(config, bytes, size_bytes);
  Compile *c = compile_new("specs");
  Job *job = spec_load(c, job_path, NULL, 0);
  Model *model = job ? model_open(c, job) : NULL;
  if (model) model_complete(model, c, job);
  if (model) (void)model_trace(c, model, 4, 8, true);
  model_close(model);
  diags_print(&c->diags, ignored, false);
  diags_print_json(&c->diags, ignored);
  compile_free(c);
  return 0;
}
