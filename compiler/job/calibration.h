/* calibration.h -- the file of measured rates: calibration.def says what is in it. `lockstep bench`
 * writes it, and of a job only cluster.calibration reads it, so that a plan follows from the job.
 */
#ifndef LOCKSTEP_JOB_CALIBRATION_H
#define LOCKSTEP_JOB_CALIBRATION_H

#include "compiler/base/base.h"

typedef enum CalibrationRate {
#define RATE(name, about) CALIBRATION_##name,
#include "compiler/job/calibration.def"
#undef RATE
  CALIBRATION_RATES
} CalibrationRate;

typedef struct Calibration {
  const char *processor;           /* as `lockstep version --kernels` names it */
  const char *device;              /* as nvidia-smi names it; NULL: a machine without GPUs */
  double per_s[CALIBRATION_RATES]; /* 0: not measured */
  const char *day[CALIBRATION_RATES];
  Span at[CALIBRATION_RATES];
} Calibration;

extern const char *const calibration_names[CALIBRATION_RATES];

/* False: reported. `at`: the key that names the file. */
bool calibration_read(Compile *c, const char *path, Span at, Calibration *out);

/* Writes the file in place of an older one, whole or not at all. False: errno says why. */
bool calibration_write(Arena *arena, const char *path, const Calibration *from);

#endif
