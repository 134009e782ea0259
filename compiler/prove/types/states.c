/* states.c -- what lasts from step to step: its initial values, the norm, the updates. */
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/types/typing.h"

static bool is_parameter(Typing *t, uint32_t value) {
  bool is = value != PLAN_NONE && t->plan->values[value].kind == VALUE_PARAM;
  if (!is) refuse(t, "it names no parameter");
  return is;
}

/* The record's parameter, as a tensor of this kind has it. */
static Type state_of(const Typing *t, uint32_t kind, uint32_t operand) {
  uint32_t value = t->at->value;
  Type type = {.dtype = (uint8_t)t->plan->operands[t->at->operands_first + operand].dtype,
               .microbatch = TYPE_ANY};
  uint32_t region = t->plan->values[value].region;
  meaning_name(&t->meaning, region == PLAN_NONE ? 0 : region, value, &type);
  type.kind = TYPE_STATE;
  type.state = (uint8_t)kind;
  return type;
}

static uint32_t base_kind(const Typing *t, uint32_t operand) {
  const PlanOperand *at = &t->plan->operands[t->at->operands_first + operand];
  return t->plan->bases[t->walk.segment->bases_first + at->base].kind;
}

/* Which elements of the whole tensor a rank has: as kernels.def numbers them. */
typedef struct Numbers {
  int64_t elements, inner, stride, all_elements;
  double first[TYPE_AXES_MAX]; /* from member to member of an axis */
  uint32_t cut_dims;
} Numbers;

static Numbers numbers_of(const Typing *t, uint32_t layout) {
  const PlanLayout *at = &t->plan->layouts[layout];
  Numbers numbers = {.elements = 1, .all_elements = 1};
  int64_t after = 1;
  for (uint32_t i = at->dims_count; i-- > 0;) {
    const PlanLayoutDim *dim = &t->plan->layout_dims[at->dims_first + i];
    int64_t part = dim->size;
    for (uint32_t k = 0; k < dim->cuts_count; k++) {
      uint32_t axis = t->plan->cuts[dim->cuts_first + k].axis;
      part /= t->plan->axes[axis].size;
      if (axis < TYPE_AXES_MAX) numbers.first[axis] = (double)(part * after);
    }
    if (part != dim->size) {
      numbers.inner = part * after;
      numbers.stride = dim->size * after;
      numbers.cut_dims++;
    }
    numbers.elements *= part;
    numbers.all_elements *= dim->real_size;
    after *= dim->size;
  }
  if (numbers.cut_dims == 0) numbers.inner = numbers.stride = numbers.elements;
  return numbers;
}

/* The first element in a cut dim, as members of one communicator differ. */
static bool first_fits(const Typing *t, const PlanVary *vary, const Numbers *numbers) {
  uint32_t axes = axes_of_comm(t, vary->by);
  for (int64_t m = 0; m < plan_comm_size(t->plan, vary->by); m++) {
    double wanted = 0;
    for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
      if ((axes >> axis & 1) != 0)
        wanted += numbers->first[axis] * (double)coordinate_of(t, vary->by, m, axis);
    if (vary_of(t, vary, m) != wanted) return false;
  }
  return true;
}

/* Each rank's numbers begin where the layout says. */
static bool varies_fit(const Typing *t, const Numbers *numbers, uint32_t flat_axes, int64_t piece) {
  enum { FLAT_FIRST = 2, FIRST = 3 };
  uint32_t left = 0, flat_left = flat_axes;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX && axis < t->plan->axes_count; axis++)
    if (numbers->first[axis] != 0 && t->plan->axes[axis].size > 1) left |= 1u << axis;
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->at->varies_first + i];
    uint32_t axes = axes_of_comm(t, vary->by);
    bool flat = vary->attr == FLAT_FIRST && axes == flat_left && vary->values_count == 0 &&
                vary->stride == (double)piece;
    bool cut = vary->attr == FIRST && (axes & ~left) == 0 && first_fits(t, vary, numbers);
    if (!flat && !cut) return false;
    *(flat ? &flat_left : &left) &= ~axes;
  }
  return left == 0 && flat_left == 0 && record_attrs(t)[FLAT_FIRST] == 0 &&
         record_attrs(t)[FIRST] == 0;
}

/* The record gives each rank the elements that the tensor's layout says. */
static bool numbers_fit(Typing *t, const Type *state, uint32_t layout) {
  Numbers numbers = numbers_of(t, layout);
  uint32_t flat = 0;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (state->place[axis].kind == PLACE_FLAT) flat |= 1u << axis;
  const int64_t *dims = record_dims(t);
  bool fits = t->at->dims_count == 5 && numbers.cut_dims <= 1 &&
              dims[0] == (flat != 0 ? state->piece : numbers.elements) &&
              dims[1] == numbers.elements && dims[2] == numbers.inner &&
              dims[3] == numbers.stride && dims[4] == numbers.all_elements &&
              varies_fit(t, &numbers, flat, state->piece);
  if (!fits) refuse(t, "it numbers the elements otherwise than the tensor's layout");
  return fits;
}

