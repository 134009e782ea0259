#include "compiler/plan/prove/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/plan/prove/pool.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"

const char *job_setting(const Plan *plan, const char *key) {
  const PlanSetting *row = plan_setting(plan, key);
  return row == NULL || row->kind != SETTING_TEXT ? "none" : plan_string(plan, row->text);
}

bool codes_by_block(const Plan *plan) {
  return strcmp(job_setting(plan, "precision.linear"), "fp8, scaling = block") == 0;
}

static const PlanLoop *loop_at(const Walk *walk, uint32_t index) {
  return index < walk->program->loops_count
             ? &walk->view->plan->loops[walk->program->loops_first + index]
             : NULL;
}

Walk walk_begin(const View *view, const PlanProgram *program, uint32_t iterations) {
  return (Walk){.view = view, .program = program, .position = UINT32_MAX, .iterations = iterations};
}

Walk walk_segment(const View *view, const PlanSegment *segment) {
  static const PlanProgram program = {.calls_count = 1};
  static const PlanCall call = {.layer = -1, .microbatch = -1};
  return (Walk){.view = view, .program = &program, .call = &call, .segment = segment};
}

/* At the end of a loop's body: back to its start, or on. */
static void end_body(Walk *walk) {
  const PlanLoop *loop = walk->loop;
  if (loop == NULL || walk->position != loop->first_call + loop->call_count) return;
  if (++walk->iteration < loop->times && walk->iteration < walk->iterations) {
    walk->position = loop->first_call;
    return;
  }
  walk->iteration = 0;
  walk->loop = NULL;
  walk->next_loop++;
}

bool walk_next(Walk *walk) {
  const Plan *plan = walk->view->plan;
  walk->position++; /* from UINT32_MAX: to 0 */
  end_body(walk);
  if (walk->position >= walk->program->calls_count) return false;
  const PlanLoop *next = loop_at(walk, walk->next_loop);
  if (walk->loop == NULL && next != NULL && next->first_call == walk->position) walk->loop = next;
  walk->call = &plan->calls[walk->program->calls_first + walk->position];
  walk->segment = &plan->segments[walk->call->segment];
  walk->microbatch = walk->call->microbatch;
  if (walk->microbatch >= 0) walk->microbatch += (int32_t)walk_grown(walk);
  return true;
}

void line_add(Line *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int added = vsnprintf(text->at + text->used, text->room - text->used, format, list);
  va_end(list);
  text->used += added < 0 ? 0 : (size_t)added;
  if (text->used >= text->room) text->used = text->room - 1;
}

void line_add_record(Line *text, const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  line_add(text, ", record %u (%.24s %.60s)", index,
           record->kind == RECORD_KERNEL ? plan_string(plan, plan->kernels[record->kernel].name)
                                         : RecordKind_names[record->kind],
           plan_string(plan, record->path));
}

double attr_of_member(const Plan *plan, const PlanRecord *record, uint32_t attr, uint32_t member) {
  double value = plan->reals[record->attrs_first + attr];
  for (uint32_t i = 0; i < record->varies_count; i++) {
    const PlanVary *vary = &plan->varies[record->varies_first + i];
    if (vary->attr != attr) continue;
    value += vary->stride * member;
    if (vary->values_count > 0) value += plan->reals[vary->values_first + member];
  }
  return value;
}

bool layouts_alike(const Plan *plan, uint32_t a, uint32_t b) {
  const PlanLayout *one = &plan->layouts[a], *other = &plan->layouts[b];
  if (one->dims_count != other->dims_count) return false;
  for (uint32_t i = 0; i < one->dims_count; i++) {
    const PlanLayoutDim *x = &plan->layout_dims[one->dims_first + i];
    const PlanLayoutDim *y = &plan->layout_dims[other->dims_first + i];
    if (x->size != y->size || x->real_size != y->real_size || x->name != y->name) return false;
  }
  return true;
}

/* "replicas train_step, call 12 (layer backward, layer 4, micro-batch 0), record 3 (linear_dw
 * h.*.w)" */
