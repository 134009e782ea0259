/* places.c -- where operands lie and what stands there: adjoint.h. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/adjoint.h"
#include "compiler/prove/search.h"

/* ---- tensors */

static int compare_homes(const void *a, const void *b) {
  const Home *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

bool homes_open(Adjoint *a) {
  const Plan *plan = a->view->plan;
  const PlanClass *class = a->view->class;
  size_t count = 0;
  for (uint32_t i = 0; i < class->tensors_count; i++)
    count += plan->tensors[class->tensors_first + i].layer_count;
  a->homes = prove_array(a->view, count, sizeof *a->homes);
  if (a->homes == NULL) return false;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    for (uint32_t l = 0; l < tensor->layer_count; l++) {
      uint64_t first = plan_address(tensor->tier, tensor->offset) + l * tensor->layer_stride;
      uint64_t layer = (uint64_t)tensor->layer_first + l + 1;
      a->homes[a->home_count++] = (Home){first, first + tensor->size_bytes,
                                         hash_mix(hash_mix(11, tensor->name), layer) | 1};
    }
  }
  qsort(a->homes, a->home_count, sizeof *a->homes, compare_homes);
  return true;
}

uint64_t adjoint_tensor(const Adjoint *a, uint64_t first, uint64_t end) {
  uint32_t low = SEARCH(a->homes, a->home_count, first, first);
  bool here = low < a->home_count && a->homes[low].first == first && end <= a->homes[low].end;
  return here ? a->homes[low].tensor : 0;
}

/* ---- operands */

static uint64_t dim_of(const Adjoint *a, uint8_t index) {
  if (index == NO_OPERAND) return 1;
  return (uint64_t)a->view->plan->ints[a->record->dims_first + index];
}

static Tile tile_of(const Adjoint *a, uint32_t index, const Place *p) {
  Tile dense = {1, p->end - p->first, p->end - p->first};
  if (a->record->kind != RECORD_KERNEL) return dense;
  const Rule *rule = &a->rules[a->record->kernel];
  if ((rule->views >> index & 1u) == 0) return dense;
  const uint8_t *view = rule->view[index];
  Tile tile = {dim_of(a, view[0]) * dim_of(a, view[1]),
               dim_of(a, view[2]) * dim_of(a, view[3]) * p->unit, dim_of(a, view[4]) * p->unit};
  return tile.rows <= 1 || tile.stride <= tile.inner ? dense : tile;
}

void adjoint_places(Adjoint *a) {
  const Plan *plan = a->view->plan;
  for (uint32_t i = 0; i < a->record->operands_count && i < KERNEL_OPERANDS_MAX; i++) {
    const PlanOperand *operand = operand_of(a, i);
    Place *p = &a->place[i];
    *p = (Place){.buffer = walk_buffer(a->walk, operand->base),
                 .unit = (uint64_t)dtype_bytes((DType)operand->dtype),
                 .access = (Access)operand->access};
    p->first = walk_base(a->walk, operand->base) + view_operand(a->view, operand);
    p->end = p->first + operand->size_bytes;
    p->tile = tile_of(a, i, p);
    if (p->buffer != PLAN_NONE && plan->buffers[p->buffer].program != PLAN_NONE)
      p->stands = &a->stands[p->buffer - a->view->class->buffers_first];
  }
}

/* ---- what lies in what */

static uint64_t bytes_of(const Tile *tile) {
  return tile->rows * tile->inner;
}

static bool same_rows(const Tile *a, const Tile *b) {
  return a->rows == b->rows && a->stride == b->stride;
}

/* Do rows of the one stand between those of the other? */
static bool beside(const Stand *s, const Place *p) {
  if (s->tile.rows <= 1 || !same_rows(&s->tile, &p->tile)) return false;
  uint64_t s_end = s->first + s->tile.inner, p_end = p->first + p->tile.inner;
  if (s_end <= p->first) return p_end - s->first <= s->tile.stride;
  return p_end <= s->first && s_end - p->first <= s->tile.stride;
}

typedef struct Extent {
  uint64_t first, end;
  const Tile *tile;
} Extent;

static Extent extent_of(const Stand *s) {
  return (Extent){s->first, s->end, &s->tile};
}

static Extent extent_at(const Place *p) {
  return (Extent){p->first, p->end, &p->tile};
}

