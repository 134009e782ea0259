/* source.h -- a job that no file says: of a checkpoint, or of a model folder. */
#ifndef LOCKSTEP_JOB_SOURCE_H
#define LOCKSTEP_JOB_SOURCE_H

#include "compiler/job/job.h"

/* `settings` are texts as those of -D, which come before the command line's. */
typedef struct JobSource {
  JobUse use;
  DrawOptions draw;
  const char *what; /* a path, for messages */
  const char *const *settings;
  int32_t setting_count;
} JobSource;
Job *spec_load_source(Compile *c, const JobSource *source, const char *const *overrides,
                      int32_t override_count);

#endif
