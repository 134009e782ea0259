/* metrics.jsonl of earlier starts.
 * LINK: runtime */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/metrics/history.h"
#include "tests/unit/check.h"

static char folder[64];
static Curve train, valid;
static History history;
static Status status;

static const char *in_folder(const char *name) {
  static char path[128];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Its text, or "-" of a file that is not there. */
static const char *read_file(const char *name) {
  static char text[4096];
  FILE *file = fopen(in_folder(name), "r");
  if (!file) return "-";
  size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = 0;
  (void)fclose(file);
  return text;
}

static bool take_up(int64_t first_step) {
  curve_start(&train);
  curve_start(&valid);
  history = (History){.train = &train, .valid = &valid};
  status = (Status){0};
  return history_take_up(&history, folder, first_step, &status);
}

#define HEADER  "{\"header\":1,\"job\":\"a\",\"first_step\":1}\n"
#define STEP_1  "{\"step\":1,\"loss\":4.5,\"grad_norm\":1}\n"
#define STEP_2  "{\"step\":2,\"loss\":4.25,\"grad_norm\":1}\n"
#define VALID_2 "{\"valid_step\":2,\"valid_loss\":4.75}\n"
#define STEP_3  "{\"step\":3,\"loss\":null,\"grad_norm\":1}\n"
#define LATER   "{\"header\":1,\"job\":\"a\",\"first_step\":3}\n"

static void test_resumed(void) {
  TEST("without a file there is no history") {
    CHECK(take_up(5));
    CHECK(train.count == 0 && !isfinite(history.best_valid) && !history.moved_to[0]);
  }
  TEST("lines of the steps before stay as they are and feed the plots") {
    write_file("metrics.jsonl", HEADER STEP_1 STEP_2 VALID_2 STEP_3);
    CHECK(take_up(4));
    CHECK_TEXT(read_file("metrics.jsonl"), HEADER STEP_1 STEP_2 VALID_2 STEP_3);
    CHECK_TEXT(history.moved_to, "");
    CHECK_INT(train.count, 2); /* a loss that is no number is no point */
    CHECK(train.step[1] == 2 && train.value[1] == 4.25);
    CHECK(valid.count == 1 && history.best_valid == 4.75);
  }
  TEST("lines past the step go, and the file that had them stays under another name") {
    write_file("metrics.jsonl", HEADER STEP_1 STEP_2 VALID_2 LATER STEP_3);
    CHECK(take_up(3));
    CHECK_TEXT(read_file("metrics.jsonl"), HEADER STEP_1 STEP_2 VALID_2);
    CHECK_TEXT(read_file("metrics.1.jsonl"), HEADER STEP_1 STEP_2 VALID_2 LATER STEP_3);
    CHECK_TEXT(history.moved_to, in_folder("metrics.1.jsonl"));
    CHECK_TEXT(read_file("metrics.jsonl.new"), "-");
  }
  TEST("half a line, which a crash or a full disk leaves, does not get another line glued to it") {
    write_file("metrics.jsonl", HEADER STEP_1 "{\"step\":2,\"lo");
    CHECK(take_up(3));
    CHECK_TEXT(read_file("metrics.jsonl"), HEADER STEP_1);
    CHECK_TEXT(read_file("metrics.2.jsonl"), HEADER STEP_1 "{\"step\":2,\"lo");
  }
}

static void test_anew(void) {
  TEST("a new run keeps the file of the one before, whole") {
    write_file("metrics.jsonl", HEADER STEP_1);
    CHECK(take_up(1));
    CHECK_TEXT(read_file("metrics.jsonl"), "-");
    CHECK_TEXT(read_file("metrics.3.jsonl"), HEADER STEP_1);
    CHECK_INT(train.count, 0);
  }
  TEST("the newest are kept, and numbers are not used again") {
    for (int i = 0; i < HISTORY_KEEP; i++) {
      write_file("metrics.jsonl", HEADER);
      CHECK(take_up(1));
    }
    CHECK_TEXT(history.moved_to, in_folder("metrics.11.jsonl"));
    CHECK_TEXT(read_file("metrics.3.jsonl"), "-");
    CHECK_TEXT(read_file("metrics.4.jsonl"), HEADER);
  }
  TEST("a file that cannot be read ends the start and stays") {
    CHECK_INT(mkdir(in_folder("metrics.jsonl"), 0777), 0);
    CHECK(!take_up(2));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK(strstr(status.text, "metrics.jsonl: cannot be read"));
    CHECK_INT(access(in_folder("metrics.jsonl"), F_OK), 0);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_history_%d", (int)getpid());
  CHECK_INT(mkdir(folder, 0777), 0);
  test_resumed();
  test_anew();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
