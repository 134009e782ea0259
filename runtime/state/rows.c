#include "runtime/state/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"

/* ---- kinds */

static const StateKind kinds[] = {
    {BUFFER_PARAM, "param"},
    {BUFFER_MASTER, "master"},
    {BUFFER_MOMENT1, "m"},
    {BUFFER_MOMENT2, "v"},
    {BUFFER_COMPENSATION, "compensation"},
    {BUFFER_MOMENT1_MAX, "m_max"},
    {BUFFER_MOMENT2_MAX, "v_max"},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

const StateKind *state_kind_of(uint32_t buffer) {
  for (size_t i = 0; i < KIND_COUNT; i++)
    if ((uint32_t)kinds[i].buffer == buffer) return &kinds[i];
  return NULL;
}

const StateKind *state_kind_named(const char *name) {
  for (size_t i = 0; i < KIND_COUNT; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

DType state_saved_dtype(const PlanTensor *tensor) {
  bool is_half = tensor->kind == BUFFER_MASTER && tensor->dtype == DTYPE_I16;
  return is_half ? DTYPE_F32 : (DType)tensor->dtype;
}

const char *state_dtype_name(DType dtype) {
  static const char *const names[DTYPE_COUNT] = {
      [DTYPE_F32] = "F32", [DTYPE_BF16] = "BF16",    [DTYPE_I32] = "I32",
      [DTYPE_F64] = "F64", [DTYPE_I16] = "I16",      [DTYPE_F16] = "F16",
      [DTYPE_U8] = "U8",   [DTYPE_E4M3] = "F8_E4M3", [DTYPE_E5M2] = "F8_E5M2",
  };
  _Static_assert(DTYPE_COUNT == 9, "each dtype has its name in files here");
  return names[dtype];
}

/* ---- ranks */

void state_coordinates(const Plan *plan, int32_t number, int32_t coordinate[PLAN_AXES_MAX]) {
  for (uint32_t i = plan->axes_count; i-- > 0;) {
    int32_t size = (int32_t)plan->axes[i].size;
    coordinate[i] = number % size;
    number /= size;
  }
}

static int32_t extent(const Plan *plan, uint32_t class, uint32_t axis) {
  const PlanBound *bound = &plan->bounds[plan->classes[class].bounds_first + axis];
  return (int32_t)(bound->end - bound->first);
}

static int32_t members(const Plan *plan, uint32_t class, uint32_t axes) {
  int32_t count = 1;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if ((axes >> i & 1u) != 0) count *= extent(plan, class, i);
  return count;
}

/* The axes along which ranks of a class have other elements of a tensor. */
static uint32_t axes_of(const Plan *plan, uint32_t class, const PlanTensor *tensor) {
  const PlanLayout *layout = &plan->layouts[tensor->layout];
  uint32_t axes = layout->flat_axes, used = 0;
  for (uint32_t d = 0; d < layout->dims_count; d++) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + d];
    for (uint32_t i = 0; i < dim->cuts_count; i++)
      axes |= 1u << plan->cuts[dim->cuts_first + i].axis;
  }
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if ((axes >> i & 1u) != 0 && extent(plan, class, i) > 1) used |= 1u << i;
  return used;
}

/* ---- the list of items */

static const PlanTensor *tensor_of(const Plan *plan, const StateItem *item) {
  return &plan->tensors[item->tensor];
}

const PlanTensor *state_tensor(const State *state, const StateItem *item) {
  return tensor_of(state->plan, item);
}

char *state_layer_name(const Plan *plan, const PlanTensor *tensor, int32_t layer) {
  const char *pattern = plan_string(plan, tensor->name), *star = strchr(pattern, '*');
  size_t room = strlen(pattern) + 16;
  char *name = malloc(room);
  if (name == NULL) return NULL;
  if (layer < 0 || star == NULL)
    (void)snprintf(name, room, "%s", pattern);
  else
    (void)snprintf(name, room, "%.*s%d%s", (int)(star - pattern), pattern, layer, star + 1);
  return name;
}

/* Items while they are listed. */
typedef struct Listing {
  const Plan *plan;
  StateItem *at;
  uint32_t count, room;
  Status *status;
} Listing;

static bool no_memory(Status *status) {
  return status_fail(status, STATUS_WORLD, "not enough memory for the list of the state");
}

static bool list_tensor(Listing *listing, uint32_t class, uint32_t number) {
  const Plan *plan = listing->plan;
  const PlanTensor *tensor = &plan->tensors[number];
  for (uint32_t i = 0; i < tensor->layer_count; i++) {
    if (listing->at == NULL || listing->count == listing->room) {
      listing->room = 2 * listing->room + 64;
      StateItem *more = realloc(listing->at, listing->room * sizeof *more);
      if (more == NULL) return no_memory(listing->status);
      listing->at = more;
    }
    int32_t layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)i;
    StateItem item = {state_layer_name(plan, tensor, layer), number, class, layer, 0};
    if (item.name == NULL) return no_memory(listing->status);
    listing->at[listing->count++] = item;
  }
  return true;
}

