/* LINK: runtime -- the reason why a program is not a graph is told once, by rank 0. */
#include "runtime/rank/rank_use.h"
#include "tests/unit/check.h"

static Rank rank;

int main(void) {
  TEST("no rank tells anything where nothing failed, nor another one than rank 0") {
    CHECK(rank_graph_fault(&rank, PROGRAM_DECODE) == NULL);
    CHECK(!status_fail(&rank.replay.graph[PROGRAM_DECODE].why, STATUS_WORLD, "a capture failed"));
    rank.number = 1;
    CHECK(rank_graph_fault(&rank, PROGRAM_DECODE) == NULL);
  }
  TEST("rank 0 tells the program's reason, once") {
    rank.number = 0;
    CHECK(rank_graph_fault(&rank, PROGRAM_PREFILL) == NULL);
    CHECK_TEXT(rank_graph_fault(&rank, PROGRAM_DECODE), "a capture failed");
    CHECK(rank_graph_fault(&rank, PROGRAM_DECODE) == NULL);
  }
  CHECK_DONE();
}
