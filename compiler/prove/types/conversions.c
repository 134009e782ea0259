/* conversions.c -- a value in another layout: gathered, scattered, sliced, copied. */
#include <string.h>

#include "compiler/prove/types/forms.h"
#include "runtime/plan/plan_layout.h"

static uint32_t axis_count(const Typing *t) {
  return t->plan->axes_count < TYPE_AXES_MAX ? t->plan->axes_count : TYPE_AXES_MAX;
}

/* Sizes around a dim, of what one rank has. */
typedef struct Around {
  int64_t before, size, behind;
} Around;

static Around around(const Typing *t, const Type *type, uint32_t dim) {
  Around around = {1, 1, 1};
  uint32_t count = 0;
  (void)meaning_dims(&t->meaning, type->ref, &count);
  for (uint32_t i = 0; i < count; i++)
    *(i < dim    ? &around.before
      : i == dim ? &around.size
                 : &around.behind) *= meaning_size(&t->meaning, type->ref, type->place, i);
  return around;
}

static uint8_t cuts_of(const Typing *t, const Type *type, uint32_t dim) {
  uint8_t cuts = 0;
  for (uint32_t axis = 0; axis < axis_count(t); axis++)
    if (type->place[axis].kind == PLACE_CUT && type->place[axis].dim == dim &&
        t->plan->axes[axis].divides != DIVIDES_SAMPLES)
      cuts++;
  return cuts;
}

static void refuse_type(Typing *t, const char *why, const Type *type) {
  char holds[TYPE_TEXT_BYTES];
  refuse(t, "%s: %s", why, type_text(t->plan, type, holds));
}

/* Cuts a dim along all axes of the mask, inside of what cuts it already. */
static void cut(const Typing *t, Type *type, uint32_t axes, uint32_t dim, CutStyle style) {
  uint8_t order = cuts_of(t, type, dim);
  for (uint32_t axis = 0; axis < axis_count(t); axis++)
    if ((axes >> axis & 1) != 0)
      type->place[axis] = (Place){
          .kind = PLACE_CUT, .dim = (uint8_t)dim, .style = (uint8_t)style, .order = order++};
}

/* Undoes the innermost cuts, which are those along the axes, in blocks. False: they are not. */
static bool uncut(const Typing *t, Type *type, uint32_t axes, uint32_t *dim) {
  uint32_t first = 0;
  while ((axes >> first & 1) == 0)
    first++;
  *dim = type->place[first].dim;
  uint8_t order = cuts_of(t, type, *dim);
  for (uint32_t axis = axis_count(t); axis-- > 0;) {
    if ((axes >> axis & 1) == 0) continue;
    const Place wanted = {PLACE_CUT, (uint8_t)*dim, CUT_BLOCK, --order};
    if (memcmp(&type->place[axis], &wanted, sizeof wanted) != 0) return false;
    type->place[axis] = (Place){0};
  }
  return true;
}

/* Whether the record moves a part of this dim of each rank, as its pair of numbers says. */
static bool pair_fits(Typing *t, const Type *part, uint32_t dim) {
  Around of = around(t, part, dim);
  bool fits = t->at->dims_count == 2 && record_dims(t)[0] == of.before &&
              record_dims(t)[1] == of.size * of.behind;
  if (!fits) refuse_type(t, "its pieces are not the parts of a dim of", part);
  return fits;
}

static bool has_value(Typing *t, const Type *type) {
  if (type->kind == TYPE_VALUE && type->part != PART_VIEWS && !is_turned(type)) return true;
  refuse_type(t, "no rule says how to convert", type);
  return false;
}

static void gather(Typing *t) {
  Type type = read_type(t, 0), part = type;
  uint32_t dim = 0;
  if (!has_value(t, &type)) return;
  if (!uncut(t, &type, axes_of_comm(t, t->at->comm), &dim))
    refuse_type(t, "it gathers what these ranks do not have in blocks", &part);
  else if (type.part == PART_STATISTICS || pair_fits(t, &part, dim))
    write_type(t, 1, &type);
}

/* The dim that the record says it cuts, which its numbers must bear out. */
static bool new_cut(const Typing *t, uint32_t axes, uint32_t *dim) {
  uint32_t after = t->plan->meanings[t->at->meaning].after;
  for (uint32_t axis = 0; axis < axis_count(t); axis++)
    if ((axes >> axis & 1) != 0 && plan_layout_along(t->plan, after, axis, dim) == ALONG_CUT)
      return true;
  return false;
}

static void scatter(Typing *t) {
  Type type = read_type(t, 0);
  uint32_t axes = axes_of_comm(t, t->at->comm), dim = 0;
  if (!has_value(t, &type) || !add_up(t, &type)) return;
  if (!new_cut(t, axes, &dim)) {
    refuse(t, "it does not say which dim it scatters");
    return;
  }
  cut(t, &type, axes, dim, CUT_BLOCK);
  if (pair_fits(t, &type, dim)) write_type(t, 1, &type);
}

