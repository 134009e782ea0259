/* LINK: kernels -- the team runs every task once, in order, and may be used again at once. */
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/threads/bind.h"
#include "kernels/threads/threads.h"
#include "tests/unit/check.h"

enum { TASKS_MAX = 1000 };

typedef struct Seen {
  _Atomic int32_t times[TASKS_MAX];
  int64_t value[TASKS_MAX]; /* plain memory: the sanitizer sees whether threads_run orders it */
  _Atomic int32_t bad_worker;
  int32_t count;
} Seen;

static void see(void *context, int64_t task, int32_t worker) {
  Seen *seen = context;
  atomic_fetch_add(&seen->times[task], 1);
  seen->value[task] = task * 3;
  if (worker < 0 || worker >= seen->count) atomic_store(&seen->bad_worker, 1);
}

static void run_and_check(Threads *team, int64_t tasks) {
  static Seen seen;
  memset(&seen, 0, sizeof seen);
  seen.count = threads_count(team);
  threads_run(team, tasks, see, &seen);
  int64_t wrong = 0;
  for (int64_t i = 0; i < TASKS_MAX; i++) {
    wrong += atomic_load(&seen.times[i]) != (i < tasks);
    wrong += seen.value[i] != (i < tasks ? i * 3 : 0);
  }
  CHECK_INT(wrong, 0);
  CHECK_INT(atomic_load(&seen.bad_worker), 0);
}

static void nap_ms(int64_t ms) {
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void nap_task(void *context, int64_t task, int32_t worker) {
  (void)context;
  (void)worker;
  nap_ms(task % 4);
}

static void note_order(void *context, int64_t task, int32_t worker) {
  (void)worker;
  int64_t *next = context;
  if (*next == task) ++*next;
}

/* The first that this process may use. */
static int32_t an_allowed_core(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CHECK_INT(sched_getaffinity(0, sizeof set, &set), 0);
  int32_t core = 0;
  while (core < CPU_SETSIZE && !CPU_ISSET((size_t)core, &set))
    core++;
  return core;
}

/* How the system chooses the NUMA node of this thread's new pages. */
static int memory_policy(void) {
  int policy = MPOL_DEFAULT;
  (void)syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul);
  return policy;
}

static void note_core(void *context, int64_t task, int32_t worker) {
  (void)worker;
  int *core = context;
  core[task] = sched_getcpu();
}

static void check_on_core(Threads *team, int32_t core) {
  int on[TASKS_MAX];
  threads_run(team, TASKS_MAX, note_core, on);
  int elsewhere = 0;
  for (int i = 0; i < TASKS_MAX; i++)
    elsewhere += on[i] != core;
  CHECK_INT(elsewhere, 0);
}

int main(void) {
  for (int32_t count = 1; count <= 5; count++) {
    Threads *team = threads_new(count, NULL);
    CHECK(team != NULL);
    CHECK_INT(threads_count(team), count);

    TEST("every task runs exactly once and its writes are seen afterwards") {
      for (int64_t tasks = 0; tasks <= 17; tasks++)
        run_and_check(team, tasks);
      run_and_check(team, TASKS_MAX);
    }
    TEST("runs follow each other without a pause") {
      for (int repeat = 0; repeat < 300; repeat++)
        run_and_check(team, repeat % 7);
    }
    TEST("a team that fell asleep wakes up") {
      for (int repeat = 0; repeat < 5; repeat++) {
        nap_ms(3);
        run_and_check(team, 50);
      }
    }
    TEST("the caller sleeps until a slow worker is done") {
      threads_run(team, 20, nap_task, NULL);
      run_and_check(team, 3);
    }
    threads_free(team);
  }
  TEST("one thread runs tasks in order") {
    Threads *team = threads_new(1, NULL);
    int64_t next = 0;
    threads_run(team, 100, note_order, &next);
    CHECK_INT(next, 100);
    threads_free(team);
  }
  TEST("a bound team works, also where its cores do not exist") {
    const int32_t here = an_allowed_core();
    Threads *team = threads_new(3, (const int32_t[]){here, here, here});
    CHECK_INT(threads_bound(team), 3);
    run_and_check(team, 100);
    check_on_core(team, here);
    threads_free(team);
    team = threads_new(2, (const int32_t[]){100000, 100001});
    CHECK_INT(threads_bound(team), 0);
    run_and_check(team, 100);
    threads_free(team);
  }
  TEST("memory near a processor: where it exists, and the system lets us") {
    const int32_t here[] = {an_allowed_core()}, none[] = {100000};
    bool is_bound = bind_memory(here, 1);
    printf("memory is %s\n", is_bound ? "bound" : "not bound: the system refuses");
    CHECK(!is_bound || memory_policy() != MPOL_DEFAULT);
    CHECK(!bind_memory(none, 1));
  }
  TEST("a team may be freed unused") {
    threads_free(threads_new(4, NULL));
  }
  CHECK_DONE();
}
