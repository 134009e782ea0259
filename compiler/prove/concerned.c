/* concerned.c -- which records of a call have to do with tensors, their blocks and gradients: a few
 * of each layer's. The others work on samples alone, and as long as no gradient stands there on its
 * way, the step has nothing to ask them. */
#include <stdlib.h>

#include "compiler/prove/step.h"

enum { BASES_MAX = 64 };

/* Bases of the call that hold samples. False: too many bases for a mask. */
static bool mask_of(const Step *s, uint64_t *mask) {
  *mask = 0;
  if (s->walk->segment->bases_count > BASES_MAX) return false;
  for (uint32_t base = 0; base < s->walk->segment->bases_count; base++) {
    uint32_t buffer = walk_buffer(s->walk, base);
    if (buffer != PLAN_NONE && holds_samples(s, buffer)) *mask |= (uint64_t)1 << base;
  }
  return true;
}

/* Gradients that stand among samples are followed record by record. */
static bool gradients_among(const Step *s, uint64_t mask) {
  for (uint32_t base = 0; base < s->walk->segment->bases_count && s->marks.count > 0; base++) {
    if ((mask >> base & 1) == 0) continue;
    const PlanBuffer *buffer = &s->view->plan->buffers[walk_buffer(s->walk, base)];
    if (gradients_in(s, buffer_address(buffer), buffer_address(buffer) + buffer->size_bytes))
      return true;
  }
  return false;
}

typedef enum Concern {
  CONCERN_NONE,
  CONCERN_SOME,
  CONCERN_MOVES /* may carry a gradient to where samples are */
} Concern;

/* Kernels whose role asks for more than operands are of concern wherever they work. */
static bool asks_more(const Step *s, const PlanRecord *record) {
  if (record->kind == RECORD_LOAD) return true;
  if (record->kind != RECORD_KERNEL) return false;
  switch ((KernelRole)s->role[record->kernel]) {
  case ROLE_UPDATE:
  case ROLE_SQUARE_SUM:
  case ROLE_SUM:
  case ROLE_GRAD_NORM:
  case ROLE_INIT:
  case ROLE_FILL: return true;
  default: return false;
  }
}

static Concern concern_of(const Step *s, const PlanRecord *record, uint64_t mask) {
  bool reads = false, writes = false, samples = false;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &s->view->plan->operands[record->operands_first + i];
    bool sample = mask >> operand->base & 1;
    reads = reads || (!sample && operand->access != ACCESS_WRITE);
    writes = writes || (!sample && operand->access != ACCESS_READ);
    samples = samples || (sample && operand->access != ACCESS_READ);
  }
  bool carries = record_is_communication(record) ||
                 (record->kind == RECORD_KERNEL &&
                  (s->role[record->kernel] == ROLE_CAST || s->role[record->kernel] == ROLE_ADD));
  if (carries && reads && samples) return CONCERN_MOVES;
  return reads || writes || asks_more(s, record) ? CONCERN_SOME : CONCERN_NONE;
}

/* Looks at the records of the segment; false: all of them are of concern. */
static bool list_records(const Step *s, Concerned *list, uint64_t mask) {
  const PlanSegment *segment = s->walk->segment;
  uint32_t *grown = realloc(list->record, (segment->records_count + 1) * sizeof *grown);
  if (grown == NULL) return false;
  *list = (Concerned){.record = grown, .mask = mask, .known = true};
  for (uint32_t i = 0; i < segment->records_count; i++) {
    Concern concern = concern_of(s, walk_record(s->walk, i), mask);
    if (concern == CONCERN_MOVES) list->all = true;
    if (concern != CONCERN_NONE) list->record[list->count++] = i;
  }
  return true;
}

const Concerned *concerned_records(Step *s) {
  Concerned *list = &s->concerned[s->walk->call->segment];
  uint64_t mask = 0;
  if (!mask_of(s, &mask) || gradients_among(s, mask)) return NULL;
  if ((!list->known || list->mask != mask) && !list_records(s, list, mask)) return NULL;
  return list->all ? NULL : list;
}
