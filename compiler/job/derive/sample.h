/* sample.h -- section `sample` of a job: parts of spec_derive, before degrees are known and after.
 */
#ifndef LOCKSTEP_JOB_SAMPLE_H
#define LOCKSTEP_JOB_SAMPLE_H

#include "compiler/job/job.h"

/* False: reported. */
bool sample_refuse(Compile *c,
                   const Job *job); /* keys of the section, in a use that draws nothing */
bool sample_derive(Compile *c, Job *job, int64_t positions);
/* False: sample or predict has replicas, which is reported. */
bool sample_check_ranks(Compile *c, const Job *job, const Derived *derived);

#endif
