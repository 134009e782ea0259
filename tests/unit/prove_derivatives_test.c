/* LINK: job_plan plan_builder plan
 * The backward nodes of a model are the derivatives of its forward nodes, or the plan is refused.
 * The good plans are compiled, which proves them. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/prove/derivatives/derivatives.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/lockstep_derivatives.XXXXXX";
static PlanBuilder b;
static ProveReport report;

static void begin(const char *model, const char *change) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  build_free(&b);
  if (!job_plan(model, &(JobChanges){{change}}, path, &plan)) exit(1); /* it has said why */
  build_copy(&b, &plan);
  plan_close(&plan);
  (void)unlink(path);
}

static bool passes(void) {
  Plan plan = build_view(&b);
  report = (ProveReport){0};
  prove_derivatives(&plan, &report);
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
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}
