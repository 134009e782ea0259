/* rank_use.h -- a rank whose plan does not train: it evaluates, or draws tokens. */
#ifndef LOCKSTEP_RANK_USE_H
#define LOCKSTEP_RANK_USE_H

#include "runtime/process/text.h"
#include "runtime/rank/rank_state.h"

/* Sums over data.valid. */
bool rank_validate(Rank *rank, int64_t step, LossSums *all, Status *status);

/* Writes a line for each document of data.valid; the plan has one sample a micro-batch and one
 * replica. */
bool rank_each_document(Rank *rank, const char *path, LossSums *all, Status *status);
/* Sums up and writes "logits" [samples, context, classes], fp32, and "targets", of the loss with
 * this number, to a file of safetensors. */
bool rank_write_logits(Rank *rank, int32_t loss, const char *path, LossSums *all, Status *status);
/* Adds "losses" with a member for each of them, if the model has more than one of weight 1. */
void rank_add_json_losses(Text *text, const PlanLosses *losses, const LossSums *sums);
/* Evaluates all of data.valid; rank 0 prints the result. */
bool rank_evaluate(Rank *rank, Status *status);
/* Returns how many ranks add the same summand to the sums of control values. */
double rank_copies(const Plan *plan);

/* Rank 0 writes RUN/predicted: of each row of data.valid what the loss would compare, doubles. */
bool rank_predict(Rank *rank, Status *status);

/* Continues from the prompts of RUN/prompts.json; rank 0 writes RUN/drawn.json. */
bool rank_sample(Rank *rank, Status *status);

/* ---- also of a rank that trains */

/* Once, on rank 0: why a GPU's program is not a graph, though it was to be; else NULL. */
const char *rank_graph_fault(Rank *rank, ProgramKind kind);

#endif
