/* main.c -- lockstep-rank PLAN: trains as the plan says. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "runtime/run.h"

static const char usage[] =
    "usage: lockstep-rank PLAN [options]\n"
    "  --steps N                  stop after step N of the plan's\n"
    "  --resume auto|never|FILE   start from the newest checkpoint, from nothing, or from FILE\n"
    "  --kernels fast|reference   which kernels to run; reference is plain and slow\n"
    "  --quiet                    errors only\n"
    "  --no-plot                  no loss curve in the terminal\n"
    "  --json                     summary as JSON on stdout\n"
    "  --version, --help\n"
    "exit: 0 done, 1 the job must change, 2 the machine failed and a retry may help, 3 a defect\n";

/* The second signal does not wait for the step. */
static void on_signal(int number) {
  (void)number;
  static const char line[] = "\nstopping after this step; once more to stop at once\n";
  if (run_stop_requested) _exit(STATUS_INTERRUPTED);
  run_stop_requested = 1;
  ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
  (void)ignored;
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static bool parse_steps(const char *text, int64_t *steps, Status *status) {
  char *end;
  errno = 0;
  *steps = strtoll(text, &end, 10);
  if (errno || *end || end == text || *steps < 1)
    return status_fail(status, STATUS_USER, "--steps wants a whole number above 0, not '%s'", text);
  return true;
}

static bool parse_value(RunOptions *options, const char *name, const char *value, Status *status) {
  if (strcmp(name, "--steps") == 0) return parse_steps(value, &options->steps, status);
  if (strcmp(name, "--kernels") == 0) {
    bool reference = strcmp(value, "reference") == 0;
    options->variant = reference ? KERNEL_REFERENCE : KERNEL_FAST;
    return reference || strcmp(value, "fast") == 0 ||
           status_fail(status, STATUS_USER, "--kernels wants fast or reference, not '%s'", value);
  }
  bool automatic = strcmp(value, "auto") == 0, never = strcmp(value, "never") == 0;
  options->resume = automatic ? RESUME_AUTO : never ? RESUME_NEVER : RESUME_PATH;
  options->resume_path = value;
  return true;
}

static bool parse_options(RunOptions *options, int count, char **word, Status *status) {
  for (int i = 2; i < count; i++) {
    bool takes_value = strcmp(word[i], "--steps") == 0 || strcmp(word[i], "--resume") == 0 ||
                       strcmp(word[i], "--kernels") == 0;
    if (takes_value && i + 1 == count)
      return status_fail(status, STATUS_USER, "%s wants a value", word[i]);
    if (takes_value) {
      if (!parse_value(options, word[i], word[i + 1], status)) return false;
      i++;
    } else if (strcmp(word[i], "--quiet") == 0)
      options->quiet = true;
    else if (strcmp(word[i], "--no-plot") == 0)
      options->plot = false;
    else if (strcmp(word[i], "--json") == 0)
      options->json = true;
    else
      return status_fail(status, STATUS_USER, "there is no option %s; see --help", word[i]);
  }
  return true;
}

static bool run(int count, char **word, Status *status) {
  Plan plan;
  char why[PLAN_WHY_BYTES];
  if (!plan_open(&plan, word[1], why)) return status_fail(status, STATUS_USER, "%s", why);
  bool done = plan.jobs_count == 1 || status_fail(status, STATUS_USER, "%s: holds no job", word[1]);
  if (done) {
    RunOptions options = run_defaults(&plan);
    done = parse_options(&options, count, word, status) && run_job(&plan, &options, status);
  }
  plan_close(&plan);
  return done;
}

int main(int count, char **word) {
  if (count == 2 && strcmp(word[1], "--version") == 0) {
    printf("lockstep-rank %s, plan format %d\n", LOCKSTEP_VERSION, PLAN_VERSION);
    return STATUS_DONE;
  }
  if (count == 2 && strcmp(word[1], "--help") == 0) {
    fputs(usage, stdout);
    return STATUS_DONE;
  }
  if (count < 2 || word[1][0] == '-') {
    fputs(usage, stderr);
    return STATUS_USER;
  }
  catch_signals();
  Status status = {0};
  if (run(count, word, &status)) return STATUS_DONE;
  fprintf(stderr, "lockstep-rank: %s\n", status.text);
  return status.code ? status.code : STATUS_OURS;
}
