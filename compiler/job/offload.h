/* offload.h -- rules of section offload. Private to job/. */
#ifndef LOCKSTEP_JOB_OFFLOAD_H
#define LOCKSTEP_JOB_OFFLOAD_H

#include "compiler/job/job_room.h"

/* The { "cpu", share = "60%" } or most = "40GB" of a key; NULL: it takes no such table. */
Amount *offload_part(Job *job, int32_t field);
bool offload_check_part(Compile *c, const JobValue *value, int32_t field, Job *job);
void offload_rules(Compile *c, Job *job);

#endif