/* Which elements of the whole, as if it stood dense, the part is; false: it cannot be told. */
static bool lies_in(Extent whole, Extent part, uint64_t unit, uint64_t *offset, Tile *which) {
  if (part.first < whole.first || part.end > whole.end) return false;
  uint64_t at = part.first - whole.first;
  *offset = at / unit;
  *which = (Tile){part.tile->rows, part.tile->inner / unit, part.tile->inner / unit};
  if (whole.tile->rows > 1) {
    if (!same_rows(whole.tile, part.tile) || at + part.tile->inner > whole.tile->inner)
      return false;
    which->stride = whole.tile->inner / unit;
  } else if (part.tile->rows > 1) {
    which->stride = part.tile->stride / unit;
  }
  return true;
}

/* ---- operands of one record */

static bool share_bytes(const Place *a, const Place *b) {
  if (a->first == a->end || b->first == b->end || a->first >= b->end || b->first >= a->end)
    return false;
  const Stand other = {.first = a->first, .end = a->end, .tile = a->tile};
  return !beside(&other, b);
}

static bool same_place(const Place *a, const Place *b) {
  return a->first == b->first && a->end == b->end && a->tile.inner == b->tile.inner;
}

void adjoint_check_apart(const Adjoint *a) {
  bool kernel = a->record->kind == RECORD_KERNEL;
  uint32_t in_place = kernel ? a->rules[a->record->kernel].in_place : NO_OPERAND;
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    const Place *p = &a->place[i];
    if (p->access == ACCESS_READ || p->buffer == PLAN_NONE) continue;
    for (uint32_t k = 0; k < a->record->operands_count; k++) {
      const Place *other = &a->place[k];
      if (k == i || other->buffer != p->buffer || !share_bytes(p, other)) continue;
      if (i == in_place && k == 0 && same_place(p, other)) continue;
      ADJOINT_FINDING(a, "writes operand %u where operand %u stands", i, k);
      return;
    }
  }
}

/* ---- reading */

static bool meets(const Stands *stands, uint32_t i, const Place *p) {
  return i < stands->count && stands->at[i].first < p->end;
}

/* Rows between the operand's own are nothing of its. */
static bool apart(const Stand *s, const Place *p) {
  return beside(s, p);
}

static Worth part_of(Adjoint *a, const Worth *whole, uint64_t offset, Tile which) {
  Worth part = *whole;
  part.sum = 0, part.known = false, part.whole = 0;
  if (offset != 0) part.tensor = 0;
  part.name = part.nature == NATURE_VALUE ? uses_part(&a->uses, whole->name, offset, which)
                                          : hash_mix(whole->name, part_factor(offset, which));
  return part;
}

/* Parts that stand side by side are one value. */
static Worth joined(const Place *p, uint32_t at) {
  Worth worth = {.nature = NATURE_UNKNOWN};
  uint64_t bytes = 0;
  bool any = false;
  for (uint32_t i = at; meets(p->stands, i, p); i++) {
    const Stand *s = &p->stands->at[i];
    if (apart(s, p)) continue;
    uint64_t offset = 0;
    Tile which;
    bool within = lies_in(extent_at(p), extent_of(s), p->unit, &offset, &which);
    if (!within && (s->tile.rows > 1 || p->tile.rows > 1)) return (Worth){.nature = NATURE_UNKNOWN};
    uint64_t first = s->first > p->first ? s->first : p->first;
    uint64_t end = s->end < p->end ? s->end : p->end;
    bytes += within ? bytes_of(&s->tile) : end - first;
    uint64_t factor = within ? part_factor(offset, which)
                             : hash_mix(hash_mix(29, first - s->first), end - s->first);
    worth.name = hash_mix(hash_mix(worth.name, s->worth.name), factor);
    worth.sum += s->worth.sum * factor;
    if (s->worth.came != 0) worth.came = CAME_SEVERAL;
    worth.known = s->worth.known && within && (!any || worth.known);
    worth.input = !any || worth.input == s->worth.input ? s->worth.input : 0;
    worth.nature = !any || worth.nature == s->worth.nature ? s->worth.nature : NATURE_UNKNOWN;
    any = true;
  }
  return bytes < bytes_of(&p->tile) ? (Worth){.nature = NATURE_UNKNOWN} : worth;
}

