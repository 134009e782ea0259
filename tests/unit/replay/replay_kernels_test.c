/* LINK: runtime plan_builder -- a record's kernel is prepared once and before the first step, finds
 * there what it made, and may refuse or fail with a reason; what differs from micro-batch to
 * micro-batch it finds at addresses that stay. */
#include "tests/unit/replay_rig.h"

enum { TIMES = 5, STATE = 41 };

static Sketch sketch;
static Rig rig;

/* ---- affine with a state, which is what its calls add */

static struct {
  int32_t prepared, runs, released;
  KernelStatus prepares_as, runs_as;
  const int64_t *sample_first[4 * TIMES]; /* of each run */
} seen;

static KernelStatus prepare(const Kernel *kernel, const KernelUse *use, void **state,
                            const char **why) {
  const Kernel *real = &kernels_of(KERNEL_REFERENCE)[kernel->id];
  KernelStatus checked = real->prepare(real, use, state, why);
  if (checked != KERNEL_DONE) return checked;
  double *made = malloc(sizeof *made);
  *made = STATE + use->attr[1];
  *state = made;
  seen.prepared++;
  *why = "no such shape";
  if (seen.prepares_as != KERNEL_DONE) free(made);
  return seen.prepares_as;
}

static KernelStatus run(const KernelArgs *args, const char **why) {
  const float *x = args->operand[0];
  float *y = args->operand[1];
  for (int64_t i = 0; i < args->dim[0]; i++)
    y[i] = x[i] + (float)*(double *)args->state;
  seen.sample_first[seen.runs++] = args->sample_first;
  *why = "the device is lost";
  return seen.runs_as;
}

static void release(void *state) {
  free(state);
  seen.released++;
}

static const Kernel kernels[KERNEL_COUNT] = {
    [KERNEL_affine] = {KERNEL_affine, prepare, run, NULL, release, NULL}};

/* Two records, x += 1 and x += 2 for this machine's kernels, in a loop. */
static void build(int64_t operand_bytes) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 1);
  uint32_t segment = sketch_segment(&sketch);
  for (int32_t i = 1; i <= 2; i++) {
    sketch_kernel(&sketch, "affine", LANE_COMPUTE);
    sketch_operand(&sketch, 0, (uint64_t)operand_bytes, DTYPE_F32, ACCESS_READ);
    sketch_operand(&sketch, 0, (uint64_t)operand_bytes, DTYPE_F32, ACCESS_WRITE);
    sketch_dim(&sketch, 4);
    sketch_attr(&sketch, 1), sketch_attr(&sketch, i);
  }
  for (int32_t i = 0; i < TIMES; i++)
    sketch_call(&sketch, segment, i);
  sketch_class(&sketch, 0, 1);
  memset(&seen, 0, sizeof seen);
}

/* As rig_open, with kernels of this test, or of this machine. */
static bool bind(const Kernel *table, Status *status) {
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
                       .arena = {rig.arena[0], rig.arena[0]},
                       .kernels = {table}};
  if (!replay_bind(&rig.replay[0], &setup, status)) return false;
  hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), 16);
  memset(rig_data(&rig, 0), 0, 16); /* binding may have filled it with NaN */
  return true;
}

static void end(void) {
  replay_free(&rig.replay[0]);
  free(rig.arena[0]);
  build_free(&sketch.b);
}

static void test_refusals(void) {
  Status status = {0};
  TEST("a kernel that refuses its record names it before the first step") {
    build(16);
    seen.prepares_as = KERNEL_REFUSED;
    CHECK(!bind(kernels, &status));
    CHECK_INT(status.code, STATUS_OURS);
    CHECK_TEXT(status.text, "record: kernel affine: no such shape");
    end();
    CHECK_INT(seen.released, 0);
  }
  TEST("a kernel that fails ends the run, with a code that says a retry may help") {
    build(16);
    seen.runs_as = KERNEL_FAILED;
    CHECK(bind(kernels, &status));
    CHECK(!rig_step(&rig, 0, &status));
    CHECK_INT(seen.runs, 1);
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_TEXT(status.text, "record: kernel affine: the device is lost");
    end();
  }
  TEST("a lane's processor says whose kernels run on it; those that are not here are missed") {
    build(16);
    sketch.b.lanes[LANE_COMPUTE].processor = PROCESSOR_HOST;
    sketch_host_memory(&sketch);
    CHECK(!bind(kernels, &status));
    CHECK_INT(status.code, STATUS_OURS);
    CHECK_TEXT(status.text, "this program has no kernel 'affine' for lane compute (record)");
    end();
  }
  TEST("a CPU kernel refuses operands that are smaller than it takes them to be") {
    build(12);
    CHECK(!bind(kernels_of(KERNEL_FAST), &status));
    CHECK_INT(status.code, STATUS_OURS);
    CHECK_TEXT(status.text, "record: kernel affine: an operand is smaller than its dims say");
    end();
  }
}

int main(void) {
  Status status = {0};
  TEST("once a record, whatever the number of its calls; the calls find what it made") {
    build(16);
    CHECK(bind(kernels, &status));
    CHECK_INT(seen.prepared, 2);
    CHECK(rig_step(&rig, 0, &status));
    CHECK_INT(seen.runs, 2 * TIMES);
    CHECK_INT(seen.prepared, 2);
    hostile_allow(&rig.replay[0].hostile, rig_data(&rig, 0), 16);
    CHECK(rig_data(&rig, 0)[3] == TIMES * (STATE + 1 + STATE + 2));
    end();
    CHECK_INT(seen.released, 2);
  }
  TEST("the number of a micro-batch's first sample is at the same address in every step") {
    build(16);
    CHECK(bind(kernels, &status));
    CHECK(rig_step(&rig, 0, &status) && rig_step(&rig, 0, &status));
    CHECK_INT(seen.runs, 4 * TIMES);
    for (int32_t i = 0; i < 2 * TIMES; i++) {
      CHECK_INT(*seen.sample_first[i], i / 2);
      CHECK(seen.sample_first[i] == seen.sample_first[i + 2 * TIMES]);
    }
    end();
  }
  test_refusals();
  CHECK_DONE();
}
