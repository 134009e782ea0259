/* values.h -- kinds of values that keys of a job have. */
#ifndef LOCKSTEP_JOB_VALUES_H
#define LOCKSTEP_JOB_VALUES_H

#include "compiler/base/base.h"

typedef enum Unit {
  UNIT_NONE,
  UNIT_TOKENS,
  UNIT_SEQUENCES,
  UNIT_SAMPLES,
  UNIT_STEPS,
  UNIT_EPOCHS,
  UNIT_SECONDS,
  UNIT_BYTES,
  UNIT_PERCENT,
  UNIT_DOLLARS_PER_HOUR,
  UNIT_NANOSECONDS,
  UNIT_AUTO,
  UNIT_NEVER
} Unit;
typedef struct Amount {
  double value;
  Unit unit;
} Amount;
typedef VEC(const char *) TextList;
typedef VEC(int64_t) CountList;
typedef struct InputColumns {
  const char *input;
  TextList names;
} InputColumns;
typedef VEC(InputColumns) ColumnList;

/* An entry of data.train with weights. */
typedef struct MixSource {
  double weight;
  int32_t files;  /* of data.train: paths and patterns as written; after spec_data files */
  int64_t tokens; /* after spec_data */
} MixSource;
typedef VEC(MixSource) MixSourceList;

#endif
