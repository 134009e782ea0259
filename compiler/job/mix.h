/* mix.h -- lists of paths, and those with weights. */
#ifndef LOCKSTEP_JOB_MIX_H
#define LOCKSTEP_JOB_MIX_H

#include "compiler/job/job_room.h"

bool add_paths(Compile *c, const JobValue *value, const char *text, TextList *list);

/* True if the list of data.train has a table: a source with a weight. check_mix reads such a list.
 */
bool is_mix(const Raw *raw);
bool check_mix(Compile *c, const JobValue *value, TextList *list, Job *job);

#endif
