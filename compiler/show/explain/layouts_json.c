/* layouts_json.c -- every communication of a plan, for programs: `explain --layouts --json`. */
#include <string.h>

#include "compiler/show/explain/layouts.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"

/* "dp+cp" without the lane, which is its own key. */
static void print_over(const Plan *plan, uint32_t comm, FILE *out) {
  const char *name = plan_string(plan, plan->comms[comm].name);
  fprintf(out, "{\"over\":\"%.*s\",\"ranks\":%u", (int)strcspn(name, "@"), name,
          plan_comm_size(plan, comm));
}

static void print_text(const char *key, const char *text, FILE *out) {
  fprintf(out, ",\"%s\":", key);
  print_json_text(text, out);
}

static void print_line(const Layouts *l, const LayoutGroup *group, const LayoutLine *line,
                       FILE *out) {
  const Plan *plan = &l->compiled->plan;
  const PlanRecord *record = line->record;
  const PlanMeaning *meaning = &plan->meanings[record->meaning];
  const uint32_t axes = plan->comms[group->comm].axes_mask;
  char text[PLAN_LAYOUT_BYTES];
  print_over(plan, group->comm, out);
  print_text("lane", plan_lane_name(plan, record->lane), out);
  print_text("in", group->name, out);
  print_text("kind", RecordKind_names[record->kind], out);
  print_text("value", plan_string(plan, meaning->value), out);
  print_text("before", plan_layout_text(plan, meaning->before, axes, text), out);
  print_text("after", plan_layout_text(plan, meaning->after, axes, text), out);
  fprintf(out, ",\"whole_bytes\":%llu,\"sent_bytes\":%.0f,\"times\":[",
          (unsigned long long)whole_bytes(plan, record), sent_bytes(plan, record));
  for (uint32_t k = 0; k < plan->classes_count; k++)
    fprintf(out, "%s%lld", k > 0 ? "," : "", (long long)line->times[k]);
  fputs("]}", out);
}

static void print_total(const Layouts *l, uint32_t comm, FILE *out) {
  const SentMost most = sent_most(l, l->compiled->plan.comms[comm].axes_mask);
  print_over(&l->compiled->plan, comm, out);
  fprintf(out, ",\"sent_bytes\":%.0f,\"flat_calls\":%llu", most.bytes,
          (unsigned long long)most.calls);
  if (most.link != NULL && most.link->bytes_per_s > 0)
    fprintf(out, ",\"bytes_per_s\":%.9g", (double)most.link->bytes_per_s);
  if (most.link != NULL && most.link->latency_ns > 0)
    fprintf(out, ",\"latency_ns\":%llu", (unsigned long long)most.link->latency_ns);
  fputc('}', out);
}

void explain_layouts_json(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  const Layouts l = layouts_of(compiled);
  const char *separator = "";
  fputs("{\"version\":1,\"classes\":[", out);
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    if (k > 0) fputc(',', out);
    print_json_text(plan_string(plan, plan->classes[k].name), out);
  }
  fputs("],\n \"communications\":[", out);
  for (int32_t g = 0; g < l.groups.count; g++)
    for (int32_t i = 0; i < l.groups.at[g].lines.count; i++) {
      fprintf(out, "%s\n  ", separator);
      print_line(&l, &l.groups.at[g], &l.groups.at[g].lines.at[i], out);
      separator = ",";
    }
  fputs("],\n \"step\":[", out);
  separator = "";
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    if (comm_is_repeated(plan, comm)) continue;
    fprintf(out, "%s\n  ", separator);
    print_total(&l, comm, out);
    separator = ",";
  }
  fputs("]}\n", out);
}
