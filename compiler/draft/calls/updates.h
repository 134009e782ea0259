/* updates.h -- updates of layers whose states have left the device. Private to calls/. */
#ifndef LOCKSTEP_CALLS_UPDATES_H
#define LOCKSTEP_CALLS_UPDATES_H

#include "compiler/draft/calls/program.h"

typedef struct FarLayer {
  int32_t block;
  int64_t layer;
} FarLayer;

typedef VEC(FarLayer) FarLayers;

/* In the order in which the next forward reads them, because it waits for each layer alone. */
FarLayers updates_far(const Calls *t);

/* A file's lane reads the first layers' states as the step begins. */
void updates_begin(Calls *t, const FarLayers *far);

/* Gradients that have not left during backward leave, where host memory holds all: before anything
 * waits for the norm. */
void updates_grads_follow(Calls *t, FarLayers *far);

/* By the host's processors, or by the device, which the states pass. */
void updates_of_far(Calls *t, const FarLayers *far);

/* The states of the first layers that are updated on the device come before the norm is known. */
void updates_come(Calls *t, const FarLayers *far);

#endif
