/* moves.c -- what collectives do to values and to tensors of whole blocks: sum over ranks, gather,
 * scatter, cut along another dim. The result follows from the record's ranks and numbers, and must
 * be what the plan states. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_job.h"

/* ---- sums over ranks */

/* Gradients are summed first over the ranks that share a layer, then over those with other samples
 * and tokens: always in this order, so that sums round the same way. */
static bool layer_is_whole(Typing *t, const Type *type) {
  const uint32_t layer = axes_dividing(t, DIVIDES_FEATURES) & ~axes_of_comm(t, t->call.at->comm);
  if (type->kind != TYPE_SUM || t->plan->values[type->ref].kind != VALUE_PARAM_GRAD) return true;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if ((layer >> axis & 1) != 0 && type->place[axis].kind == PLACE_OWED)
      return refuse_along(t, axis, "it comes before the sum", type);
  return true;
}

/* Partial sums along the record's axes become whole. */
static bool add_up(Typing *t, Type *type, const Type *other) {
  uint32_t axes = axes_of_comm(t, t->call.at->comm), own_axes = where(t, 0).own_axes;
  /* both losses and their weights may be whole */
  bool may_be_whole = t->call.at->purpose == PURPOSE_CONTROL;
  const Type found = *type;
  (void)other;
  if (t->plan->meanings[t->call.at->meaning].reduce != REDUCE_SUM)
    return REFUSE(t, "it is not a sum");
  if (!layer_is_whole(t, type)) return false;
  for (uint32_t axis = 0; axis < t->plan->axes_count && type->kind != TYPE_ZERO; axis++) {
    const PlaceKind kind = (PlaceKind)type->place[axis].kind;
    if ((kind == PLACE_ROW) != ((own_axes >> axis & 1) != 0))
      return refuse_along(t, axis, "it sums other pieces than the rank's own", &found);
    if ((axes >> axis & 1) == 0) continue;
    if (kind != PLACE_OWED && !(kind == PLACE_WHOLE && may_be_whole))
      return refuse_along(t, axis, "it sums values that are not partial sums", &found);
    type->place[axis] = (Place){0};
  }
  return true;
}

/* ---- tensor by tensor, in place or from operands to operands */

/* The rule for one tensor, and the same elements of a second operand. False: refused. */
typedef bool Rule(Typing *t, Type *type, const Type *other);

/* The elements of a span of one operand, in another operand. */
static TypeSpan same_elements(const Where *from, TypeSpan span, const Where *to) {
  uint64_t bytes = (uint64_t)dtype_bytes((DType)from->operand->dtype);
  uint64_t to_bytes = (uint64_t)dtype_bytes((DType)to->operand->dtype);
  span.end = to->first + (span.end - from->first) / bytes * to_bytes;
  span.first = to->first + (span.first - from->first) / bytes * to_bytes;
  return span;
}

/* Goes element by element from one or two operands to another: one tensor of which ranks have
 * pieces of a row, or every tensor there. */
static void turn_tensors(Typing *t, uint32_t inputs, uint32_t to, Rule *rule) {
  const Where from = where(t, 0), second = where(t, inputs - 1), target = where(t, to);
  const bool has_gaps = t->call.at->purpose == PURPOSE_CONTROL; /* the runtime also writes there */
  uint64_t at = from.first;
  if ((from.own_axes | second.own_axes | target.own_axes) != 0 &&
      t->call.at->kind == RECORD_KERNEL) {
    Type type = read_type(t, 0), other = read_type(t, inputs - 1);
    if (type.dtype != from.operand->dtype || other.dtype != second.operand->dtype)
      refuse_found(t, &type, "it takes for numbers of another kind");
    type.dtype = other.dtype = (uint8_t)target.operand->dtype;
    if (!t->class.refused && rule(t, &type, &other)) write_type(t, to, &type);
    return;
  }
  for (TypeSpan span; !t->class.refused && next_span(t, &from, at, &span); at = span.end) {
    const TypeSpan met = same_elements(&from, span, &second);
    const TypeSpan made = same_elements(&from, span, &target);
    Type type = type_at(&t->proof.types, span.type);
    Type other = found_in(t, &second.reached->spans, met.first, met.end);
    if ((span.first > at && !has_gaps) || span.first < from.first || span.end > from.end ||
        type.dtype != from.operand->dtype || other.dtype != second.operand->dtype)
      break;
    type.dtype = other.dtype = (uint8_t)target.operand->dtype;
    if (!rule(t, &type, &other)) return;
    put(t, &target.reached->spans, made.first, made.end, &type);
  }
  if (at < from.end && !has_gaps)
    REFUSE(t, "byte %llu of operand 0 holds no tensor that begins and ends in it",
           (unsigned long long)(at - from.first));
}