/* ---- a cut that goes from one dim to another */

/* The record's numbers [outer, a, middle, b, inner] stand for what lies before, between and behind
 * the two dims; neighbours of one may be joined: they move alike. */
static bool turn_fits(const Typing *t, const Type *x, const Type *y, uint32_t gets,
                      uint32_t loses) {
  bool back = loses < gets;
  const int64_t *dims = record_dims(t);
  if (t->at->dims_count != 5 || record_attrs(t)[0] != (double)back) return false;
  uint32_t first = back ? loses : gets, second = back ? gets : loses;
  int64_t outer = around(t, x, first).before;
  int64_t a_middle = around(t, back ? y : x, second).before / outer;
  Around b = around(t, back ? x : y, second);
  return dims[0] == outer && dims[1] * dims[2] == a_middle &&
         dims[3] * dims[4] == b.size * b.behind;
}

static void all_to_all(Typing *t) {
  Type x = read_type(t, 0), y = x;
  uint32_t axes = axes_of_comm(t, t->at->comm), gets = 0, loses = 0;
  if (!has_value(t, &x)) return;
  if (!uncut(t, &y, axes, &gets)) {
    refuse_type(t, "it exchanges what these ranks do not have in blocks", &x);
    return;
  }
  if (!new_cut(t, axes, &loses) || loses == gets) {
    refuse(t, "it does not say which dim it cuts instead");
    return;
  }
  cut(t, &y, axes, loses, CUT_BLOCK);
  if (turn_fits(t, &x, &y, gets, loses))
    write_type(t, 1, &y);
  else
    refuse_type(t, "its numbers move other dims of", &x);
}

/* ---- slices */

/* The communicator whose members have a part each. PLAN_NONE: there is none. */
static uint32_t slice_comm(const Typing *t) {
  uint32_t comm = PLAN_NONE;
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    uint32_t by = t->plan->varies[t->at->varies_first + i].by;
    if (comm != PLAN_NONE && comm != by) return PLAN_NONE;
    comm = by;
  }
  return comm;
}

/* How the record cuts a row of `whole` into parts. False: in no way that layouts have. */
static bool slice_style(const Typing *t, uint32_t comm, int64_t whole, int64_t part,
                        CutStyle *style) {
  bool blocks = true, zigzag = true;
  int64_t half = part / 2, members = plan_comm_size(t->plan, comm);
  if (part * members != whole) return false;
  for (int64_t m = 0; m < members; m++) {
    double first = attr_of(t, 0, m), second = attr_of(t, 1, m); /* its two runs */
    blocks = blocks && first == (double)(m * part) && second == (double)(m * part + half);
    zigzag = zigzag && first == (double)(m * half) && second == (double)(whole - (m + 1) * half);
  }
  *style = zigzag && !blocks ? CUT_ZIGZAG : CUT_BLOCK;
  return blocks || zigzag;
}

static bool slices_dim(const Typing *t, const Type *type, uint32_t dim) {
  const int64_t *dims = record_dims(t);
  Around of = around(t, type, dim);
  return dims[0] == of.before && dims[1] == of.size && dims[3] == of.behind;
}

static void slice(Typing *t) {
  Type type = read_type(t, 0);
  uint32_t comm = slice_comm(t);
  CutStyle style = CUT_BLOCK;
  uint32_t count = 0, dim = 0;
  if (!has_value(t, &type)) return;
  (void)meaning_dims(&t->meaning, type.ref, &count);
  while (dim < count && !slices_dim(t, &type, dim))
    dim++;
  const int64_t *dims = record_dims(t);
  if (dim == count || comm == PLAN_NONE || !slice_style(t, comm, dims[1], dims[2], &style)) {
    refuse_type(t, "its numbers cut no dim into equal parts, one a rank, of", &type);
    return;
  }
  uint32_t axes = axes_of_comm(t, comm);
  for (uint32_t axis = 0; axis < axis_count(t); axis++)
    if ((axes >> axis & 1) != 0 && type.place[axis].kind != PLACE_WHOLE) {
      refuse_type(t, "it slices what these ranks do not all have whole", &type);
      return;
    }
  cut(t, &type, axes, dim, style);
  write_type(t, 1, &type);
}

void type_conversion(Typing *t) {
  if (t->at->kind == RECORD_ALL_REDUCE)
    type_all_reduce(t);
  else if (t->at->kind == RECORD_ALL_GATHER && t->at->operands_count == 2)
    gather(t);
  else if (t->at->kind == RECORD_REDUCE_SCATTER && t->at->operands_count == 2)
    scatter(t);
  else if (t->at->kind == RECORD_EXCHANGE)
    type_ring(t);
  else if (t->at->kind == RECORD_ALL_TO_ALL && t->at->operands_count == 2)
    all_to_all(t);
  else if (t->at->kind == RECORD_KERNEL && record_contract(t)->row->role == ROLE_SLICE)
    slice(t);
  else
    refuse(t, "no rule says how it converts a value");
}
