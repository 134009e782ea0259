/* spec_fuzz.c -- LINK: place job topology tokens plan base
 * Bytes as a job file: whatever they are, reading ends, with a job or with diagnostics, and frees
 * everything. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/job/job.h"
#include "compiler/machine/place/fabric.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static char path[64];
  static FILE *ignored;
  if (!*path) {
    snprintf(path, sizeof path, "/tmp/spec_fuzz_%d.lua", (int)getpid());
    ignored = fopen("/dev/null", "w");
  }
  FILE *file = fopen(path, "wb");
  if (!file) abort();
  fwrite(bytes, 1, size_bytes, file);
  fclose(file);
  Compile *c = compile_new("specs");
  Job *job = spec_load(c, path, NULL, 0);
  Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 4};
  Cluster cluster;
  Derived derived;
  const ModelFacts model = {.positions = 64};
  if (job && spec_cluster(c, job, &machine, &cluster) && fabric_make(c, &cluster)) {
    spec_cluster_counts(job, &cluster);
    spec_derive(c, job, &cluster, &model, &derived);
  }
  diags_print(&c->diags, ignored, false);
  diags_print_json(&c->diags, ignored);
  compile_free(c);
  return 0;
}
