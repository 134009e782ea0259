#include "compiler/plan/prove/types/cells.h"

#include <stdlib.h>

static int by_address(const void *a, const void *b) {
  const Standing *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static void list_tensors(const View *view, Cells *cells) {
  const PlanTensor *tensor = view->plan->tensors + view->class->tensors_first;
  const PlanTensor *end = tensor + view->class->tensors_count;
  uint32_t count = 0;
  for (const PlanTensor *at = tensor; at < end; at++)
    count += at->layer_count;
  cells->standing = ARENA_ARRAY(view->arena, Standing, count);
  for (; tensor < end; tensor++)
    for (uint32_t i = 0; i < tensor->layer_count; i++)
      cells->standing[cells->standing_count++] =
          (Standing){plan_address(tensor->tier, tensor->offset + i * tensor->layer_stride),
                     (uint32_t)(tensor - view->plan->tensors),
                     tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)i};
  qsort(cells->standing, count, sizeof *cells->standing, by_address);
}

static void join_bases(const Walk *walk, Intervals *reached) {
  const Plan *plan = walk->view->plan;
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    if (plan->buffers[walk_buffer(walk, base)].program != PLAN_NONE) continue;
    uint64_t first = walk_base(walk, base);
    uint64_t end = first + plan->bases[walk->segment->bases_first + base].size_bytes;
    intervals_join(walk->view->arena, reached, first, end);
  }
}

static void join_lasting(const View *view, const Cells *cells, Intervals *reached) {
  for (uint32_t i = 0; i < cells->standing_count; i++) {
    const Standing *at = &cells->standing[i];
    const uint64_t end = at->first + view->plan->tensors[at->tensor].size_bytes;
    intervals_join(view->arena, reached, at->first, end);
  }
  for (uint32_t i = 0; i < view->class->programs_count; i++) {
    Walk walk = walk_begin(view, &view->plan->programs[view->class->programs_first + i], WALK_ONCE);
    while (walk_next(&walk))
      join_bases(&walk, reached);
  }
}

Cells cells_open(const View *view) {
  Cells cells = {0};
  Interval at = {0};
  list_tensors(view, &cells);
  join_lasting(view, &cells, &cells.lasting);
  for (const Interval *met; (met = intervals_find(&cells.lasting, at.end)) != NULL;) {
    at = (Interval){met->first, met->end, cells.lasting_count++};
    intervals_put(view->arena, &cells.lasting, at);
  }
  cells.count = cells.lasting_count + view->class->buffers_count;
  return cells;
}

const Interval *lasting_cell(const Cells *cells, uint64_t address) {
  const Interval *in = intervals_find(&cells->lasting, address);
  return in != NULL && in->first <= address ? in : NULL;
}

Interval cell_of_base(const Walk *walk, const Cells *cells, uint32_t base) {
  const uint32_t in = walk_buffer(walk, base);
  const PlanBuffer *buffer = &walk->view->plan->buffers[in];
  if (buffer->program == PLAN_NONE) return *lasting_cell(cells, walk_base(walk, base));
  return (Interval){.first = buffer_address(buffer),
                    .number = cell_of_buffer(walk->view, cells, in)};
}
