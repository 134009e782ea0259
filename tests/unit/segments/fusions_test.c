/* LINK: segments edges draft memory grad ops graph base contract -- which records may be fused
 * with the record before them: those of fusions.def, on one lane, whatever the flags of a call, and
 * only where neither disturbs the other. */
#include "compiler/draft/edges/edges.h"
#include "compiler/draft/segments/segments.h"
#include "kernels/contract/fusions.h"
#include "tests/unit/check.h"

enum { VALUE_BYTES = 1024 };

static Draft draft;
static Graph graph;
static Job job;
static Cluster cluster;
static int32_t segment, base;

static void begin(KernelTarget target) {
  cluster = (Cluster){.target = (Target)target};
  draft =
      (Draft){.compile = compile_new("specs"), .cluster = &cluster, .job = &job, .train = &graph};
  segment = segment_add(&draft, "s");
  base = segment_base(&draft, segment, BASE_SCRATCH, NO_ID, 1 << 16);
}

/* Operands are values by number, each with a place of its own; below 0: written. */
static Record *add(const char *kernel, const int32_t *values, int32_t count) {
  Record *record = segment_record(&draft, segment, RECORD_KERNEL, kernel, PURPOSE_NODE);
  for (int32_t i = 0; i < count; i++) {
    int32_t value = values[i] < 0 ? -values[i] : values[i];
    record_operand(record, base, (int64_t)value * VALUE_BYTES, VALUE_BYTES, DTYPE_F32,
                   values[i] < 0 ? ACCESS_WRITE : ACCESS_READ);
  }
  return record;
}
#define ADD(kernel, ...)                                                                           \
  add(kernel, (const int32_t[]){__VA_ARGS__},                                                      \
      (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

static Record *last(void) {
  Segment *of = &draft.segments.at[segment];
  return &of->records.at[of->records.count - 1];
}

/* Bytes that the last record need not read again. */
static int64_t fused(void) {
  records_fuse(&draft);
  edges_build(&draft);
  int64_t bytes = last()->fused_bytes;
  compile_free(draft.compile);
  return bytes;
}

/* x w bias -> y, then gelu of y. */
static void bias_and_gelu(KernelTarget target) {
  begin(target);
  ADD("linear_bias", 1, 2, 3, -4, -5);
  ADD("gelu", 4, -6);
}
/* a + b -> y, then its norm. */
static void add_and_norm(KernelTarget target) {
  begin(target);
  ADD("add", 1, 2, -3);
  ADD("layernorm", 3, 4, 5, -6, -7);
}

static void check_pairs(void) {
  TEST("pairs of fusions.def fuse, each in plans for its targets") {
    bias_and_gelu(KERNEL_TARGET_CUDA);
    CHECK_INT(fused(), VALUE_BYTES);
    bias_and_gelu(KERNEL_TARGET_CPU);
    CHECK_INT(fused(), 0);
    add_and_norm(KERNEL_TARGET_CUDA);
    CHECK_INT(fused(), VALUE_BYTES);
    add_and_norm(KERNEL_TARGET_CPU);
    CHECK_INT(fused(), VALUE_BYTES);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("dropout", 4, -6);
    CHECK_INT(fused(), 0);
  }
  TEST("the second must use what the first has made, of that size, and follow it") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("gelu", 7, -6);
    CHECK_INT(fused(), 0);
    bias_and_gelu(KERNEL_TARGET_CUDA);
    last()->operands[0].size_bytes /= 2;
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("copy", 8, -9);
    ADD("gelu", 4, -6);
    CHECK_INT(fused(), 0);
  }
}

static void check_chains(void) {
  TEST("an addition joins the product before it, and saves two passes where it writes over") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("add", 6, 4, -4);
    CHECK_INT(fused(), 2 * VALUE_BYTES);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear", 1, 2, -4, -5);
    ADD("add", 4, 6, -7);
    CHECK_INT(fused(), VALUE_BYTES);
    begin(KERNEL_TARGET_CPU);
    ADD("linear", 1, 2, -4, -5);
    ADD("add", 4, 6, -4);
    CHECK_INT(fused(), 0);
  }
  TEST("a third record must not write over what the first reads, and saves no bytes") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_dx", 1, 2, -3, -4);
    ADD("gelu_backward", 3, 5, -3);
    ADD("linear_db", 3, -6, -7)->accumulate = true;
    CHECK_INT(fused(), 1);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_dx", 1, 2, -3, -4);
    ADD("gelu_backward", 3, 5, -3);
    ADD("linear_db", 3, -2, -7);
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("gelu_erf_backward", 3, 5, -3);
    ADD("linear_db", 3, -6, -7);
    CHECK_INT(fused(), VALUE_BYTES);
  }
}

