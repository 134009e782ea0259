#include "compiler/prove/types/types.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/types/forms.h"
#include "compiler/prove/types/programs.h"
#include "compiler/prove/types/tensors.h"
#include "runtime/plan/plan_text.h"

/* Of an evaluation: as many as its calls number. */
static int64_t count_microbatches(const Plan *plan, const PlanProgram *program) {
  int64_t count = 0;
  if (program->kind != PROGRAM_EVAL_STEP) return plan->jobs[0].accumulation;
  for (uint32_t i = 0; i < program->calls_count; i++) {
    int64_t number = plan->calls[program->calls_first + i].microbatch;
    if (number >= count) count = number + 1;
  }
  return count;
}

static void run(Typing *t, Effects *effects, ProgramKind kind, Held *held) {
  const PlanProgram *program = view_program(t->view, kind);
  if (program == NULL) {
    refuse(t, "there is no %s", ProgramKind_names[kind]);
    return;
  }
  t->microbatches = count_microbatches(t->plan, program);
  run_program(t, effects, program, held);
  if (!t->refused && kind != PROGRAM_INIT) loss_end(t, held);
}

/* Steps until one finds what the one before it has found. */
static void run_steps(Typing *t, Effects *effects, const Tensors *tensors, Held *start,
                      Held *held) {
  size_t bytes = t->cells.count * sizeof *held;
  do {
    memcpy(held, start, bytes);
    run(t, effects, PROGRAM_TRAIN_STEP, held);
    if (!t->refused) tensors_end(t, tensors, held, true);
  } while (!t->refused && tensors_meet(t, start, held));
  if (t->refused || view_program(t->view, PROGRAM_EVAL_STEP) == NULL) return;
  memcpy(held, start, bytes);
  run(t, effects, PROGRAM_EVAL_STEP, held);
  if (!t->refused) tensors_end(t, tensors, held, false);
}

/* What only all stages together show. */
static void check_stages(Typing *t, uint64_t squares, uint32_t losses) {
  t->walk.call = NULL;
  t->at = NULL;
  check_joins(t);
  if (!t->refused && squares != all_squares(t))
    refuse(t, "the norm is not of the square of each gradient once, over all stages");
  if (!t->refused && losses != 1) refuse(t, "%u classes of ranks make a loss, not one", losses);
}

static void run_class(Typing *t, Effects *effects) {
  Tensors tensors = {0};
  bool ready = cells_open(t->view, &t->cells) && tensors_open(t, &tensors);
  Held *start = ready ? prove_array(t->view, t->cells.count, sizeof *start) : NULL;
  Held *held = ready ? prove_array(t->view, t->cells.count, sizeof *held) : NULL;
  if (start != NULL && held != NULL) {
    if (view_program(t->view, PROGRAM_SNAPSHOT) != NULL)
      refuse(t, "no rule says what a snapshot does");
    if (!t->refused) run(t, effects, PROGRAM_INIT, start);
    if (!t->refused) tensors_begin(t, &tensors, start);
    if (!t->refused) run_steps(t, effects, &tensors, start, held);
  }
  tensors_close(&tensors);
  cells_close(&t->cells);
  free(start);
  free(held);
}

void prove_types(const View *views, uint32_t count) {
  if (views[0].plan->axes_count > TYPE_AXES_MAX) {
    prove_finding(&views[0], NULL, -1, "types", "the mesh has more than %d axes", TYPE_AXES_MAX);
    return;
  }
  if (views[0].plan->regions_count == 0) {
    prove_finding(&views[0], NULL, -1, "types", "the plan does not say what it should compute");
    return;
  }
  Typing *t = prove_array(&views[0], 1, sizeof *t);
  if (t == NULL) return;
  Effects effects = {0};
  t->view = &views[0];
  t->plan = views[0].plan;
  t->contract = prove_contracts(&views[0]);
  bool ready = meaning_open(&views[0], &t->meaning) && types_open(&t->types) &&
               contents_open(&t->contents) && effects_open(&effects) && t->contract != NULL &&
               forms_open(t);
  uint64_t squares = 0;
  uint32_t losses = 0;
  bool refused = false;
  for (uint32_t i = 0; i < count && ready; i++) {
    t->view = &views[i];
    t->refused = false;
    effects_forget(&effects);
    t->squares = 0;
    t->has_loss = false;
    run_class(t, &effects);
    squares += t->squares;
    losses += t->has_loss;
    refused = refused || t->refused;
  }
  if (ready && !refused) check_stages(t, squares, losses);
  if (!ready || t->types.out_of_memory)
    prove_finding(&views[0], NULL, -1, "types", "out of memory while proving");
  for (uint32_t i = 0; i < TYPING_BASES_MAX; i++)
    free(t->reached[i].spans.at);
  meaning_close(&t->meaning);
  types_close(&t->types);
  contents_close(&t->contents);
  effects_close(&effects);
  free((void *)t->contract);
  free(t->forms);
  free(t->tensor);
  free(t);
}
