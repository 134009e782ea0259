/* LINK: runtime plan_builder -- two records that may be fused: their kernels are asked once, run
 * both in one call or one after the other, and whoever counts or watches sees two records. What a
 * plan may not fuse is refused before. */
#include "runtime/replay/replay_look.h"
#include "tests/unit/replay_rig.h"

enum { TIMES = 3, ELEMENTS = 4, X = 0, Y = 256, Z = 512, W = 768, BYTES = 4 * ELEMENTS };

static Sketch sketch;
static Rig rig;
static Flight flight;

static struct {
  int32_t asked, released, runs, runs_as_one;
  bool has_none, takes_three;
  KernelStatus asked_as, runs_as;
} seen;

static KernelStatus run(const KernelArgs *args, const char **why) {
  (void)why;
  for (int64_t i = 0; i < args->dim[0]; i++)
    ((float *)args->operand[1])[i] = ((const float *)args->operand[0])[i] + (float)args->attr[1];
  seen.runs++;
  return KERNEL_DONE;
}

static KernelStatus run_as_one(const KernelFused *fused, const KernelArgs *args, const char **why) {
  const KernelArgs *first = &args[0], *second = &args[1];
  CHECK(fused->state == &seen);
  CHECK(first->operand[1] == second->operand[0]);
  CHECK(first->attr[1] == 1 && second->attr[1] == 2);
  for (int64_t i = 0; i < first->dim[0]; i++) {
    float x = ((const float *)first->operand[0])[i];
    ((float *)first->operand[1])[i] = x + 1;
    ((float *)second->operand[1])[i] = x + 3;
  }
  seen.runs_as_one++;
  *why = "the device is lost";
  return seen.runs_as;
}

static KernelStatus run_three(const KernelFused *fused, const KernelArgs *args, const char **why) {
  CHECK(fused->state == &seen);
  for (int i = 0; i < 3; i++)
    (void)run(&args[i], why);
  seen.runs_as_one++, seen.runs -= 3;
  return KERNEL_DONE;
}

static void release(void *state) {
  CHECK(state == &seen);
  seen.released++;
}

static KernelStatus fusion(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                           KernelFused *fused, const char **why) {
  if (use[0].attr[1] != 1) return KERNEL_DONE; /* the second and the third alone */
  seen.asked++;
  if (count > 2 && !seen.takes_three) return KERNEL_DONE;
  CHECK_INT(count, seen.takes_three ? 3 : 2);
  CHECK(kernel[0]->id == KERNEL_affine && kernel[1]->id == KERNEL_affine);
  CHECK(use[0].attr[1] == 1 && use[1].attr[1] == 2);
  CHECK_INT(use[1].bytes[0], BYTES);
  *why = "no such pair";
  if (!seen.has_none) *fused = (KernelFused){count > 2 ? run_three : run_as_one, release, &seen};
  return seen.asked_as;
}

static KernelStatus prepare(const Kernel *kernel, const KernelUse *use, void **state,
                            const char **why) {
  const Kernel *real = &kernels_of(KERNEL_REFERENCE)[kernel->id];
  return real->prepare(real, use, state, why);
}

static const Kernel kernels[KERNEL_COUNT] = {
    [KERNEL_affine] = {KERNEL_affine, prepare, run, NULL, NULL, fusion}};

static void affine(const char *path, uint64_t from, uint64_t to, double shift) {
  sketch_kernel(&sketch, "affine", LANE_COMPUTE);
  sketch_newest(&sketch)->path = build_string(&sketch.b, path);
  sketch_operand(&sketch, from, BYTES, DTYPE_F32, ACCESS_READ);
  sketch_operand(&sketch, to, BYTES, DTYPE_F32, ACCESS_WRITE);
  sketch_dim(&sketch, ELEMENTS);
  sketch_attr(&sketch, 1), sketch_attr(&sketch, shift);
}

