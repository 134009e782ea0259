/* dcp_places.c -- which tensor of a folder of torch.distributed.checkpoint has the elements of each
 * parameter, master and moment, and in which order.
 *
 *   ours     [8 heads, 4, 16]   q of layer 1
 *   theirs   [2 layers, 4 groups, 2 + 1 + 1 heads, 4, 16], merged to [2, 64, 16]
 *   taken    layer 1, of each group heads 0 and 1
 *
 * A parameter is a box of the tensor in the page's view, with its dims in another order. So runs of
 * elements are contiguous in both over the innermost dims that are equal. */
#include <stdlib.h>
#include <string.h>

#include "compiler/show/cli/dcp.h"

enum { SHORT_RUN = 64 };
static const int64_t held_bytes_max = (int64_t)4 << 30;

typedef struct Placing {
  Compile *c;
  DcpFolder *folder;
  const State *state;
  NamesPage *page; /* NULL: names are those of --to dcp */
  DcpPlace *place;
  bool *is_known; /* by tensor */
  ExitCode *code;
} Placing;

static bool refuse(Placing *p, const char *why) {
  *p->code = complain(EXIT_USER, "%s: %s", p->folder->path, why);
  return false;
}

static const char *shape_text(Arena *arena, int32_t dims, const int64_t *shape) {
  const char *text = "";
  for (int32_t i = 0; i < dims; i++)
    text = arena_printf(arena, "%s%s%lld", text, i > 0 ? ", " : "", (long long)shape[i]);
  return text;
}

static int64_t product(int32_t dims, const int64_t *size) {
  int64_t elements = 1;
  for (int32_t i = 0; i < dims; i++)
    if (__builtin_mul_overflow(elements, size[i], &elements)) return -1;
  return elements;
}

/* True if dims that follow each other, multiplied, are those of the other. */
static bool merges_to(int32_t fine_dims, const int64_t *fine, int32_t dims, const int64_t *size) {
  int32_t next = 0;
  for (int32_t i = 0; i < dims; i++) {
    int64_t merged = 1;
    while (merged < size[i] && next < fine_dims)
      if (__builtin_mul_overflow(merged, fine[next++], &merged)) return false;
    if (merged != size[i]) return false;
  }
  while (next < fine_dims && fine[next] == 1)
    next++;
  return next == fine_dims;
}

/* ---- the tensor of an item */

static DcpTensor *tensor_of_state(Placing *p, uint32_t kind, const char *name) {
  const char *key = names_state(p->page, state_kind_of(kind)->name, name);
  return key != NULL ? dcp_find(p->folder, key) : NULL;
}

/* A weight beside a master is the master rounded, so it is known, and not read. */
static DcpTensor *find_named(Placing *p, uint32_t kind, const char *name) {
  DcpTensor *tensor = tensor_of_state(p, kind, name);
  DcpTensor *weight = kind == BUFFER_MASTER ? tensor_of_state(p, BUFFER_PARAM, name) : NULL;
  if (weight != NULL) p->is_known[weight - p->folder->tensor.at] = true;
  if (tensor == NULL && kind == BUFFER_PARAM) tensor = tensor_of_state(p, BUFFER_MASTER, name);
  return tensor != NULL ? tensor : weight;
}

static bool find_tensor(Placing *p, uint32_t index, const NamesParameter *parameter) {
  Arena *arena = p->c->arena;
  const StateItem *item = &p->state->item[index];
  const uint32_t kind = state_tensor(p->state, item)->kind;
  DcpPlace *place = &p->place[index];
  const char *name = p->page == NULL ? dcp_key(arena, item->name, kind) : NULL;
  if (p->page == NULL) {
    place->tensor = name != NULL ? dcp_find(p->folder, name) : NULL;
  } else {
    if (!names_place(p->page, parameter, &place->view)) return false;
    name = place->view.tensor;
    place->tensor = find_named(p, kind, name);
  }
  if (place->tensor != NULL) return true;
  if (p->page != NULL) {
    const char *of = state_kind_of(kind)->name;
    name = names_state(p->page, of, place->view.tensor);
    if (name == NULL)
      return refuse(p, arena_printf(arena,
                                    "the page's `state` has no `%s` with a %%s, where the name of "
                                    "the tensor goes, and the job has %s of %s",
                                    of, saved_kind(p->state, item), item->name));
  }
  return refuse(p, arena_printf(arena, "has no tensor %s, and the job has it as %s of %s",
                                name != NULL ? name : item->name, saved_kind(p->state, item),
                                item->name));
}

