/* kinds.h -- checks of the kinds of values, by what they hold: check_number.c, check_choice.c,
 * check_list.c. Each sets the field of the job, or reports and returns false. */
#ifndef LOCKSTEP_JOB_KINDS_H
#define LOCKSTEP_JOB_KINDS_H

#include "compiler/job/job_room.h"

typedef bool KindCheck(Compile *c, const JobValue *value, int32_t field, Job *job);

KindCheck check_count, check_count_or, check_number, check_amount, check_bytes, check_bytes_or,
    check_rate;
KindCheck check_choice;
KindCheck check_list, check_counts, check_columns;

/* One number of a value; `number` must be in the field's range. */
bool check_range(Compile *c, const JobValue *value, int32_t field, double number);

/* The fix of the last error: the value as it was probably meant, if that is known. */
void fix_value(Compile *c, const JobValue *value, int32_t field);

/* The same of a word; `near`: the nearest word, or NULL: then the default, or to leave a derived
 * key out. */
void fix_choice(Compile *c, int32_t field, const char *near);

/* True if the value asks for a derived one, as dp = "auto" and dp = -1 do: the fix of the last
 * error is to leave the key out. */
bool say_derived(Compile *c, const JobValue *value, int32_t field);

#endif