/* y = x + 1, z = y + 2 as a pair, and x = z + 0. */
static void build_for(uint32_t ranks) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 1), sketch_axis(&sketch, "tp", ranks);
  if (ranks > 1) sketch_comm(&sketch, 2);
  uint32_t segment = sketch_segment(&sketch);
  affine("first", X, Y, 1);
  affine("second", Y, Z, 2);
  sketch_newest(&sketch)->fuses = 1;
  affine("third", Z, X, 0);
  for (int32_t i = 0; i < TIMES; i++)
    sketch_call(&sketch, segment, i);
  sketch_class(&sketch, 0, 1);
  memset(&seen, 0, sizeof seen);
  memset(&flight, 0, sizeof flight);
}

static void build(void) {
  build_for(1);
}

/* y = x + 1, z = y + 2, w = z + 0: all three may be fused. */
static void build_chain(void) {
  build();
  sketch.b.records[2].fuses = 1;
  sketch.b.operands[5].offset = W;
}

static bool bind(Status *status) {
  char why[PLAN_WHY_BYTES] = "";
  memset(&rig, 0, sizeof rig);
  rig.plan = build_view(&sketch.b);
  CHECK(plan_check(&rig.plan, why));
  CHECK_TEXT(why, "");
  CHECK(mesh_read(&rig.mesh, &rig.plan, status));
  rig.arena[0] = aligned_alloc(256, SKETCH_DATA_AT + SKETCH_DATA_BYTES);
  memset(rig.arena[0], 0, SKETCH_DATA_AT + SKETCH_DATA_BYTES);
  ReplaySetup setup = {.plan = &rig.plan,
                       .mesh = &rig.mesh,
                       .arena = {rig.arena[0]},
                       .kernels = {kernels},
                       .flight = &flight};
  if (!replay_bind(&rig.replay[0], &setup, status)) return false;
  hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), SKETCH_DATA_BYTES);
  memset(rig_data(&rig, 0), 0, SKETCH_DATA_BYTES); /* binding may have filled it with NaN */
  return true;
}

static void end(void) {
  replay_free(&rig.replay[0]);
  free(rig.arena[0]);
  build_free(&sketch.b);
}

/* Checks the results of a step, and that it counted and noted three records a call. */
static void check_step(void) {
  hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), SKETCH_DATA_BYTES);
  CHECK(rig_data(&rig, 0)[X / 4 + 3] == 3 * TIMES);
  CHECK(rig_data(&rig, 0)[Y / 4 + 3] == 3 * TIMES - 2);
  for (uint32_t i = 0; i < 3; i++)
    CHECK_INT(replay_count(&rig.replay[0], i)->runs, TIMES);
  CHECK_INT(flight.lane[LANE_COMPUTE].begun, 3 * TIMES);
  CHECK_INT(flight.lane[LANE_COMPUTE].entry[1].record, 1);
}

/* ---- what a plan may not fuse */

static void not_behind_it(void) {
  sketch.b.records[0].fuses = 1;
}
static void a_third(void) {
  sketch.b.records[2].fuses = 1;
}
static void not_always(void) {
  sketch.b.records[0].when_all = CALL_FIRST_LAYER;
}
static void another_lane(void) {
  sketch.b.records[1].lane = LANE_DP;
}
static void twice(void) {
  sketch.b.records[1].fuses = 2;
}
/* On each rank another half of the value. */
static void a_half_each(void) {
  PlanOperand *operand = &sketch.b.operands[2];
  operand->by = 0, operand->size_bytes /= 2, operand->member_stride = BYTES / 2;
}
static void another_dtype(void) {
  sketch.b.operands[2].dtype = DTYPE_I32;
}
static void nothing_shared(void) {
  sketch.b.operands[2].offset = 1024;
}
static void a_part(void) {
  sketch.b.operands[2].offset += 4, sketch.b.operands[2].size_bytes -= 4;
}
static void over_the_input(void) {
  sketch.b.operands[3].offset = X;
}
static void over_a_part(void) {
  sketch.b.operands[3].offset = Y + 8;
}

static void refused(void (*spoil)(void), const char *words) {
  char why[PLAN_WHY_BYTES] = "";
  build_for(2);
  spoil();
  Plan plan = build_view(&sketch.b);
  CHECK(!plan_check(&plan, why));
  if (strstr(why, words) == NULL) printf("%s\n", why);
  CHECK(strstr(why, words) != NULL);
  build_free(&sketch.b);
}

