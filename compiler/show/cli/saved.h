/* saved.h -- checkpoints on disk, for the verb `checkpoint` and for status. Everything is read from
 * files: no rank runs. */
#ifndef LOCKSTEP_SAVED_H
#define LOCKSTEP_SAVED_H

#include "compiler/show/cli/cli.h"
#include "runtime/manifest/compare.h"

typedef enum SavedState {
  SAVED_WHOLE,      /* by its manifest and the sizes of its parts */
  SAVED_DAMAGED,    /* manifest or parts are absent, or not what was written */
  SAVED_UNFINISHED, /* being written or removed, or left so by a run that was killed */
  SAVED_FOREIGN     /* of another format */
} SavedState;

typedef enum SavedKept { KEPT_NEWEST, KEPT_MILESTONE, KEPT_EARLIER } SavedKept;

typedef struct Saved {
  int64_t step;
  const char *path;
  SavedState state;
  SavedKept kept;
  const char *why; /* of a state that is not whole, or "" */
  int64_t bytes;   /* of its parts */
  int32_t parts;
} Saved;

typedef VEC(Saved) SavedList;

/* The step of "step_00000300", the name of a whole checkpoint; -1: it is no such name. `rest`, if
 * not NULL, also allows names that continue after the digits, and gets the rest. */
int64_t saved_step(const char *name, const char **rest);

/* Where a run keeps its checkpoints: its record says it, if the job has set checkpoint.path. */
const char *saved_folder(Arena *arena, const char *run);

/* The newest whole checkpoint of a folder, and the newest by its name, whose step is -1 if there is
 * none. False: none is whole. */
bool saved_newest(Arena *arena, const char *folder, Saved *whole, Saved *newest);

/* Resolves WHERE: a folder of checkpoints, or, if `one` is not NULL, one in it. */
typedef struct SavedWhere {
  const char *folder;
  const char *one;
} SavedWhere;

/* WHERE: a checkpoint, a folder of them, a run folder, a name in runs/, a job file, the number of a
 * Slurm job. Reported if it is none of these (where_code), or cannot be read (EXIT_WORLD). */
ExitCode saved_where(Compile *c, const Options *options, const char *word, SavedWhere *where);
/* The same, or the newest of the folder. */
ExitCode saved_find(Compile *c, const Options *options, const char *word, const char **path);

/* All of a folder, and of the folders earlier.N in it, ascending by step. */
void saved_list(Arena *arena, const char *folder, SavedList *list);

/* ---- one checkpoint */

typedef struct SavedOpen {
  Checkpoint checkpoint;
  ManifestFault fault;
  int failure;   /* errno: the manifest cannot be read; then `fault` says nothing */
  int64_t bytes; /* of the file */
  char why[MANIFEST_WHY_BYTES];
} SavedOpen;

/* Reads the manifest. False: `failure`, or `fault` with `why`. saved_close in any case; an opened
 * one must not be moved. */
bool saved_open(SavedOpen *saved, const char *path);
void saved_close(SavedOpen *saved);
/* Finds the checkpoint that a word means and opens it, where all else is an error: reported.
 * where_code for one that is not there, is damaged or of another format. */
ExitCode saved_open_word(Compile *c, const Options *options, const char *word, SavedOpen *saved);

/* Bytes of all parts, by the manifest. */
int64_t saved_bytes(const Manifest *manifest);

/* The value of a key in the job that made a checkpoint; NULL: it does not have the key. */
const char *saved_setting(const Plan *plan, const char *key);

/* "NAME" of a weight, "NAME/KIND" of others: a tensor's name in files and on the command line. */
const char *saved_key(Arena *arena, const State *state, const StateItem *item);
const char *saved_kind(const State *state, const StateItem *item);

/* ---- elements */

/* Reads elements of tensors, whichever parts have them. A part is checked as a whole before the
 * first of its bytes is taken. */
typedef struct SavedReader SavedReader;

/* NULL: out of memory. */
SavedReader *saved_reader(const SavedOpen *saved);
void saved_reader_free(SavedReader *reader);

/* Elements [first, first + count) of the whole tensor, in row-major order, in its dtype. False: a
 * part is damaged (EXIT_USER) or cannot be read (EXIT_WORLD), reported. */
bool saved_read(SavedReader *reader, uint32_t item, int64_t first, int64_t count, void *elements,
                ExitCode *code);
/* The same of any piece without padding. */
bool saved_read_piece(SavedReader *reader, uint32_t item, const StatePiece *want, void *elements,
                      ExitCode *code);
/* The piece that is the whole unpadded tensor. */
StatePiece saved_whole(const State *state, uint32_t item);
int64_t saved_elements(const State *state, uint32_t item);
/* The shape of the whole tensor; returns the number of dims. */
int32_t saved_shape(const State *state, uint32_t item, int64_t shape[STATE_DIMS_MAX]);

/* ---- the verbs below `checkpoint` */

ExitCode saved_verb_list(Compile *c, const Options *options);
ExitCode saved_verb_show(Compile *c, const Options *options);
ExitCode saved_verb_verify(Compile *c, const Options *options);
/* Prints whether the job of --for would continue from it; EXIT_USER: it would not. */
ExitCode saved_judge_job(Compile *c, const Options *options, const Checkpoint *checkpoint);
ExitCode saved_verb_diff(Compile *c, const Options *options);
ExitCode saved_verb_merge(Compile *c, const Options *options);
ExitCode saved_verb_convert(Compile *c, const Options *options);
/* convert --to dcp. */
ExitCode saved_export_dcp(Compile *c, const Options *options);

#endif