void type_all_reduce(Typing *t) {
  turn_tensors(t, 1, 0, add_up);
}

/* True if the record's operand is exactly these bytes of the control block. */
static bool is_of_control(Typing *t, PlanBytes bytes) {
  const Where at = all_of(t, 0);
  uint64_t block = plan_address(plan_tier(t->plan, TIER_DEVICE), job_control_offset(t->plan));
  return at.reached->start + at.first == block + bytes.first &&
         at.end - at.first == bytes.end - bytes.first;
}

/* The host has set it to the rank's summand; it is complete before anything reads it. */
static bool sums_targets(Typing *t) {
  if (plan_slot(t->plan, CONTROL_targets) == NULL || !is_of_control(t, plan_slots_counted(t->plan)))
    return false;
  if ((t->class.made & MADE_TARGETS) != 0 || t->call.walk.program->kind != PROGRAM_TRAIN_STEP)
    REFUSE(t, "targets are counted once, in a step");
  if (t->plan->meanings[t->call.at->meaning].reduce != REDUCE_SUM ||
      operand_at(t, 0)->dtype != DTYPE_F64)
    REFUSE(t, "it is not a sum of their numbers");
  t->class.made |= MADE_TARGETS;
  return true;
}

/* Sums control values over ranks: the number of targets before the first loss, losses and requests
 * at the end. Each once; plan_check and `records` check that it is over all ranks. */
void type_control(Typing *t) {
  t->call.tells_class = true;
  if (t->call.at->kind == RECORD_ALL_REDUCE && sums_targets(t)) return;
  if (t->call.at->kind != RECORD_ALL_REDUCE || !is_of_control(t, plan_slots_summed(t->plan)))
    REFUSE(t, "it sums something other than the control values");
  if ((t->class.made & MADE_TOTALS) != 0) REFUSE(t, "the control values are summed a second time");
  t->class.made |= MADE_TOTALS;
  type_all_reduce(t);
}

/* Losses and the norm of a step have one loss scale. */
static void check_scale(Typing *t, const KernelContract *contract) {
  const uint64_t scale = CONTROL_BIT(CONTROL_loss_scale);
  if ((contract_control_reads(contract) & ~contract_control_writes(contract) & scale) != 0 &&
      (t->class.made & MADE_SCALE) != 0)
    REFUSE(t, "it reads the loss scale of the next step");
}

void check_slots(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract != NULL) check_scale(t, contract);
  if (t->class.refused) return;
  if (contract == NULL || mesh_axes(t->plan) == 0 || plan_slot(t->plan, CONTROL_targets) == NULL ||
      (contract_control_reads(contract) & CONTROL_BIT(CONTROL_targets)) == 0)
    return;
  if ((t->class.made & MADE_TARGETS) == 0)
    REFUSE(t, "it divides by the targets of one rank alone: they are summed later, or never");
}

/* ---- parts of a dim */

/* The product of the sizes of the dims [first, end), in a rank's part. */
static int64_t sizes(const Typing *t, const Type *type, uint32_t first, uint32_t end) {
  return meaning_sizes(&t->proof.meaning, type->ref, type->place, first, end);
}

static uint8_t cuts_of(const Typing *t, const Type *type, uint32_t dim) {
  uint8_t cuts = 0;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (type->place[axis].kind == PLACE_CUT && type->place[axis].dim == dim &&
        t->plan->axes[axis].divides != DIVIDES_SAMPLES)
      cuts++;
  return cuts;
}

/* The dim that is cut along all these axes, in blocks and inside its other cuts, so that pieces of
 * these ranks are adjacent. False: there is none. */
static bool cut_in_blocks(const Typing *t, const Type *type, uint32_t axes, uint32_t *dim) {
  *dim = axes == 0 ? 0 : type->place[__builtin_ctz(axes)].dim;
  uint8_t order = cuts_of(t, type, *dim);
  for (uint32_t axis = t->plan->axes_count; axis-- > 0;) {
    if ((axes >> axis & 1) == 0) continue;
    const Place wanted = {PLACE_CUT, (uint8_t)*dim, CUT_BLOCK, --order};
    if (memcmp(&type->place[axis], &wanted, sizeof wanted) != 0) return false;
  }
  return true;
}

