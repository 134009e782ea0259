#include "compiler/prove/types/cells.h"

#include <stdlib.h>

/* Cells while they are cut: `joined[i]` says that some base reaches from the one before into i. */
typedef struct Cutting {
  const View *view;
  uint64_t *start; /* addresses where layers of tensors begin, ascending */
  uint32_t start_count;
  Cells fine; /* cut at every start */
  bool *joined;
} Cutting;

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool list_starts(Cutting *c) {
  const Plan *plan = c->view->plan;
  const PlanClass *class = c->view->class;
  const PlanTensor *tensors = &plan->tensors[class->tensors_first];
  size_t count = 0;
  for (uint32_t i = 0; i < class->tensors_count; i++)
    if (tensors[i].layer_count > 1) count += tensors[i].layer_count;
  c->start = prove_array(c->view, count, sizeof *c->start);
  if (c->start == NULL) return false;
  for (uint32_t i = 0; i < class->tensors_count; i++)
    for (uint32_t k = 0; k < tensors[i].layer_count && tensors[i].layer_count > 1; k++)
      c->start[c->start_count++] =
          plan_address(tensors[i].tier, tensors[i].offset + k * tensors[i].layer_stride);
  qsort(c->start, c->start_count, sizeof *c->start, by_value);
  return true;
}

static uint32_t first_start_after(const Cutting *c, uint64_t address) {
  uint32_t low = 0, high = c->start_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (c->start[middle] <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void cut_buffer(Cutting *c, uint32_t number) {
  const PlanBuffer *buffer = &c->view->plan->buffers[number];
  uint64_t at = buffer_address(buffer), end = at + buffer->size_bytes;
  if (buffer->program == PLAN_NONE)
    for (uint32_t i = first_start_after(c, at); i < c->start_count && c->start[i] < end; i++) {
      if (c->start[i] == at) continue;
      c->fine.at[c->fine.count++] = (Cell){at, c->start[i], number};
      at = c->start[i];
    }
  c->fine.at[c->fine.count++] = (Cell){at, end, number};
}

static bool cut(Cutting *c) {
  uint32_t count = c->view->class->buffers_count, first = c->view->class->buffers_first;
  c->fine.at = prove_array(c->view, (size_t)count + c->start_count, sizeof *c->fine.at);
  c->fine.first = prove_array(c->view, (size_t)count + 1, sizeof *c->fine.first);
  c->joined = prove_array(c->view, (size_t)count + c->start_count, sizeof *c->joined);
  if (c->fine.at == NULL || c->fine.first == NULL || c->joined == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    c->fine.first[i] = c->fine.count;
    cut_buffer(c, first + i);
  }
  c->fine.first[count] = c->fine.count;
  return true;
}

static void join_reached(Cutting *c, const Walk *walk) {
  for (uint32_t base = 0; base < walk->segment->bases_count; base++) {
    uint32_t buffer = walk_buffer(walk, base);
    if (buffer == PLAN_NONE || c->view->plan->buffers[buffer].program != PLAN_NONE) continue;
    uint64_t size = c->view->plan->bases[walk->segment->bases_first + base].size_bytes;
    uint64_t end = walk_base(walk, base) + size;
    uint32_t last = c->fine.first[buffer - c->view->class->buffers_first + 1];
    for (uint32_t i = cell_at(c->view, &c->fine, buffer, walk_base(walk, base)) + 1;
         i < last && c->fine.at[i].first < end; i++)
      c->joined[i] = true;
  }
}

static void join_programs(Cutting *c) {
  for (uint32_t i = 0; i < c->view->class->programs_count; i++) {
    const PlanProgram *program = &c->view->plan->programs[c->view->class->programs_first + i];
    Walk walk = {.view = c->view, .program = program};
    for (; walk.position < program->calls_count; walk.position++) {
      walk.call = &c->view->plan->calls[program->calls_first + walk.position];
      walk.segment = &c->view->plan->segments[walk.call->segment];
      join_reached(c, &walk);
    }
  }
}

/* Leaves only the cells that no base reaches across. */
static void join(Cutting *c) {
  uint32_t kept = 0, buffers = c->view->class->buffers_count;
  for (uint32_t buffer = 0; buffer < buffers; buffer++) {
    uint32_t first = c->fine.first[buffer], end = c->fine.first[buffer + 1];
    c->fine.first[buffer] = kept;
    for (uint32_t i = first; i < end; i++)
      if (c->joined[i])
        c->fine.at[kept - 1].end = c->fine.at[i].end;
      else
        c->fine.at[kept++] = c->fine.at[i];
  }
  c->fine.first[buffers] = c->fine.count = kept;
}

bool cells_open(const View *view, Cells *cells) {
  Cutting c = {.view = view};
  bool ready = list_starts(&c) && cut(&c);
  if (ready) {
    join_programs(&c);
    join(&c);
  }
  free(c.start);
  free(c.joined);
  *cells = c.fine;
  return ready;
}

void cells_close(Cells *cells) {
  free(cells->at);
  free(cells->first);
}

uint32_t cell_at(const View *view, const Cells *cells, uint32_t buffer, uint64_t address) {
  uint32_t number = buffer - view->class->buffers_first;
  uint32_t low = cells->first[number], high = cells->first[number + 1];
  while (low + 1 < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cells->at[middle].first <= address)
      low = middle;
    else
      high = middle;
  }
  return low;
}
