/* Nine ranks on three nodes watch each other, as processes of this machine: whoever is lost, agent,
 * root or neither, is the one that is named, and all end.
 * LINK: runtime plan_builder */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/watch/watch.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { RANKS = 9, PER_NODE = 3, SHOWN_BYTES = 256, ALL = -1 };

/* In place of PMIx: what ranks show each other lies in memory that all have. */
typedef struct Shared {
  pthread_barrier_t all;
  char shown[RANKS][SHOWN_BYTES];
  _Atomic int32_t started;
  atomic_bool leaves;
} Shared;

static Shared *shared; /* of this case */

bool client_exchange(Client *client, const char *key, const void *own, void *all, size_t size_bytes,
                     Status *status) {
  (void)key, (void)status;
  memcpy(shared->shown[client->rank], own, size_bytes);
  (void)pthread_barrier_wait(&shared->all);
  for (size_t i = 0; i < RANKS; i++)
    memcpy((char *)all + i * size_bytes, shared->shown[i], size_bytes);
  return true;
}

typedef enum What { LEAVE, FAIL, KILL, STOP } What;

typedef struct Case {
  const char *sentence;
  What what;
  int32_t victim, last_victim;
  const char *loss; /* in failure.json */
  int32_t blamed;
} Case;

static const Case cases[] = {
    {"all leave in good order, the ranks of a node after its agents", LEAVE, 0, 8, NULL, 0},
    {"a rank that is no agent is killed", KILL, 4, 4, "dead", 4},
    {"the first agent of a node is killed", KILL, 3, 3, "dead", 3},
    {"the last agent of a node is killed", KILL, 5, 5, "dead", 5},
    {"the first root is killed", KILL, 0, 0, "dead", 0},
    {"the last root is killed", KILL, 8, 8, "dead", 8},
    {"a rank that is no agent is stopped", STOP, 4, 4, "silent", 4},
    {"an agent is stopped: its node still speaks", STOP, 3, 3, "silent", 3},
    {"the first root is stopped", STOP, 0, 0, "silent", 0},
    {"a rank fails for a reason of its own", FAIL, 7, 7, "error", 7},
    {"all ranks of a node are killed", KILL, 3, 5, "node", ALL},
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct Trial {
  const Case *of;
  Shared *shared;
  char folder[64];
  pid_t pid[RANKS];
} Trial;

static Trial trials[CASES];

static atomic_bool is_over;

static void end_waiting(void *context) {
  (void)context;
  atomic_store(&is_over, true);
}

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static Plan make_plan(PlanBuilder *builder, const char *folder) {
  build_axes(builder, build_axis_named(builder, "dp", RANKS));
  build_strides(builder);
  build_device(builder);
  build_job(builder, (BuildJob){.run_dir = folder});
  build_comms(builder, (PlanComm){1, build_string(builder, "dp")});
  build_records(builder, (PlanRecord){.kind = RECORD_ALL_REDUCE, .kernel = PLAN_NONE, .comm = 0});
  return build_view(builder);
}

/* In a step, in a communication that does not end; until the case says otherwise. */
static int live(const Case *of, Watch *watch, int32_t rank) {
  Status status = {.code = STATUS_ECHO};
  Flight *flight = watch_flight(watch);
  flight_phase(flight, FLIGHT_STEP, 3);
  flight_begin(flight, 0, 0, -1, -1);
  atomic_fetch_add(&shared->started, 1);
  bool fails = of->what == FAIL && rank == of->victim;
  while (!atomic_load(&is_over) && !atomic_load(&shared->leaves))
    nap();
  if (atomic_load(&shared->leaves) && of->what == LEAVE) {
    for (int i = 0; rank % PER_NODE == 1 && i < 100; i++)
      nap(); /* what it says last needs an agent */
    watch_close(watch);
    return STATUS_DONE;
  }
  if (fails) (void)status_fail(&status, STATUS_WORLD, "its own reason");
  while (!fails && !atomic_load(&is_over))
    nap();
  watch_fail(watch, &status);
  watch_close(watch);
  return status.code;
}

static int be_rank(const Trial *t, int32_t rank) {
  static PlanBuilder builder;
  static const int32_t node[RANKS] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  static const char *const name[RANKS] = {"n0", "n0", "n0", "n1", "n1", "n1", "n2", "n2", "n2"};
  Plan plan = make_plan(&builder, t->folder);
  Mesh mesh;
  Status status;
  Client client = {.rank = rank, .rank_count = RANKS};
  if (!mesh_read(&mesh, &plan, &status)) return 70;
  shared = t->shared;
  WatchSetup setup = {&plan, &mesh, node, name, end_waiting, NULL};
  Watch *watch = watch_open(&setup, &client, &status);
  return watch ? live(t->of, watch, rank) : 71;
}

static void start(Trial *t) {
  pthread_barrierattr_t attributes;
  t->shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&t->shared->all, &attributes, RANKS);
  snprintf(t->folder, sizeof t->folder, "/tmp/lockstep-watch.XXXXXX");
  CHECK(mkdtemp(t->folder) != NULL);
  for (int32_t rank = 0; rank < RANKS; rank++) {
    t->pid[rank] = fork();
    if (t->pid[rank] == 0) {
      char said[128];
      snprintf(said, sizeof said, "%s/said", t->folder);
      (void)dup2(open(said, O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
      _exit(be_rank(t, rank));
    }
  }
}

static void disturb(const Trial *t) {
  const Case *of = t->of;
  while (atomic_load(&t->shared->started) < RANKS)
    nap();
  for (int i = 0; i < 150; i++)
    nap(); /* some beats */
  for (int32_t i = of->victim; i <= of->last_victim; i++)
    if (of->what == KILL || of->what == STOP)
      (void)kill(t->pid[i], of->what == KILL ? SIGKILL : SIGSTOP);
  if (of->what == LEAVE || of->what == FAIL) atomic_store(&t->shared->leaves, true);
}

static int wait_for(pid_t pid) {
  int state = 0;
  (void)waitpid(pid, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

static const char *read_report(const Trial *t) {
  static char text[1 << 16];
  char path[128];
  snprintf(path, sizeof path, "%s/failure.json", t->folder);
  FILE *file = fopen(path, "r");
  size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) (void)fclose(file);
  text[got] = 0;
  return text;
}

/* One rank reports the lost one and ends with 2; of a rank that failed itself that is its own. */
static void check_ends(const Trial *t) {
  const Case *of = t->of;
  int32_t reports = 0;
  for (int32_t rank = 0; rank < RANKS; rank++) {
    bool is_victim = of->what != LEAVE && rank >= of->victim && rank <= of->last_victim;
    if (is_victim && of->what == STOP) (void)kill(t->pid[rank], SIGKILL);
    int code = wait_for(t->pid[rank]);
    if (is_victim && of->what != FAIL)
      CHECK_INT(code, -SIGKILL);
    else if (code == STATUS_WORLD)
      reports++;
    else
      CHECK_INT(code, of->what == LEAVE ? STATUS_DONE : STATUS_ECHO);
  }
  CHECK_INT(reports, of->what != LEAVE);
}

static void check_report(const Trial *t) {
  const Case *of = t->of;
  const char *report = read_report(t);
  char wanted[64], said[256];
  if (!of->loss) CHECK_TEXT(report, "");
  if (of->loss) {
    snprintf(wanted, sizeof wanted,
             of->blamed == ALL ? "\"loss\":\"%s\"" : "\"loss\":\"%s\",\"rank\":%d,", of->loss,
             of->blamed);
    CHECK(strstr(report, wanted) != NULL);
    if (!strstr(report, wanted)) printf("  wanted %s in %.100s\n", wanted, report);
  }
  snprintf(said, sizeof said, "rm -rf %s", t->folder);
  CHECK_INT(system(said), 0);
}

/* A stopped rank ends when it is told to, after all others. */
static void wait_for_others(const Trial *t) {
  siginfo_t info;
  for (int32_t rank = 0; rank < RANKS; rank++)
    if (t->of->what != STOP || rank != t->of->victim)
      (void)waitid(P_PID, (id_t)t->pid[rank], &info, WEXITED | WNOWAIT);
}

int main(void) {
  for (int32_t i = 0; i < CASES; i++) {
    trials[i].of = &cases[i];
    start(&trials[i]);
  }
  for (int32_t i = 0; i < CASES; i++)
    disturb(&trials[i]);
  for (int32_t i = 0; i < CASES; i++)
    TEST(cases[i].sentence) {
      wait_for_others(&trials[i]);
      check_ends(&trials[i]);
      check_report(&trials[i]);
    }
  CHECK_DONE();
}
