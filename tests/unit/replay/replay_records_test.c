/* Records that communicate or vary, replayed: the right operands, attrs and counts on every rank.
 * LINK: runtime plan_builder */
#include "tests/unit/replay_rig.h"

enum { DP = 1, TP = 2, BOTH = 3 }; /* masks of a mesh dp 2 x tp 3 */

static Sketch sketch;
static Rig rig;

static void begin(void) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 2), sketch_axis(&sketch, "tp", 3);
  for (uint32_t mask = DP; mask <= BOTH; mask++)
    sketch_comm(&sketch, mask);
  sketch_call(&sketch, sketch_segment(&sketch), -1);
}

static void run(void) {
  Status status;
  sketch_class(&sketch, 0, sketch.b.axes[0].size);
  rig_open(&rig, &sketch);
  CHECK(rig_run(&rig, &status));
  CHECK_TEXT(status.text, "");
}

static void end(void) {
  rig_close(&rig);
  build_free(&sketch.b);
}

static void operand(uint64_t first, uint64_t elements, Access access) {
  sketch_operand(&sketch, first * 4, elements * 4, DTYPE_F32, access);
}

static void check_reduced(int32_t rank) {
  const Replay *replay = &rig.replay[rank];
  for (int i = 0; i < 60; i++)
    CHECK_NEAR(rig_data(&rig, rank)[i], 15000 + 6 * i, 0);
  CHECK_NEAR(rig_data(&rig, rank)[60], 1000 * rank + 60, 0);
  for (uint32_t record = 0; record < 2; record++) {
    CHECK_INT(replay_count(replay, record)->runs, 1);
    CHECK_INT(replay_count(replay, record)->sent_bytes, 5 * 10 * 4);
  }
  CHECK_INT(rig.left[rank].sent_bytes, 2 * 5 * 10 * 4);
}

static void test_in_place(void) {
  TEST("a scatter in place, then a gather in place, are an all-reduce") {
    begin();
    sketch_record(&sketch, RECORD_REDUCE_SCATTER, LANE_COMPUTE, BOTH - 1);
    operand(0, 60, ACCESS_UPDATE);
    sketch_dim(&sketch, 1), sketch_dim(&sketch, 4), sketch_dim(&sketch, 2), sketch_dim(&sketch, 3);
    sketch_record(&sketch, RECORD_ALL_GATHER, LANE_COMPUTE, BOTH - 1);
    operand(0, 60, ACCESS_UPDATE);
    sketch_dim(&sketch, 1), sketch_dim(&sketch, 4), sketch_dim(&sketch, 2), sketch_dim(&sketch, 3);
    run();
    for (int32_t rank = 0; rank < 6; rank++)
      check_reduced(rank);
    end();
  }
}

static void test_two_operands(void) {
  TEST("a gather and a scatter between two operands, over one axis") {
    begin();
    sketch_record(&sketch, RECORD_ALL_GATHER, LANE_COMPUTE, TP - 1);
    operand(0, 2, ACCESS_READ), operand(10, 6, ACCESS_WRITE);
    sketch_dim(&sketch, 2), sketch_dim(&sketch, 1);
    sketch_record(&sketch, RECORD_REDUCE_SCATTER, LANE_COMPUTE, DP - 1);
    operand(10, 6, ACCESS_READ), operand(20, 3, ACCESS_WRITE);
    sketch_dim(&sketch, 1), sketch_dim(&sketch, 3);
    run();
    for (int32_t rank = 0; rank < 6; rank++) {
      int32_t first = rank / 3 * 3;
      for (int i = 0; i < 6; i++)
        CHECK_INT(rig_data(&rig, rank)[10 + i], 1000 * (first + i % 3) + i / 3);
      for (int i = 0; i < 3; i++) {
        int at = 3 * (rank / 3) + i;
        CHECK_INT(rig_data(&rig, rank)[20 + i], 1000 * (3 + 2 * (at % 3)) + 2 * (at / 3));
      }
    }
    end();
  }
  TEST("an all-to-all there and back is nothing") {
    begin();
    for (int back = 0; back < 2; back++) {
      sketch_record(&sketch, RECORD_ALL_TO_ALL, LANE_COMPUTE, TP - 1);
      operand(back ? 100 : 0, 36, ACCESS_READ), operand(back ? 200 : 100, 36, ACCESS_WRITE);
      const int64_t dims[5] = {1, 2, 3, 1, 2};
      for (int i = 0; i < 5; i++)
        sketch_dim(&sketch, dims[i]);
      sketch_attr(&sketch, back);
    }
    run();
    for (int32_t rank = 0; rank < 6; rank++) {
      for (int i = 0; i < 36; i++)
        CHECK_NEAR(rig_data(&rig, rank)[200 + i], 1000 * rank + i, 0);
      CHECK_INT(replay_count(&rig.replay[rank], 0)->sent_bytes, 2 * 12 * 4);
      /* [a*n 6, middle 3, b 1, inner 2]: row 4 is of member 2, its row 0, this member's column */
      int32_t tp = rank % 3, from = rank - tp + 2;
      CHECK_NEAR(rig_data(&rig, rank)[100 + 4 * 6], 1000 * from + 2 * tp, 0);
    }
    end();
  }
}