static void check_memory(void) {
  TEST("over the value between it may write, over nothing else of the first") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_dx", 1, 2, -3, -4);
    ADD("gelu_backward", 3, 5, -3);
    CHECK_INT(fused(), VALUE_BYTES);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("gelu", 4, -1); /* the product still reads it */
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CPU);
    ADD("add", 1, 2, -3);
    ADD("layernorm", 3, 4, 5, -6, -1);
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8);
    ADD("add", 9, 5, -8); /* its scratch */
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8);
    ADD("add", 9, 5, -9);
    CHECK_INT(fused(), VALUE_BYTES);
  }
}

static void check_flags(void) {
  TEST("whatever the flags of a call, a fitting record is right before it") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_dx", 20, 21, -1, -22);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8)->when_all = CALL_FIRST_MICROBATCH;
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8)->when_none = CALL_FIRST_MICROBATCH;
    ADD("add", 9, 5, -10);
    CHECK_INT(fused(), VALUE_BYTES);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_dx", 20, 21, -1, -22);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8)->when_all = CALL_FIRST_MICROBATCH;
    ADD("add", 9, 5, -10); /* in other calls the product is */
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("gelu", 4, -6)->when_all = CALL_FIRST_LAYER;
    CHECK_INT(fused(), VALUE_BYTES);
  }
}

/* A norm's backward, a sum of the rows that are added, the addition. */
static void with_rider(KernelTarget target, int32_t other, int32_t y) {
  begin(target);
  ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8);
  ADD("linear_db", other, -11, -12)->accumulate = true;
  ADD("add", 9, 5, -y);
}

static int64_t fused_of(int32_t i) {
  return draft.segments.at[segment].records.at[i].fused_bytes;
}

/* Bytes of the two records after the first, each 0 or a value's, as digits. */
static int32_t marks(void) {
  records_fuse(&draft);
  edges_build(&draft);
  int32_t digits = 0;
  for (int32_t i = 1; i < 3; i++)
    digits = 10 * digits + (fused_of(i) == VALUE_BYTES ? 1 : fused_of(i) == 0 ? 0 : 2);
  compile_free(draft.compile);
  return digits;
}

static void check_riders(void) {
  TEST("a sum of rows rides between a norm's backward and the addition of these rows") {
    with_rider(KERNEL_TARGET_CUDA, 9, 10);
    CHECK_INT(marks(), 11);
    with_rider(KERNEL_TARGET_CPU, 9, 10);
    CHECK_INT(marks(), 0);
  }
  TEST("the addition may write over the rows") {
    with_rider(KERNEL_TARGET_CUDA, 9, 9);
    CHECK_INT(marks(), 11);
  }
  TEST("a sum of other rows, or of rows of which a part is written over, keeps all apart") {
    with_rider(KERNEL_TARGET_CUDA, 15, 10);
    CHECK_INT(marks(), 0);
    with_rider(KERNEL_TARGET_CUDA, 9, 9);
    last()->operands[2].offset_bytes += VALUE_BYTES / 2;
    CHECK_INT(marks(), 0);
  }
  TEST("in calls without the sum the two are a pair") {
    begin(KERNEL_TARGET_CUDA);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8);
    ADD("linear_db", 9, -11, -12)->when_all = CALL_FIRST_MICROBATCH;
    ADD("add", 9, 5, -10);
    CHECK_INT(marks(), 11);
  }
}

static void check_neighbours(void) {
  TEST("a fourth record is not fused with three") {
    begin(KERNEL_TARGET_CUDA);
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("add", 6, 4, -4);
    ADD("layernorm", 4, 7, 8, -9, -10);
    CHECK_INT(fused(), 1);
    begin(KERNEL_TARGET_CUDA);
    ADD("layernorm_backward", 1, 2, 3, 4, -5, -6, -7, -8);
    ADD("linear_db", 9, -11, -12);
    ADD("add", 9, 5, -10);
    ADD("layernorm", 10, 13, 14, -15, -16);
    CHECK_INT(fused(), 0);
  }
  TEST("both are on one lane, and the second waits for no other") {
    bias_and_gelu(KERNEL_TARGET_CUDA);
    last()->lane = LANE_DP;
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("copy", 8, -6)->lane = LANE_DP; /* reads or writes what gelu writes */
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("gelu", 4, -6);
    CHECK_INT(fused(), 0);
    begin(KERNEL_TARGET_CUDA);
    ADD("copy", 8, -1)->lane = LANE_DP; /* what the product waits for, both do */
    ADD("linear_bias", 1, 2, 3, -4, -5);
    ADD("gelu", 4, -6);
    CHECK_INT(fused(), VALUE_BYTES);
  }
}

int main(void) {
  check_pairs();
  check_chains();
  check_memory();
  check_flags();
  check_riders();
  check_neighbours();
  CHECK_DONE();
}
