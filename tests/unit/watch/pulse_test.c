/* True if a process waits for processors, from files as /proc has them.
 * LINK: runtime */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/watch/pulse.h"
#include "tests/unit/check.h"

static char folder[] = "/tmp/pulse.XXXXXX";

static void write_file(int thread, const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/task/%d/%s", folder, thread, name);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file) fputs(text, file);
  if (file) fclose(file);
}

/* A thread that has run and waited for so many ms. */
static void set_thread(int thread, char state, long ran_ms, long waited_ms) {
  char text[128];
  snprintf(text, sizeof text, "%s/task/%d", folder, thread);
  (void)mkdir(text, 0700);
  snprintf(text, sizeof text, "%ld000000 %ld000000 7\n", ran_ms, waited_ms);
  write_file(thread, "schedstat", text);
  snprintf(text, sizeof text, "%d (a) R (b) %c 1 2 3\n", thread, state);
  write_file(thread, "stat", text);
}

static void check_pulse(void) {
  Pulse pulse = {0};
  TEST("a process that sleeps, or is stopped, waits for no processor") {
    set_thread(1, 'S', 100, 5);
    set_thread(2, 'T', 100, 5);
    pulse_ask(&pulse, folder, 0, 1000);
    pulse_ask(&pulse, folder, 0, 2000);
    CHECK_INT(pulse.starved_ms, 0);
  }
  TEST("what threads waited in the queue counts, but no more than the time that passed") {
    set_thread(2, 'S', 150, 605);
    pulse_ask(&pulse, folder, 0, 3000);
    CHECK_INT(pulse.starved_ms, 600);
    set_thread(2, 'S', 150, 9605);
    pulse_ask(&pulse, folder, 0, 4000);
    CHECK_INT(pulse.starved_ms, 1600);
  }
  TEST("a runnable thread that does not run waits, though the queue has not counted it yet") {
    set_thread(1, 'R', 200, 5);
    pulse_ask(&pulse, folder, 0, 5000);
    CHECK_INT(pulse.starved_ms, 2500);
  }
  TEST("one that runs does not") {
    set_thread(1, 'R', 1200, 5);
    pulse_ask(&pulse, folder, 0, 6000);
    CHECK_INT(pulse.starved_ms, 2500);
  }
  TEST("the thread that asks is left out, and a process that is gone changes nothing") {
    set_thread(1, 'R', 1200, 5);
    pulse_ask(&pulse, folder, 1, 7000);
    pulse_ask(&pulse, "/tmp/none", 0, 8000);
    CHECK_INT(pulse.asked_ms, 7000);
    CHECK_INT(pulse.starved_ms, 2500);
  }
  TEST("this process") {
    Pulse own = {0};
    pulse_ask(&own, "/proc/self", 0, 1000);
    CHECK_INT(own.asked_ms, 1000);
    CHECK(load_now().processors > 0);
  }
}

int main(void) {
  char text[128];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(text, sizeof text, "%s/task", folder);
  CHECK_INT(mkdir(text, 0700), 0);
  check_pulse();
  snprintf(text, sizeof text, "rm -rf %s", folder);
  CHECK_INT(system(text), 0);
  CHECK_DONE();
}