/* Sets the places along the record's axes to those stated for its result. */
static bool place_as_said(Typing *t, Type *type, uint32_t axes, uint32_t *dim) {
  Place after[TYPE_AXES_MAX];
  layout_places(t->plan, t->plan->meanings[t->call.at->meaning].after, after);
  EACH_BIT (axis, axes)
    type->place[axis] = after[axis];
  return (axes != 0 && cut_in_blocks(t, type, axes, dim)) ||
         REFUSE(t, "it does not say which dim it cuts");
}

static bool uncut(Typing *t, Type *type, uint32_t axes, uint32_t *dim) {
  if (!cut_in_blocks(t, type, axes, dim))
    return refuse_found(t, type, "it moves a dim that these ranks do not have in blocks");
  EACH_BIT (axis, axes)
    type->place[axis] = (Place){0};
  return true;
}

/* True if the record's pair of numbers moves each rank's part of this dim. Statistics of ranks' own
 * classes, the last dim, are stored rank by rank. */
static bool pair_fits(Typing *t, const Type *part, uint32_t dim) {
  const int64_t *pair = record_dims(t);
  uint32_t count = 0;
  (void)meaning_dims(&t->proof.meaning, part->ref, &count);
  bool fits = part->part == PART_STATISTICS
                  ? pair[0] == 1 && dim + 1 == count
                  : pair[0] == sizes(t, part, 0, dim) && pair[1] == sizes(t, part, dim, count);
  return (fits && t->call.at->dims_count == 2) ||
         refuse_found(t, part, "its pieces are not the parts of a dim of");
}

static bool move_value(Typing *t, bool gathers, Type *type) {
  const uint32_t axes = axes_of_comm(t, t->call.at->comm);
  const Type was = *type;
  uint32_t dim = 0;
  if (type->part == PART_VIEWS || is_turned(type) || (type->part == PART_STATISTICS && !gathers))
    return refuse_found(t, type, "no rule says how to convert");
  return gathers ? uncut(t, type, axes, &dim) && pair_fits(t, &was, dim)
                 : add_up(t, type, NULL) && place_as_said(t, type, axes, &dim) &&
                       pair_fits(t, type, dim);
}

/* ---- pieces of a row */

/* A call of a layer moves the tensors of that layer. */
static bool is_tensor(Typing *t, const Type *type, const TypeSpan *whole) {
  if (type->kind != TYPE_SUM && type->kind != TYPE_STATE)
    return REFUSE(t, "bytes %llu to %llu hold %s, not a tensor", (unsigned long long)whole->first,
                  (unsigned long long)whole->end, told(t, type));
  if (type->layer != TYPE_ANY && type->layer != 0 && t->call.walk.call->layer >= 0)
    return refuse_found(t, type, "it moves the tensors of another layer");
  return true;
}

/* Ranks have `part` elements of it, before or after the move. */
static bool move_tensor(Typing *t, bool gathers, PlaceKind part, int64_t elements, Type *type) {
  const PlaceKind from = gathers ? part : PLACE_WHOLE, to = gathers ? PLACE_WHOLE : part;
  if (!gathers && !add_up(t, type, NULL)) return false;
  if (!gathers && type->piece != 0) return refuse_found(t, type, "it cuts pieces into pieces");
  if (gathers && part == PLACE_FLAT && type->piece != elements)
    return REFUSE(t, "it gathers pieces of %lld elements as %lld", (long long)type->piece,
                  (long long)elements);
  EACH_BIT (axis, axes_of_comm(t, t->call.at->comm)) {
    if (type->place[axis].kind != from)
      return refuse_along(t, axis, "it moves a value whose ranks have another layout", type);
    type->place[axis] = (Place){.kind = (uint8_t)to};
  }
  type->piece = !gathers && part == PLACE_FLAT ? elements : 0;
  return true;
}

/* A value moved as parts of a dim, or a tensor moved as pieces. False: refused. */
static bool move_one(Typing *t, bool gathers, PlaceKind part, const TypeSpan *whole,
                     const int64_t *pair, Type *type) {
  if (type->kind == TYPE_VALUE && part == PLACE_FLAT)
    return move_value(t, gathers, type) &&
           (type->part == PART_STATISTICS || is_as_said(t, 1, type));
  if (pair[0] != 1) return REFUSE(t, "a tensor's pieces lie apart");
  return is_tensor(t, type, whole) && move_tensor(t, gathers, part, pair[1], type);
}

