/* adopt.h -- the number of a job that sbatch has queued: read from what sbatch printed, looked for
 * in the queue when that has none, or given by the user. */
#ifndef LOCKSTEP_ADOPT_H
#define LOCKSTEP_ADOPT_H

#include "compiler/show/cli/cli.h"
#include "compiler/show/cli/command.h"

/* Sets *number to that of the job `name` that `answer` of sbatch is about. Otherwise reports; if
 * the job may be in the queue nevertheless, the run keeps its mark: its number is unknown. */
ExitCode submit_read_number(Arena *arena, const Command *answer, const char *folder,
                            const char *name, const char **number);

/* For a run that is marked so: EXIT_DONE when no job of its name is in the queue, and the mark is
 * removed; otherwise reports which there are. */
ExitCode submit_find_lost(Arena *arena, const char *folder, const char *name);

/* submit --adopt N */
ExitCode submit_adopt(Compile *c, const Options *options);

#endif
