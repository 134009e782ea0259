/* flow.h -- steps and exchanges of all stages of a pipeline in one list: each item is after all
 * that it waits for, so that one pass over the list has the times of all. */
#ifndef LOCKSTEP_FLOW_H
#define LOCKSTEP_FLOW_H

#include "compiler/job/pipelines/pipeline.h"

enum { FLOW_PEERS = 3 };

typedef struct FlowItem {
  int64_t tick;
  int32_t stage, chunk, microbatch; /* chunk: of the stage; of a step */
  int32_t input; /* the exchange that brings what a step needs; NO_ID: none does */
  int8_t action; /* PipeAction; NO_ID: an exchange */
  int8_t sends, receives, peers;
  int32_t peer[FLOW_PEERS]; /* the items at the other ends of an exchange */
} FlowItem;

typedef struct Flow {
  PipeShape shape;
  const Pipeline *pipeline;
  FlowItem *items;
  int32_t count;
} Flow;

/* The last flows that have been made, by their shapes. Begins as zeroes. */
typedef struct Flows {
  Arena *arena;
  VEC(const Flow *) made;
  int64_t item_count; /* of all */
} Flows;

/* Until the flows are asked again. */
const Flow *flow_of(Flows *flows, PipeShape shape);
void flows_free(Flows *flows);

#endif
