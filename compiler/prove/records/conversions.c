/* conversions.c -- the same value in another layout: which ranks it goes over, and in what pieces.
 */
#include "compiler/prove/records/case.h"

/* The dim by whose cuts two layouts of one value differ, the cuts that only `fine` has being the
 * last ones. Refuses when they differ otherwise. */
typedef struct Change {
  uint32_t dim;
  uint32_t axes;
  uint32_t from; /* the first cut that only one has */
} Change;

static uint32_t cut_axes(Case *c, const PlanLayoutDim *dim, uint32_t from) {
  uint32_t axes = 0;
  for (uint32_t i = from; i < dim->cuts_count; i++) {
    uint32_t axis = c->plan->cuts[dim->cuts_first + i].axis;
    if (axes >> axis != 0) case_wrong(c, "a dim is cut in another order than members stand in");
    axes |= 1u << axis;
  }
  return axes;
}

static Change change_of(Case *c, const Part *fine, const Part *whole) {
  Change change = {.dim = fine->count};
  if (fine->count != whole->count) case_wrong(c, "its operands have different dims");
  for (uint32_t i = 0; i < fine->count && i < whole->count; i++) {
    const PlanLayoutDim *part = &fine->dim[i], *all = &whole->dim[i];
    if (dims_are_cut_alike(c, part, all)) continue;
    if (change.dim != fine->count) case_wrong(c, "two dims change");
    change = (Change){i, cut_axes(c, part, all->cuts_count), all->cuts_count};
    if (part->name != all->name || part->size != all->size || part->cuts_count < all->cuts_count)
      case_wrong(c, "its operands are not parts of one value");
  }
  if (change.dim == fine->count) case_wrong(c, "nothing changes");
  return change;
}

static void over(Case *c, uint32_t axes) {
  if (c->record->comm == PLAN_NONE || c->plan->comms[c->record->comm].axes_mask != axes)
    case_wrong(c, "goes over other ranks than the layouts differ along");
}

static bool is_statistics(const Case *c, const Part *part) {
  return part->count == 1 && dim_is(c, &part->dim[0], "statistics");
}

/* A member's share: so many pieces of so many elements. */
static void share(Case *c, uint32_t fine_operand, uint32_t whole_operand) {
  Part fine = case_part(c, fine_operand), whole = case_part(c, whole_operand);
  if (is_statistics(c, &fine) && is_statistics(c, &whole)) { /* what each rank has, in a row */
    case_dim(c, 1);
    case_dim(c, fine.dim[0].size);
    return;
  }
  Change change = change_of(c, &fine, &whole);
  if (change.dim == fine.count) return;
  const PlanLayoutDim *dim = &fine.dim[change.dim];
  for (uint32_t i = change.from; i < dim->cuts_count; i++)
    if (c->plan->cuts[dim->cuts_first + i].style != CUT_BLOCK)
      case_wrong(c, "parts in two runs do not stand one after another");
  over(c, change.axes);
  case_dim(c, part_product(c, &fine, 0, change.dim));
  case_dim(c, part_product(c, &fine, change.dim, fine.count));
}

static void check_summands(Case *c, uint32_t read, uint32_t written, bool reduces) {
  uint32_t before = c->plan->layouts[case_operand(c, read)->layout].owed_axes;
  uint32_t after = c->plan->layouts[case_operand(c, written)->layout].owed_axes;
  uint32_t axes = c->record->comm == PLAN_NONE ? 0 : c->plan->comms[c->record->comm].axes_mask;
  if (reduces && (before & axes) != axes) case_wrong(c, "adds up what are no summands");
  if (read != written && (before & ~after) != (reduces ? axes : 0))
    case_wrong(c, "its result is said to be summed up over other ranks");
}

static bool has_operands(Case *c, uint32_t count) {
  if (c->record->operands_count != count)
    case_wrong(c, "has %u operands", c->record->operands_count);
  for (uint32_t i = 0; i < c->record->operands_count; i++)
    (void)case_part(c, i);
  return c->wrong[0] == '\0';
}

