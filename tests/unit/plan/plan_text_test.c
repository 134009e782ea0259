/* LINK: plan plan_builder
 * Plans as text: what is printed is parsed back, byte for byte; what a person breaks is refused by
 * line. */
#include <stdlib.h>

#include "runtime/plan/plan_io.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static const ExampleOptions examples[] = {
    {.layers = 1, .accumulation = 1, .replicas = 1, .classes = 1},
    {.layers = 3, .accumulation = 2, .replicas = 4, .classes = 2},
    {.layers = 2, .accumulation = 6, .replicas = 2, .classes = 1, .loop = true},
};

static char *print(const Plan *plan, const char *segment) {
  char *text = NULL;
  size_t text_bytes = 0;
  FILE *out = open_memstream(&text, &text_bytes);
  plan_print(plan, out, segment);
  fclose(out);
  return text;
}

static void expect_same(const Plan *plan) {
  char *text = print(plan, NULL), why[PLAN_WHY_BYTES] = "";
  Plan back;
  CHECK(plan_parse(&back, text, strlen(text), why));
  CHECK_TEXT(why, "");
  CHECK(plan_compute_id(plan) == back.id); /* of every byte of every table */
  if (back.mapped != NULL) {
    char *again = print(&back, NULL);
    CHECK_TEXT(again, text);
    free(again);
  }
  plan_close(&back);
  free(text);
}

static void test_round_trips(void) {
  TEST("what is printed parses back to the same bytes")
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    PlanBuilder builder = {0};
    build_example(&builder, examples[i]);
    Plan plan = build_view(&builder);
    expect_same(&plan);
    build_free(&builder);
  }
}

static void test_awkward_values(void) {
  PlanBuilder builder = {0};
  build_example(&builder, examples[0]);
  TEST("numbers survive exactly") {
    static const double numbers[] = {0.1,       -0.0,      1e-310, 1.7976931348623157e308,
                                     1.0 / 3.0, 2.5e-8,    1e22,   123456789.123456789,
                                     INFINITY,  -INFINITY, NAN,    -NAN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      *build_real(&builder, JOB_lr) = numbers[i];
      build_reals(&builder, numbers[i]);
    }
    build_ints(&builder, INT64_MIN), build_ints(&builder, INT64_MAX);
    *build_count(&builder, JOB_seed) = -1;
    Plan plan = build_view(&builder);
    expect_same(&plan);
  }
  TEST("attrs that vary survive, and operands that differ by member") {
    PlanBuilder more = {0};
    build_example(&more, examples[1]);
    uint32_t values = build_reals(&more, 1.5);
    build_reals(&more, -2), build_reals(&more, 0), build_reals(&more, 1e-9);
    more.records[0].varies_first = build_varies(&more, (PlanVary){0.25, 0, 0, values, 4});
    more.records[0].varies_count = 1;
    more.operands[0].size_bytes = 256;
    more.operands[0].by = 0;
    more.operands[0].member_stride = 256;
    *build_count(&more, JOB_state_axes) = 1;
    Plan plan = build_view(&more);
    expect_same(&plan);
    char *text = print(&plan, "init layer");
    CHECK(strstr(text, "attr 0 + 0.25 * dp + (1.5 -2 0 1e-09)[dp]") != NULL);
    CHECK(strstr(text, "param:[0..256) fp32 @parameters + 256 * dp") != NULL);
    free(text), build_free(&more);
  }
  TEST("strings survive: quotes, newlines, other alphabets, equal ones, tails of other strings") {
    build_word(&builder, JOB_reason, "a \"b\" \\ \n\t) # \x7f \xc3\xa9");
    builder.segments[0].name = builder.settings[JOB_reason].text;
    builder.settings[JOB_model].text = builder.settings[JOB_name].text + 3;
    builder.settings[JOB_run_dir].text = builder.strings_count;
    for (const char *letter = "example"; *letter; letter++)
      build_strings(&builder, *letter);
    build_strings(&builder, '\0');
    Plan plan = build_view(&builder);
    expect_same(&plan);
  }
  build_free(&builder);
}

