/* LINK: edges draft grad ops graph base contract -- what waits for what: bytes of operands, and
 * slots of the control block that no operand names. */
#include "compiler/draft/edges/edges.h"
#include "compiler/draft/edges/touches.h"
#include "runtime/plan/control.h"
#include "tests/unit/check.h"

static Draft draft;
static Graph graph;
static Job job;
static int32_t segment;

static void begin(void) {
  draft = (Draft){.compile = compile_new("specs"), .job = &job, .train = &graph};
  segment = segment_add(&draft, "s");
}

static Record *add(const char *kernel, Lane lane) {
  Record *record = segment_record(&draft, segment, RECORD_KERNEL, kernel, PURPOSE_NODE);
  record->lane = lane;
  return record;
}

static bool second_waits(void) {
  const Record *second = &draft.segments.at[segment].records.at[1];
  return second->after.count == 1 && second->after.at[0] == 0;
}

/* True if the later of two records on two lanes waits for the earlier. */
static bool orders(const char *first, const char *second) {
  begin();
  add(first, LANE_DP);
  add(second, LANE_COMPUTE);
  edges_build(&draft);
  bool waits = second_waits();
  compile_free(draft.compile);
  return waits;
}

/* True if the kernel waits for a collective on another lane that writes the slot. */
static bool orders_after_sum(const char *kernel, ControlSlot slot) {
  begin();
  Record *writer = segment_record(&draft, segment, RECORD_ALL_REDUCE, NULL, PURPOSE_CONTROL);
  writer->lane = LANE_DP;
  int32_t base = segment_base(&draft, segment, BASE_CONTROL, NO_ID, draft_control_bytes(&draft));
  record_operand(writer, base, draft_slot_offset(&draft, slot), 8, DTYPE_F64, ACCESS_UPDATE);
  add(kernel, LANE_COMPUTE);
  edges_build(&draft);
  bool waits = second_waits();
  compile_free(draft.compile);
  return waits;
}

int main(void) {
  TEST("kernels that use the same slots of the control block are ordered, one of them writing") {
    CHECK(orders("grad_norm", "adamw"));
    CHECK(orders("grad_norm", "sgd_master"));
    CHECK(orders("adamw", "grad_norm"));
    CHECK(orders("grad_norm", "grad_norm"));
  }
  TEST("kernels that read, or use other slots, are not") {
    CHECK(!orders("adamw", "adamw_master"));
    CHECK(!orders("grad_norm", "dropout"));
    CHECK(!orders("dropout", "init_normal"));
    CHECK(!orders("grad_norm", "gelu"));
  }
  TEST("what an operand writes to a slot orders the kernels that read it") {
    static const struct {
      const char *kernel;
      ControlSlot slot;
      bool waits;
    } cases[] = {
        {"dropout", CONTROL_seed, true},       {"dropout", CONTROL_step, true},
        {"attention", CONTROL_step, true},     {"init_uniform", CONTROL_seed, true},
        {"init_uniform", CONTROL_step, false}, {"init_constant", CONTROL_seed, false},
        {"sgd", CONTROL_step, false},          {"adamw", CONTROL_updates, true},
        {"adamw", CONTROL_step, false},        {"adamw", CONTROL_loss, false},
        {"grad_norm", CONTROL_targets, false}, {"cross_entropy_train", CONTROL_targets, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      bool waits = orders_after_sum(cases[i].kernel, cases[i].slot);
      if (waits != cases[i].waits) printf("%s\n", cases[i].kernel);
      CHECK_INT(waits, cases[i].waits);
    }
  }
  TEST("a plan that counts targets has losses and the norm wait for their sum") {
    static const char *const kernels[] = {"cross_entropy_train", "cross_entropy_parts_train",
                                          "grad_norm"};
    graph.may_lack_targets = true;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
      CHECK(orders_after_sum(kernels[i], CONTROL_targets));
    graph.may_lack_targets = false;
  }
  TEST("a plan with a loss scale has losses and the norm read it, and then moves it") {
    static const char *const kernels[] = {"cross_entropy_train", "mse_train", "grad_norm"};
    job.set[FIELD_precision_loss_scale] = true;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
      CHECK(orders_after_sum(kernels[i], CONTROL_loss_scale));
      CHECK(orders(kernels[i], "loss_scale"));
    }
    CHECK(!orders("loss_scale", "adamw"));
    job.set[FIELD_precision_loss_scale] = false;
    for (size_t i = 0; i + 1 < sizeof kernels / sizeof *kernels; i++)
      CHECK(!orders(kernels[i], "loss_scale"));
  }
  CHECK_DONE();
}
