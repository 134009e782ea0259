/* LINK: draft memory grad ops graph base contract -- the draft while rooms fill it in: bases grow
 * to cover their operands, records count their bytes, collectives state their layouts. */
#include "compiler/draft/draft.h"
#include "tests/unit/check.h"

static Draft draft;

static void check_bases(void) {
  const int32_t s = segment_add(&draft, "h.forward"), other = segment_add(&draft, "h.backward");
  TEST("a base is made on first use and grows to the farthest operand") {
    CHECK_INT(segment_base(&draft, s, BASE_FRAME, NO_ID, 64), 0);
    CHECK_INT(segment_base(&draft, s, BASE_PARAM, 2, 16), 1);
    CHECK_INT(segment_base(&draft, s, BASE_FRAME, NO_ID, 256), 0);
    CHECK_INT(segment_base(&draft, s, BASE_FRAME, NO_ID, 128), 0);
    CHECK_INT(draft.segments.at[s].bases.at[0].size_bytes, 256);
    CHECK_INT(draft.segments.at[s].bases.count, 2);
  }
  TEST("blocks have a base each, and segments their own") {
    CHECK_INT(segment_base(&draft, s, BASE_PARAM, 3, 16), 2);
    CHECK_INT(segment_base(&draft, other, BASE_FRAME, NO_ID, 32), 0);
    CHECK_INT(draft.segments.at[s].bases.at[0].size_bytes, 256);
  }
  TEST("partial sums of a group are another base than those of a block in that group") {
    const int32_t all = partials_base(&draft, other, NO_ID, 1, 8);
    CHECK(partials_base(&draft, other, 0, 1, 8) != all);
    CHECK_INT(partials_base(&draft, other, NO_ID, 1, 8), all);
  }
}

static void check_records(void) {
  const int32_t s = segment_add(&draft, "wte.update");
  TEST("a record is on the compute lane, of no node and no value, and named after its segment") {
    const Record *record = segment_kernel(&draft, s, KERNEL_gelu, PURPOSE_NODE);
    CHECK_TEXT(record->kernel, "gelu");
    CHECK_TEXT(record->path, "wte.update");
    CHECK_INT(record->lane, LANE_COMPUTE);
    CHECK_INT(record->node, NO_ID);
    CHECK_INT(record->value, NO_ID);
  }
  TEST("an operand that is updated is read and written") {
    Record *record = segment_kernel(&draft, s, KERNEL_gelu, PURPOSE_NODE);
    record_operand(record, 0, 0, 100, DTYPE_F32, ACCESS_READ);
    record_operand(record, 0, 100, 10, DTYPE_F32, ACCESS_WRITE);
    CHECK_INT(record->bytes, 110);
    record_operand(record, 0, 110, 1, DTYPE_F32, ACCESS_UPDATE);
    CHECK_INT(record->bytes, 112);
    CHECK_INT(record->operand_count, 3);
  }
  TEST("a number varies only along axes with several ranks, and by something") {
    Record *record = segment_kernel(&draft, s, KERNEL_gelu, PURPOSE_NODE);
    record_vary(record, 0, 0, 8);
    record_vary(record, 0, MESH_BIT(MESH_DP), 0);
    CHECK_INT(record->vary_count, 0);
    record_vary(record, 0, MESH_BIT(MESH_DP), 8);
    CHECK_INT(record->vary_count, 1);
  }
  TEST("all records of a segment change lanes together") {
    segment_set_lane(&draft, s, LANE_HOST);
    for (int32_t i = 0; i < draft.segments.at[s].records.count; i++)
      CHECK_INT(draft.segments.at[s].records.at[i].lane, LANE_HOST);
  }
}

static void check_collectives(void) {
  const uint32_t dp = MESH_BIT(MESH_DP);
  const int32_t s = segment_add(&draft, "h.reduce");
  TEST("a gather takes pieces and leaves the whole") {
    const Record *r = collective(&draft, s, RECORD_ALL_GATHER, PURPOSE_GATHER, dp, "h parameters");
    CHECK_INT(r->layout_before->flat_axes, dp);
    CHECK_INT(r->layout_before->owed_axes, 0);
    CHECK_INT(r->layout_after->flat_axes, 0);
  }
  TEST("a reduce-scatter takes partial sums and leaves pieces, an all-reduce the whole") {
    const Record *r =
        collective(&draft, s, RECORD_REDUCE_SCATTER, PURPOSE_REDUCE, dp, "h gradients");
    CHECK_INT(r->layout_before->owed_axes, dp);
    CHECK_INT(r->layout_after->flat_axes, dp);
    r = collective(&draft, s, RECORD_ALL_REDUCE, PURPOSE_REDUCE, dp, "h gradients");
    CHECK_INT(r->layout_before->owed_axes, dp);
    CHECK_INT(r->layout_after->flat_axes | r->layout_after->owed_axes, 0);
    CHECK_INT(r->axes, dp);
  }
}

static void check_flags(void) {
  TEST("a record runs in calls that have all flags of when_all and none of when_none") {
    const Record record = {.when_all = CALL_FIRST_MICROBATCH, .when_none = CALL_LAST_LAYER};
    CHECK(record_runs(&record, CALL_FIRST_MICROBATCH));
    CHECK(record_runs(&record, CALL_FIRST_MICROBATCH | CALL_FIRST_LAYER));
    CHECK(!record_runs(&record, 0));
    CHECK(!record_runs(&record, CALL_FIRST_MICROBATCH | CALL_LAST_LAYER));
  }
  TEST("buffers of a stage are numbered as they are added") {
    Stage stage = {0};
    CHECK_INT(buffer_add(&draft, &stage, (Buffer){.name = "a", .size_bytes = 1}), 0);
    CHECK_INT(buffer_add(&draft, &stage, (Buffer){.name = "b", .size_bytes = 2}), 1);
    CHECK_TEXT(stage.buffers.at[1].name, "b");
  }
}

int main(void) {
  draft.compile = compile_new("specs");
  check_bases();
  check_records();
  check_collectives();
  check_flags();
  compile_free(draft.compile);
  CHECK_DONE();
}
