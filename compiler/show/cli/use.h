/* use.h -- verbs that use weights without training: a job is made of a run, a checkpoint or a model
 * folder, compiled for that use, and run here. */
#ifndef LOCKSTEP_USE_H
#define LOCKSTEP_USE_H

#include "compiler/show/cli/cli.h"

/* A use of weights, and the folder of its plan, which only lasts while it runs. */
typedef struct Used {
  Compile *c;
  TextList settings;   /* of the job, as texts of -D */
  const char *model;   /* the folder with config.json and the tokenizer; NULL: there is none */
  const char *weights; /* the checkpoint; NULL: those of the model's folder */
  bool are_bytes;      /* a token is a byte of the text */
  Compiled compiled;
  const char *folder; /* NULL: none was made */
  const char *plan_path;
  const char *copy, *original; /* of a file of the user: messages name the original; or NULL */
} Used;

/* Resolves words[0] for `use`, and makes the folder. use_close in any case. */
ExitCode use_open(Used *used, const Options *options, JobUse use);
/* Compiles, and writes the plan. */
ExitCode use_compile(Used *used, const Options *options, JobUse use, DrawOptions draw);
/* Runs the plan with lockstep-rank; its exit code. */
ExitCode use_run(const Used *used, const Options *options);
void use_close(Used *used);

/* Refuses an output that is one of the files that a compiled use reads. */
ExitCode use_check_output(const Used *used, const char *path);

/* Those settings of the job that made a checkpoint which sampling and evaluation need. `model`: the
 * folder with its config.json, or NULL. */
void use_settings(Arena *arena, const Plan *plan, JobUse use, const char *checkpoint,
                  const char *model, TextList *settings);

#endif
