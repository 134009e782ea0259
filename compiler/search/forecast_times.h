/* forecast_times.h -- how long the segments of each stage take, with the links that the stage has.
 * Private to forecast.c and forecast_times.c. */
#ifndef LOCKSTEP_FORECAST_TIMES_H
#define LOCKSTEP_FORECAST_TIMES_H

#include "compiler/draft/draft.h"

typedef enum PartList { LIST_FORWARD, LIST_RECOMPUTE, LIST_BACKWARD, LIST_WEIGHT, LISTS } PartList;

/* Of a segment. */
typedef struct SegmentTimes {
  int64_t ns;      /* -1: not yet known */
  int64_t read_ns; /* until gathered weights are read for the last time */
} SegmentTimes;

/* The times of a region's code, by the flags of a call; and of what goes on around one of its
 * layers on the lane of weights and gradients. */
typedef struct RegionTimes {
  SegmentTimes at[LISTS][1 << CALL_FLAGS_BITS];
  int64_t fetch_ns, refetch_ns, reduce_ns;
  int64_t cast_ns, recast_ns; /* fetches on the lane of their readers */
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
  uint32_t free_axes; /* over which sending takes no time */
  StageLinks **look;  /* by stage */
  bool gathers;       /* weights before layers */
  bool reduces;       /* gradients of every micro-batch */
} ForecastTimes;

ForecastTimes times_measure(Arena *arena, const Draft *d, const Placement *at, uint32_t free_axes);

const PlanLink *times_link(const ForecastTimes *t, int32_t stage, uint32_t axes);

/* Of a call without flags; of no segment: 0. */
int64_t times_segment(const ForecastTimes *t, int32_t stage, int32_t number);

/* Of a part of layer u of the chain; and what goes on around it. */
SegmentTimes times_layer(const ForecastTimes *t, int32_t stage, int32_t u, PartList list);
const RegionTimes *times_around(const ForecastTimes *t, int32_t stage, int32_t u);

#endif
