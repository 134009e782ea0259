#include "compiler/prove/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_text.h"

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

/* Steps over the end of a loop's body: back to its start, or on. */
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

const PlanProgram *view_program(const View *view, ProgramKind kind) {
  for (uint32_t i = 0; i < view->class->programs_count; i++) {
    const PlanProgram *program = &view->plan->programs[view->class->programs_first + i];
    if (program->kind == (uint32_t)kind) return program;
  }
  return NULL;
}

/* "replicas train_step, call 12 (layer backward, layer 4, micro-batch 0), record 3 (linear_dw
 * h.*.w)" */
static void describe(const View *view, const Walk *walk, int64_t record, char *text, size_t room) {
  const Plan *plan = view->plan;
  size_t used = 0;
#define ADD(...)                                                                                   \
  do {                                                                                             \
    int added_ = snprintf(text + used, room - used, __VA_ARGS__);                                  \
    used += added_ < 0 ? 0 : (size_t)added_ < room - used ? (size_t)added_ : room - used - 1;      \
  } while (0)
  text[0] = '\0';
  if (walk == NULL) {
    if (view->class != NULL) ADD("%.40s", plan_string(plan, view->class->name));
    return;
  }
  if (view->class != NULL)
    ADD("%.40s %s", plan_string(plan, view->class->name), ProgramKind_names[walk->program->kind]);
  if (walk->call == NULL) return;
  if (view->class != NULL)
    ADD(", call %u (%.40s", walk->position, plan_string(plan, walk->segment->name));
  else
    ADD("segment (%.40s", plan_string(plan, walk->segment->name));
  if (walk->call->layer >= 0) ADD(", layer %d", walk->call->layer);
  if (walk->call->microbatch >= 0) ADD(", micro-batch %d", walk->call->microbatch);
  if (walk->iteration > 0) ADD(", second iteration");
  ADD(")");
  if (record < 0) return;
  const PlanRecord *what = walk_record(walk, (uint32_t)record);
  ADD(", record %u (%.24s %.60s)", (uint32_t)record,
      what->kind == RECORD_KERNEL ? plan_string(plan, plan->kernels[what->kernel].name)
                                  : RecordKind_names[what->kind],
      plan_string(plan, what->path));
#undef ADD
}

/* " (specs/models/gpt2.lua:9:15)", where the model asks for what the record does; or nothing. */
static void describe_source(const View *view, const Walk *walk, int64_t record, char *text,
                            size_t room) {
  const Plan *plan = view->plan;
  text[0] = '\0';
  if (walk == NULL || walk->call == NULL || record < 0) return;
  uint32_t number = walk_record(walk, (uint32_t)record)->node;
  const PlanNode *node = number == PLAN_NONE ? NULL : &plan->nodes[number];
  if (node != NULL && *plan_string(plan, node->file) != '\0')
    (void)snprintf(text, room, " (%.80s:%u:%u)", plan_string(plan, node->file), node->line,
                   node->column);
}

void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) {
  ProveReport *report = view->report;
  if (report->finding_count++ >= PROVE_FINDINGS_MAX) return;
  char where[PROVE_LINE_BYTES], what[PROVE_LINE_BYTES], source[128];
  describe(view, walk, record, where, sizeof where);
  describe_source(view, walk, record, source, sizeof source);
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  char *line = report->finding[report->finding_count - 1];
  int used = snprintf(line, PROVE_LINE_BYTES, "%s: %s%s", property, where, *where ? ": " : "");
  int left = PROVE_LINE_BYTES - used - (int)strlen(source) - 1; /* the place is never cut off */
  if (used >= 0 && left > 0)
    snprintf(line + used, (size_t)(PROVE_LINE_BYTES - used), "%.*s%s", left, what, source);
  for (char *at = line; *at != '\0'; at++)
    if ((unsigned char)*at < 0x20) *at = ' '; /* names of a hostile plan must not break the line */
}

void *prove_array(const View *view, size_t count, size_t item_bytes) {
  void *array = calloc(count + 1, item_bytes);
  if (array == NULL) prove_finding(view, NULL, -1, "memory", "out of memory while proving");
  return array;
}

const KernelContract **prove_contracts(const View *view) {
  const Plan *plan = view->plan;
  const KernelContract **contracts = prove_array(view, plan->kernels_count, sizeof *contracts);
  for (uint32_t k = 0; contracts != NULL && k < plan->kernels_count; k++)
    contracts[k] = contract_find(plan_string(plan, plan->kernels[k].name));
  return contracts;
}