/* Both runs of the part, counted from where the first operand's own part begins. */
static void slice(Case *c) {
  if (!has_operands(c, 2)) return;
  Part whole = case_part(c, 0), fine = case_part(c, 1);
  Change change = change_of(c, &fine, &whole);
  if (change.dim == fine.count) return;
  const PlanLayoutDim *dim = &fine.dim[change.dim];
  int64_t part = dim_local(c, dim);
  if (whole.layout->owed_axes != fine.layout->owed_axes)
    case_wrong(c, "a part of a summand is no part of the sum");
  case_dim(c, part_product(c, &whole, 0, change.dim));
  case_dim(c, dim_local(c, &whole.dim[change.dim]));
  case_dim(c, part);
  case_dim(c, part_product(c, &fine, change.dim + 1, fine.count));
  bool zigzag = c->plan->cuts[dim->cuts_first + change.from].style == CUT_ZIGZAG;
  if (zigzag && change.from != 0) case_wrong(c, "a part is cut in two runs");
  int64_t first = zigzag ? 0 : dim_first(c, dim, change.from, dim->cuts_count);
  Runs runs = zigzag ? dim_runs(c, dim, dim->cuts_count, 0) : (Runs){first, first + part / 2};
  case_attr(c, (double)runs.first);
  case_attr(c, (double)runs.second);
}

/* The same moves with a and middle, b and inner as one dim each: as packed.h says them. */
static bool is_joined(const Case *c) {
  const int64_t *dim = c->plan->ints + c->record->dims_first;
  return c->record->dims_count == 5 && dim[2] == 1 && dim[3] == 1;
}

/* A cut goes from one dim to another: x is whole in `gets` once it has come. kernels and dims as
 * PlanRecord says: [outer, a, middle, b, inner] of the side that has b whole. */
static void all_to_all(Case *c) {
  if (!has_operands(c, 2)) return;
  Part x = case_part(c, 0), y = case_part(c, 1);
  uint32_t gets = x.count, loses = x.count;
  for (uint32_t i = 0; i < x.count && i < y.count; i++) {
    if (dims_are_cut_alike(c, &x.dim[i], &y.dim[i])) continue;
    *(x.dim[i].cuts_count > y.dim[i].cuts_count ? &gets : &loses) = i;
  }
  if (x.count != y.count || gets == x.count || loses == x.count) {
    case_wrong(c, "does not move a cut from one dim to another");
    return;
  }
  over(c, cut_axes(c, &x.dim[gets], y.dim[gets].cuts_count));
  over(c, cut_axes(c, &y.dim[loses], x.dim[loses].cuts_count));
  uint32_t first = gets < loses ? gets : loses, second = gets < loses ? loses : gets;
  const Part *one = gets < loses ? &x : &y, *other = gets < loses ? &y : &x;
  case_dim(c, part_product(c, one, 0, first));
  int64_t a = dim_local(c, &one->dim[first]), middle = part_product(c, one, first + 1, second);
  int64_t b = dim_local(c, &other->dim[second]);
  int64_t inner = part_product(c, one, second + 1, one->count);
  bool joined = is_joined(c);
  case_dim(c, joined ? a * middle : a);
  case_dim(c, joined ? 1 : middle);
  case_dim(c, joined ? 1 : b);
  case_dim(c, joined ? b * inner : inner);
  case_attr(c, loses < gets);
}

/* A ring: what a rank has goes to the next, and what the one before had comes. */
static void ring(Case *c) {
  uint32_t half = c->record->operands_count / 2;
  if (!has_operands(c, 2 * half)) return;
  for (uint32_t i = 0; i < half; i++)
    if (case_operand(c, i)->layout != case_operand(c, half + i)->layout ||
        case_operand(c, i)->value != case_operand(c, half + i)->value)
      case_wrong(c, "what comes is not what goes");
  for (uint32_t i = 0; i < 2 * half; i++)
    case_dim(c, i < half ? 1 : -1);
  Part part = case_part(c, 0);
  uint32_t axes = 0;
  for (uint32_t i = 0; i < part.count; i++)
    if (dim_is(c, &part.dim[i], "seq")) axes = cut_axes(c, &part.dim[i], 0);
  over(c, axes);
}

void rule_of_conversion(Case *c) {
  switch ((RecordKind)c->record->kind) {
  case RECORD_ALL_GATHER:
    if (!has_operands(c, 2)) return;
    share(c, 0, 1);
    check_summands(c, 0, 1, false);
    return;
  case RECORD_REDUCE_SCATTER:
    if (!has_operands(c, 2)) return;
    share(c, 1, 0);
    check_summands(c, 0, 1, true);
    return;
  case RECORD_ALL_REDUCE:
    if (has_operands(c, 1)) check_summands(c, 0, 0, true);
    return;
  case RECORD_ALL_TO_ALL: all_to_all(c); return;
  case RECORD_EXCHANGE: ring(c); return;
  case RECORD_KERNEL:
    if (c->contract != NULL && c->contract->id == KERNEL_slice) {
      slice(c);
      return;
    }
    break;
  default: break;
  }
  case_wrong(c, "is no conversion that a rule knows");
}