/* From a master, rounded. */
static void init_by_cast(Typing *t) {
  Type from = read_type(t, 0), master = state_of(t, BUFFER_MASTER, 0);
  memcpy(master.place, from.place, sizeof master.place);
  master.piece = from.piece;
  if (memcmp(&from, &master, sizeof from) != 0) {
    refuse_operand(t, 0, &from, &master);
    return;
  }
  from.state = BUFFER_PARAM;
  from.dtype = (uint8_t)where(t, 1).operand->dtype;
  write_type(t, 1, &from);
}

void type_init(Typing *t) {
  if (!is_parameter(t, t->at->value) || t->at->kind != RECORD_KERNEL) return;
  KernelRole role = record_contract(t)->row->role;
  if (role == ROLE_CAST) {
    init_by_cast(t);
    return;
  }
  uint32_t kind = base_kind(t, 0), layout = 0;
  bool has_values = kind == BUFFER_PARAM || kind == BUFFER_MASTER;
  if ((role != ROLE_INIT && role != ROLE_FILL) || !has_values) {
    refuse(t, "%.24s gives no tensor its initial values", record_contract(t)->row->name);
    return;
  }
  Type state = state_of(t, kind, 0);
  if (!tensor_places(t, &state, &layout)) {
    refuse(t, "this stage has no such tensor");
    return;
  }
  Where at = where(t, 0);
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if ((at.own_axes >> axis & 1) != 0) state.place[axis] = (Place){.kind = PLACE_FLAT};
  if (at.own_axes != 0)
    state.piece = (int64_t)at.operand->size_bytes / dtype_bytes((DType)at.operand->dtype);
  if (numbers_fit(t, &state, layout)) write_type(t, 0, &state);
}

void type_clear(Typing *t) {
  const KernelContract *contract = record_contract(t);
  if (contract == NULL || contract->row->role != ROLE_FILL || record_attrs(t)[0] != 0) {
    refuse(t, "it is to clear, and does not write zeros");
    return;
  }
  Type zero = {.kind = TYPE_ZERO,
               .dtype = (uint8_t)where(t, 0).operand->dtype,
               .layer = TYPE_ANY,
               .microbatch = TYPE_ANY};
  write_type(t, 0, &zero);
}

/* ---- the norm of all gradients */

/* Of a layer of a parameter, as seen from it; added up, of a set. */
static uint64_t square_hash(uint32_t parameter, bool has_layers) {
  return hash_mix(hash_mix(0x5155415245u, parameter), has_layers);
}

/* The same set, so many layers on: times a power of an odd number, so that nothing is lost. */
static uint64_t squares_shifted(uint64_t squares, int32_t layers) {
  uint64_t factor = 0x9e3779b97f4a7c15u;
  for (; layers > 0; layers /= 2, factor *= factor)
    if (layers % 2 == 1) squares *= factor;
  return squares;
}

/* A gradient of the record's parameter, with every micro-batch of every use in it. */
static bool read_gradient(Typing *t, uint32_t operand, Type *found) {
  uint32_t value = t->at->value;
  Type wanted = state_of(t, 0, operand);
  wanted.kind = TYPE_SUM;
  *found = read_type(t, operand);
  bool is_it = found->kind == TYPE_SUM && found->part == PART_ALL && found->dtype == wanted.dtype &&
               found->layer == wanted.layer &&
               t->plan->values[found->ref].kind == VALUE_PARAM_GRAD &&
               t->meaning.parameter[found->ref] == value && sum_is_complete(t, found);
  if (!is_it) refuse_operand(t, operand, found, &wanted);
  return is_it;
}

/* Two neighbours that hold squares of layers become one set. False: they are no such. */
static bool join_squares(Typing *t, Spans *spans, uint32_t first) {
  if (first + 1 >= spans->count || spans->at[first].end != spans->at[first + 1].first) return false;
  const Type *a = &t->types.type[spans->at[first].type];
  const Type *b = &t->types.type[spans->at[first + 1].type];
  if (a->kind != TYPE_SQUARES || b->kind != TYPE_SQUARES || a->layer == TYPE_ANY ||
      b->layer == TYPE_ANY || memcmp(a->place, b->place, sizeof a->place) != 0)
    return false;
  Type both = *a;
  both.ref = PLAN_NONE;
  both.layer = a->layer < b->layer ? a->layer : b->layer;
  both.squares = squares_shifted(a->squares, a->layer - both.layer) +
                 squares_shifted(b->squares, b->layer - both.layer);
  Span joined = {spans->at[first].first, spans->at[first + 1].end, type_of(&t->types, &both), 0};
  if (!spans_write(&t->types, spans, joined)) t->types.out_of_memory = true;
  return true;
}