static void test_exchange(void) {
  TEST("an exchange turns a ring") {
    begin();
    sketch_record(&sketch, RECORD_EXCHANGE, LANE_COMPUTE, TP - 1);
    operand(0, 5, ACCESS_READ), operand(10, 5, ACCESS_WRITE), operand(5, 1, ACCESS_READ);
    operand(15, 1, ACCESS_WRITE);
    sketch_dim(&sketch, 1), sketch_dim(&sketch, -1), sketch_dim(&sketch, 2),
        sketch_dim(&sketch, -2);
    run();
    for (int32_t rank = 0; rank < 6; rank++) {
      int32_t first = rank / 3 * 3, tp = rank % 3;
      CHECK_NEAR(rig_data(&rig, rank)[10], 1000 * (first + (tp + 2) % 3), 0);
      CHECK_NEAR(rig_data(&rig, rank)[15], 1000 * (first + (tp + 1) % 3) + 5, 0);
      CHECK_INT(replay_count(&rig.replay[rank], 0)->sent_bytes, 24);
    }
    end();
  }
  TEST("classes along an axis pass on what they have") {
    sketch_begin(&sketch);
    sketch_axis(&sketch, "pp", 3), sketch_axis(&sketch, "dp", 2);
    sketch_comm(&sketch, 1);
    for (uint32_t stage = 0; stage < 3; stage++) {
      sketch_call(&sketch, sketch_segment(&sketch), -1);
      if (stage > 0) {
        sketch_record(&sketch, RECORD_EXCHANGE, LANE_PP, 0);
        operand(0, 4, ACCESS_WRITE), sketch_dim(&sketch, -1);
      }
      if (stage < 2) {
        sketch_record(&sketch, RECORD_EXCHANGE, LANE_PP, 0);
        operand(0, 4, ACCESS_READ), sketch_dim(&sketch, 1);
      }
      if (stage < 2) sketch_class(&sketch, stage, stage + 1);
    }
    Status status;
    sketch_class(&sketch, 2, 3);
    rig_open(&rig, &sketch);
    rig.rounds = 20;
    CHECK(rig_run(&rig, &status));
    for (int32_t rank = 0; rank < 6; rank++)
      CHECK_NEAR(rig_data(&rig, rank)[3], 1000 * (rank % 2) + 3, 0);
    end();
  }
}

static void test_varies(void) {
  TEST("an attr is what the plan has, plus stride and value of the member") {
    begin();
    for (int twice = 0; twice < 2; twice++) { /* two records share one range of attrs */
      sketch_kernel(&sketch, "affine", LANE_COMPUTE);
      operand(0, 4, ACCESS_READ), operand(10 + 10 * twice, 4, ACCESS_WRITE);
      sketch_dim(&sketch, 4);
      if (twice == 0) sketch_attr(&sketch, 0), sketch_attr(&sketch, 7);
    }
    sketch.b.records[1].attrs_first = sketch.b.records[0].attrs_first;
    sketch.b.records[1].attrs_count = 2;
    uint32_t values = build_reals(&sketch.b, 0.5);
    build_reals(&sketch.b, 2), build_reals(&sketch.b, -1);
    sketch.b.records[1].varies_first = build_varies(&sketch.b, (PlanVary){100, 1, DP - 1, 0, 0});
    build_varies(&sketch.b, (PlanVary){3, 0, TP - 1, values, 3});
    sketch.b.records[1].varies_count = 2;
    run();
    static const double value[3] = {0.5, 2, -1};
    for (int32_t rank = 0; rank < 6; rank++)
      for (int i = 0; i < 4; i++) {
        int group = rank / 3;
        double x = 1000 * rank + i, scale = 3 * (rank % 3) + value[rank % 3];
        CHECK_NEAR(rig_data(&rig, rank)[10 + i], 7, 0);
        CHECK_NEAR(rig_data(&rig, rank)[20 + i], scale * x + 7 + 100 * group, 0);
      }
    end();
  }
  TEST("replicas are all axes whose name begins with dp, in mesh order") {
    sketch_begin(&sketch);
    sketch_axis(&sketch, "dp_replicate", 2), sketch_axis(&sketch, "tp", 2);
    sketch_axis(&sketch, "dp", 3);
    build_strides(&sketch.b);
    Plan plan = build_view(&sketch.b);
    Mesh mesh;
    Status status;
    CHECK(mesh_read(&mesh, &plan, &status));
    CHECK_INT(mesh_replicas(&mesh), 6);
    for (int32_t rank = 0; rank < 12; rank++)
      CHECK_INT(mesh_replica(&mesh, rank), rank / 6 * 3 + rank % 3);
    build_free(&sketch.b);
  }
}

static void test_loaded(void) {
  TEST("initial values of parameters that are loaded are not drawn") {
    for (int loads = 0; loads < 2; loads++) {
      Status status;
      begin();
      for (uint32_t i = 0; i < 2; i++) {
        sketch_kernel(&sketch, "init_constant", LANE_COMPUTE)->purpose =
            i == 0 ? PURPOSE_CLEAR : PURPOSE_INIT;
        operand(0, 4, ACCESS_WRITE);
        for (int k = 0; k < 5; k++)
          sketch_dim(&sketch, 4);
        for (int k = 0; k < 4; k++)
          sketch_attr(&sketch, k == 0 ? i : 0);
      }
      sketch_class(&sketch, 0, sketch.b.axes[0].size);
      rig_open(&rig, &sketch);
      for (int32_t rank = 0; rank < 6; rank++)
        rig.replay[rank].loads_parameters = loads != 0;
      CHECK(rig_run(&rig, &status));
      for (int i = 0; i < 4; i++)
        CHECK_NEAR(rig_data(&rig, 5)[i], loads ? 0 : 1, 0);
      end();
    }
  }
}

int main(void) {
  test_in_place();
  test_loaded();
  test_two_operands();
  test_exchange();
  test_varies();
  CHECK_DONE();
}
