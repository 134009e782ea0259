#include "compiler/prove/types/cells.h"

#include <stdlib.h>

#include "compiler/prove/intervals.h"

/* Bytes that are reached together, and all that are reached with some of them. False: no memory. */
static bool join(Intervals *reached, uint64_t first, uint64_t end) {
  const Interval *met = NULL;
  while ((met = intervals_find(reached, first)) != NULL && met->first < end) {
    const Interval old = *met;
    if (old.first <= first && end <= old.end) return true;
    if (old.first < first) first = old.first;
    if (old.end > end) end = old.end;
    intervals_remove(reached, old.first);
  }
  return intervals_put(reached, (Interval){.first = first, .end = end});
}

static int by_address(const void *a, const void *b) {
  const Standing *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

static bool list_tensors(const View *view, Cells *cells) {
  const PlanTensor *tensor = view->plan->tensors + view->class->tensors_first;
  const PlanTensor *end = tensor + view->class->tensors_count;
  uint32_t count = 0;
  for (const PlanTensor *at = tensor; at < end; at++)
    count += at->layer_count;
  cells->standing = prove_array(view, count, sizeof *cells->standing);
  if (cells->standing == NULL) return false;
  for (; tensor < end; tensor++)
    for (uint32_t i = 0; i < tensor->layer_count; i++)
      cells->standing[cells->standing_count++] =
          (Standing){plan_address(tensor->tier, tensor->offset + i * tensor->layer_stride),
                     (uint32_t)(tensor - view->plan->tensors),
                     tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)i};
  qsort(cells->standing, count, sizeof *cells->standing, by_address);
  return true;
}

static bool join_bases(const Walk *walk, Intervals *reached) {
  const Plan *plan = walk->view->plan;
  bool ready = true;
  for (uint32_t base = 0; base < walk->segment->bases_count && ready; base++) {
    uint32_t in = walk_buffer(walk, base);
    if (in == PLAN_NONE || plan->buffers[in].program != PLAN_NONE) continue;
    uint64_t first = walk_base(walk, base);
    uint64_t end = first + plan->bases[walk->segment->bases_first + base].size_bytes;
    uint64_t most = buffer_address(&plan->buffers[in]) + plan->buffers[in].size_bytes;
    ready = join(reached, first, end < most ? end : most); /* what is behind is not reached */
  }
  return ready;
}

static bool join_lasting(const View *view, const Cells *cells, Intervals *reached) {
  bool ready = true;
  for (uint32_t i = 0; i < cells->standing_count && ready; i++) {
    const Standing *at = &cells->standing[i];
    ready = join(reached, at->first, at->first + view->plan->tensors[at->tensor].size_bytes);
  }
  for (uint32_t i = 0; i < view->class->programs_count; i++) {
    Walk walk = walk_begin(view, &view->plan->programs[view->class->programs_first + i], WALK_ONCE);
    while (ready && walk_next(&walk))
      ready = join_bases(&walk, reached);
  }
  return ready;
}

bool cells_open(const View *view, Cells *cells) {
  const PlanClass *class = view->class;
  Intervals lasting = {0};
  *cells = (Cells){.of_buffer = prove_array(view, class->buffers_count, sizeof(uint32_t))};
  bool ready = list_tensors(view, cells) && join_lasting(view, cells, &lasting);
  cells->at = prove_array(view, lasting.count + class->buffers_count, sizeof *cells->at);
  ready = ready && cells->at != NULL && cells->of_buffer != NULL;
  for (const Interval *met = intervals_find(&lasting, 0); ready && met != NULL;
       met = intervals_find(&lasting, met->end))
    cells->at[cells->count++] = (Cell){met->first, met->end};
  cells->lasting_count = cells->count;
  intervals_free(&lasting);
  for (uint32_t i = 0; i < class->buffers_count && ready; i++) {
    const PlanBuffer *buffer = &view->plan->buffers[class->buffers_first + i];
    uint64_t first = buffer_address(buffer);
    if (buffer->program == PLAN_NONE) continue;
    cells->of_buffer[i] = cells->count;
    cells->at[cells->count++] = (Cell){first, first + buffer->size_bytes};
  }
  return ready;
}

void cells_close(Cells *cells) {
  free(cells->at);
  free(cells->of_buffer);
  free(cells->standing);
}

uint32_t lasting_cell(const Cells *cells, uint64_t address) {
  uint32_t low = 0, high = cells->lasting_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cells->at[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < cells->lasting_count && cells->at[low].first <= address ? low : PLAN_NONE;
}

uint32_t cell_at(const View *view, const Cells *cells, uint32_t buffer, uint64_t address) {
  if (view->plan->buffers[buffer].program == PLAN_NONE) return lasting_cell(cells, address);
  return cells->of_buffer[buffer - view->class->buffers_first];
}