/* Goes over the record's pairs, a value or tensor each: the whole and a rank's part, which lies
 * inside the whole when there is only one operand. */
static void move_all(Typing *t, bool gathers) {
  const bool in_place = operand_at(t, 0)->access == ACCESS_UPDATE;
  const Where first = all_of(t, 0), second = all_of(t, in_place ? 0 : 1);
  const Where *from = &first, *to = in_place ? &first : &second;
  TypeSpan whole = {.first = gathers ? to->first : from->first};
  TypeSpan part = {.first = gathers ? from->first : to->first};
  const TypeSpan *read = gathers && !in_place ? &part : &whole;
  const int64_t *pair = record_dims(t);
  for (uint32_t i = 0; i + 1 < t->call.at->dims_count && !t->class.refused; i += 2, pair += 2) {
    uint64_t bytes = (uint64_t)(pair[0] * pair[1] * dtype_bytes((DType)from->operand->dtype));
    whole.end = whole.first + bytes * plan_comm_size(t->plan, t->call.at->comm);
    part.end = part.first + bytes;
    Type type = read_row(t, &from->reached->spans, read->first, read->end);
    if (!move_one(t, gathers, in_place ? PLACE_ROW : PLACE_FLAT, &whole, pair, &type)) return;
    if (!gathers && !in_place)
      put(t, &to->reached->spans, part.first, part.end, &type);
    else if (type.kind == TYPE_VALUE)
      put(t, &to->reached->spans, whole.first, whole.end, &type);
    else
      write_row(t, &to->reached->spans, whole.first, whole.end, &type);
    whole.first = whole.end;
    part.first = part.end;
  }
}

/* ---- a value that is cut along another dim */

/* The record's numbers [outer, a, middle, b, inner] are the sizes before, between and after the two
 * dims. Neighbours of a dim may be merged with it when they move the same way. */
static bool turn_fits(const Typing *t, const Type *x, const Type *y, uint32_t gets,
                      uint32_t loses) {
  bool back = loses < gets;
  const int64_t *dims = record_dims(t);
  bool goes_back = t->call.at->attrs_count > 0 && record_attrs(t)[0] == 1; /* without one: forth */
  if (t->call.at->dims_count != 5 || goes_back != back) return false;
  uint32_t first = back ? loses : gets, second = back ? gets : loses;
  return dims[0] == sizes(t, x, 0, first) &&
         dims[1] * dims[2] == sizes(t, back ? y : x, first, second) &&
         dims[3] * dims[4] == sizes(t, back ? x : y, second, UINT32_MAX);
}

static bool all_to_all(Typing *t, Type *type) {
  const Type x = *type;
  uint32_t axes = axes_of_comm(t, t->call.at->comm), gets = 0, loses = 0;
  if (!uncut(t, type, axes, &gets) || !place_as_said(t, type, axes, &loses)) return false;
  return (loses != gets && turn_fits(t, &x, type, gets, loses)) ||
         refuse_found(t, &x, "its numbers move other dims of");
}

/* How the record cuts a row of `whole` into parts, one for each member of the communicator along
 * which it varies. False: in a way that no layout has. */
static bool slice_style(const Typing *t, uint32_t comm, int64_t whole, int64_t part,
                        CutStyle *style) {
  bool blocks = true, zigzag = true;
  int64_t half = part / 2, members = plan_comm_size(t->plan, comm);
  if (part * members != whole) return false;
  for (uint32_t i = 0; i < t->call.at->varies_count; i++)
    if (t->plan->varies[t->call.at->varies_first + i].by != comm) return false;
  for (int64_t m = 0; m < members; m++) {
    double first = attr_of_member(t->plan, t->call.at, 0, (uint32_t)m),
           second =
               attr_of_member(t->plan, t->call.at, 1, (uint32_t)m); /* the starts of its two runs */
    blocks = blocks && first == (double)(m * part) && second == (double)(m * part + half);
    zigzag = zigzag && first == (double)(m * half) && second == (double)(whole - (m + 1) * half);
  }
  *style = zigzag && !blocks ? CUT_ZIGZAG : CUT_BLOCK;
  return blocks || zigzag;
}