/* What all layers leave is one span, however many there are. */
static void write_squares(Typing *t, uint32_t operand, const Type *squares) {
  Where at = where(t, operand);
  uint32_t met = spans_find(&at.reached->spans, at.first);
  if (met < at.reached->spans.count && at.reached->spans.at[met].first < at.end &&
      t->types.type[at.reached->spans.at[met].type].kind == TYPE_SQUARES)
    refuse(t, "squares that no sum has read stand there");
  write_type(t, operand, squares);
  uint32_t here = spans_find(&at.reached->spans, at.first);
  (void)join_squares(t, &at.reached->spans, here);
  if (here > 0) (void)join_squares(t, &at.reached->spans, here - 1);
}

/* Other stages have other squares. */
static void owe_stages(const Typing *t, Type *squares) {
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++)
    if (t->plan->axes[axis].divides == DIVIDES_DEPTH && t->plan->axes[axis].size > 1)
      squares->place[axis] = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
}

static void square(Typing *t) {
  Type gradient;
  if (!is_parameter(t, t->at->value) || !read_gradient(t, 0, &gradient)) return;
  Type squares = {.kind = TYPE_SQUARES,
                  .dtype = DTYPE_F64,
                  .ref = t->at->value,
                  .layer = gradient.layer,
                  .microbatch = TYPE_ANY,
                  .squares = square_hash(t->at->value, gradient.layer != TYPE_ANY)};
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    if (gradient.place[axis].kind == PLACE_OWED) {
      refuse(t, "squares of what is still to be added up");
      return;
    }
    if (gradient.place[axis].kind != PLACE_WHOLE)
      squares.place[axis] = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
  }
  owe_stages(t, &squares);
  write_squares(t, 1, &squares);
}

/* Adds what some numbers stand for. */
static bool add_squares(const Type *item, Type *sum) {
  if (item->kind == TYPE_ZERO) return true;
  bool fits = item->kind == TYPE_SQUARES &&
              (sum->squares == 0 || memcmp(item->place, sum->place, sizeof sum->place) == 0);
  if (!fits) return false;
  if (item->layer != TYPE_ANY && item->layer < 0) return false;
  memcpy(sum->place, item->place, sizeof sum->place);
  sum->squares += squares_shifted(item->squares, item->layer == TYPE_ANY ? 0 : item->layer);
  return true;
}

/* Squares that are in a sum are nothing for another. */
static void take_squares(Typing *t, uint32_t operand) {
  Where at = where(t, operand);
  Spans *spans = &at.reached->spans;
  for (uint32_t i = spans_find(spans, at.first); i < spans->count && spans->at[i].first < at.end;)
    if (t->types.type[spans->at[i].type].kind == TYPE_ZERO)
      i++;
    else
      (void)spans_write(&t->types, spans, (Span){spans->at[i].first, spans->at[i].end, 0, 0});
}

/* Every number of the operand is a sum of squares, or zero. They are taken. */
static bool sum_squares(Typing *t, uint32_t operand, Type *sum) {
  Where at = where(t, operand);
  const Spans *spans = &at.reached->spans;
  uint64_t next = at.first;
  *sum = (Type){.kind = TYPE_SQUARES,
                .dtype = DTYPE_F64,
                .ref = PLAN_NONE,
                .layer = TYPE_ANY,
                .microbatch = TYPE_ANY};
  for (uint32_t i = spans_find(spans, at.first); next < at.end && i < spans->count; i++) {
    const Type *item = &t->types.type[spans->at[i].type];
    bool is_whole = spans->at[i].first >= at.first && spans->at[i].end <= at.end;
    if (spans->at[i].first > next || (!is_whole && item->kind != TYPE_ZERO) ||
        !add_squares(item, sum))
      break;
    next = spans->at[i].end;
  }
  if (next >= at.end) {
    take_squares(t, operand);
    return true;
  }
  refuse(t, "byte %llu of operand %u is no sum of squares that the others can be added to",
         (unsigned long long)(next - at.first), operand);
  return false;
}

uint64_t all_squares(const Typing *t) {
  uint64_t sum = 0;
  for (uint32_t v = 0; v < t->plan->values_count; v++) {
    const PlanValue *value = &t->plan->values[v];
    if (value->kind != VALUE_PARAM || t->meaning.same[v] != v) continue;
    const PlanRegion *region = value->region == PLAN_NONE ? NULL : &t->plan->regions[value->region];
    if (region == NULL || !region->is_stack)
      sum += square_hash(v, false);
    else
      for (int32_t layer = 0; layer < region->repeat; layer++)
        sum += squares_shifted(square_hash(v, true), layer);
  }
  return sum;
}

