/* inputs.c -- checks that the job's data provide what the model reads. */
#include "compiler/graph/model/model.h"
#include "compiler/job/data.h"
#include "runtime/plan/plan_inputs.h"

bool model_check_inputs(Compile *c, const Job *job, Graph *g) {
  DataInputs inputs = {0};
  for (int32_t i = 0; i < g->inputs.count; i++) {
    const GraphInput *input = &g->inputs.at[i];
    const Value *value = graph_value(g, input->value);
    DataInput out = {.name = input->name,
                     .elements = value_elements(g, input->value) / job->train.microbatch,
                     .is_ids = value->dtype == DTYPE_I32,
                     .vocab = g->inputs.at[i].vocab,
                     .is_stream = input->role == INPUT_TOKENS || input->role == INPUT_TARGETS ||
                                  input_is_of_documents(input->role),
                     .at = input->at};
    if (value->dim_count == 2) out.feature = g->dims.at[value->dims[1]].name;
    VEC_PUSH(c->arena, &inputs, out);
  }
  return spec_data_inputs(c, job, &inputs, graph_dim(g, "vocab") != NO_ID);
}
