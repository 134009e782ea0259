/* LINK: job_plan plan_builder plan
 * The backward nodes of a model are the derivatives of its forward nodes, or the plan is refused.
 * The good plans are compiled, which proves them. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/lockstep_derivatives.XXXXXX";
static PlanBuilder b;
static ProveReport report;

static void begin_with(const char *model, const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  build_free(&b);
  if (!job_plan(model, changes, path, &plan)) exit(1); /* it has said why */
  build_copy(&b, &plan);
  plan_close(&plan);
  (void)unlink(path);
}

static void begin(const char *model, const char *change) {
  begin_with(model, &(JobChanges){{change}});
}

/* Runs a property over the plan as it is now. */
static void judge(void (*property)(const View *view)) {
  Plan plan = build_view(&b);
  report = (ProveReport){0};
  View view = {.plan = &plan, .report = &report, .arena = arena_new()};
  view_open(&view);
  property(&view);
  arena_free(view.arena);
}

static bool passes(void) {
  judge(prove_derivatives);
  return report.finding_count == 0;
}

static void expect(const char *words) {
  CHECK(!passes());
  findings_expect(&report, words);
}

static const PlanRegion *region_of(const char *name) {
  for (uint32_t i = 0; i < b.regions_count; i++)
    if (strcmp(b.strings + b.regions[i].name, name) == 0) return &b.regions[i];
  abort();
}

/* Backward node `n` of that op in the region. */
static PlanNode *backward_of(const char *region, const char *op, uint32_t n) {
  const PlanRegion *of = region_of(region);
  for (uint32_t i = 0; i < of->backward_count; i++) {
    PlanNode *node = &b.nodes[of->backward_first + i];
    if (strcmp(b.strings + node->op, op) == 0 && n-- == 0) return node;
  }
  abort();
}

static void test_named(void) {
  TEST("a residual's sum of gradients that became a difference") {
    begin("gpt2", NULL);
    backward_of("h", "add", 0)->op = build_string(&b, "subtract");
    expect("h, subtract of h.*.ln_2...makes what is not a whole gradient");
  }
  TEST("a gradient that goes by another value") {
    begin("gpt2", NULL);
    PlanNode *gelu = backward_of("h", "gelu_backward", 0);
    b.uses[gelu->inputs_first + 1].value = b.nodes[region_of("h")->forward_first + 7].outputs_first;
    expect("h, gelu_backward of h.*.gelu");
  }
  TEST("another op, one that has no row") {
    begin("gpt2", NULL);
    b.nodes[region_of("h")->forward_first + 1].op = build_string(&b, "fold");
    expect("h, fold of h.*.attn.c_attn...has no row for its input");
  }
  TEST("rope that does not turn back") {
    begin("llama", NULL);
    PlanNode *rope = backward_of("model.layers", "rope", 0);
    b.reals[rope->attrs_first + 1] = 1;
    expect("model.layers, rope of model.layers.*");
  }
  TEST("a tied table without the gradient of one use") {
    begin("gpt2", NULL);
    PlanNode *dw = backward_of("end", "linear_dw", 0), *dx = backward_of("end", "linear_dx", 0);
    b.uses[dw->outputs_first].value = b.uses[dx->outputs_first].value;
    expect("parameter wte.weight has a gradient that is not the sum over its uses");
  }
  TEST("dropout's mask of another node") {
    begin("gpt2", "model.dropout=0.1");
    PlanNode *drop = backward_of("h", "dropout", 0);
    drop->path = backward_of("h", "dropout", 1)->path;
    expect("h, dropout of h.*");
  }
  TEST("dropout's mask of other numbers under the same name") {
    begin("gpt2", "model.dropout=0.1");
    backward_of("h", "dropout", 0)->key++;
    expect("h, dropout of h.*");
  }
  TEST("a gradient that is added to is no operand of another") {
    begin("gpt2", NULL);
    PlanNode *dw = backward_of("h", "linear_dw", 0);
    b.uses[dw->inputs_first].value = b.uses[dw->outputs_first].value;
    expect("reads a sum that is not complete");
  }
  TEST("a parameter of no region has its gradient, too") {
    begin("gpt2", NULL);
    PlanNode *dw = backward_of("end", "linear_dw", 0), *dx = backward_of("end", "linear_dx", 0);
    b.values[b.uses[dx->inputs_first + 1].value].region = PLAN_NONE;
    b.uses[dw->outputs_first].value = b.uses[dx->outputs_first].value;
    expect("parameter wte.weight has a gradient that is not the sum over its uses");
  }
}

/* Forward node of that op in the region as it is evaluated. */
static PlanNode *evaluated(const char *region, const char *op) {
  for (uint32_t r = 0; r < b.regions_count; r++) {
    if (b.regions[r].program != PROGRAM_EVAL_STEP ||
        strcmp(b.strings + b.regions[r].name, region) != 0)
      continue;
    for (uint32_t i = 0; i < b.regions[r].forward_count; i++) {
      PlanNode *node = &b.nodes[b.regions[r].forward_first + i];
      if (strcmp(b.strings + node->op, op) == 0) return node;
    }
  }
  abort();
}

