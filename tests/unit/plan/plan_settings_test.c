/* The job in a plan: rows of settings.def in order, with typed values; what plan_check refuses;
 * values as text. LINK: plan plan_builder */
#include "runtime/plan/plan_io.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static PlanBuilder builder;
static char why[PLAN_WHY_BYTES];

static void begin(void) {
  build_free(&builder);
  build_example(&builder, (ExampleOptions){1, 2, 1, 1, false});
}

/* NULL: the plan is accepted. */
static void expect(const char *words) {
  const Plan plan = build_view(&builder);
  const bool is_good = plan_check(&plan, why);
  CHECK(is_good == (words == NULL));
  if (!is_good && words != NULL && strstr(why, words) == NULL)
    printf("got: %s\nwant: %s\n", why, words);
  CHECK(is_good || (words != NULL && strstr(why, words) != NULL));
}

static void test_rows(void) {
  TEST("rows that are left out, of another place or there twice are refused") {
    begin(), expect(NULL);
    begin(), builder.settings_count = JOB_ROW_COUNT - 1;
    expect("settings: ");
    begin(), builder.settings[JOB_lr].key = builder.settings[JOB_clip].key;
    expect("optimizer.clip, expected optimizer.lr");
    begin(), build_settings(&builder, builder.settings[JOB_seed]);
    builder.settings[JOB_ROW_COUNT].effect = SETTING_EXPERIMENT;
    expect("a second row of train.seed");
  }
  TEST("a key of the job is compared on resume, and no other number is") {
    begin(), builder.settings[JOB_seed].effect = SETTING_DERIVED;
    expect("train.seed has effect derived");
    begin(), builder.settings[JOB_accumulation].effect = SETTING_SAFE;
    expect("plan.accumulation has effect safe");
  }
}

static void test_values(void) {
  TEST("values of another kind, or two at once, are refused") {
    begin(), builder.settings[JOB_lr].kind = SETTING_COUNT, *build_real(&builder, JOB_lr) = 0;
    expect("optimizer.lr is a count, expected a real");
    begin(), *build_real(&builder, JOB_steps) = 1;
    expect("(train.steps): not a value of kind count");
    begin(), *build_count(&builder, JOB_shuffle) = 2;
    expect("(data.shuffle): not a value of kind flag");
    begin(), build_word(&builder, JOB_schedule, "zigzag");
    expect("schedule is 'zigzag', no word that this program knows");
    begin(), *build_count(&builder, JOB_threads) = 1LL << 32;
    expect("plan.threads is 4294967296, at most 4294967295");
  }
  TEST("an interval is chosen where the job asks for one, and only there") {
    begin(), *build_count(&builder, JOB_auto_every_s) = 60;
    expect("checkpoint.every is not auto");
    begin(), builder.settings[JOB_checkpoint_every].kind = SETTING_TEXT;
    build_word(&builder, JOB_checkpoint_every, "auto");
    expect("checkpoint.every is auto");
    *build_count(&builder, JOB_auto_every_s) = 60;
    expect(NULL);
    const Plan plan = build_view(&builder);
    CHECK_INT(job_checkpoint_every_s(&plan), 60);
    CHECK_INT(job_checkpoint_every_steps(&plan), 0);
  }
}

static const char *text_of(JobRow row) {
  static char number[SETTING_NUMBER_BYTES];
  const Plan plan = build_view(&builder);
  return plan_setting_text(&plan, &builder.settings[row], number);
}

static void test_texts(void) {
  TEST("numbers are told with the fewest digits that read back, and with their units") {
    begin(), *build_real(&builder, JOB_lr) = 0.1;
    CHECK_TEXT(text_of(JOB_lr), "0.1");
    *build_real(&builder, JOB_lr) = 1.0 / 3;
    CHECK_TEXT(text_of(JOB_lr), "0.3333333333333333");
    build_word(&builder, JOB_batch_samples, "sequences");
    CHECK_TEXT(text_of(JOB_batch_samples), "16 sequences");
    CHECK_TEXT(text_of(JOB_shuffle), "false");
    CHECK_TEXT(text_of(JOB_loss), "mse");
    builder.settings[JOB_context].kind = SETTING_NONE;
    CHECK_TEXT(text_of(JOB_context), "none");
  }
  TEST("a row without a value reads as its default") {
    const Plan plan = build_view(&builder);
    CHECK_INT(job_sample_tokens(&plan), 1);
    CHECK_INT(job_decay_steps(&plan), job_steps(&plan));
    CHECK_INT(job_resume(&plan), RESUME_AUTO);
  }
}

int main(void) {
  test_rows();
  test_values();
  test_texts();
  build_free(&builder);
  CHECK_DONE();
}
