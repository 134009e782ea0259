/* plan_print_model.c -- the model that a plan carries out, as a program of one layer.
 *
 *   # h.*.mlp.c_fc gpt2.lua:12:9
 *   %7 [batch 16, seq 256, ffn 512] fp32
 *     = linear %5, h.*.mlp.c_fc.weight
 */
#include <inttypes.h>

#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"

/* Parameters and inputs are printed by name, results of nodes by number. */
static void print_value(const Plan *plan, FILE *out, uint32_t index) {
  const PlanValue *value = &plan->values[index];
  const char *name = plan_string(plan, value->name);
  if (value->kind == VALUE_ACTIVATION || *name == '\0')
    fprintf(out, "%%%u", index);
  else
    fprintf(out, "%s%s", value->kind == VALUE_PARAM_GRAD ? "d " : "", name);
}

static void print_made(const Plan *plan, FILE *out, uint32_t index) {
  const PlanValue *value = &plan->values[index];
  char dims[PLAN_LAYOUT_BYTES];
  print_value(plan, out, index);
  fprintf(out, " %s %s", plan_dims_text(plan, value->layout, dims), DType_names[value->dtype]);
  if (value->view_of == PLAN_NONE) return;
  fputs(" in ", out);
  print_value(plan, out, value->view_of);
}

static void print_node(const Plan *plan, FILE *out, const PlanNode *node) {
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    fputs(i > 0 ? ",\n    " : "    ", out);
    print_made(plan, out, plan->uses[node->outputs_first + i].value);
  }
  fprintf(out, "\n      = %s", plan_string(plan, node->op));
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    fputs(i > 0 ? ", " : " ", out);
    print_value(plan, out, plan->uses[node->inputs_first + i].value);
  }
  for (uint32_t i = 0; i < node->attrs_count; i++)
    fprintf(out, "%s%.9g", i == 0 ? " | " : " ", plan->reals[node->attrs_first + i]);
  putc('\n', out);
}

static bool same_place(const PlanNode *a, const PlanNode *b) {
  return a->path == b->path && a->file == b->file && a->line == b->line && a->column == b->column;
}

static void print_place(const Plan *plan, FILE *out, const PlanNode *node) {
  fprintf(out, "    # %s", plan_string(plan, node->path));
  if (*plan_string(plan, node->file) != '\0')
    fprintf(out, " %s:%u:%u", plan_string(plan, node->file), node->line, node->column);
  putc('\n', out);
}

static void print_list(const Plan *plan, FILE *out, const char *name, uint32_t first,
                       uint32_t count) {
  if (count == 0) return;
  fprintf(out, "  %s\n", name);
  for (uint32_t i = first; i < first + count; i++) {
    if (i == first || !same_place(&plan->nodes[i - 1], &plan->nodes[i]))
      print_place(plan, out, &plan->nodes[i]);
    print_node(plan, out, &plan->nodes[i]);
  }
}

/* A line "normal 0 0.02, decays": the initial values, and whether updates decay the parameter. */
static void print_parameter(const Plan *plan, FILE *out, uint32_t value) {
  for (uint32_t i = 0; i < plan->parameters_count; i++) {
    const PlanParameter *at = &plan->parameters[i];
    if (at->value != value) continue;
    fprintf(out, "\n    %s %.9g", InitKind_names[at->init], at->init_a);
    if (at->init != INIT_CONSTANT) fprintf(out, " %.9g", at->init_b);
    if (at->decay) fputs(", decays", out);
  }
}

void plan_print_model(const Plan *plan, FILE *out) {
  fprintf(out, "model %s: %" PRId64 " parameters\n", job_model(plan), job_parameters(plan));
  for (uint32_t i = 0; i < plan->values_count; i++) {
    const PlanValue *value = &plan->values[i];
    char dims[PLAN_LAYOUT_BYTES];
    if (value->kind != VALUE_PARAM || value->region == PLAN_NONE ||
        !plan_is_main(plan, &plan->regions[value->region]))
      continue;
    fprintf(out, "  %s %s", plan_string(plan, value->name),
            plan_dims_text(plan, value->layout, dims));
    int64_t layers = plan->regions[value->region].repeat;
    if (layers > 1) fprintf(out, " x %" PRId64 " layers", layers);
    print_parameter(plan, out, i);
    putc('\n', out);
  }
  for (uint32_t i = 0; i < plan->regions_count; i++) {
    const PlanRegion *region = &plan->regions[i];
    fprintf(out, "\n%s %s", region->is_stack ? "stack" : "region", plan_string(plan, region->name));
    if (region->is_stack) fprintf(out, ", %" PRId64 " layers", region->repeat);
    if (region->program == PROGRAM_EVAL_STEP) fputs(", evaluation", out);
    if (region->program == PROGRAM_PREFILL || region->program == PROGRAM_DECODE)
      fprintf(out, ", %s", ProgramKind_names[region->program]);
    putc('\n', out);
    print_list(plan, out, "forward", region->forward_first, region->forward_count);
    print_list(plan, out, "backward", region->backward_first, region->backward_count);
  }
}