/* ---- do the tensors fit the plan? */

static bool is_same_shape(const DcpTensor *tensor, const NamesParameter *of) {
  return tensor->dims == of->dims &&
         memcmp(tensor->shape, of->shape, (size_t)of->dims * sizeof *of->shape) == 0;
}

/* The parameter's dims as the view has them, in its order. */
static bool view_fits(Placing *p, const DcpPlace *place, const NamesParameter *of) {
  const NamesPlace *view = &place->view;
  const DcpTensor *tensor = place->tensor;
  int64_t ordered[NAMES_DIMS_MAX];
  for (int32_t i = 0; i < view->dims; i++)
    ordered[i] = view->count[view->order[i]];
  if (!merges_to(view->dims, view->size, tensor->dims, tensor->shape))
    return refuse(p,
                  arena_printf(p->c->arena,
                               "tensor %s has shape [%s], which the view [%s] of the page is not",
                               tensor->name, shape_text(p->c->arena, tensor->dims, tensor->shape),
                               shape_text(p->c->arena, view->dims, view->size)));
  return merges_to(view->dims, ordered, of->dims, of->shape) ||
         refuse(p, arena_printf(p->c->arena,
                                "of tensor %s the page takes [%s], and the job wants [%s]",
                                tensor->name, shape_text(p->c->arena, view->dims, ordered),
                                shape_text(p->c->arena, of->dims, of->shape)));
}

/* Rectangles that lie in the whole and have as many elements may not overlap each other. */
static bool is_covered(const DcpTensor *tensor) {
  int64_t found = 0, elements = product(tensor->dims, tensor->shape);
  for (int32_t i = 0; i < tensor->chunk.count && found <= elements; i++) {
    const StatePiece *one = &tensor->chunk.at[i].piece;
    found += one->range_count;
    for (int32_t k = 0; k < i && one->range_count > 0; k++) {
      const StatePiece *other = &tensor->chunk.at[k].piece;
      bool meets = other->range_count > 0;
      for (int32_t d = 0; d < tensor->dims; d++)
        meets &= one->first[d] < other->first[d] + other->count[d] &&
                 other->first[d] < one->first[d] + one->count[d];
      if (meets) return false;
    }
  }
  return found == elements;
}

/* A weight and a master are the same tensor there. */
static bool check_tensor(Placing *p, uint32_t index, const NamesParameter *of) {
  Arena *arena = p->c->arena;
  const PlanTensor *ours = state_tensor(p->state, &p->state->item[index]);
  const DcpPlace *place = &p->place[index];
  const DcpTensor *tensor = place->tensor;
  const DType from = dcp_dtype(tensor), to = state_saved_dtype(ours);
  const bool is_weight = ours->kind == BUFFER_PARAM || ours->kind == BUFFER_MASTER;
  const bool is_merged =
      p->page != NULL && merges_to(of->dims, of->shape, tensor->dims, tensor->shape);
  if (place->view.dims > 0 && !view_fits(p, place, of)) return false;
  if (place->view.dims == 0 && !is_same_shape(tensor, of) && !is_merged)
    return refuse(p, arena_printf(arena, "tensor %s has shape [%s], and the job wants [%s]",
                                  tensor->name, shape_text(arena, tensor->dims, tensor->shape),
                                  shape_text(arena, of->dims, of->shape)));
  if (from == DTYPE_COUNT || (!is_weight && from != to))
    return refuse(p, arena_printf(arena, "tensor %s is %s, and the job keeps %s", tensor->name,
                                  tensor->dtype, dtype_name(to)));
  return is_covered(tensor) ||
         refuse(p, arena_printf(arena, "tensor %s: not each element is there once", tensor->name));
}

/* Without a view: one dim of all elements. Then how many elements follow each other in both. */
static void finish_view(DcpPlace *place) {
  NamesPlace *view = &place->view;
  if (view->dims == 0) {
    view->dims = 1;
    view->size[0] = view->count[0] = product(place->tensor->dims, place->tensor->shape);
  }
  place->run = 1;
  for (int32_t d = view->dims; d-- > 0 && view->order[d] == d;) {
    place->run *= view->count[d];
    if (view->count[d] != view->size[d]) break;
  }
}

/* ---- each element of the tensors once */