static void expect_evaluation(const char *words) {
  judge(prove_evaluation);
  findings_expect(&report, words);
}

/* With 64 words of data to validate on, and dropout. */
static void begin_evaluated(void) {
  enum { TOKENS = 4000 };
  static const char *const names[] = {"train", "valid"};
  char path[2][96], change[2][256];
  for (int k = 0; k < 2; k++) {
    (void)snprintf(path[k], sizeof path[k], "%s/%s", folder, names[k]);
    (void)snprintf(change[k], sizeof change[k], "data.%s=%s", names[k], path[k]);
    FILE *file = fopen(path[k], "wb");
    if (file == NULL) exit(2);
    for (int i = 0; i < TOKENS; i++)
      (void)fputc((i + k) * 7 % 64, file);
    (void)fclose(file);
  }
  begin_with("gpt2", &(JobChanges){{"model.dropout=0.1", "data=tokens", "data.format=u8", change[0],
                                    change[1]}});
  for (int k = 0; k < 2; k++)
    (void)unlink(path[k]);
}

static void test_evaluation(void) {
  TEST("what is evaluated is what is trained") {
    begin_evaluated();
    judge(prove_evaluation);
    CHECK_INT(report.finding_count, 0);
  }
  TEST("an evaluation with another number, another op, another weight") {
    begin_evaluated();
    b.reals[evaluated("h", "layernorm")->attrs_first] = 0.5;
    expect_evaluation("h, layernorm of h.*.ln_1...is not computed in training");
    begin_evaluated();
    evaluated("h", "gelu")->op = build_string(&b, "relu");
    expect_evaluation("h, relu of h.*.gelu...is not computed in training");
    begin_evaluated();
    PlanNode *linear = evaluated("h", "linear");
    b.uses[linear->inputs_first].value = b.uses[linear->outputs_first].value;
    expect_evaluation("h, linear of h.*.attn.c_attn...is not computed in training");
  }
  TEST("an evaluation that splits elsewhere, and a gradient that is joined elsewhere") {
    begin_evaluated();
    b.reals[evaluated("h", "split")->attrs_first] += 1;
    expect_evaluation("h, split of h.*.split...is not computed in training");
    begin("gpt2", NULL);
    b.reals[backward_of("h", "join", 0)->attrs_first] += 1;
    expect("h, join of h.*.split");
  }
  TEST("an evaluation with another op of what is zero") {
    begin_evaluated();
    PlanNode *trained = &b.nodes[region_of("h")->forward_first];
    while (strcmp(b.strings + trained->op, "add") != 0)
      trained++;
    PlanNode *nodes[] = {trained, evaluated("h", "add")};
    for (int i = 0; i < 2; i++) {
      nodes[i]->op = build_string(&b, "subtract");
      b.uses[nodes[i]->inputs_first + 1].value = b.uses[nodes[i]->inputs_first].value;
    }
    judge(prove_evaluation);
    CHECK_INT(report.finding_count, 0);
    evaluated("h", "gelu")->op = build_string(&b, "relu");
    expect_evaluation("h, relu of h.*.gelu...is not computed in training");
  }
  TEST("an evaluation that drops out") {
    begin_evaluated();
    PlanNode *gelu = evaluated("h", "gelu"), *drop = backward_of("h", "dropout", 0);
    gelu->op = drop->op, gelu->path = drop->path;
    expect_evaluation("h, dropout of h.*.dropout.2...is not computed in training");
  }
}

/* Whatever one input of any backward node is exchanged for. */
static void test_all_inputs(void) {
  uint32_t tried = 0, kept = 0;
  for (uint32_t r = 0; r < b.regions_count; r++)
    for (uint32_t i = 0; i < b.regions[r].backward_count; i++) {
      const PlanNode *node = &b.nodes[b.regions[r].backward_first + i];
      for (uint32_t k = 0; k < node->inputs_count; k++) {
        uint32_t *value = &b.uses[node->inputs_first + k].value, was = *value;
        *value = (was + 1 + tried % 7) % b.values_count;
        tried++;
        if (*value != was && passes()) {
          printf("%s: input %u\n", b.strings + node->op, k);
          kept++;
        }
        *value = was;
      }
    }
  CHECK(tried > 10);
  CHECK_INT(kept, 0);
  CHECK(passes());
}

static void test_all_ops(void) {
  uint32_t other = build_string(&b, "subtract");
  for (uint32_t r = 0; r < b.regions_count; r++)
    for (uint32_t i = 0; i < b.regions[r].backward_count; i++) {
      PlanNode *node = &b.nodes[b.regions[r].backward_first + i];
      uint32_t was = node->op;
      node->op = other;
      CHECK(!passes());
      node->op = was;
    }
  CHECK(passes());
}

static void test_inputs(void) {
  static const char *const models[] = {"gpt2", "llama", "mlp"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    TEST("whichever input of a backward node is another") {
      begin(models[i], NULL);
      test_all_inputs();
      test_all_ops();
    }
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  test_named();
  test_inputs();
  test_evaluation();
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}
