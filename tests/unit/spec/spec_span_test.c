/* LINK: job base */
#include "compiler/job/lua/span.h"
#include "tests/unit/check.h"

/* Everything that could mislead a reader that is not a full parser. */
static const char hostile[] = "local p = { tp = 8 } -- job { no = 1 }\n"
                              "--[==[ job { ]] no = 2 } ]==] local s = \"job { no = 3 }\"\n"
                              "return job({ --[[ a\n"
                              "comment ]] name = [[x]], [\"reason\"] = \"a, b \\\" }\",\n"
                              "  train = { batch = \"1Mi tokens\"; context = (function()\n"
                              "    if a == b then return { c = 1 } end return x end)(),\n"
                              "    steps = 2^10, seed = 1 == 2 and 3 or 4 },\n"
                              "  parallel = p, data = { train = { \"a\", 'b', [=[c]=] } },\n"
                              "})\n";

static const struct {
  const char *path;
  int32_t line, column;
} keys[] = {{"name", 4, 12},          {"reason", 4, 26},       {"train.batch", 5, 13},
            {"train.context", 5, 35}, {"train.steps", 7, 5},   {"train.seed", 7, 19},
            {"parallel", 8, 3},       {"data.train.2", 8, 41}, {"data.train.3", 8, 46},
            {"parallel.tp", 8, 3},    {"nowhere.at.all", 3, 8}};

int main(void) {
  Arena *arena = arena_new();
  SpanMap *map = span_map(arena, "job.lua", hostile, "job");
  TEST("every key of a hostile file has its place, absent ones that of what uses them") {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
      Span at = span_of_key(map, keys[i].path);
      if (at.line != keys[i].line || at.column != keys[i].column)
        printf("%s: %d:%d, want %d:%d\n", keys[i].path, at.line, at.column, keys[i].line,
               keys[i].column);
      CHECK(at.line == keys[i].line && at.column == keys[i].column);
    }
  }
  TEST("a value's caret covers the whole expression on its line") {
    Span steps = span_of_value(map, "train.steps"), seed = span_of_value(map, "train.seed");
    CHECK_INT(steps.column, 13);
    CHECK_INT(steps.length, 4);
    CHECK_INT(seed.length, 17);
  }
  TEST("a key that occurs twice in one table is marked") {
    SpanMap *twice = span_map(arena, "a", "return job { train = { a = 1, a = 2 }, b = 1 }", "job");
    int32_t repeated = 0;
    for (int32_t i = 0; i < twice->keys.count; i++)
      repeated += twice->keys.at[i].is_repeated;
    CHECK_INT(repeated, 1);
  }
  TEST("text that ends anywhere is read without running past its end") {
    for (size_t length = 0; length < sizeof hostile; length++)
      span_map(arena, "a", arena_copy_n(arena, hostile, length), "job");
  }
  arena_free(arena);
  return check_failures != 0;
}