/* Replaces the first `from` of the text by `to` and wants a refusal with `words`. */
static void expect_refusal(const char *text, const char *from, const char *to, const char *words) {
  const char *found = strstr(text, from);
  CHECK(found != NULL);
  if (found == NULL) return;
  size_t bytes = strlen(text) + strlen(to) + 1;
  char *broken = malloc(bytes), why[PLAN_WHY_BYTES] = "";
  snprintf(broken, bytes, "%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
  Plan plan;
  CHECK(!plan_parse(&plan, broken, strlen(broken), why));
  if (strstr(why, words) == NULL) CHECK_TEXT(why, words);
  CHECK(plan.mapped == NULL);
  plan_close(&plan);
  free(broken);
}

static void test_refusals(void) {
  PlanBuilder builder = {0};
  build_example(&builder, examples[1]);
  Plan plan = build_view(&builder);
  char *text = print(&plan, NULL), why[PLAN_WHY_BYTES];
  TEST("a broken line is named") {
    expect_refusal(text, "lockstep plan 17", "lockstep plan 18", "another plan format");
    expect_refusal(text, "lockstep plan", "job {", "line 1: not a plan's text");
    expect_refusal(text, "settings[0] count=", "settings[0] coumt=", "line 5: expected count=");
    expect_refusal(text, "calls[3]", "calls[4]", "out of order");
    expect_refusal(text, "kind=train_step", "kind=train_stop", "no such name at \"train_stop");
    expect_refusal(text, "layer=-1", "layer=-99999999999", "number too large");
    expect_refusal(text, "text=\"example\"", "text=\"exampel\"", "no such string");
    expect_refusal(text, "text=\"example\"", "text=\"example\"@2", "another string is there");
    expect_refusal(text, "text=\"example\"", "text=\"example", "line 5: ");
    expect_refusal(text, "flags=first_", "flags=third_", "no such name");
    expect_refusal(text, "segment=#0", "segment=#77", "calls[0].segment: no segments[77]");
    expect_refusal(text, "axes[0] size=4", "axes[0] size=4 rank=0", "expected divides=");
  }
  TEST("every cut is refused or whole") {
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length; cut += cut < 3000 ? 7 : 1001) {
      Plan part;
      CHECK(!plan_parse(&part, text, cut, why));
    }
  }
  TEST("comments and blank lines may be anywhere, names in parentheses are not read") {
    Plan back;
    char *with = malloc(strlen(text) + 100);
    sprintf(with, "# mine\n\n%s\n\n# the end", text);
    CHECK(plan_parse(&back, with, strlen(with), why));
    CHECK(back.id == plan_compute_id(&plan));
    plan_close(&back);
    free(with);
  }
  free(text), build_free(&builder);
}

static void test_segment(void) {
  PlanBuilder builder = {0};
  build_example(&builder, examples[1]);
  Plan plan = build_view(&builder);
  TEST("control slots of a record are named after its operands") {
    char *text = print(&plan, "clip");
    CHECK(strstr(text, "    write  grad_norm f64 @control out\n") != NULL);
    CHECK(strstr(text, "    update updates i64 @control lasting\n") != NULL);
    free(text);
  }
  TEST("one segment is shown with its operands in place") {
    char *text = print(&plan, "table backward");
    CHECK_TEXT(
        text,
        "segment table backward: 3 bases, 3 records\n"
        "  base d_x: 512 bytes of activation_gradients\n"
        "  base data: 544 bytes of data\n"
        "  base d_table: 2048 bytes of gradients\n"
        "  0   compute embedding_backward wte dims 8 16 32 attrs 0 when first_microbatch\n"
        "    read   d_x:[0..512) fp32 @activation_gradients\n"
        "    read   data:[0..32) i32 @data\n"
        "    write  d_table:[0..2048) fp32 @gradients\n"
        "  1   compute embedding_backward wte dims 8 16 32 attrs 0 unless first_microbatch "
        "accumulate\n"
        "    read   d_x:[0..512) fp32 @activation_gradients\n"
        "    read   data:[0..32) i32 @data\n"
        "    update d_table:[0..2048) fp32 @gradients\n"
        "  2   dp      all_reduce wte gradients over dp: sum of wte gradients, Partial(sum)@dp -> "
        "Replicated@dp when last_microbatch after 0 after 1\n"
        "    update d_table:[0..2048) fp32 @gradients\n");
    free(text);
  }
  TEST("a segment that is not there is answered with those that are") {
    char *text = print(&plan, "nothing");
    CHECK(strstr(text, "no segment nothing; there are:\n  init layer\n") == text);
    free(text);
  }
  build_free(&builder);
}

int main(void) {
  test_round_trips();
  test_awkward_values();
  test_refusals();
  test_segment();
  CHECK_DONE();
}