static bool list_items(Listing *listing) {
  const Plan *plan = listing->plan;
  for (uint32_t c = 0; c < plan->classes_count; c++)
    for (uint32_t i = 0; i < plan->classes[c].tensors_count; i++) {
      uint32_t number = plan->classes[c].tensors_first + i;
      int32_t coordinate[PLAN_AXES_MAX] = {0};
      StatePiece piece;
      if (state_kind_of(plan->tensors[number].kind) == NULL) continue;
      if (!state_piece(plan, plan->tensors[number].layout, coordinate, &piece))
        return status_fail(listing->status, STATUS_OURS,
                           "tensor %s is cut in a way that checkpoints do not know",
                           plan_string(plan, plan->tensors[number].name));
      if (!list_tensor(listing, c, number)) return false;
    }
  return true;
}

/* An item's key, and where it was listed. */
typedef struct ListedItem {
  const StateItem *item;
  const Plan *plan;
  uint32_t index;
} ListedItem;

static int by_name(const void *a, const void *b) {
  const ListedItem *x = a, *y = b;
  int names = strcmp(x->item->name, y->item->name);
  if (names != 0) return names;
  if (x->item->class != y->item->class) return x->item->class < y->item->class ? -1 : 1;
  uint32_t p = tensor_of(x->plan, x->item)->kind, q = tensor_of(y->plan, y->item)->kind;
  if (p != q) return p < q ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static ListedItem *sorted_places(const Plan *plan, const StateItem *item, uint32_t count) {
  ListedItem *place = calloc((size_t)count + 1, sizeof *place);
  for (uint32_t i = 0; place != NULL && i < count; i++)
    place[i] = (ListedItem){&item[i], plan, i};
  if (place != NULL) qsort(place, count, sizeof *place, by_name);
  return place;
}

/* Marks the items of one name that are not saved: those of later classes, and a weight under a
 * master. */
static void mark_left_out(const ListedItem *place, uint32_t count, bool *left_out) {
  bool has_master = false;
  for (uint32_t i = 0; i < count; i++)
    has_master |= tensor_of(place->plan, place[i].item)->kind == BUFFER_MASTER;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t kind = tensor_of(place->plan, place[i].item)->kind;
    left_out[place[i].index] =
        place[i].item->class != place[0].item->class || (has_master && kind == BUFFER_PARAM);
  }
}

static bool *find_left_out(const Listing *listing) {
  bool *left_out = calloc((size_t)listing->count + 1, sizeof *left_out);
  ListedItem *place = sorted_places(listing->plan, listing->at, listing->count);
  for (uint32_t i = 0, end; place != NULL && left_out != NULL && i < listing->count; i = end) {
    for (end = i + 1; end < listing->count; end++)
      if (strcmp(place[end].item->name, place[i].item->name) != 0) break;
    mark_left_out(&place[i], end - i, left_out);
  }
  if (place == NULL) {
    free(left_out);
    left_out = NULL;
  }
  free(place);
  return left_out;
}

/* ---- rows */

static StateRow row_of(const Plan *plan, uint32_t class, uint32_t width, uint32_t axes) {
  StateRow row = {.class = class, .width = width, .axes = axes};
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if ((axes >> i & 1u) == 0 && extent(plan, class, i) > 1) row.replica_axes |= 1u << i;
  row.groups = members(plan, class, row.axes);
  row.replicas = members(plan, class, row.replica_axes);
  return row;
}

static bool add_row(State *state, StateRow row, Status *status) {
  StateRow *more = realloc(state->row, ((size_t)state->row_count + 1) * sizeof *more);
  if (more == NULL) return no_memory(status);
  state->row = more;
  row.item_first = state->item_count;
  row.before = calloc((size_t)row.groups, sizeof *row.before);
  state->row[state->row_count++] = row;
  return row.before != NULL || no_memory(status);
}

