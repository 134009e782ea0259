/* orders.h -- the steps of one stage of a pipeline, in order. Private to pipelines/. */
#ifndef LOCKSTEP_ORDERS_H
#define LOCKSTEP_ORDERS_H

#include "compiler/pipelines/pipeline.h"

/* Appends the steps to out->steps, which has room for all. */
typedef void PipeOrder(const PipeShape *shape, int32_t stage, PipeStage *out);

/* So many forwards ahead, then forward and backward in turn. */
PipeOrder order_in_turn;
/* Of two chunks of a folded chain. */
PipeOrder order_folded;

#endif