/* Which numbers are added up over which ranks before the norm is taken of them. A stage has zeros
 * where others have squares, so that its own types do not show what is missing. */
static uint64_t norm_story(Typing *t) {
  const Where at = where(t, 0);
  const uint32_t norm = t->record;
  uint64_t story = 0;
  for (t->record = 0; t->record < norm; t->record++) {
    t->at = walk_record(&t->walk, t->record);
    if (t->at->purpose != PURPOSE_NORM || t->at->kind != RECORD_ALL_REDUCE ||
        !walk_runs(&t->walk, t->at))
      continue;
    const Where sum = where(t, 0);
    story = hash_mix(hash_mix(story, sum.first - at.first), sum.end - sum.first);
    story = hash_mix(story, axes_of_comm(t, t->at->comm));
  }
  t->at = walk_record(&t->walk, norm);
  return story;
}

static void take_root(Typing *t) {
  Type sum;
  if (!sum_squares(t, 0, &sum)) return;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (sum.place[axis].kind == PLACE_OWED) {
      refuse(t, "the norm lacks the squares of other ranks along %.16s",
             plan_string(t->plan, t->plan->axes[axis].name));
      return;
    }
  bool is_all = has_stages(t) || sum.squares == all_squares(t);
  if (t->walk.call->layer >= 0 || (t->made & MADE_NORM) != 0 || !is_all)
    refuse(t, "the norm is not of the square of each gradient once");
  t->made |= MADE_NORM;
  t->squares = sum.squares;
  uint64_t story = norm_story(t);
  if (t->norm_story != 0 && t->norm_story != story)
    refuse(t, "squares are added up over other ranks than on another stage");
  t->norm_story = story;
}

void type_norm(Typing *t) {
  if (t->at->kind == RECORD_ALL_REDUCE) {
    type_all_reduce(t);
    return;
  }
  KernelRole role = t->at->kind == RECORD_KERNEL ? record_contract(t)->row->role : ROLE_NONE;
  Type sum;
  if (role == ROLE_SQUARE_SUM)
    square(t);
  else if (role == ROLE_GRAD_NORM)
    take_root(t);
  else if (role != ROLE_SUM || t->walk.call->layer >= 0)
    refuse(t, "no rule says what it adds to the norm");
  else if (sum_squares(t, 0, &sum))
    write_type(t, 1, &sum);
}

/* ---- updates */

static bool read_state(Typing *t, uint32_t operand, uint32_t kind, const Type *gradient) {
  Type wanted = state_of(t, kind, operand), found = read_type(t, operand);
  memcpy(wanted.place, gradient->place, sizeof wanted.place);
  wanted.piece = gradient->piece;
  if (memcmp(&found, &wanted, sizeof found) == 0) return true;
  refuse_operand(t, operand, &found, &wanted);
  return false;
}

static uint32_t kind_of(const char *name) {
  static const struct {
    const char *name;
    uint32_t kind;
  } kinds[] = {{"param", BUFFER_PARAM},
               {"m", BUFFER_MOMENT1},
               {"v", BUFFER_MOMENT2},
               {"master", BUFFER_MASTER}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) return kinds[i].kind;
  return PLAN_NONE;
}

bool has_totals(const Typing *t) {
  bool several = false;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    several = several || t->plan->axes[axis].size > 1;
  return !several || (t->made & MADE_TOTALS) != 0;
}

void type_update(Typing *t) {
  const KernelContract *contract = record_contract(t);
  Type gradient;
  if (contract == NULL || contract->row->role != ROLE_UPDATE) {
    refuse(t, "no rule says how it updates");
    return;
  }
  if ((t->made & MADE_NORM) == 0) refuse(t, "the norm is not known yet");
  if (!has_totals(t)) refuse(t, "the control values are not known yet");
  if (t->refused || !is_parameter(t, t->at->value) || !read_gradient(t, 0, &gradient)) return;
  for (uint32_t i = 1; i < t->at->operands_count && !t->refused; i++) {
    uint32_t kind = kind_of(contract->operands[i].name);
    Type state = state_of(t, kind, i);
    if (kind == PLAN_NONE) refuse(t, "no rule says what operand %u is", i);
    if (t->refused || !read_state(t, i, kind, &gradient)) return;
    memcpy(state.place, gradient.place, sizeof state.place);
    state.piece = gradient.piece;
    state.is_new = 1;
    write_type(t, i, &state);
  }
}
