#include "tests/golden_numbers/golden.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/data.h"
#include "compiler/plan/simulate/price.h"
#include "compiler/search/fit.h"
#include "runtime/plan/plan_loops.h"

enum { JOB_BYTES = 8192 };

static void write_job(char *path, const char *text) {
  int file = mkstemps(path, 4);
  size_t length = strlen(text);
  if (file < 0 || write(file, text, length) != (ssize_t)length || close(file) != 0) {
    printf("%s: cannot be written\n", path);
    exit(1);
  }
}

void golden_open(Golden *g, const char *format, ...) {
  char inside[JOB_BYTES], text[JOB_BYTES + 256], path[] = "/tmp/lockstep_golden_XXXXXX.lua";
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(inside, sizeof inside, format, arguments);
  va_end(arguments);
  (void)snprintf(text, sizeof text,
                 "return job { data = \"synthetic\", optimizer = { \"adamw\", lr = 1e-3 }, %s }\n",
                 inside);
  write_job(path, text);
  *g = (Golden){.compile = compile_new(SPECS_FOLDER)};
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  Job *job = spec_load(g->compile, path, NULL, 0);
  g->is_compiled =
      job && spec_data(g->compile, job) && fit_plan(g->compile, job, &machine, &g->compiled);
  g->plan = &g->compiled.plan;
  if (!g->is_compiled) {
    printf("%s\n", inside);
    diags_print(&g->compile->diags, stdout, false);
  }
  (void)unlink(path);
}

void golden_close(Golden *g) {
  compile_free(g->compile);
  *g = (Golden){0};
}

int32_t golden_diagnostic(const Golden *g, const char *name, const char **text) {
  int32_t count = 0;
  const Diags *diags = &g->compile->diags;
  for (int32_t i = 0; i < diags->list.count; i++) {
    if (strcmp(diags->list.at[i].name, name) != 0) continue;
    count++;
    if (text) *text = diags->list.at[i].message;
  }
  return count;
}

const PlanProgram *golden_train(const Plan *plan, uint32_t class) {
  const PlanClass *c = &plan->classes[class];
  for (uint32_t i = 0; i < c->programs_count; i++)
    if (plan->programs[c->programs_first + i].kind == PROGRAM_TRAIN_STEP)
      return &plan->programs[c->programs_first + i];
  return NULL;
}

/* ---- communications */

static bool matches(const char *pattern, const char *text) {
  return !pattern || fnmatch(pattern, text, 0) == 0;
}

static bool is_wanted(const Plan *plan, const PlanRecord *record, const Which *which) {
  if (!plan_is_communication(record)) return false;
  if (which->kind != RECORD_KERNEL && record->kind != which->kind) return false;
  char over[64]; /* "dp@dp" is dp on a lane of its own */
  (void)snprintf(over, sizeof over, "%s", plan_string(plan, plan->comms[record->comm].name));
  over[strcspn(over, "@")] = 0;
  return matches(which->comm, over) &&
         matches(which->value, plan_string(plan, plan->meanings[record->meaning].value));
}

bool golden_is(const Plan *plan, const PlanSegment *segment, uint32_t record, const Which *which) {
  return matches(which->segment, plan_string(plan, segment->name)) &&
         is_wanted(plan, &plan->records[record], which);
}

static int64_t message_bytes(const Plan *plan, const PlanRecord *record) {
  int64_t whole = 0, sent = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    int64_t bytes = (int64_t)operand->size_bytes;
    if (bytes > whole) whole = bytes;
    if (operand->access == ACCESS_READ) sent += bytes;
  }
  return record->kind == RECORD_EXCHANGE ? sent : whole;
}

static void add_record(const Plan *plan, uint32_t class, const PlanRecord *record, int64_t runs,
                       Found *found) {
  if (runs == 0) return;
  int64_t message = message_bytes(plan, record);
  found->message_bytes =
      found->records == 0 || found->message_bytes == message ? message : (int64_t)-1;
  found->records++;
  found->runs += runs;
  found->bytes += runs * message;
  found->predicted_ns += runs * price_ns(plan, class, record);
}

/* How often each record runs in a train step of the class. The caller frees them. */
static int64_t *count_runs(const Plan *plan, uint32_t class, const char *segment_pattern) {
  const PlanProgram *program = golden_train(plan, class);
  int64_t *runs = calloc(plan->records_count + 1, sizeof *runs);
  if (!runs) abort();
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    if (!matches(segment_pattern, plan_string(plan, segment->name))) continue;
    for (uint32_t r = segment->records_first; r < segment->records_first + segment->records_count;
         r++)
      if (plan_when(plan->records[r].when_all, plan->records[r].when_none, call->flags))
        runs[r] += plan_call_times(plan, program, c);
  }
  return runs;
}

Found golden_find(const Plan *plan, uint32_t class, Which which) {
  Found found = {0};
  int64_t *runs = count_runs(plan, class, which.segment);
  for (uint32_t r = 0; r < plan->records_count; r++)
    if (is_wanted(plan, &plan->records[r], &which))
      add_record(plan, class, &plan->records[r], runs[r], &found);
  free(runs);
  return found;
}

int64_t golden_compute_ns(const Plan *plan, uint32_t class) {
  int64_t *runs = count_runs(plan, class, NULL), ns = 0;
  for (uint32_t r = 0; r < plan->records_count; r++)
    if (plan->records[r].kind == RECORD_KERNEL) ns += runs[r] * plan->records[r].predicted_ns;
  free(runs);
  return ns;
}

int64_t golden_flops(const Plan *plan, uint32_t class, const char *segment) {
  int64_t *runs = count_runs(plan, class, segment), flops = 0;
  for (uint32_t r = 0; r < plan->records_count; r++)
    flops += runs[r] * plan->records[r].flops;
  free(runs);
  return flops;
}

/* ---- memory */

int64_t golden_state_bytes(const Plan *plan, uint32_t class, BufferKind kind) {
  const PlanClass *c = &plan->classes[class];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < c->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[c->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer->kind == kind) bytes += (int64_t)buffer->size_bytes;
  }
  return bytes;
}

static bool is_of_train(const Plan *plan, uint32_t class, const PlanBuffer *buffer) {
  return buffer->program == (uint32_t)(golden_train(plan, class) - plan->programs);
}

int64_t golden_most_alive(const Plan *plan, uint32_t class, const char *name) {
  const PlanClass *c = &plan->classes[class];
  uint32_t calls = golden_train(plan, class)->calls_count;
  int64_t *change = calloc(calls + 2, sizeof *change), alive = 0, most = 0;
  if (!change) abort();
  for (uint32_t i = 0; i < c->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[c->buffers_first + i];
    if (!is_of_train(plan, class, buffer) || !matches(name, plan_string(plan, buffer->name)))
      continue;
    change[buffer->first_call] += (int64_t)buffer->size_bytes;
    change[buffer->last_call + 1] -= (int64_t)buffer->size_bytes;
  }
  for (uint32_t call = 0; call < calls; call++) {
    alive += change[call];
    if (alive > most) most = alive;
  }
  free(change);
  return most;
}

int64_t golden_buffer_bytes(const Plan *plan, uint32_t class, const char *name) {
  const PlanClass *c = &plan->classes[class];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < c->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[c->buffers_first + i];
    if (!is_of_train(plan, class, buffer) || !matches(name, plan_string(plan, buffer->name)))
      continue;
    if (bytes != 0 && bytes != (int64_t)buffer->size_bytes) return -1;
    bytes = (int64_t)buffer->size_bytes;
  }
  return bytes;
}
