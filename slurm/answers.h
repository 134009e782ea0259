/* answers.h -- finds Slurm's answer in what its programs print. Sites add lines to both streams:
 * wrappers print welcomes on stdout, job_submit.lua and plug-ins print on stderr, so each function
 * takes only lines of the exact form that it looks for. Pure functions of text. */
#ifndef LOCKSTEP_ANSWERS_H
#define LOCKSTEP_ANSWERS_H

#include "compiler/base/base.h"
#include "compiler/job/job.h"

/* The number of the job that sbatch --parsable queued: a line "123" or "123;cluster" of `out`, else
 * "Submitted batch job 123" of either, else such a line of `err`. NULL: no number was found, or
 * several different ones. */
const char *answer_number(Arena *arena, const char *out, const char *err);

/* The only one of `jobs` whose digits `out` or `err` contain; NULL: none, or more than one. */
const char *answer_mentioned(Arena *arena, const TextList *jobs, const char *out, const char *err);

/* A row "123 WORDS" of squeue or sacct. */
typedef struct AnswerRow {
  const char *job, *words;
} AnswerRow;
typedef VEC(AnswerRow) AnswerRows;

/* The rows about one of `jobs`; NULL: about any job. WORDS may be empty. */
AnswerRows answer_rows(Arena *arena, const char *out, const TextList *jobs);

/* 2205 of the line "slurm 22.05.8" or "slurm-wlm 22.05.8"; 0: there is none. */
int32_t answer_version(Arena *arena, const char *out);

#endif
