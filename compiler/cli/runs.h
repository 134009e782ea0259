/* runs.h -- run folders, for the verbs that look after jobs of a cluster. Everything is read from
 * files, so that it works from any machine that sees them. */
#ifndef LOCKSTEP_RUNS_H
#define LOCKSTEP_RUNS_H

#include "compiler/cli/cli.h"

/* Makes a folder and those above it; false: errno says why. */
bool folder_and_above(Arena *arena, const char *path);

/* The run folder that a word of the command line means: a folder, a job file, or a name below
 * runs/. NULL when that was said. */
const char *run_folder(Compile *c, const Options *options, const char *word);

/* The number of the job that was submitted last for a run; 0: none was. */
int64_t run_last_job(const char *folder);
bool run_keep_job(const char *folder, const char *number);

/* Of the newest line of slurm/events.jsonl that has it, the text or number of "key"; "" when there
 * is none. `event`: only lines of this one, or NULL. */
const char *run_event(Arena *arena, const char *folder, const char *event, const char *key);

/* The text or number of "key" in a line of JSON, or "". */
const char *json_value(Arena *arena, const char *line, const char *key);

/* The last line of a file that begins so, or "". */
const char *last_line(Arena *arena, const char *path, const char *begin);

#endif
