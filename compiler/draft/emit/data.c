/* data.c -- what a run reads: the inputs of the model, and the files that they come from. */
#include "compiler/job/data.h"

#include <string.h>

#include "compiler/draft/emit/tables.h"
#include "runtime/csv/csv.h"
#include "runtime/plan/plan_inputs.h"

static uint32_t vocab_of(const GraphInput *input) {
  return input->vocab < INT32_MAX ? (uint32_t)input->vocab : INT32_MAX; /* ids are i32 */
}

/* Tokens and targets come from one file: below what both can take. */
uint32_t token_vocab(const Graph *g) {
  uint32_t count = 0;
  for (int32_t i = 0; i < g->inputs.count; i++) {
    const GraphInput *input = &g->inputs.at[i];
    if (input_is_columns(input->role) || input_is_of_documents(input->role) || input->vocab == 0)
      continue;
    if (count == 0 || vocab_of(input) < count) count = vocab_of(input);
  }
  return count;
}

/* A line of CSV: a name may hold a comma. */
static const char *columns_of(Tables *t, const Draft *d, const char *input) {
  for (int32_t i = 0; i < d->job->data.columns.count; i++) {
    const InputColumns *columns = &d->job->data.columns.at[i];
    if (strcmp(columns->input, input) != 0) continue;
    const char *text = "";
    for (int32_t k = 0; k < columns->names.count; k++) {
      size_t bytes = csv_quote(columns->names.at[k], NULL, 0);
      char *name = arena_alloc(t->arena, bytes);
      (void)csv_quote(columns->names.at[k], name, bytes);
      text = arena_printf(t->arena, "%s%s%s", text, k > 0 ? "," : "", name);
    }
    return text;
  }
  return "";
}

void emit_inputs(Tables *t, const Draft *d) {
  const Graph *g = d->train;
  for (int32_t i = 0; i < g->inputs.count; i++) {
    const GraphInput *input = &g->inputs.at[i];
    TABLE_PUSH(
        t, inputs,
        (PlanInput){.sample_elements = value_elements(g, input->value) / d->job->train.microbatch,
                    .dtype = graph_value(g, input->value)->dtype,
                    .role = input->role,
                    .name = table_string(t, input->name),
                    .columns = table_string(t, columns_of(t, d, input->name)),
                    .vocab = vocab_of(input)});
  }
}

void emit_files(Tables *t, const Draft *d) {
  const Job *job = d->job;
  const TextList *lists[] = {&job->data.train, &job->data.valid};
  if (job->data.head == CHOICE_SYNTHETIC) return;
  /* The words of data.format after "auto" are DataFormat's, in its order. */
  uint32_t format = job->data.head == CHOICE_TABLE ? FORMAT_CSV : (uint32_t)job->data.format - 1;
  for (uint32_t v = 0; v < 2; v++)
    for (int32_t i = 0; i < lists[v]->count; i++)
      TABLE_PUSH(t, files,
                 (PlanFile){v, format, table_string(t, lists[v]->at[i]),
                            v == 0 && job_may_lack_targets(job)});
}
