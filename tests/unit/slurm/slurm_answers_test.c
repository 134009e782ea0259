/* LINK: slurm -- the answers of Slurm's programs are found between lines that sites add. */
#include "slurm/answers.h"
#include "tests/unit/check.h"

static const char *number(Arena *arena, const char *out, const char *err) {
  const char *found = answer_number(arena, out, err);
  return found ? found : "none";
}

static void check_numbers(Arena *arena) {
  TEST("sbatch's own line is found between others") {
    CHECK_TEXT(number(arena, "4711\n", ""), "4711");
    CHECK_TEXT(number(arena, "4711;alpha-2\n", ""), "4711");
    CHECK_TEXT(number(arena, "Welcome to cluster 7!\n4711\nYour quota: 93 %\n", ""), "4711");
    CHECK_TEXT(number(arena, "4711\n", "sbatch: lua: 2 nodes asked\n"), "4711");
    CHECK_TEXT(number(arena, "\033[1;32m4711\033[0m\r\n", ""), "4711");
    CHECK_TEXT(number(arena, "", "4711\n"), "4711");
  }
  TEST("the line of a wrapper that drops --parsable") {
    CHECK_TEXT(number(arena, "2026 is here\nSubmitted batch job 4711 on cluster a\n", ""), "4711");
    CHECK_TEXT(number(arena, "", "sbatch: Submitted batch job 4711\n"), "4711");
  }
  TEST("no number, or not certainly one") {
    CHECK_TEXT(number(arena, "", ""), "none");
    CHECK_TEXT(number(arena, "Your quota: 93 %\n", "sbatch: 2 nodes\n"), "none");
    CHECK_TEXT(number(arena, "2026\n4711\n", ""), "none");
    CHECK_TEXT(number(arena, "0\n47.11\n4711; rm\n99999999999\n", ""), "none");
  }
  TEST("a job that is queued, among the numbers of the text") {
    const char *jobs[] = {"4711", "47"};
    TextList queued = {.at = jobs, .count = 2};
    CHECK_TEXT(answer_mentioned(arena, &queued, "2026\n4711\n", ""), "4711");
    CHECK_TEXT(answer_mentioned(arena, &queued, "Welcome!4711", ""), "4711");
    CHECK(answer_mentioned(arena, &queued, "4711", "47") == NULL);
    CHECK(answer_mentioned(arena, &queued, "471", "") == NULL);
  }
}

static void check_rows(Arena *arena) {
  TEST("rows are those of the jobs asked about") {
    const char *jobs[] = {"4711", "4712"};
    TextList asked = {.at = jobs, .count = 2};
    AnswerRows rows =
        answer_rows(arena, "squeue: note\n  4711 RUNNING None\n7 nodes free\n4712\n", &asked);
    CHECK_INT(rows.count, 2);
    CHECK_TEXT(rows.at[0].job, "4711");
    CHECK_TEXT(rows.at[0].words, "RUNNING None");
    CHECK_TEXT(rows.at[1].words, "");
    CHECK_INT(answer_rows(arena, "47110 RUNNING\n4711x\n", &asked).count, 0);
  }
  TEST("the version of Slurm, and not a number beside it") {
    CHECK_INT(answer_version(arena, "Welcome to cluster2 22.04\nslurm-wlm 22.05.8\n"), 2205);
    CHECK_INT(answer_version(arena, "slurm 24.11.1"), 2411);
    CHECK_INT(answer_version(arena, "Welcome 24.11"), 0);
  }
}

int main(void) {
  Arena *arena = arena_new();
  check_numbers(arena);
  check_rows(arena);
  arena_free(arena);
  CHECK_DONE();
}
