/* runs.h -- run folders, for the verbs that look after jobs of a cluster. Everything is read from
 * files, so that it works from any machine that sees them. */
#ifndef LOCKSTEP_RUNS_H
#define LOCKSTEP_RUNS_H

#include "compiler/show/cli/cli.h"

/* Makes a folder and those above it; false: errno says why. */
bool folder_and_above(Arena *arena, const char *path);
/* Makes a folder for files that are not whole yet, and those above it. One that is there already
 * may be another program's: it is left, and reported. */
bool folder_fresh(Arena *arena, const char *path, ExitCode *code);
/* Names in the folder reach the disk. False: errno says why. */
bool folder_sync(const char *path);

/* Writes the Lua files that were compiled into a folder. False: errno says why. */
bool sources_write(Compile *c, const char *folder);
/* The same into FOLDER/source/PLAN of a run, from where ranks link them into each checkpoint. */
bool sources_keep(Compile *c, uint64_t plan_id, const char *folder);
/* Removes those of a plan. */
void sources_remove(Compile *c, uint64_t plan_id, const char *folder);

/* How many letters of `path`, from its beginning, name a folder that is there. */
size_t folders_there(Arena *arena, const char *path);

/* Removes the folder and those above it that have more letters, up to one that is not empty. */
void folders_remove(Arena *arena, const char *path, size_t there);

/* The run folder that a word of the command line means: a folder, a job file, a name below runs/
 * or the number of one of its Slurm jobs. Reported if there is none: where_code. */
ExitCode run_folder(Compile *c, const Options *options, const char *word, const char **folder);

/* The job of a job file that a word means; reported if it is wrong. */
ExitCode job_of_word(Compile *c, const Options *options, const char *file, const Job **job);

/* The numbers of the jobs that were submitted last for a run, of a chain in its order; of a job
 * that was given to sbatch by hand once it has started; none: none was. False of run_keep_jobs:
 * errno says why. */
TextList run_jobs(Arena *arena, const char *folder);
bool run_keep_jobs(Arena *arena, const char *folder, const TextList *jobs);

/* A file of the run says that sbatch was given a job whose number is not known yet. It is made
 * before sbatch is called, and removed once the number is known: by submit, by --adopt, or by the
 * job's script. False: errno says why. */
bool run_is_unnumbered(Arena *arena, const char *folder);
bool run_keep_unnumbered(Arena *arena, const char *folder, bool is_unnumbered);

/* Notes that a job was removed from the queue: its script will never run to say so. */
bool run_keep_cancel(Arena *arena, const char *folder, const char *job);

/* "12,13,14": as squeue reads them, with another separator as people do. */
const char *joined_texts(Arena *arena, const TextList *list, const char *separator);

/* The text or number of "key" in the newest line of slurm/events.jsonl that has it; "" when none
 * has it. `event`: only lines of this one; NULL: of all but notes, which change no state. */
const char *run_event(Arena *arena, const char *folder, const char *event, const char *key);

/* The text or number of the first "key" in an object of JSON, or "": also when the text is cut. */
const char *json_value(Arena *arena, const char *text, const char *key);

/* The last line of a file that begins so, or "". */
const char *last_line(Arena *arena, const char *path, const char *begin);

#endif
