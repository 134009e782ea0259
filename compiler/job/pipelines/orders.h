/* orders.h -- the steps of one stage of a pipeline, in order. Private to pipelines/. */
#ifndef LOCKSTEP_ORDERS_H
#define LOCKSTEP_ORDERS_H

#include "compiler/job/pipelines/pipeline.h"

/* Appends the steps of `stage` to out->steps, which has room for all. */
typedef void PipeOrder(const PipeShape *shape, int32_t stage, PipeStage *out);

/* A number of forwards ahead, then forward and backward alternate. */
PipeOrder order_in_turn;
/* For a folded chain with two chunks a stage. */
PipeOrder order_folded;

#endif