typedef struct UsedElements {
  const DcpPlace *place;
} UsedElements;

static int by_tensor(const void *a, const void *b) {
  const DcpTensor *x = ((const UsedElements *)a)->place->tensor,
                  *y = ((const UsedElements *)b)->place->tensor;
  return (x > y) - (x < y);
}

static bool boxes_meet(const NamesPlace *a, const NamesPlace *b) {
  bool meets = true;
  for (int32_t d = 0; d < a->dims; d++)
    meets &= a->first[d] < b->first[d] + b->count[d] && b->first[d] < a->first[d] + a->count[d];
  return meets;
}

static bool check_group(Placing *p, const UsedElements *first, const UsedElements *end) {
  const DcpTensor *tensor = first->place->tensor;
  int64_t taken = 0;
  for (const UsedElements *at = first; at < end; at++) {
    const NamesPlace *view = &at->place->view;
    taken += product(view->dims, view->count);
    for (const UsedElements *other = first; other < at; other++) {
      const NamesPlace *before = &other->place->view;
      const bool is_same =
          before->dims == view->dims && memcmp(before->size, view->size, sizeof view->size) == 0;
      if (!is_same || boxes_meet(before, view))
        return refuse(p, arena_printf(p->c->arena,
                                      is_same ? "two parameters take the same elements of tensor %s"
                                              : "tensor %s has two views in the page",
                                      tensor->name));
    }
  }
  const int64_t elements = product(tensor->dims, tensor->shape);
  return taken == elements || first->place->view.is_padded ||
         refuse(p, arena_printf(p->c->arena,
                                "tensor %s has %lld elements, of which the job takes %lld",
                                tensor->name, (long long)elements, (long long)taken));
}

static bool check_taken(Placing *p) {
  const uint32_t count = p->state->item_count;
  UsedElements *used = ARENA_ARRAY(p->c->arena, UsedElements, count + 1);
  for (uint32_t i = 0; i < count; i++)
    used[i].place = &p->place[i];
  if (count > 0) qsort(used, count, sizeof *used, by_tensor);
  for (uint32_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && used[end].place->tensor == used[i].place->tensor;)
      end++;
    if (!check_group(p, &used[i], &used[end])) return false;
    p->is_known[used[i].place->tensor - p->folder->tensor.at] = true;
  }
  return true;
}

static bool is_step(const char *name) {
  size_t length = strlen(name);
  return strncmp(name, "optimizer.", 10) == 0 && length > 5 &&
         strcmp(name + length - 5, ".step") == 0;
}

static bool check_known(Placing *p) {
  for (int32_t t = 0; t < p->folder->tensor.count; t++) {
    const char *name = p->folder->tensor.at[t].name;
    if (p->is_known[t] || (p->page != NULL ? names_ignores(p->page, name) : is_step(name)))
      continue;
    return refuse(p, arena_printf(p->c->arena, "has tensor %s, which the job lacks", name));
  }
  return true;
}

/* ---- all items */

static NamesParameter parameter_of(const State *state, uint32_t index) {
  const StateItem *item = &state->item[index];
  NamesParameter parameter = {.name = plan_string(state->plan, state_tensor(state, item)->name),
                              .layer = item->layer};
  _Static_assert((int)NAMES_DIMS_MAX == (int)STATE_DIMS_MAX, "as many dims");
  parameter.dims = saved_shape(state, index, parameter.shape);
  return parameter;
}

static NamesFacts facts_of(Compile *c, const State *state) {
  NamesParameter *all = ARENA_ARRAY(c->arena, NamesParameter, state->item_count + 1);
  NamesFacts facts = {.all = all};
  for (uint32_t i = 0; i < state->item_count; i++) {
    const NamesParameter next = parameter_of(state, i);
    bool is_new = true;
    for (int32_t k = 0; k < facts.count && is_new; k++)
      is_new = strcmp(all[k].name, next.name) != 0;
    if (is_new) all[facts.count++] = next;
    if (next.layer >= facts.layers) facts.layers = next.layer + 1;
  }
  return facts;
}

/* A name may be that of the parameter; its optimizer's states have the same sizes. */
static int32_t sizes_of(void *user, const char *tensor, int64_t size[NAMES_DIMS_MAX]) {
  const DcpTensor *found = dcp_find(user, tensor);
  if (found == NULL) return -1;
  memcpy(size, found->shape, sizeof found->shape);
  return found->dims;
}

