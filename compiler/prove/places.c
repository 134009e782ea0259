/* places.c -- where operands lie and what stands there: adjoint.h. */
#include "compiler/prove/adjoint.h"

Place adjoint_place(const Adjoint *a, uint32_t index) {
  const Plan *plan = a->view->plan;
  const PlanOperand *operand = operand_of(a, index);
  Place p = {.buffer = walk_buffer(a->walk, operand->base), .access = (Access)operand->access};
  p.first = walk_base(a->walk, operand->base) + view_operand(a->view, operand);
  p.end = p.first + operand->size_bytes;
  if (p.buffer != PLAN_NONE && plan->buffers[p.buffer].program != PLAN_NONE)
    p.stands = &a->stands[p.buffer - a->view->class->buffers_first];
  return p;
}

/* What stands in a place. Parts that stand side by side are one value; a gradient of theirs is the
 * sum of what they are sums of, as the value in whose parts they stand has all of these uses. */
Worth adjoint_worth(const Place *p, bool *exact) {
  Worth worth = {.nature = NATURE_UNKNOWN};
  *exact = false;
  if (p->stands == NULL)
    return (Worth){.name = adjoint_mix(adjoint_mix(7, p->first), p->end), .nature = NATURE_VALUE};
  uint32_t at = stands_find(p->stands, p->first);
  uint64_t reached = p->first;
  for (uint32_t i = at; i < p->stands->count && p->stands->at[i].first < p->end; i++) {
    const Stand *stand = &p->stands->at[i];
    bool whole = stand->first == p->first && stand->end == p->end;
    if (stand->first > reached) return (Worth){.nature = NATURE_UNKNOWN};
    if (whole) {
      *exact = true;
      return stand->worth;
    }
    bool within = stand->first >= p->first && stand->end <= p->end;
    uint64_t name =
        adjoint_mix(adjoint_mix(stand->worth.name, p->first - stand->first), p->end - stand->first);
    worth.known = stand->worth.known && within && (i == at || worth.known);
    worth.sum += stand->worth.sum;
    worth.name = adjoint_mix(worth.name, name);
    worth.input = i == at || worth.input == stand->worth.input ? stand->worth.input : 0;
    worth.nature =
        i == at || worth.nature == stand->worth.nature ? stand->worth.nature : NATURE_UNKNOWN;
    reached = stand->end;
  }
  return reached < p->end ? (Worth){.nature = NATURE_UNKNOWN} : worth;
}

void adjoint_unclear(Adjoint *a, const Place *p) {
  for (uint32_t i = p->stands == NULL ? 0 : stands_find(p->stands, p->first);
       p->stands != NULL && i < p->stands->count && p->stands->at[i].first < p->end; i++)
    uses_unclear(&a->uses, p->stands->at[i].worth.name);
}

/* A use of all that stands there, by one operand of an operation. */
void adjoint_use(Adjoint *a, const Place *p, bool exact, bool parts, uint64_t use) {
  if (p->stands == NULL) return;
  if (!exact && !parts) adjoint_unclear(a, p);
  for (uint32_t i = stands_find(p->stands, p->first);
       i < p->stands->count && p->stands->at[i].first < p->end; i++)
    uses_add(&a->uses, p->stands->at[i].worth.name, use);
}

/* Of a part of a value nothing more is known. */
void adjoint_write(Adjoint *a, const Place *p, Worth worth) {
  if (p->stands == NULL || p->first == p->end) return;
  uint32_t call = 2 * a->walk->position + a->walk->iteration;
  Stand stand = {p->first, p->end, call, a->record_index, worth};
  for (uint32_t i = stands_find(p->stands, p->first);
       i < p->stands->count && p->stands->at[i].first < p->end; i++) {
    const Stand *old = &p->stands->at[i];
    bool covered = p->first <= old->first && old->end <= p->end;
    bool same = old->call == stand.call && old->record == stand.record;
    if (!covered && !same && old->worth.nature != NATURE_GRADIENT)
      uses_unclear(&a->uses, old->worth.name);
    if (!same || worth.nature == NATURE_UNKNOWN || a->record->kind != RECORD_KERNEL) continue;
    /* Rows between rows: what one record writes there is one value. */
    if (old->first < stand.first) stand.first = old->first;
    if (old->end > stand.end) stand.end = old->end;
    stand.worth.sum += old->worth.sum;
    stand.worth.known = stand.worth.known && old->worth.known;
    stand.worth.name = adjoint_mix(stand.worth.name, old->worth.name);
  }
  a->failed |= !stands_put(p->stands, stand);
}

void adjoint_drop(Adjoint *a, const Place *p) {
  if (p->stands == NULL) return;
  for (uint32_t i = stands_find(p->stands, p->first);
       i < p->stands->count && p->stands->at[i].first < p->end; i++)
    if (p->stands->at[i].first < p->first || p->stands->at[i].end > p->end)
      uses_unclear(&a->uses, p->stands->at[i].worth.name);
  stands_remove(p->stands, p->first, p->end);
}

/* The tensor that an operand is, with its layer: 0 when it is none. Parameter and gradient of one
 * tensor have one number. */
uint64_t adjoint_tensor(const Adjoint *a, const Place *p) {
  const Plan *plan = a->view->plan;
  if (p->stands != NULL) return 0;
  for (uint32_t i = 0; i < a->view->class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[a->view->class->tensors_first + i];
    if (p->first < tensor->offset) continue;
    uint64_t layer =
        tensor->layer_stride == 0 ? 0 : (p->first - tensor->offset) / tensor->layer_stride;
    uint64_t first = tensor->offset + layer * tensor->layer_stride;
    if (layer >= tensor->layer_count || p->first >= first + tensor->size_bytes) continue;
    return adjoint_mix(adjoint_mix(11, tensor->name), layer) | 1;
  }
  return 0;
}

uint64_t adjoint_parameter(const Adjoint *a, const Place *p) {
  if (p->stands == NULL) return adjoint_tensor(a, p);
  return a->view->plan->buffers[p->buffer].kind == BUFFER_PARAM;
}