/* Moves the items that belong to the same row as `first`, and come after it, to a row. */
static bool take_row(State *state, Listing *listing, bool *taken, uint32_t first, Status *status) {
  const Plan *plan = listing->plan;
  const PlanTensor *tensor = tensor_of(plan, &listing->at[first]);
  uint32_t class = listing->at[first].class;
  StateRow row = row_of(plan, class, (uint32_t)dtype_bytes(state_saved_dtype(tensor)),
                        axes_of(plan, class, tensor));
  if (!add_row(state, row, status)) return false;
  for (uint32_t i = first; i < listing->count; i++) {
    const PlanTensor *next = tensor_of(plan, &listing->at[i]);
    if (taken[i] || listing->at[i].class != class ||
        dtype_bytes(state_saved_dtype(next)) != (int64_t)row.width ||
        axes_of(plan, class, next) != row.axes)
      continue;
    taken[i] = true;
    listing->at[i].row = state->row_count - 1;
    state->item[state->item_count++] = listing->at[i];
    listing->at[i].name = NULL;
    state->row[state->row_count - 1].item_count++;
  }
  return true;
}

static bool make_rows(State *state, Listing *listing, bool *taken, Status *status) {
  state->item = calloc((size_t)listing->count + 1, sizeof *state->item);
  if (state->item == NULL) return no_memory(status);
  for (uint32_t class = 0; class < listing->plan->classes_count; class ++)
    for (int64_t width = 8; width > 0; width /= 2)
      for (uint32_t i = 0; i < listing->count; i++) {
        const StateItem *item = &listing->at[i];
        if (taken[i] || item->class != class ||
            dtype_bytes(state_saved_dtype(tensor_of(listing->plan, item))) != width)
          continue;
        if (!take_row(state, listing, taken, i, status)) return false;
      }
  return true;
}

static bool sort_items(State *state, Status *status) {
  ListedItem *place = sorted_places(state->plan, state->item, state->item_count);
  state->sorted = calloc((size_t)state->item_count + 1, sizeof *state->sorted);
  bool made = place != NULL && state->sorted != NULL;
  for (uint32_t i = 0; made && i < state->item_count; i++)
    state->sorted[i] = place[i].index;
  free(place);
  return made || no_memory(status);
}

/* A manifest stores the number as text. */
static int64_t least_part(const Plan *plan) {
  char number[SETTING_NUMBER_BYTES];
  const PlanSetting *setting = plan_setting(plan, STATE_PART_KEY);
  long long bytes =
      setting != NULL ? strtoll(plan_setting_text(plan, setting, number), NULL, 10) : 0;
  return bytes > 0 ? bytes : STATE_PART_LEAST;
}

bool state_open(State *state, const Plan *plan, Status *status) {
  Listing listing = {.plan = plan, .status = status};
  *state = (State){.plan = plan, .numbers = 1, .part_bytes = least_part(plan)};
  for (uint32_t i = 0; i < plan->axes_count; i++)
    state->numbers *= (int32_t)plan->axes[i].size;
  bool listed = list_items(&listing);
  bool *taken = listed ? find_left_out(&listing) : NULL;
  if (listed && taken == NULL) (void)no_memory(status);
  bool opened =
      taken != NULL && make_rows(state, &listing, taken, status) && sort_items(state, status);
  for (uint32_t i = 0; i < listing.count; i++)
    free(listing.at[i].name);
  free(listing.at);
  free(taken);
  if (!opened) state_close(state);
  return opened;
}

void state_close(State *state) {
  for (uint32_t i = 0; i < state->row_count; i++) {
    for (int32_t group = 0; state->row[i].before != NULL && group < state->row[i].groups; group++)
      free(state->row[i].before[group]);
    free(state->row[i].before);
  }
  for (uint32_t i = 0; i < state->item_count; i++)
    free(state->item[i].name);
  free(state->row);
  free(state->item);
  free(state->sorted);
  *state = (State){0};
}

uint32_t state_find(const State *state, const char *name, uint32_t buffer) {
  uint32_t first = 0, end = state->item_count;
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    const StateItem *item = &state->item[state->sorted[middle]];
    int order = strcmp(item->name, name);
    uint32_t kind = state_tensor(state, item)->kind;
    if (order == 0 && kind == buffer) return state->sorted[middle];
    if (order < 0 || (order == 0 && kind < buffer))
      first = middle + 1;
    else
      end = middle;
  }
  return state->item_count;
}
