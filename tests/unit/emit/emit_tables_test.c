/* LINK: emit -- the tables of a plan while they grow: each string, kernel and communicator once. */
#include "compiler/draft/emit/tables.h"
#include "tests/unit/check.h"

enum { STRINGS = 3000 }; /* the hash table grows four times */

static void check_strings(Tables *t) {
  static uint32_t at[STRINGS];
  char text[32];
  for (int i = 0; i < STRINGS; i++) {
    (void)snprintf(text, sizeof text, "h.%d.weight", i);
    at[i] = table_string(t, text);
  }
  int32_t bytes = t->strings.count;
  for (int i = 0; i < STRINGS; i++) {
    (void)snprintf(text, sizeof text, "h.%d.weight", i);
    CHECK_INT(table_string(t, text), at[i]);
    CHECK_TEXT(t->strings.at + at[i], text);
  }
  CHECK_INT(t->strings.count, bytes);
  CHECK_INT(t->string_count, STRINGS);
  CHECK_INT(table_string(t, NULL), table_string(t, ""));
  CHECK_TEXT(t->strings.at + table_string(t, NULL), "");
}

static void check_kernels(Tables *t) {
  CHECK_INT(table_kernel(t, "linear"), 0);
  CHECK_INT(table_kernel(t, "gelu"), 1);
  CHECK_INT(table_kernel(t, "linear"), 0);
  CHECK_INT(t->kernels.count, 2);
  CHECK_TEXT(t->strings.at + t->kernels.at[1].name, "gelu");
}

static void check_communicators(Tables *t) {
  uint32_t dp = MESH_BIT(MESH_DP), tp = MESH_BIT(MESH_TP);
  CHECK_INT(table_comm(t, 0, LANE_COMPUTE), PLAN_NONE);
  uint32_t compute = table_comm(t, dp, LANE_COMPUTE), beside = table_comm(t, dp, LANE_DP);
  CHECK(compute != beside);
  CHECK_INT(table_comm(t, dp, LANE_COMPUTE), compute);
  CHECK_INT(table_comm(t, dp, LANE_DP), beside);
  CHECK(table_comm(t, dp | tp, LANE_COMPUTE) != compute);
  CHECK_INT(t->comms.count, 3);
  CHECK_TEXT(t->strings.at + t->comms.at[beside].name, "dp@dp");
  CHECK_TEXT(t->strings.at + t->comms.at[2].name, "dp+tp");
}

int main(void) {
  Tables t = {.arena = arena_new()};
  TEST("a string is written once, however often the table grows") check_strings(&t);
  TEST("kernels are numbered by first use") check_kernels(&t);
  TEST("lanes have communicators of the same ranks apart") check_communicators(&t);
  TEST("a plan looks at the tables as they are") {
    Plan plan;
    table_view(&t, &plan);
    CHECK_INT(plan.kernels_count, 2);
    CHECK(plan.strings == t.strings.at);
    CHECK_INT(plan.comms_count, t.comms.count);
  }
  arena_free(t.arena);
  CHECK_DONE();
}
