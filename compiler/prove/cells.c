#include <stdlib.h>
#include <string.h>

#include "compiler/prove/search.h"
#include "compiler/prove/step.h"

enum { CELLS_MAX = 1 << 24 };

const char *cell_name(const Step *s, const Cell *cell) {
  return plan_string(s->view->plan, s->view->plan->tensors[cell->tensor].name);
}

uint32_t cell_kind(const Step *s, const Cell *cell) {
  return s->view->plan->tensors[cell->tensor].kind;
}

uint32_t comm_axes(const Step *s, uint32_t comm) {
  return s->view->plan->comms[comm].axes_mask & s->all_axes;
}

static int compare_cells(const void *a, const void *b) {
  const Cell *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t count_cells(const View *view) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < view->class->tensors_count; i++)
    count += view->plan->tensors[view->class->tensors_first + i].layer_count;
  return count;
}

static void fill_cells(Step *s) {
  const Plan *plan = s->view->plan;
  for (uint32_t i = 0; i < s->view->class->tensors_count; i++) {
    uint32_t index = s->view->class->tensors_first + i;
    const PlanTensor *tensor = &plan->tensors[index];
    if ((uint64_t)tensor->elements * (uint64_t)dtype_bytes((DType)tensor->dtype) !=
        tensor->size_bytes)
      prove_finding(s->view, NULL, -1, "step", "tensor %.60s: %lld elements are not %llu bytes",
                    plan_string(plan, tensor->name), (long long)tensor->elements,
                    (unsigned long long)tensor->size_bytes);
    for (uint32_t l = 0; l < tensor->layer_count; l++) {
      uint64_t first = plan_address(tensor->tier, tensor->offset) + l * tensor->layer_stride;
      s->cells[s->cell_count++] =
          (Cell){.first = first,
                 .end = first + tensor->size_bytes,
                 .tensor = index,
                 .layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)l};
    }
  }
  qsort(s->cells, s->cell_count, sizeof *s->cells, compare_cells);
  for (uint32_t i = 0; i < s->cell_count; i++) {
    Cell *cell = &s->cells[i];
    cell->gradient = (Gradient){.first = cell->first,
                                .end = cell->end,
                                .home = PLAN_NONE,
                                .microbatch_first = -1,
                                .microbatch_last = -1};
    if (i > 0 && cell->first < cell[-1].end)
      prove_finding(s->view, NULL, -1, "step", "tensors %.40s and %.40s share bytes",
                    cell_name(s, cell - 1), cell_name(s, cell));
  }
}

Cell *find_cell(const Step *s, uint64_t offset) {
  return s->cells + SEARCH(s->cells, s->cell_count, end, offset + 1);
}

/* Every tensor lies in one persistent buffer, or what happens to it would go unseen. */
static void mark_buffers(Step *s) {
  const PlanClass *class = s->view->class;
  uint64_t held = 0;
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &s->view->plan->buffers[class->buffers_first + i];
    if (buffer->program != PLAN_NONE) continue;
    const Cell *cell = find_cell(s, buffer_address(buffer));
    for (; cell < s->cells + s->cell_count &&
           cell->end <= buffer_address(buffer) + buffer->size_bytes &&
           cell->first >= buffer_address(buffer);
         cell++) {
      s->has_cells[i] = true;
      held++;
    }
  }
  if (held != s->cell_count)
    prove_finding(s->view, NULL, -1, "step", "%llu of %u tensors lie in no persistent buffer",
                  (unsigned long long)(s->cell_count - held), s->cell_count);
}

bool cells_open(Step *s) {
  uint64_t count = count_cells(s->view);
  if (count > CELLS_MAX) {
    prove_finding(s->view, NULL, -1, "step", "%llu tensors: too many to prove",
                  (unsigned long long)count);
    return false;
  }
  s->cells = prove_array(s->view, count, sizeof *s->cells);
  s->has_cells = prove_array(s->view, s->view->class->buffers_count, sizeof *s->has_cells);
  if (s->cells == NULL || s->has_cells == NULL) return false;
  fill_cells(s);
  mark_buffers(s);
  return true;
}

void cells_close(Step *s) {
  free(s->cells), free(s->has_cells);
  sorted_free(&s->marks), sorted_free(&s->slots);
}