Worth adjoint_worth(Adjoint *a, const Place *p, bool *followed) {
  *followed = false;
  if (p->stands == NULL)
    return (Worth){.name = hash_mix(hash_mix(7, p->first), p->end), .nature = NATURE_VALUE};
  uint32_t at = stands_find(p->stands, p->first);
  while (meets(p->stands, at, p) && apart(&p->stands->at[at], p))
    at++;
  if (!meets(p->stands, at, p)) return (Worth){.nature = NATURE_UNKNOWN};
  const Stand *s = &p->stands->at[at];
  uint64_t offset = 0;
  Tile which;
  if (s->first == p->first && s->end == p->end && s->tile.rows == p->tile.rows &&
      s->tile.inner == p->tile.inner) {
    *followed = true;
    return s->worth;
  }
  if (lies_in(extent_of(s), extent_at(p), p->unit, &offset, &which)) {
    *followed = s->worth.nature == NATURE_VALUE;
    return part_of(a, &s->worth, offset, which);
  }
  return joined(p, at);
}

void adjoint_unclear(Adjoint *a, const Place *p, const Worth *worth, bool followed) {
  if (p->stands == NULL) return;
  if (followed) {
    uses_unclear(&a->uses, worth->name);
    return;
  }
  for (uint32_t i = stands_find(p->stands, p->first); meets(p->stands, i, p); i++)
    if (!apart(&p->stands->at[i], p)) uses_unclear(&a->uses, p->stands->at[i].worth.name);
}

/* ---- writing */

/* What is left of a value on one side of what was written into it. */
static void keep_rest(Adjoint *a, Stands *stands, const Stand *s, uint64_t first, Tile tile,
                      uint64_t unit) {
  Stand rest = {.first = first, .tile = tile};
  uint64_t offset = 0;
  Tile which;
  if (tile.inner == 0) return;
  rest.end = first + (tile.rows - 1) * tile.stride + tile.inner;
  if (!lies_in(extent_of(s), extent_of(&rest), unit, &offset, &which)) return;
  rest.worth = part_of(a, &s->worth, offset, which);
  a->failed |= !stands_insert(stands, rest);
}

/* A piece is cut out of a value: what stands before and behind it stays. */
static bool keep_both(Adjoint *a, const Place *p, const Stand *s) {
  bool dense = s->tile.rows <= 1, rows = p->tile.rows > 1;
  Tile row = p->tile;
  uint64_t length = s->tile.inner;
  if (rows && dense) {
    if (bytes_of(&s->tile) != row.rows * row.stride) return false;
    length = row.stride;
  } else if (rows ? !same_rows(&s->tile, &row) : !dense) {
    return false;
  }
  uint64_t first = p->first > s->first ? p->first - s->first : 0;
  uint64_t end = p->first + row.inner < s->first ? 0 : p->first + row.inner - s->first;
  if (end > length) end = length;
  if (rows && (p->first < s->first || first >= length || p->first + row.inner > s->first + length))
    return false;
  Tile before = {row.rows, first, rows ? row.stride : first};
  Tile behind = {row.rows, length - end, rows ? row.stride : length - end};
  keep_rest(a, p->stands, s, s->first, before, p->unit);
  keep_rest(a, p->stands, s, s->first + end, behind, p->unit);
  return true;
}

/* Nothing stands there any more. */
void adjoint_drop(Adjoint *a, const Place *p) {
  if (p->stands == NULL) return;
  for (uint32_t i = stands_find(p->stands, p->first); meets(p->stands, i, p);) {
    Stand old = p->stands->at[i];
    if (apart(&old, p)) {
      i++;
      continue;
    }
    stands_remove(p->stands, i);
    bool covered = p->first <= old.first && old.end <= p->end &&
                   (p->tile.rows <= 1 || (same_rows(&old.tile, &p->tile) &&
                                          old.first + old.tile.inner <= p->first + p->tile.inner));
    if (covered) continue;
    if (!keep_both(a, p, &old)) {
      if (old.worth.nature != NATURE_GRADIENT) uses_unclear(&a->uses, old.worth.name);
      continue;
    }
    i = stands_find(p->stands, p->first);
    while (meets(p->stands, i, p) && apart(&p->stands->at[i], p))
      i++;
  }
}

void adjoint_write(Adjoint *a, const Place *p, Worth worth) {
  if (p->stands == NULL || p->first == p->end) return;
  adjoint_drop(a, p);
  a->failed |= !stands_insert(p->stands, (Stand){p->first, p->end, p->tile, worth});
}