static bool slices_dim(const Typing *t, const Type *type, uint32_t dim) {
  const int64_t *dims = record_dims(t);
  return dims[0] == sizes(t, type, 0, dim) && dims[1] == sizes(t, type, dim, dim + 1) &&
         dims[3] == sizes(t, type, dim + 1, UINT32_MAX);
}

static bool slice(Typing *t, Type *type) {
  const uint32_t varies = t->call.at->varies_count;
  uint32_t comm = varies == 0 ? PLAN_NONE : t->plan->varies[t->call.at->varies_first].by;
  uint32_t count = 0, dim = 0, axes = varies == 0 ? 0 : axes_of_comm(t, comm);
  CutStyle style = CUT_BLOCK;
  (void)meaning_dims(&t->proof.meaning, type->ref, &count);
  while (dim < count && !slices_dim(t, type, dim))
    dim++;
  const int64_t *dims = record_dims(t);
  bool fits = dim < count && varies > 0 && slice_style(t, comm, dims[1], dims[2], &style);
  uint8_t order = cuts_of(t, type, dim);
  EACH_BIT (axis, fits ? axes : 0) {
    fits = fits && type->place[axis].kind == PLACE_WHOLE;
    type->place[axis] = (Place){PLACE_CUT, (uint8_t)dim, (uint8_t)style, order++};
  }
  return fits ||
         refuse_found(t, type, "its numbers cut no whole dim into equal parts, one a rank, of");
}

static void turn_value(Typing *t, bool turn(Typing *t, Type *type)) {
  Type type = read_type(t, 0);
  if (type.kind != TYPE_VALUE || (type.part != PART_ALL && type.part != PART_NO_BIAS) ||
      is_turned(&type))
    refuse_found(t, &type, "no rule says how to convert");
  else if (turn(t, &type) && is_as_said(t, 1, &type))
    write_type(t, 1, &type);
}

/* ---- a tensor, element by element */

/* The same parameters in another dtype; the padding between them is zeros. */
static bool keep_params(Typing *t, Type *type, const Type *other) {
  (void)other;
  return type->kind == TYPE_ZERO || (type->kind == TYPE_STATE && type->state == BUFFER_PARAM) ||
         refuse_found(t, type, "it casts something that is not a parameter");
}

/* The numbers that share a scale, by the blocks down and across the matrix. False: the job has no
 * such blocks. */
static bool blocks_of_record(const Typing *t, CodesOf *of) {
  const int64_t *dim = t->plan->ints + t->call.at->dims_first;
  const int64_t rows = dim[0], cols = dim[1], down = dim[2], across = dim[3];
  const bool one_row = down == rows, one_column = across == cols;
  const bool side_down = down * CODES_SIDE == rows, side_across = across * CODES_SIDE == cols;
  *of = CODES_OF_ALL;
  if (!codes_by_block(t->plan)) return down == 1 && across == 1;
  if (one_row && side_across) *of = CODES_OF_ROWS;
  if (side_down && one_column) *of = CODES_OF_COLUMNS;
  if (side_down && side_across) *of = CODES_OF_SQUARES;
  return *of != CODES_OF_ALL && cols <= UINT32_MAX;
}

/* A value, or a parameter as kernels read it, becomes codes and their scales: the whole of it. */
void type_quantise(Typing *t) {
  Type type = read_type(t, 0);
  const DType dtype = (DType)operand_at(t, 0)->dtype;
  const bool is_value = type.kind == TYPE_VALUE && type.part == PART_ALL && !is_turned(&type);
  const bool is_param = type.kind == TYPE_STATE && type.state == BUFFER_PARAM;
  if ((!is_value && !is_param) || type.runs != 0 || type.dtype != dtype) {
    refuse_found(t, &type, "no rule says how to quantise");
    return;
  }
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (type.place[axis].kind != PLACE_WHOLE && type.place[axis].kind != PLACE_CUT) {
      refuse_along(t, axis, "it quantises pieces or summands", &type);
      return;
    }
  CodesOf of = CODES_OF_ALL;
  if (!blocks_of_record(t, &of)) {
    REFUSE(t, "its blocks are not those of precision.linear");
    return;
  }
  type.part = PART_CODES;
  type.dtype = (uint8_t)operand_at(t, 1)->dtype;
  type.storage = codes_storage((DType)type.dtype, of);
  type.mask = 0;
  if (of != CODES_OF_ALL) type.mask = (uint32_t)t->plan->ints[t->call.at->dims_first + 1];
  if (!right_size(t, 1, type.ref, &type) || !is_as_said(t, 1, &type)) return;
  write_type(t, 1, &type);
  type.part = PART_SCALES;
  type.dtype = DTYPE_F32;
  write_type(t, 2, &type);
}