static void describe(const View *view, const Walk *walk, int64_t record, Line *text) {
  const Plan *plan = view->plan;
  const bool has_calls = walk != NULL && walk->call != NULL;
  if (view->class != NULL) line_add(text, "%.40s", plan_string(plan, view->class->name));
  if (view->class != NULL && walk != NULL)
    line_add(text, " %s", ProgramKind_names[walk->program->kind]);
  if (!has_calls) return;
  if (view->class != NULL)
    line_add(text, ", call %u", walk->position);
  else
    line_add(text, "segment");
  line_add(text, " (%.40s", plan_string(plan, walk->segment->name));
  if (walk->call->layer >= 0) line_add(text, ", layer %d", walk->call->layer);
  if (walk->call->microbatch >= 0) line_add(text, ", micro-batch %d", walk->call->microbatch);
  line_add(text, walk->iteration > 0 ? ", second iteration)" : ")");
  if (record >= 0) line_add_record(text, walk, (uint32_t)record);
}

const char *node_source(const View *view, const PlanNode *node) {
  const char *file = node != NULL ? plan_string(view->plan, node->file) : "";
  return *file == '\0'
             ? ""
             : arena_printf(view->arena, " (%.80s:%u:%u)", file, node->line, node->column);
}

/* NULL: the finding is not about a record, or about one that carries out no node. */
static const PlanNode *node_at(const View *view, const Walk *walk, int64_t record) {
  if (walk == NULL || walk->call == NULL || record < 0) return NULL;
  uint32_t node = walk_record(walk, (uint32_t)record)->node;
  return node == PLAN_NONE ? NULL : &view->plan->nodes[node];
}

void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) {
  ProveReport *report = view->report;
  if (report->finding_count++ >= PROVE_FINDINGS_MAX) return;
  char where[PROVE_LINE_BYTES] = "", what[PROVE_LINE_BYTES];
  Line place = {where, sizeof where, 0};
  Line line = {report->finding[report->finding_count - 1], PROVE_LINE_BYTES, 0};
  describe(view, walk, record, &place);
  const char *source = node_source(view, node_at(view, walk, record));
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  line_add(&line, "%s: %s%s", property, where, *where ? ": " : "");
  int left =
      (int)(line.room - line.used - strlen(source)) - 1; /* the source position is never cut off */
  if (left > 0) line_add(&line, "%.*s%s", left, what, source);
  for (char *at = line.at; *at != '\0'; at++)
    if ((unsigned char)*at < 0x20) *at = ' '; /* names of a hostile plan must not break the line */
}

static void find_names(const View *view, ValueRows *rows) {
  const Plan *plan = view->plan;
  Pool names = {0}; /* hashes; the tag is the first value, counted from 1 */
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const uint64_t name = hash_text(plan_string(plan, plan->values[v].name));
    const uint32_t number = pool_number(view->arena, &names, &name, sizeof name);
    if (names.row[number].tag == 0) names.row[number].tag = v + 1;
    rows[v].name = names.row[number].tag - 1;
    uint32_t *first = &rows[rows[v].name].first[plan->values[v].kind];
    if (*first == 0) *first = v + 1;
  }
}

/* How the truth of a parameter is kept that has this tensor. */
static TruthStorage truth_kept(const PlanTensor *tensor) {
  if (tensor->kind == BUFFER_COMPENSATION) return TRUTH_KAHAN;
  if (tensor->kind != BUFFER_MASTER) return TRUTH_PLAIN;
  return tensor->dtype == DTYPE_I16 ? TRUTH_SPLIT : TRUTH_MASTER;
}

static void find_rows(const Plan *plan, ValueRows *rows) {
  for (uint32_t i = plan->parameters_count; i-- > 0;)
    rows[plan->parameters[i].value].parameter = &plan->parameters[i];
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].value != PLAN_NONE && truth_kept(&plan->tensors[i]) != TRUTH_PLAIN)
      rows[plan->tensors[i].value].truth = truth_kept(&plan->tensors[i]);
}

void view_open(View *view) {
  const Plan *plan = view->plan;
  view->contract = ARENA_ARRAY(view->arena, const KernelContract *, plan->kernels_count);
  for (uint32_t k = 0; k < plan->kernels_count; k++)
    view->contract[k] = contract_find(plan_string(plan, plan->kernels[k].name));
  view->rows = ARENA_ARRAY(view->arena, ValueRows, plan->values_count);
  find_rows(plan, view->rows);
  find_names(view, view->rows);
}