Cell *find_sibling(const Step *s, const Cell *cell, BufferKind kind) {
  const Plan *plan = s->view->plan;
  for (uint32_t i = 0; i < s->view->class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[s->view->class->tensors_first + i];
    if (tensor->kind != (uint32_t)kind ||
        strcmp(plan_string(plan, tensor->name), cell_name(s, cell)) != 0)
      continue;
    int64_t number = tensor->layer_first < 0 ? 0 : (int64_t)cell->layer - tensor->layer_first;
    if ((cell->layer < 0) != (tensor->layer_first < 0) || number < 0 ||
        number >= tensor->layer_count)
      continue;
    return find_cell(s, plan_address(tensor->tier, tensor->offset) +
                            (uint64_t)number * tensor->layer_stride);
  }
  return NULL;
}

/* The communicator through whose pieces an operand goes, and the step between them. PLAN_NONE: it
 * stands still. False: it moves in two ways. */
static bool moves_by(const Step *s, const PlanOperand *operand, uint32_t *by, int64_t *stride) {
  const PlanBinding *binding =
      &s->view->plan->bindings[s->walk->call->bindings_first + operand->base];
  bool with_base = binding->by != PLAN_NONE && binding->member_stride != 0;
  bool alone = operand->by != PLAN_NONE && operand->member_stride != 0;
  *by = alone ? operand->by : with_base ? binding->by : PLAN_NONE;
  *stride = alone ? operand->member_stride : with_base ? binding->member_stride : 0;
  if (with_base && alone) *stride += binding->member_stride;
  return !with_base || !alone || operand->by == binding->by;
}

static void check_pieces(const Step *s, uint32_t index, const Reach *r, int64_t stride) {
  const Cell *end = s->cells + s->cell_count, *next = r->cell + 1;
  if (r->cell_count != 1 || r->first != r->cell->first || stride < 0 ||
      (uint64_t)stride != r->end - r->first || r->row_end < r->cell->end ||
      (next < end && next->first < r->row_end))
    FINDING(s, "operand %u: the ranks' pieces are not all of %.60s and nothing else", index,
            cell_name(s, r->cell));
}

/* Blocks of one layer's parameters or gradients say which layer's they are. */
static void check_layer(const Step *s, uint32_t index, const Reach *r) {
  if (r->buffer == PLAN_NONE) return;
  const PlanBuffer *buffer = &s->view->plan->buffers[r->buffer];
  int32_t layer = s->walk->call->layer;
  bool block =
      buffer->program != PLAN_NONE && (buffer->kind == BUFFER_PARAM || buffer->kind == BUFFER_GRAD);
  if (block && buffer->layer >= 0 && layer >= 0 && buffer->layer != layer)
    FINDING(s, "operand %u reaches %.60s of layer %d", index,
            plan_string(s->view->plan, buffer->name), buffer->layer);
}

Reach reach(const Step *s, uint32_t index) {
  const PlanOperand *operand = &s->view->plan->operands[s->record->operands_first + index];
  Reach r = {.buffer = walk_buffer(s->walk, operand->base),
             .unit = (uint64_t)dtype_bytes((DType)operand->dtype),
             .access = (Access)operand->access};
  r.first = walk_base(s->walk, operand->base) + view_operand(s->view, operand);
  r.end = r.row_end = r.first + operand->size_bytes;
  uint32_t by = PLAN_NONE;
  int64_t stride = 0;
  bool plain = moves_by(s, operand, &by, &stride);
  if (by != PLAN_NONE) {
    r.split = comm_axes(s, by);
    r.row_end += (uint64_t)(stride * ((int64_t)plan_comm_size(s->view->plan, by) - 1));
  }
  check_layer(s, index, &r);
  if (r.buffer == PLAN_NONE || !s->has_cells[r.buffer - s->view->class->buffers_first]) return r;
  r.cell = find_cell(s, r.first);
  int32_t layer = s->walk->call->layer;
  for (Cell *c = r.cell; c < s->cells + s->cell_count && c->first < r.end; c++, r.cell_count++) {
    if (r.split == 0 && (c->first < r.first || r.end < c->end))
      FINDING(s, "operand %u reaches only a part of %.60s", index, cell_name(s, c));
    if (c->layer >= 0 && layer >= 0 && c->layer != layer)
      FINDING(s, "operand %u reaches %.60s of layer %d", index, cell_name(s, c), c->layer);
  }
  if (r.cell_count > 0 && r.split != 0) check_pieces(s, index, &r, stride);
  if (!plain) FINDING(s, "operand %u moves along two communicators", index);
  return r;
}
