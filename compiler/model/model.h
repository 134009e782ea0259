/* model.h -- a Lua model description, run once over symbolic values: names, dims and ops come out,
 * never numbers.
 *
 * In:  job->model (name or file, sizes) and the micro-batch's batch and seq.   Out: a forward
 * graph. Presets follow the chain { "family", size = n, params = N }; params is checked against the
 * traced count. */
#ifndef LOCKSTEP_MODEL_H
#define LOCKSTEP_MODEL_H

#include "compiler/graph/graph.h"
#include "compiler/spec/job.h"

typedef struct Model Model; /* an open model: family, sizes resolved */

/* Finds the file chain, merges sizes (job over preset over family). NULL when reported. */
Model *model_open(Compile *c, const Job *job);
void model_close(Model *model);

/* A size by name (layers, positions, ...), or `absent`. */
double model_size(const Model *model, const char *name, double absent);

/* Traces with batch = microbatch and seq = context. training = false: dropout makes no node. NULL
 * when reported. */
Graph *model_trace(Compile *c, Model *model, int64_t microbatch, int64_t context, bool training);

/* Holds the model's inputs against the job's data, as a run will when it opens them. False when
 * reported. */
bool model_check_inputs(Compile *c, const Job *job, Graph *g);

/* Parameters of the whole model: each layer counted. */
int64_t model_parameters(const Graph *g);

#endif
