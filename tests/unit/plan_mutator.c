#include "tests/unit/plan_mutator.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/plan/plan_text.h"

uint32_t pick_below(Mutator *m, uint32_t limit) {
  m->state = m->state * 6364136223846793005u + 1442695040888963407u;
  return limit == 0 ? 0 : (uint32_t)(m->state >> 33) % limit;
}

bool mutant_said(Mutator *m, const char *format, ...) {
  va_list list;
  va_start(list, format);
  (void)vsnprintf(m->text, MUTATION_TEXT_BYTES, format, list);
  va_end(list);
  return true;
}

const char *mutant_record_name(const Mutator *m, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? m->b->strings + m->b->kernels[record->kernel].name
                                       : RecordKind_names[record->kind];
}

const char *mutant_call_name(const Mutator *m, const PlanCall *call) {
  return m->b->strings + m->b->segments[call->segment].name;
}

PlanProgram *pick_program(Mutator *m, ProgramKind kind) {
  PlanProgram *program = ANY(m, programs);
  for (int tries = 0; tries < 1000 && program->kind != (uint32_t)kind; tries++)
    program = ANY(m, programs);
  return program;
}

PlanCall *pick_call(Mutator *m) {
  const PlanProgram *program = pick_program(m, PROGRAM_TRAIN_STEP);
  if (program->calls_count == 0) return NULL;
  return &m->b->calls[program->calls_first + pick_below(m, program->calls_count)];
}

/* A segment that a training step calls. */
PlanSegment *pick_segment(Mutator *m) {
  const PlanCall *call = pick_call(m);
  return call == NULL ? NULL : &m->b->segments[call->segment];
}

PlanRecord *pick_record(Mutator *m) {
  for (int tries = 0; tries < 100; tries++) {
    const PlanSegment *segment = pick_segment(m);
    if (segment != NULL && segment->records_count > 0)
      return &m->b->records[segment->records_first + pick_below(m, segment->records_count)];
  }
  return NULL;
}

PlanRecord *pick_communication(Mutator *m) {
  for (int tries = 0; tries < 1000; tries++) {
    PlanRecord *record = pick_record(m);
    if (record == NULL) return NULL;
    if (plan_is_communication(record)) return record;
  }
  return NULL;
}

PlanOperand *pick_operand(Mutator *m) {
  for (int tries = 0; tries < 100; tries++) {
    const PlanRecord *record = pick_record(m);
    if (record != NULL && record->operands_count > 0)
      return &m->b->operands[record->operands_first + pick_below(m, record->operands_count)];
  }
  return NULL;
}
