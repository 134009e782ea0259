/* forecast_times.h -- how long the segments of each stage take, with the links that the stage has.
 * Private to forecast.c and forecast_times.c. */
#ifndef LOCKSTEP_FORECAST_TIMES_H
#define LOCKSTEP_FORECAST_TIMES_H

#include "compiler/draft/draft.h"

typedef enum PartList { LIST_FORWARD, LIST_RECOMPUTE, LIST_BACKWARD, LIST_WEIGHT, LISTS } PartList;

/* The times of one call of a segment. */
typedef struct SegmentTimes {
  int64_t ns;      /* -1: not yet known */
  int64_t read_ns; /* until gathered weights are read for the last time */
} SegmentTimes;

/* The times of a region's segments, by the flags of a call, and of the communication of one of its
 * layers on the lane of weights and gradients. */
typedef struct RegionTimes {
  SegmentTimes at[LISTS][1 << CALL_FLAGS_BITS];
  int64_t fetch_ns, refetch_ns[2];   /* refetch: by whether the layer is last of its group */
  int64_t cast_ns, recast_ns[2];     /* fetches on the lane of their readers */
  int64_t reduce_ns[2], clear_ns[2]; /* by is_first; clear: zeroes before backward */
  bool reduces_here;                 /* on the lane of backward */
  bool loads;
} RegionTimes;

/* Links of a stage, and times along them. Stages whose links are equal share them. */
typedef struct StageLinks {
  PlanLink link[MESH_BIT(MESH_AXES)];
  RegionTimes *region;
  int64_t *segment_ns; /* by segment, of calls without flags; -1: not yet known */
} StageLinks;

typedef struct ForecastTimes {
  const Draft *d;
  Arena *arena;
  uint32_t free_axes; /* communication over these takes no time */
  StageLinks **look;  /* by stage */
  bool gathers;       /* weights are gathered before each layer */
  bool reduces;       /* gradients are reduced in every micro-batch, not only the last */
} ForecastTimes;

ForecastTimes times_measure(Arena *arena, const Draft *d, const Placement *at, uint32_t free_axes);

const PlanLink *times_link(const ForecastTimes *t, int32_t stage, uint32_t axes);

/* The time of a call without flags; 0 if there is no such segment (NO_ID). */
int64_t times_segment(const ForecastTimes *t, int32_t stage, int32_t number);

/* True if layers of the region are on the stage. */
bool times_is_on(const Draft *d, int32_t stage, RegionId region);

/* The time of a part of layer u of the chain, and the communication around that layer. `is_first`:
 * in the first micro-batch, which assigns gradients; later ones read them, too, and add. */
SegmentTimes times_layer(const ForecastTimes *t, int32_t stage, int32_t u, PartList list,
                         bool is_first);
const RegionTimes *times_around(const ForecastTimes *t, int32_t stage, int32_t u);

#endif
