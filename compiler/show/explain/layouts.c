/* layouts.c -- every communication of a plan, grouped by segment and by the ranks that
 * communicate. */
#include "compiler/show/explain/layouts.h"

#include <string.h>

#include "compiler/draft/cost/demand.h"
#include "compiler/plan/simulate/price.h"
#include "runtime/plan/plan_segment.h"

uint64_t whole_bytes(const Plan *plan, const PlanRecord *record) {
  Traffic traffic = traffic_of(plan, record);
  return (uint64_t)(record->kind == RECORD_EXCHANGE ? traffic.sent_bytes : traffic.largest_bytes);
}

double sent_bytes(const Plan *plan, const PlanRecord *record) {
  Traffic traffic = traffic_of(plan, record);
  return traffic_sent_bytes(&traffic);
}

/* The traffic of a class whose record i runs times[i] times in a step. */
static ClassTraffic sum_traffic(const Plan *plan, const int64_t *times, uint32_t axes_mask) {
  ClassTraffic sum = {0};
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (times[i] == 0 || !plan_is_communication(record)) continue;
    if (axes_mask != 0 && plan->comms[record->comm].axes_mask != axes_mask) continue;
    sum.sent_bytes += (double)times[i] * sent_bytes(plan, record);
    sum.flat_calls += (uint64_t)times[i] * record->flat_calls;
  }
  return sum;
}

static const int64_t *count_class(const Compiled *compiled, uint32_t class) {
  const Plan *plan = &compiled->plan;
  Arena *arena = compiled->draft->compile->arena;
  int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1);
  count_records(arena, plan, find_peak(compiled, class).program, times);
  return times;
}

ClassTraffic class_traffic(const Compiled *compiled, uint32_t class, uint32_t axes_mask) {
  return sum_traffic(&compiled->plan, count_class(compiled, class), axes_mask);
}

/* "h.forward" is "h forward". Every exchange of stages has its own segment. */
static const char *group_name(Layouts *l, const PlanSegment *segment) {
  const char *name = plan_string(&l->compiled->plan, segment->name);
  if (plan_segment_kind(&l->compiled->plan, segment) == SEGMENT_TRANSFER) return "between stages";
  char *words = arena_printf(l->arena, "%s", name), *dot = strrchr(words, '.');
  if (dot != NULL) *dot = ' ';
  return words;
}

/* Without what the group's name already says: "h.*.mlp.c_proj" in "h forward" is "mlp.c_proj". */
static const char *line_value(Layouts *l, const char *group, const char *value) {
  bool is_gradient = strncmp(value, "d_", 2) == 0;
  const char *rest = is_gradient ? value + 2 : value, *end = strrchr(group, ' ');
  size_t region = end == NULL ? 0 : (size_t)(end - group);
  if (region > 6 && strncmp(group + region - 6, " small", 6) == 0) region -= 6;
  if (region > 0 && strncmp(rest, group, region) == 0 && rest[region] == '.') {
    rest += region + 1;
    if (strncmp(rest, "*.", 2) == 0) rest += 2;
  } else if (region > 0 && strncmp(rest, group, region) == 0 && rest[region] == ' ') {
    rest += region + 1;
    if (strncmp(rest, "small ", 6) == 0) rest += 6; /* the group's name says it, too */
  }
  char *text = arena_printf(l->arena, "%s%s", is_gradient ? "d " : "", rest);
  char *last = strstr(text, " gradient"); /* "mlp.c_proj.bias gradient": of a reduce */
  if (last != NULL && strcmp(last, " gradient") == 0) *last = 0;
  return text;
}

static LayoutGroup *find_group(Layouts *l, const char *name, uint32_t comm) {
  for (int32_t i = 0; i < l->groups.count; i++)
    if (l->groups.at[i].comm == comm && strcmp(l->groups.at[i].name, name) == 0)
      return &l->groups.at[i];
  VEC_PUSH(l->arena, &l->groups, (LayoutGroup){.name = name, .comm = comm});
  return &l->groups.at[l->groups.count - 1];
}

static bool same_line(const Plan *plan, const PlanRecord *a, const PlanRecord *b) {
  const PlanMeaning *x = &plan->meanings[a->meaning], *y = &plan->meanings[b->meaning];
  return a->kind == b->kind && x->value == y->value && x->before == y->before &&
         x->after == y->after && whole_bytes(plan, a) == whole_bytes(plan, b);
}

static LayoutLine *find_line(Layouts *l, LayoutGroup *group, const PlanRecord *record) {
  const Plan *plan = &l->compiled->plan;
  for (int32_t i = 0; i < group->lines.count; i++)
    if (same_line(plan, group->lines.at[i].record, record)) return &group->lines.at[i];
  const char *value = plan_string(plan, plan->meanings[record->meaning].value);
  VEC_PUSH(l->arena, &group->lines,
           (LayoutLine){.record = record,
                        .value = line_value(l, group->name, value),
                        .times = ARENA_ARRAY(l->arena, int64_t, plan->classes_count)});
  return &group->lines.at[group->lines.count - 1];
}

static void add_segment(Layouts *l, const PlanSegment *segment) {
  const Plan *plan = &l->compiled->plan;
  const char *name = group_name(l, segment);
  for (uint32_t i = 0; i < segment->records_count; i++) {
    uint32_t r = segment->records_first + i;
    const PlanRecord *record = &plan->records[r];
    if (!plan_is_communication(record) || record->meaning == PLAN_NONE) continue;
    if (record->kind == RECORD_EXCHANGE && whole_bytes(plan, record) == 0)
      continue; /* only receives */
    LayoutLine *line = NULL;
    for (uint32_t k = 0; k < plan->classes_count; k++) {
      if (l->times[k][r] == 0) continue;
      if (line == NULL) line = find_line(l, find_group(l, name, record->comm), record);
      line->times[k] += l->times[k][r];
    }
  }
}

Layouts layouts_of(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  Layouts l = {.compiled = compiled, .arena = compiled->draft->compile->arena};
  l.times = ARENA_ARRAY(l.arena, const int64_t *, plan->classes_count);
  for (uint32_t k = 0; k < plan->classes_count; k++)
    l.times[k] = count_class(compiled, k);
  for (uint32_t s = 0; s < plan->segments_count; s++)
    add_segment(&l, &plan->segments[s]);
  return l;
}

/* ---- what a rank sends in a step, by communicator */

SentMost sent_most(const Layouts *l, uint32_t axes_mask) {
  const Plan *plan = &l->compiled->plan;
  SentMost most = {0};
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    const ClassTraffic traffic = sum_traffic(plan, l->times[k], axes_mask);
    if (traffic.sent_bytes > most.bytes) most.bytes = traffic.sent_bytes;
    if (traffic.flat_calls > most.calls) most.calls = traffic.flat_calls;
  }
  for (uint32_t i = 0; i < plan->links_count; i++) {
    const PlanLink *link = &plan->links[i];
    if (plan->comms[link->comm].axes_mask != axes_mask) continue;
    if (most.link == NULL || link->bytes_per_s < most.link->bytes_per_s) most.link = link;
  }
  return most;
}

bool comm_is_repeated(const Plan *plan, uint32_t comm) {
  for (uint32_t before = 0; before < comm; before++)
    if (plan->comms[before].axes_mask == plan->comms[comm].axes_mask) return true;
  return false;
}
