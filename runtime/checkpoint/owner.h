/* owner.h -- for the files of this folder: which start of a run owns a directory of checkpoints,
 * and writing that reaches the disk. */
#ifndef LOCKSTEP_CHECKPOINT_OWNER_H
#define LOCKSTEP_CHECKPOINT_OWNER_H

#include "runtime/checkpoint/checkpoint.h"

/* DIRECTORY/owner has the number of starts, and who the last one is. A run that comes back from the
 * dead finds a newer number there. */

/* Adds one; `generation` is the new number. */
bool owner_take(const char *directory, int64_t *generation, Status *status);
/* That of the last start; 0: there was none. */
bool owner_generation(const char *directory, int64_t *generation, Status *status);
/* False: a newer start has taken the directory, or the file cannot be read. */
bool owner_is(const char *directory, int64_t generation, Status *status);

/* Writes a new file, synced and closed. False: errno says why, and there is no file. */
bool checkpoint_write_file(const char *path, const void *bytes, size_t count);
bool checkpoint_write_at(int descriptor, const void *bytes, size_t count, uint64_t offset);
/* Names in the folder reach the disk. */
bool checkpoint_sync_folder(const char *path);

/* Files that stay with a checkpoint: the record of the run, and the Lua files of its plan. A copy
 * that cannot be made is no failure, because the manifest has all that a resume needs. The names of
 * the sources are listed when the store is opened. */
void checkpoint_list_sources(CheckpointStore *store);
void checkpoint_keep_files(const CheckpointStore *store, const char *record, const char *folder);

/* One number for all parts of a save. */
uint64_t checkpoint_save_id(const CheckpointStore *store, int64_t step);

#endif
