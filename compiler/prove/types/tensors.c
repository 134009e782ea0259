#include "compiler/prove/types/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"

/* ---- where they stand */

static int by_cell(const void *a, const void *b) {
  const Standing *x = a, *y = b;
  if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

static int by_address(const void *a, const void *b) {
  const PlanBuffer *const *x = a, *const *y = b;
  uint64_t first = buffer_address(*x), other = buffer_address(*y);
  return first < other ? -1 : first > other;
}

/* The persistent buffers of the class, by address. */
static const PlanBuffer **list_buffers(const View *view, uint32_t *count) {
  const PlanBuffer **list = prove_array(view, view->class->buffers_count, sizeof *list);
  *count = 0;
  for (uint32_t i = 0; i < view->class->buffers_count && list != NULL; i++) {
    const PlanBuffer *buffer = &view->plan->buffers[view->class->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer->size_bytes > 0) list[(*count)++] = buffer;
  }
  if (list != NULL) qsort(list, *count, sizeof *list, by_address);
  return list;
}

static const PlanBuffer *buffer_of(const PlanBuffer **list, uint32_t count, uint64_t address) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (buffer_address(list[middle]) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? NULL : list[low - 1];
}

static bool stand(Typing *t, const PlanBuffer **list, uint32_t count, uint32_t tensor,
                  Tensors *tensors) {
  const PlanTensor *at = &t->plan->tensors[tensor];
  for (uint32_t i = 0; i < at->layer_count; i++) {
    uint64_t address = plan_address(at->tier, at->offset + i * at->layer_stride);
    const PlanBuffer *buffer = buffer_of(list, count, address);
    if (buffer == NULL || address + at->size_bytes > buffer_address(buffer) + buffer->size_bytes) {
      refuse(t, "tensor %.60s lies in no persistent buffer", plan_string(t->plan, at->name));
      return false;
    }
    uint32_t cell = cell_at(t->view, &t->cells, (uint32_t)(buffer - t->plan->buffers), address);
    tensors->at[tensors->count++] =
        (Standing){tensor, cell, at->layer_first < 0 ? TYPE_ANY : at->layer_first + (int32_t)i,
                   address - t->cells.at[cell].first};
  }
  return true;
}

static void index_tensors(Typing *t) {
  const PlanClass *class = t->view->class;
  for (uint32_t i = 0; i < BufferKind_COUNT * t->plan->values_count; i++)
    t->tensor[i] = PLAN_NONE;
  for (uint32_t i = class->tensors_first; i < class->tensors_first + class->tensors_count; i++) {
    const PlanTensor *tensor = &t->plan->tensors[i];
    if (tensor->value != PLAN_NONE)
      t->tensor[tensor->kind * t->plan->values_count + tensor->value] = i;
  }
}

bool tensors_open(Typing *t, Tensors *tensors) {
  const PlanClass *class = t->view->class;
  uint32_t count = 0, standing = 0;
  const PlanBuffer **list = list_buffers(t->view, &count);
  for (uint32_t i = 0; i < class->tensors_count; i++)
    standing += t->plan->tensors[class->tensors_first + i].layer_count;
  *tensors = (Tensors){prove_array(t->view, standing, sizeof *tensors->at), 0};
  bool ready = list != NULL && tensors->at != NULL;
  for (uint32_t i = 0; i < class->tensors_count && ready; i++)
    ready = stand(t, list, count, class->tensors_first + i, tensors);
  free(t->tensor);
  t->tensor =
      prove_array(t->view, (size_t)BufferKind_COUNT * t->plan->values_count, sizeof *t->tensor);
  ready = ready && t->tensor != NULL;
  if (ready) index_tensors(t);
  if (ready) qsort(tensors->at, tensors->count, sizeof *tensors->at, by_cell);
  free(list);
  return ready;
}

void tensors_close(Tensors *tensors) {
  free(tensors->at);
}

/* ---- what they hold */

static Place place_along(const Plan *plan, uint32_t layout, uint32_t axis) {
  uint32_t dim = 0;
  Along along =
      plan->axes[axis].size == 1 ? ALONG_WHOLE : plan_layout_along(plan, layout, axis, &dim);
  Place place = {0};
  if (along == ALONG_FLAT) place.kind = PLACE_FLAT;
  if (along != ALONG_CUT) return place;
  const PlanLayoutDim *at = &plan->layout_dims[plan->layouts[layout].dims_first + dim];
  place = (Place){.kind = PLACE_CUT, .dim = (uint8_t)dim};
  for (uint32_t i = 0; i < at->cuts_count; i++)
    if (plan->cuts[at->cuts_first + i].axis == axis) {
      place.style = (uint8_t)plan->cuts[at->cuts_first + i].style;
      place.order = (uint8_t)i;
    }
  return place;
}

void layout_places(const Plan *plan, uint32_t layout, Place *places) {
  for (uint32_t axis = 0; axis < plan->axes_count && axis < TYPE_AXES_MAX; axis++)
    places[axis] = place_along(plan, layout, axis);
}

static void set_places(const Typing *t, uint32_t layout, Type *type) {
  type->piece = t->plan->layouts[layout].piece;
  layout_places(t->plan, layout, type->place);
}

bool tensor_places(const Typing *t, Type *state, uint32_t *layout) {
  uint32_t number = t->tensor[state->state * t->plan->values_count + state->ref];
  if (number == PLAN_NONE || t->plan->tensors[number].dtype != state->dtype) return false;
  *layout = t->plan->tensors[number].layout;
  set_places(t, *layout, state);
  return true;
}

/* The type that the table of tensors says. */
static Type tensor_type(const Typing *t, const Standing *at) {
  const PlanTensor *tensor = &t->plan->tensors[at->tensor];
  Type type = {.kind = TYPE_STATE,
               .dtype = (uint8_t)tensor->dtype,
               .state = (uint8_t)tensor->kind,
               .ref = tensor->value,
               .layer = at->layer,
               .microbatch = TYPE_ANY};
  set_places(t, tensor->layout, &type);
  return type;
}

static void refuse_tensor(Typing *t, const Standing *at, const Type *found, const Type *wanted) {
  char holds[TYPE_TEXT_BYTES], wants[TYPE_TEXT_BYTES];
  refuse(t, "after %s tensor %.60s holds %s; wanted: %s", ProgramKind_names[t->walk.program->kind],
         plan_string(t->plan, t->plan->tensors[at->tensor].name), type_text(t->plan, found, holds),
         type_text(t->plan, wanted, wants));
}

/* Goes over the tensors of one cell after another, which `change` may retype. */
typedef bool Change(const Typing *t, const Type *found, Type *wanted);

static void change_tensors(Typing *t, const Tensors *tensors, Held *held, Change *change) {
  Spans spans = {0};
  for (uint32_t i = 0, end = 0; i < tensors->count && !t->refused; i = end) {
    Held *at = &held[tensors->at[i].cell];
    if (!contents_spans(&t->contents, &t->types, *at, 0, 0, &spans)) t->types.out_of_memory = true;
    for (end = i; end < tensors->count && tensors->at[end].cell == tensors->at[i].cell; end++) {
      const Standing *standing = &tensors->at[end];
      const PlanTensor *tensor = &t->plan->tensors[standing->tensor];
      Span span = {standing->first, standing->first + tensor->size_bytes, 0, 0};
      Type wanted = tensor_type(t, standing);
      Type found = t->types.type[spans_read(&t->types, &spans, span.first, span.end)];
      if (tensor->kind == BUFFER_GRAD) continue; /* nothing that a later step reads */
      if (!change(t, &found, &wanted)) refuse_tensor(t, standing, &found, &wanted);
      span.type = type_of(&t->types, &wanted);
      if (!spans_write(&t->types, &spans, span)) t->types.out_of_memory = true;
    }
    *at = contents_keep(&t->contents, &t->types, &spans);
  }
  free(spans.at);
}

static bool is_moment(const Type *type) {
  return type->state == BUFFER_MOMENT1 || type->state == BUFFER_MOMENT2;
}

static bool first_value(const Typing *t, const Type *found, Type *wanted) {
  (void)t;
  if (is_moment(wanted)) return found->kind == TYPE_ZERO && found->dtype == wanted->dtype;
  return memcmp(found, wanted, sizeof *found) == 0;
}

static bool unchanged(const Typing *t, const Type *found, Type *wanted) {
  (void)t;
  return memcmp(found, wanted, sizeof *found) == 0;
}

static bool updated(const Typing *t, const Type *found, Type *wanted) {
  (void)t;
  wanted->is_new = 1;
  bool is_it = memcmp(found, wanted, sizeof *found) == 0;
  if (is_it) wanted->is_new = 0;
  return is_it;
}

void tensors_begin(Typing *t, const Tensors *tensors, Held *held) {
  change_tensors(t, tensors, held, first_value);
}

void tensors_end(Typing *t, const Tensors *tensors, Held *held, bool may_change) {
  change_tensors(t, tensors, held, may_change ? updated : unchanged);
}

static uint32_t control_cell(const Typing *t, uint64_t address) {
  for (uint32_t i = 0; i < t->view->class->buffers_count; i++) {
    const PlanBuffer *buffer = &t->plan->buffers[t->view->class->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer->kind == BUFFER_CONTROL &&
        buffer_address(buffer) <= address && address - buffer_address(buffer) < buffer->size_bytes)
      return cell_at(t->view, &t->cells, t->view->class->buffers_first + i, address);
  }
  return PLAN_NONE;
}

bool has_stages(const Typing *t) {
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (t->plan->axes[axis].divides == DIVIDES_DEPTH && t->plan->axes[axis].size > 1) return true;
  return false;
}

/* The loss and its weight stand in the control block one after the other. */
void loss_end(Typing *t, const Held *held) {
  enum { LOSS_BYTES = 2 * sizeof(double) };
  uint64_t address = plan_address(plan_tier(t->plan, TIER_DEVICE), t->plan->jobs[0].control_offset);
  address += plan_slot(t->plan, CONTROL_loss)->offset;
  uint32_t index = control_cell(t, address);
  Type found = {0};
  Spans spans = {0};
  if (index != PLAN_NONE) {
    uint64_t first = address - t->cells.at[index].first;
    if (!contents_spans(&t->contents, &t->types, held[index], 0, -1, &spans))
      t->types.out_of_memory = true;
    found = t->types.type[spans_read(&t->types, &spans, first, first + LOSS_BYTES)];
  }
  free(spans.at);
  t->walk.microbatch = -1;
  bool is_loss = found.kind == TYPE_SUM && t->plan->values[found.ref].kind == VALUE_LOSS &&
                 sum_is_complete(t, &found);
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    is_loss = is_loss && found.place[axis].kind == PLACE_WHOLE;
  char holds[TYPE_TEXT_BYTES];
  bool elsewhere = found.kind == TYPE_NOTHING && has_stages(t); /* the control sum brings it */
  t->has_loss = t->has_loss || is_loss;
  if (!has_totals(t))
    refuse(t, "after %s the control values are of one rank alone",
           ProgramKind_names[t->walk.program->kind]);
  else if (!is_loss && !elsewhere)
    refuse(t, "after %s the control block holds %s; wanted: the loss of %lld micro-batches",
           ProgramKind_names[t->walk.program->kind], type_text(t->plan, &found, holds),
           (long long)t->microbatches);
}

/* Puts into `both` what two buffers have in common: equal types, and zeros where both have them. */
static bool keep_common(const Types *types, const Spans *from, const Spans *other, Spans *both) {
  both->count = 0;
  for (uint32_t i = 0; i < from->count; i++) {
    Span span = from->at[i];
    bool is_zero = types->type[span.type].kind == TYPE_ZERO;
    for (uint32_t k = spans_find(other, span.first);
         k < other->count && other->at[k].first < span.end; k++) {
      const Span *meets = &other->at[k];
      Span common = {meets->first > span.first ? meets->first : span.first,
                     meets->end < span.end ? meets->end : span.end, span.type, 0};
      bool is_whole = meets->first == span.first && meets->end == span.end;
      if (meets->type == span.type && (is_zero || is_whole) && !spans_write(types, both, common))
        return false;
    }
  }
  return true;
}

bool tensors_meet(Typing *t, Held *start, const Held *end) {
  bool changed = false;
  Spans mine = {0}, other = {0}, both = {0};
  for (uint32_t i = 0; i < t->cells.count; i++) {
    bool lasts = t->plan->buffers[t->cells.at[i].buffer].program == PLAN_NONE;
    if (!lasts || memcmp(&start[i], &end[i], sizeof start[i]) == 0) continue;
    if (!contents_spans(&t->contents, &t->types, start[i], 0, 0, &mine) ||
        !contents_spans(&t->contents, &t->types, end[i], 0, 0, &other))
      t->types.out_of_memory = true;
    if (!keep_common(&t->types, &mine, &other, &both)) t->types.out_of_memory = true;
    Held now = contents_keep(&t->contents, &t->types, &both);
    changed = changed || memcmp(&now, &start[i], sizeof now) != 0;
    start[i] = now;
  }
  free(mine.at);
  free(both.at);
  free(other.at);
  return changed;
}
