/* states.c -- persistent tensors: their initial values and their updates. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_text.h"

static bool is_parameter(Typing *t, uint32_t value) {
  return (value != PLAN_NONE && t->plan->values[value].kind == VALUE_PARAM) ||
         REFUSE(t, "it names no parameter");
}

/* The type of the record's parameter as a tensor of this kind, with the layout of `type`. */
static Type state_of(const Typing *t, uint32_t kind, uint32_t operand, const Type *like) {
  const uint32_t value = t->call.at->value, region = t->plan->values[value].region;
  Type type = {.dtype = (uint8_t)operand_at(t, operand)->dtype,
               .microbatch = TYPE_ANY,
               .piece = like->piece};
  memcpy(type.place, like->place, sizeof type.place);
  meaning_name(&t->proof.meaning, region == PLAN_NONE ? 0 : region, value, &type);
  type.state = (uint8_t)kind;
  return type;
}

bool read_gradient(Typing *t, uint32_t operand, Type *found) {
  if (!is_parameter(t, t->call.at->value)) return false;
  *found = read_type(t, operand);
  Type wanted = state_of(t, 0, operand, found);
  wanted.kind = TYPE_SUM;
  wanted.use_count = 1;
  wanted.use[0] =
      (TypeUse){found->kind == TYPE_SUM ? all_uses(&t->proof.meaning, found->ref) : 1,
                USE_FROM_START, (int32_t)t->class.microbatches - t->call.walk.microbatch, 0, 0};
  bool is_it = found->kind == TYPE_SUM && found->part == PART_ALL && found->dtype == wanted.dtype &&
               found->layer == wanted.layer &&
               t->plan->values[found->ref].kind == VALUE_PARAM_GRAD &&
               t->plan->values[found->ref].dtype == found->dtype &&
               t->proof.meaning.value[found->ref].parameter == t->call.at->value &&
               sum_is_complete(t, found);
  return is_it || refuse_operand(t, operand, found, &wanted);
}

static bool read_state(Typing *t, uint32_t operand, uint32_t kind, const Type *like) {
  const Type wanted = state_of(t, kind, operand, like), found = read_type(t, operand);
  bool is_it = memcmp(&found, &wanted, sizeof found) == 0;
  return is_it || refuse_operand(t, operand, &found, &wanted);
}

/* ---- initial values */

/* Random numbers, or one number, for each element that the layout gives; `records` checks which. */
static void init_elements(Typing *t) {
  const PlanBase *base =
      &t->plan->bases[t->call.walk.segment->bases_first + operand_at(t, 0)->base];
  Type like = {0};
  if (base->kind != BUFFER_PARAM && base->kind != BUFFER_MASTER)
    REFUSE(t, "%s has no initial values of its own", BufferKind_names[base->kind]);
  if (t->class.refused || !said_places(t, 0, t->call.at->value, like.place)) return;
  like.piece = t->plan->layouts[operand_at(t, 0)->layout].piece;
  const Type state = state_of(t, base->kind, 0, &like);
  write_type(t, 0, &state);
}

void type_init(Typing *t) {
  if (t->call.walk.program->kind != PROGRAM_INIT) REFUSE(t, "a parameter begins once, in init");
  if (t->class.refused || !is_parameter(t, t->call.at->value) ||
      !is_call_of(t, t->plan->values[t->call.at->value].region))
    return;
  if (record_contract(t)->row->role != ROLE_CAST) {
    init_elements(t);
    return;
  }
  const Type master = read_type(t, 0), rounded = state_of(t, BUFFER_PARAM, 1, &master);
  if (read_state(t, 0, BUFFER_MASTER, &master)) write_type(t, 1, &rounded);
}

/* `records` checks that it fills with zeros. */
void type_clear(Typing *t) {
  const Type zero = zeros((DType)operand_at(t, 0)->dtype);
  write_type(t, 0, &zero);
}

/* ---- updates */

/* The kind of tensor that an operand of that name is. */
static uint32_t kind_of(const char *name) {
  static const char *const names[BufferKind_COUNT] = {[BUFFER_PARAM] = "param",
                                                      [BUFFER_MOMENT1] = "m",
                                                      [BUFFER_MOMENT2] = "v",
                                                      [BUFFER_MASTER] = "master",
                                                      [BUFFER_COMPENSATION] = "compensation",
                                                      [BUFFER_MOMENT1_MAX] = "m_max",
                                                      [BUFFER_MOMENT2_MAX] = "v_max"};
  uint32_t kind = 0;
  if (name != NULL && strcmp(name, "low") == 0) return BUFFER_MASTER; /* of a split one */
  while (kind < BufferKind_COUNT &&
         (name == NULL || names[kind] == NULL || strcmp(names[kind], name) != 0))
    kind++;
  return kind;
}

bool has_totals(const Typing *t) {
  return mesh_axes(t->plan) == 0 || (t->class.made & MADE_TOTALS) != 0;
}

void type_update(Typing *t) {
  const KernelContract *contract =
      record_contract(t); /* `records` checks that it is the job's optimizer */
  Type gradient;
  if ((t->class.made & MADE_NORM) == 0) REFUSE(t, "the norm is not known yet");
  if (t->class.refused || !mirror_is_made(t) || !read_gradient(t, 0, &gradient)) return;
  for (uint32_t i = 1; i < t->call.at->operands_count; i++) {
    uint32_t kind = kind_of(contract->operands[i].name);
    if (kind == BufferKind_COUNT) REFUSE(t, "no rule says what operand %u is", i);
    const bool is_read = operand_at(t, i)->access != ACCESS_WRITE; /* made from the master */
    if (t->class.refused || (is_read && !read_state(t, i, kind, &gradient))) return;
    Type state = state_of(t, kind, i, &gradient);
    state.is_new = 1;
    write_type(t, i, &state);
  }
}
