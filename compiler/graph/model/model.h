/* model.h -- runs a model file, written in Lua, once over symbolic values: the result is names,
 * dimensions and ops, never numbers.
 *
 * In:  job->model (name or file, sizes) and the micro-batch's batch and seq.   Out: a forward
 * graph. Presets follow the chain { "family", size = n, params = N }; params is checked against the
 * traced count. */
#ifndef LOCKSTEP_MODEL_H
#define LOCKSTEP_MODEL_H

#include "compiler/graph/graph.h"
#include "compiler/job/job.h"

typedef struct Model Model; /* an open model: the family has been found and the sizes are known */

/* Finds the chain of files and merges their sizes: those of the job come before those of a preset,
 * and these before the family's. NULL: an error was reported. */
Model *model_open(Compile *c, const Job *job);
/* Adds the sizes that config.json gives, and the folder of weights, to the job, which then shows
 * where they came from. */
void model_complete(const Model *model, Compile *c, Job *job);
void model_close(Model *model);

/* A size by name (layers, positions, ...), or `absent`. */
double model_size(const Model *model, const char *name, double absent);

/* Its family is this one of the library: "llama". */
bool model_is_of(const Model *model, const char *family);

/* Traces with batch = microbatch and seq = context. With training = false dropout makes no node.
 * NULL: an error was reported. */
Graph *model_trace(Compile *c, Model *model, int64_t microbatch, int64_t context, bool training);

/* Compares the model's inputs with the job's data, as a run does when it opens them. False: an
 * error was reported. */
bool model_check_inputs(Compile *c, const Job *job, Graph *g);

/* The number of parameters of the whole model, with every layer counted. */
int64_t model_parameters(const Graph *g);

#endif
