/* paths.h -- names and paths as other rooms need them, too. */
#ifndef LOCKSTEP_SPEC_PATHS_H
#define LOCKSTEP_SPEC_PATHS_H

#include "compiler/job/job.h"

char *path_join(Arena *arena, const char *directory, const char *path); /* normalised */
TextList library_names(Compile *c, const char *folder);                 /* sorted: sandbox_find.c */
const char *text_show(Arena *arena, const char *text);                  /* as it may be printed */

#endif
