/* whole_job.h -- a job file that is read and complete, with all its keys, for tests that compare
 * two. */
#ifndef LOCKSTEP_TESTS_WHOLE_JOB_H
#define LOCKSTEP_TESTS_WHOLE_JOB_H

#include <math.h>
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/job/settings.h"

typedef struct Whole {
  Job *job;
  Cluster cluster;
  Derived derived;
  SettingList settings;
} Whole;

/* On a machine of 16 cores and 8 GiB, for a model of these facts. False: reported. */
static inline bool complete(Compile *c, const char *path, const char *const *defines, int32_t count,
                            ModelFacts facts, Whole *out) {
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 16};
  out->job = spec_load(c, path, defines, count);
  if (out->job) spec_data_assume(out->job);
  bool is_good = out->job && spec_cluster(c, out->job, &machine, &out->cluster);
  out->cluster.ranks = out->cluster.nodes * out->cluster.devices; /* one type of node */
  is_good = is_good && spec_derive(c, out->job, &out->cluster, &facts, &out->derived) &&
            !compile_failed(c);
  if (is_good) out->settings = spec_settings(c->arena, out->job, &out->derived);
  return is_good;
}

static inline const ResolvedKey *row_of(const Whole *whole, const char *key) {
  for (int32_t i = 0; i < whole->settings.count; i++)
    if (strcmp(whole->settings.at[i].key, key) == 0) return &whole->settings.at[i];
  return NULL;
}

static inline double number_of(const ResolvedKey *row) {
  return row == NULL || row->kind == SETTING_NONE ? NAN
         : row->kind == SETTING_REAL              ? row->real
                                                  : (double)row->count;
}

/* Does another value make another training, or another division of its state? */
static inline bool counts_for_training(const ResolvedKey *row) {
  return row->effect == SETTING_EXPERIMENT || row->effect == SETTING_SCHEDULE ||
         row->effect == SETTING_LAYOUT || row->effect == SETTING_MODEL;
}

#endif
