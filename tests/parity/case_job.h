/* case_job.h -- a case of cover.h as a job file: a tiny model, divided as the case says. */
#ifndef LOCKSTEP_TESTS_CASE_JOB_H
#define LOCKSTEP_TESTS_CASE_JOB_H

#include <stdio.h>

#include "tests/parity/cover.h"

enum { CASE_VOCAB = 64, CASE_CONTEXT = 16 };

typedef struct CaseJob {
  const char *tokens, *valid; /* paths of the data */
  int64_t steps;
  bool alone; /* what it is compared with: the same job on one rank, nothing recomputed */
  bool is_bf16, bf16_wire; /* parameters and activations; gradients between ranks */
  double lr;               /* 0: the case's */
} CaseJob;

double case_lr(const Case *c);
void case_write(FILE *out, const Case *c, const CaseJob *job);

#endif
