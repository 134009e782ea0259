/* change.h -- changes keys of a job that has been read, as -D would: for questions such as "with
 * half of tp". It knows keys whose value is a number, a flag or a word. */
#ifndef LOCKSTEP_JOB_CHANGE_H
#define LOCKSTEP_JOB_CHANGE_H

#include "compiler/job/job.h"

/* The value of a key as a number; of a word, its index. */
int64_t field_number(const Job *job, int32_t field);

/* Sets it, as if a -D had said it. Chunks of an interleaved pipeline are 2. */
void field_change(Job *job, int32_t field, int64_t value);

/* As job.lua has it: 4, true, "cpu". */
const char *field_value(Arena *arena, int32_t field, int64_t value);

/* "tp" of parallel.tp */
const char *field_key(int32_t field);

#endif