void type_cast(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract != NULL && contract->row->role == ROLE_QUANTISE) {
    type_quantise(t);
    return;
  }
  if (contract == NULL || contract->row->role != ROLE_CAST)
    REFUSE(t, "it does more than change the dtype");
  else
    turn_tensors(t, 1, 1, keep_params);
}

/* Axes that divide samples or tokens, along which ranks have summands. */
static uint32_t owed_axes(const Typing *t, const Type *type) {
  uint32_t owed = 0;
  EACH_BIT (axis, axes_dividing(t, DIVIDES_SAMPLES) | axes_dividing(t, DIVIDES_TOKENS))
    owed |= (uint32_t)(type->place[axis].kind == PLACE_OWED) << axis;
  return owed;
}

/* A gradient is rounded to be sent: it is owed, and when it is widened again, ranks have added it
 * up. Rounded by one of two stages, copies of a tied parameter would drift apart. */
static bool may_round(Typing *t, Type *type, DType from) {
  const int64_t kept = dtype_bytes((DType)t->plan->values[type->ref].dtype);
  const int64_t was = dtype_bytes(from), is = dtype_bytes((DType)type->dtype);
  const uint32_t owed = owed_axes(t, type);
  if (is < was && is < kept) {
    type->mask = owed;
    if (type->is_joined) return refuse_found(t, type, "it rounds a sum that two stages share");
    return owed != 0 || refuse_found(t, type, "it rounds a gradient that no rank is sent");
  }
  if (is > was && was < kept && (type->mask & ~owed) == 0)
    return refuse_found(t, type, "ranks have not added up what was rounded for it");
  if (is > was) type->mask = 0;
  return true;
}

static bool keep_sums(Typing *t, Type *type, const Type *other) {
  (void)other;
  if (type->kind == TYPE_ZERO) return true;
  return type->kind == TYPE_SUM
             ? may_round(t, type, (DType)operand_at(t, 0)->dtype)
             : refuse_found(t, type, "it casts something that is not a gradient");
}

/* Both are gradients of one tensor, over adjacent micro-batches or uses. */
static bool add_sums(Typing *t, Type *sum, const Type *other) {
  bool zeros = sum->kind == TYPE_ZERO && other->kind == TYPE_ZERO;
  Type added = *other;
  for (uint32_t i = 0; i < 2 && !zeros; i++) {
    Type *of = i == 0 ? sum : &added;
    if (of->kind == TYPE_SUM && !may_round(t, of, (DType)operand_at(t, i)->dtype)) return false;
  }
  return zeros || (sum->kind == TYPE_SUM && join_parts(t, sum, &added)) ||
         refuse_joined(t, sum, other, "added to");
}

/* Adding or casting as part of a reduction; `records` checks the numbers. */
static void type_kernel(Typing *t) {
  const KernelRole role = record_contract(t)->row->role;
  const bool reduces = t->call.at->purpose == PURPOSE_REDUCE;
  if (reduces && role == ROLE_ADD)
    turn_tensors(t, 2, 2, add_sums);
  else if (reduces && role == ROLE_CAST)
    turn_tensors(t, 1, 1, keep_sums);
  else if (role == ROLE_SLICE)
    turn_value(t, slice);
  else
    REFUSE(t, "no rule says what it moves");
}

void type_move(Typing *t) {
  const bool joins = t->call.at->purpose == PURPOSE_REDUCE;
  switch ((RecordKind)t->call.at->kind) {
  case RECORD_KERNEL: type_kernel(t); return;
  case RECORD_ALL_REDUCE: type_all_reduce(t); return;
  case RECORD_ALL_GATHER: move_all(t, true); return;
  case RECORD_REDUCE_SCATTER: move_all(t, false); return;
  case RECORD_ALL_TO_ALL: turn_value(t, all_to_all); return;
  case RECORD_EXCHANGE: (joins ? type_join : type_ring)(t); return;
  default: REFUSE(t, "no rule says what it moves");
  }
}
