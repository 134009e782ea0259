/* findings.c -- the text of a finding: the reason, the record that last wrote where a wrong type
 * was found, and the line of the model or job file that it comes from. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_text.h"

/* ---- the record that wrote the bytes last */

static bool writes(const Walk *walk, const PlanRecord *record, const TypeSpan *bytes) {
  const Plan *plan = walk->view->plan;
  for (uint32_t i = record->operands_first; i < record->operands_first + record->operands_count;
       i++) {
    const PlanOperand *at = &plan->operands[i];
    uint64_t base = walk_base(walk, at->base);
    if (at->access != ACCESS_READ && base + at->offset < bytes->end &&
        bytes->first < base + operand_end(plan, at))
      return walk_runs(walk, record);
  }
  return false;
}

/* Up to the current record, or to the end of the program. */
static void add_writer(const Typing *t, const TypeSpan *bytes, Line *text) {
  Walk walk = walk_begin(t->view, t->call.walk.program, WALK_TWICE), last = walk;
  uint32_t record = PLAN_NONE;
  for (bool is_here = false; !is_here && walk_next(&walk);) {
    is_here = t->call.walk.call != NULL && walk.position == t->call.walk.position &&
              walk.iteration == (t->call.walk.iteration > 0);
    for (uint32_t r = 0; r < (is_here ? t->call.record : walk.segment->records_count); r++)
      if (writes(&walk, walk_record(&walk, r), bytes)) last = walk, record = r;
  }
  if (record == PLAN_NONE) {
    line_add(text, "; nothing in %s writes there before it", ProgramKind_names[walk.program->kind]);
    return;
  }
  line_add(text, "; written last by call %u (%.40s)", last.position,
           plan_string(t->plan, last.segment->name));
  line_add_record(text, &last, record);
}

/* ---- the place in a file */

static bool is_among(const Plan *plan, uint32_t first, uint32_t count, uint32_t value) {
  for (uint32_t i = first; i < first + count; i++)
    if (plan->uses[i].value == value) return true;
  return false;
}

/* The first node that makes the value or reads the parameter, or NULL. */
static const PlanNode *node_of(const Typing *t, uint32_t value) {
  const Plan *plan = t->plan;
  if (value < plan->values_count && plan->values[value].kind == VALUE_PARAM_GRAD)
    value = t->proof.meaning.value[value].parameter;
  if (value >= plan->values_count) return NULL;
  bool is_read = plan->values[value].kind == VALUE_PARAM;
  for (const PlanNode *node = plan->nodes; node < plan->nodes + plan->nodes_count; node++)
    if (*plan_string(plan, node->file) != '\0' &&
        (is_read ? is_among(plan, node->inputs_first, node->inputs_count, value)
                 : is_among(plan, node->outputs_first, node->outputs_count, value)))
      return node;
  return NULL;
}

/* The key of the job that asks for such records. */
static const char *key_of(const PlanRecord *record) {
  switch (record == NULL ? PURPOSE_NODE : (Purpose)record->purpose) {
  case PURPOSE_NORM: return "optimizer.clip";
  case PURPOSE_GATHER:
  case PURPOSE_REDUCE: return "parallel.zero";
  case PURPOSE_CAST: return "precision.compute";
  case PURPOSE_TRANSFER: return "parallel.pp";
  case PURPOSE_CONTROL: return "parallel.dp";
  default: return "model";
  }
}

static void add_source(const Typing *t, uint32_t value, Line *text) {
  const PlanNode *node = node_of(t, value);
  line_add(text, "%s", node_source(t->view, node));
  for (uint32_t i = 0; i < t->plan->settings_count && node == NULL; i++) {
    const PlanSetting *setting = &t->plan->settings[i];
    if (strcmp(plan_string(t->plan, setting->key), key_of(t->call.at)) == 0)
      line_add(text, " (%s, %.80s)", key_of(t->call.at), plan_string(t->plan, setting->origin));
  }
}

/* ---- findings */

/* For a record of a node the place in the file is already given. */
bool refuse_at(Typing *t, const Type *about, const TypeSpan *bytes, const char *format, ...) {
  char why[PROVE_LINE_BYTES] = "", more[PROVE_LINE_BYTES] = "";
  Line text = {more, sizeof more, 0};
  bool named = about != NULL && about->kind >= TYPE_VALUE && about->kind <= TYPE_SUM;
  va_list list;
  if (t->class.refused) return false;
  t->class.refused = true;
  va_start(list, format);
  (void)vsnprintf(why, sizeof why, format, list);
  va_end(list);
  if (bytes != NULL) add_writer(t, bytes, &text);
  if (t->call.at == NULL || t->call.at->node == PLAN_NONE)
    add_source(t, named ? about->ref : t->call.at != NULL ? t->call.at->value : PLAN_NONE, &text);
  prove_finding(t->view, t->call.walk.call != NULL ? &t->call.walk : NULL,
                t->call.at != NULL ? (int64_t)t->call.record : -1, "types", "%s%s", why, more);
  return false;
}

const char *told(Typing *t, const Type *type) {
  return type_text(t->plan, type, arena_alloc(t->view->arena, TYPE_TEXT_BYTES));
}

/* Addresses of an operand. */
static TypeSpan bytes_of(Typing *t, uint32_t operand) {
  const Where at = where(t, operand);
  return (TypeSpan){.first = at.reached->start + at.first, .end = at.reached->start + at.end};
}

bool refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted) {
  const KernelContract *contract = record_contract(t);
  bool named = contract != NULL && (int32_t)operand < contract->operand_count;
  const TypeSpan bytes = bytes_of(t, operand);
  return refuse_at(t, wanted, &bytes, "operand %u%s%s: expected %s, found %s", operand,
                   named ? " " : "", named ? contract->operands[operand].name : "", told(t, wanted),
                   told(t, found));
}

bool refuse_found(Typing *t, const Type *type, const char *why) {
  const TypeSpan bytes = bytes_of(t, 0);
  return refuse_at(t, type, &bytes, "%s: %s", why, told(t, type));
}

bool refuse_joined(Typing *t, const Type *type, const Type *other, const char *why) {
  const TypeSpan bytes = bytes_of(t, 0);
  return refuse_at(t, type, &bytes, "%s; cannot be %s: %s", told(t, other), why, told(t, type));
}

bool refuse_along(Typing *t, uint32_t axis, const char *why, const Type *type) {
  return REFUSE(t, "%s along %.16s%s%s", why, plan_string(t->plan, t->plan->axes[axis].name),
                type != NULL ? ": " : "", type != NULL ? told(t, type) : "");
}