static void check_runs(void) {
  Status status = {0};
  TEST("the kernels are asked once, and run both in one call; each record counts") {
    build();
    CHECK(bind(&status));
    CHECK_INT(seen.asked, 1);
    CHECK(rig_step(&rig, 0, &status));
    CHECK_INT(seen.runs_as_one, TIMES);
    CHECK_INT(seen.runs, TIMES);
    check_step();
    end();
    CHECK_INT(seen.released, 1);
  }
  for (int takes = 2; takes <= 3; takes++)
    TEST("of three they are asked for all, then for two") {
      build_chain();
      seen.takes_three = takes == 3;
      CHECK(bind(&status));
      CHECK_INT(seen.asked, takes == 3 ? 1 : 2);
      CHECK(rig_step(&rig, 0, &status));
      CHECK_INT(seen.runs_as_one, TIMES);
      CHECK_INT(seen.runs, takes == 3 ? 0 : TIMES);
      hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), SKETCH_DATA_BYTES);
      CHECK(rig_data(&rig, 0)[W / 4 + 3] == 3 && rig_data(&rig, 0)[Z / 4] == 3);
      for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(replay_count(&rig.replay[0], i)->runs, TIMES);
      CHECK_INT(flight.lane[LANE_COMPUTE].begun, 3 * TIMES);
      end();
      CHECK_INT(seen.released, 1);
    }
  TEST("where they have no way to, the records run one after the other") {
    build();
    seen.has_none = true;
    CHECK(bind(&status));
    CHECK(rig_step(&rig, 0, &status));
    CHECK_INT(seen.runs, 3 * TIMES);
    check_step();
    end();
  }
  TEST("they do so too while someone looks at what each makes") {
    ReplayFirst first = {0};
    build();
    CHECK(bind(&status));
    const PlanProgram *step = replay_program(&rig.replay[0], PROGRAM_TRAIN_STEP);
    CHECK(replay_look(&rig.replay[0], step, &(Control){0}, NULL, &first, &status));
    CHECK_INT(seen.runs_as_one, 0);
    check_step();
    end();
  }
  TEST("over the value between the second may write") {
    build();
    sketch.b.operands[3].offset = Y, sketch.b.operands[4].offset = Y;
    CHECK(bind(&status));
    CHECK(rig_step(&rig, 0, &status));
    hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), SKETCH_DATA_BYTES);
    CHECK(rig_data(&rig, 0)[X / 4] == 3 * TIMES);
    end();
  }
}

static void check_names(void) {
  Status status = {0};
  TEST("a failure of the two names the first") {
    build();
    seen.runs_as = KERNEL_FAILED;
    CHECK(bind(&status));
    CHECK(!rig_step(&rig, 0, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_TEXT(status.text, "first: kernel affine: the device is lost");
    CHECK_INT(replay_count(&rig.replay[0], 1)->runs, 0);
    end();
    build();
    seen.asked_as = KERNEL_REFUSED;
    CHECK(!bind(&status));
    CHECK_TEXT(status.text, "first: kernel affine: no such pair");
    end();
  }
}

static void check_plans(void) {
  TEST("a plan fuses a kernel with the next one of the same lane, if they share a value") {
    refused(not_behind_it, "records[0]: fuses, but in call 0 no kernel runs right before it");
    refused(a_third, "records[2]: fuses, but in call 0 it overwrites an operand of a record before "
                     "it, or reads a part of one");
    refused(not_always, "no kernel runs right before it");
    refused(another_lane,
            "records[1]: fuses, but in call 0 the record before it is on another lane");
    refused(twice, "records[1]: kernel has fuses 2");
    refused(nothing_shared, "it shares no operand with the records before it");
  }
  TEST("and leaves everything else of it alone") {
    refused(a_part, "it overwrites an operand of a record before it, or reads a part of one");
    refused(over_the_input,
            "it overwrites an operand of a record before it, or reads a part of one");
    refused(over_a_part, "it overwrites an operand of a record before it, or reads a part of one");
    refused(a_half_each, "it overwrites an operand of a record before it, or reads a part of one");
    refused(another_dtype,
            "it overwrites an operand of a record before it, or reads a part of one");
  }
}

int main(void) {
  check_runs();
  check_names();
  check_plans();
  CHECK_DONE();
}