static bool place_all(Placing *p) {
  for (uint32_t i = 0; i < p->state->item_count; i++) {
    const NamesParameter parameter = parameter_of(p->state, i);
    if (!find_tensor(p, i, &parameter) || !check_tensor(p, i, &parameter)) return false;
    finish_view(&p->place[i]);
  }
  return check_taken(p) && check_known(p);
}

bool dcp_places(Compile *c, DcpFolder *folder, const State *state, const char *page,
                DcpPlace *place, ExitCode *code) {
  Placing p = {.c = c, .folder = folder, .state = state, .place = place, .code = code};
  NamesFacts facts = {.sizes = sizes_of, .user = folder};
  p.is_known = ARENA_ARRAY(c->arena, bool, folder->tensor.count + 1);
  *code = EXIT_USER;
  if (page != NULL) {
    facts = facts_of(c, state);
    facts.sizes = sizes_of;
    facts.user = folder;
    p.page = names_open(c, page, &facts);
    if (p.page == NULL) return false;
  }
  const bool is_good = place_all(&p);
  names_close(p.page);
  return is_good;
}

/* ---- elements */

typedef struct Mapping {
  DcpFolder *folder;
  const DcpPlace *place;
  uint8_t *to;
  int64_t width;
  ExitCode *code;
} Mapping;

/* Elements [first, first + count) of the tensor. */
static StatePiece range_of(const DcpTensor *tensor, int64_t first, int64_t count) {
  StatePiece piece = {.dims = tensor->dims, .range_first = first, .range_count = count};
  for (int32_t i = 0; i < tensor->dims; i++)
    piece.shape[i] = piece.count[i] = piece.room[i] = tensor->shape[i];
  piece.origin = first;
  return piece;
}

/* The place in the tensor of the parameter's element. */
static int64_t index_of(const NamesPlace *view, int64_t element) {
  int64_t at[NAMES_DIMS_MAX], index = 0;
  for (int32_t d = view->dims; d-- > 0;) {
    const int32_t of = view->order[d];
    at[of] = view->first[of] + element % view->count[of];
    element /= view->count[of];
  }
  for (int32_t d = 0; d < view->dims; d++)
    index = index * view->size[d] + at[d];
  return index;
}

/* Reads the whole tensor once, where its elements are wanted one by one. */
static bool hold(Mapping *m) {
  DcpTensor *tensor = m->place->tensor;
  const int64_t elements = product(tensor->dims, tensor->shape), bytes = elements * m->width;
  const StatePiece all = range_of(tensor, 0, elements);
  if (m->folder->held == tensor) return true;
  free(m->folder->elements);
  m->folder->held = NULL;
  m->folder->elements = bytes <= held_bytes_max ? malloc((size_t)bytes + 1) : NULL;
  if (m->folder->elements == NULL) {
    *m->code = complain(EXIT_WORLD,
                        "tensor %s of %lld bytes does not fit into memory, where its "
                        "elements are put in order",
                        tensor->name, (long long)bytes);
    return false;
  }
  if (!dcp_read(m->folder, tensor, &all, m->folder->elements, m->code)) return false;
  m->folder->held = tensor;
  return true;
}

static bool map_run(void *context, int64_t from, int64_t to, int64_t count) {
  Mapping *m = context;
  const DcpPlace *place = m->place;
  const bool is_short = place->run < SHORT_RUN;
  if (is_short && !hold(m)) return false;
  for (int64_t done = 0, take; done < count; done += take) {
    const int64_t left = count - done, room = place->run - (from + done) % place->run;
    const int64_t at = index_of(&place->view, from + done);
    uint8_t *here = m->to + (to + done) * m->width;
    take = left < room ? left : room;
    const StatePiece want = range_of(place->tensor, at, take);
    if (is_short)
      memcpy(here, m->folder->elements + at * m->width, (size_t)(take * m->width));
    else if (!dcp_read(m->folder, place->tensor, &want, here, m->code))
      return false;
  }
  return true;
}

bool dcp_read_place(DcpFolder *folder, const DcpPlace *place, const State *state, uint32_t item,
                    const StatePiece *want, void *elements, ExitCode *code) {
  const StatePiece whole = saved_whole(state, item);
  Mapping m = {folder, place, elements, dtype_bytes(dcp_dtype(place->tensor)), code};
  return state_common(&whole, want, map_run, &m);
}
