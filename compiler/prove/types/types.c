#include "compiler/prove/types/types.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/types/programs.h"
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

static void run(Typing *t, ProgramKind kind, Held *held) {
  const PlanProgram *program = view_program(t->view, kind);
  if (program == NULL) {
    refuse(t, "there is no %s", ProgramKind_names[kind]);
    return;
  }
  t->microbatches = count_microbatches(t->plan, program);
  run_program(t, program, held);
  if (!t->refused && kind != PROGRAM_INIT) loss_check(t, held);
  if (!t->refused) tensors_check(t, held);
}

/* Steps and evaluations, until each finds what any of them, or init, leaves. */
static void run_steps(Typing *t, Held *start, Held *held) {
  static const ProgramKind kinds[] = {PROGRAM_TRAIN_STEP, PROGRAM_EVAL_STEP};
  for (bool changed = true; changed && !t->refused;) {
    changed = false;
    for (uint32_t i = 0; i < 2 && !t->refused; i++) {
      if (kinds[i] == PROGRAM_EVAL_STEP && view_program(t->view, kinds[i]) == NULL) continue;
      memcpy(held, start, t->cells.count * sizeof *held);
      run(t, kinds[i], held);
      changed = (!t->refused && tensors_meet(t, start, held)) || changed;
    }
  }
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

static void run_class(Typing *t) {
  bool ready = cells_open(t->view, &t->cells);
  Held *start = prove_array(t->view, t->cells.count, sizeof *start);
  Held *held = prove_array(t->view, t->cells.count, sizeof *held);
  t->refused = !ready || start == NULL || held == NULL;
  if (view_program(t->view, PROGRAM_SNAPSHOT) != NULL)
    refuse(t, "no rule says what a snapshot does");
  if (!t->refused) run(t, PROGRAM_INIT, start);
  if (!t->refused) run_steps(t, start, held);
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
  t->view = &views[0];
  t->plan = views[0].plan;
  t->contract = prove_contracts(&views[0]);
  bool ready = meaning_open(&views[0], &t->meaning) && types_open(&t->types) && t->contract != NULL;
  uint64_t squares = 0;
  uint32_t losses = 0;
  bool refused = false;
  for (uint32_t i = 0; i < count && ready; i++) {
    t->view = &views[i];
    t->squares = 0;
    t->has_loss = false;
    run_class(t);
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
  effects_close(&t->effects);
  free((void *)t->contract);
  free(t->forms);
  free(t);
}
