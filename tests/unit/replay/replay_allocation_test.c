/* Nothing allocates between the first step and the last one.
 * LINK: runtime plan_builder alloc_guard */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "runtime/rank/run.h"
#include "tests/unit/plan_builder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int main(void) {
  printf("skipped: the sanitizers bring their own allocator\n");
  return 77;
}
#else

#include "tests/unit/check.h"

/* How a child ends that runs `body`. */
static int status_of(void body(void)) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void allocate_in_a_step(void) {
  (void)!freopen("/dev/null", "w", stderr);
  atomic_store(&run_is_steady, true);
  void *volatile block = malloc(1);
  free(block);
}

static char folder[64];

static void run_example(void) {
  PlanBuilder builder = {0};
  build_example(&builder, (ExampleOptions){3, 4, 2, 1, true});
  build_word(&builder, JOB_data, "synthetic");
  *build_count(&builder, JOB_threads) = 2;
  build_word(&builder, JOB_run_dir, folder);
  build_word(&builder, JOB_checkpoint_dir, folder);
  *build_real(&builder, JOB_checkpoint_every) = 3;
  *build_count(&builder, JOB_validate_every) = 4;
  *build_count(&builder, JOB_validate_samples) = 8;
  Plan plan = build_view(&builder);
  RunOptions options = run_defaults(&plan);
  options.quiet = true;
  options.measure_peak = false;
  Status status;
  if (!run_job(&plan, &options, &status)) {
    fprintf(stderr, "%s\n", status.text);
    _exit(1);
  }
  build_free(&builder);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_allocation_%d", (int)getpid());
  (void)mkdir(folder, 0777);
  TEST("the guard sees an allocation") {
    CHECK(WIFSIGNALED(status_of(allocate_in_a_step)));
  }
  TEST("steps, validation and checkpoints allocate nothing") {
    CHECK_INT(status_of(run_example), 0);
  }
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
#endif
