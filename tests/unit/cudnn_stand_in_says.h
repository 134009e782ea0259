/* cudnn_stand_in_says.h -- what tests tell cuDNN's stand-in, and what it tells them. */
#ifndef LOCKSTEP_TESTS_CUDNN_STAND_IN_SAYS_H
#define LOCKSTEP_TESTS_CUDNN_STAND_IN_SAYS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CudnnStandInSays {
  bool has_no_engine, refuses_plans, cannot_compile, fails;
  int64_t first_wants_bytes; /* workspace of its first engine beyond that of the second */
} CudnnStandInSays;

typedef struct CudnnStandInSeen {
  int64_t calls, compiled, live;         /* live: descriptors that were not destroyed */
  int64_t own_calls, engine, operations; /* of this thread: its calls, and the last of them */
} CudnnStandInSeen;

typedef void CudnnStandInSay(const CudnnStandInSays *says);
typedef void CudnnStandInSee(CudnnStandInSeen *seen);

#endif
