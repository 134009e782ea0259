/* main.c -- lockstep-rank PLAN: trains as the plan says. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/bench/bench.h"
#include "runtime/boot/pmix.h"
#include "runtime/launch/launch.h"
#include "runtime/manifest/manifest.h"
#include "runtime/metrics/report.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "runtime/preflight/full.h"
#include "runtime/preflight/network.h"
#include "runtime/preflight/preflight.h"
#include "runtime/process/deadline.h"
#include "runtime/process/folder.h"
#include "runtime/process/process.h"
#include "runtime/process/requests.h"
#include "runtime/process/stack.h"
#include "runtime/process/text.h"
#include "runtime/rank/run.h"
#include "runtime/trace/trace.h"

static const char usage[] =
    "usage: lockstep-rank PLAN [options]\n"
    "  --steps N                  stop after step N of the plan's\n"
    "  --resume auto|never|anyway|FILE\n"
    "                             start from the newest checkpoint if the job is still that\n"
    "                             experiment, from nothing, from the newest whatever differs,\n"
    "                             or from FILE, whatever differs\n"
    "  --kernels fast|reference   which kernels to run; reference is plain and slow\n"
    "  --measure-memory           count the pages of memory that the run touches; it runs slower\n"
    "  --on cpu                   a plan for other devices runs on this machine's processors too\n"
    "  --ranks-every N            each rank keeps where the time of its steps goes, and ranks are\n"
    "                             compared every N steps and at the end: who is slow, in what\n"
    "  --trace A..B               each rank keeps when its records ran in steps A to B\n"
    "  --processes                start a process for each rank, all on this machine\n"
    "  --threads                  all ranks in this process, also under srun --mpi=pmix, where\n"
    "                             each process is one rank\n"
    "  --signal usr1|usr2|term    what a batch system sends before its time limit, instead of the\n"
    "                             job's checkpoint.signal\n"
    "  --quiet                    errors only\n"
    "  --no-plot                  no loss curve in the terminal\n"
    "  --keep-plan PATH           rename PLAN to PATH when the run starts, remove it when it\n"
    "                             cannot\n"
    "  --json                     one JSON document on stdout, the lines of the run on stderr\n"
    "  --preflight [full]         describes this node and, in a process of several nodes, how\n"
    "                             they reach each other; full: memory and disk are used, too,\n"
    "                             data read, all cores busy; nothing runs\n"
    "  --preflight-judge ID [--full] [--write=BYTES] FILE...\n"
    "                             are the nodes of these lines fit for the plan ID, and for\n"
    "                             checkpoints at so many bytes/s?\n"
    "  --version, --help\n"
    "lockstep-rank --bench copies, kernels, or files DIRECTORY: rates of this machine, for "
    "lockstep bench\n"
    "SIGINT, SIGTERM, SIGHUP and the limit's signal end the run after its step, saved; a second\n"
    "SIGINT or SIGTERM ends it at once, unsaved.\n"
    "exit: 0 done, 1 the job must change, 2 the machine failed and a retry may help, 3 a defect,\n"
    "      4 nothing left to do, 5 stopped as asked, 6 ended because another rank did\n";

static bool parse_count(const char *name, const char *text, int64_t *count, Status *status) {
  char *end;
  errno = 0;
  *count = strtoll(text, &end, 10);
  if (errno || *end || end == text || *count < 1)
    return status_fail(status, STATUS_USER, "%s wants a whole number above 0, not '%s'", name,
                       text);
  return true;
}

static bool parse_value(RunOptions *options, const char *name, const char *value, Status *status) {
  if (strcmp(name, "--steps") == 0) return parse_count(name, value, &options->steps, status);
  if (strcmp(name, "--ranks-every") == 0)
    return parse_count(name, value, &options->ranks_every, status);
  if (strcmp(name, "--trace") == 0)
    return trace_steps(value, &options->trace_first, &options->trace_last) ||
           status_fail(status, STATUS_USER, "--trace wants steps, as 5 or 5..8, not '%s'", value);
  if (strcmp(name, "--kernels") == 0) {
    bool reference = strcmp(value, "reference") == 0;
    options->variant = reference ? KERNEL_REFERENCE : KERNEL_FAST;
    return reference || strcmp(value, "fast") == 0 ||
           status_fail(status, STATUS_USER, "--kernels wants fast or reference, not '%s'", value);
  }
  if (strcmp(name, "--on") == 0) {
    options->on_cpu = strcmp(value, "cpu") == 0;
    return options->on_cpu ||
           status_fail(status, STATUS_USER, "--on wants cpu, not '%s': there is no other device",
                       value);
  }
  if (strcmp(name, "--signal") == 0) {
    options->limit_signal = requests_signal(value);
    return options->limit_signal != 0 ||
           status_fail(status, STATUS_USER, "--signal wants usr1, usr2 or term, not '%s'", value);
  }
  if (strcmp(name, "--keep-plan") == 0) {
    options->keep_plan = value;
    return true;
  }
  options->resume = strcmp(value, "auto") == 0     ? RESUME_AUTO
                    : strcmp(value, "never") == 0  ? RESUME_NEVER
                    : strcmp(value, "anyway") == 0 ? RESUME_ANYWAY
                                                   : RESUME_PATH;
  options->resume_path = value;
  return options->resume != RESUME_PATH || strpbrk(value, "/.") != NULL ||
         status_fail(status, STATUS_USER,
                     "--resume wants auto, never, anyway or the path of a checkpoint, not '%s'",
                     value);
}

static bool takes_a_value(const char *word) {
  static const char *const names[] = {"--steps",  "--resume",      "--kernels", "--on",
                                      "--signal", "--ranks-every", "--trace",   "--keep-plan"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(word, names[i]) == 0) return true;
  return false;
}

static bool parse_options(RunOptions *options, int count, char **word, Status *status) {
  for (int i = 2; i < count; i++) {
    bool takes_value = takes_a_value(word[i]);
    if (takes_value && i + 1 == count)
      return status_fail(status, STATUS_USER, "%s wants a value", word[i]);
    if (takes_value) {
      if (!parse_value(options, word[i], word[i + 1], status)) return false;
      i++;
    } else if (strcmp(word[i], "--quiet") == 0)
      options->quiet = true;
    else if (strcmp(word[i], "--measure-memory") == 0)
      options->measure_memory = true;
    else if (strcmp(word[i], "--no-plot") == 0)
      options->plot = false;
    else if (strcmp(word[i], "--json") == 0)
      options->json = true;
    else if (strcmp(word[i], "--processes") == 0)
      options->processes = true;
    else if (strcmp(word[i], "--threads") == 0)
      options->threads = true;
    else
      return status_fail(status, STATUS_USER, "there is no option %s; see --help", word[i]);
  }
  return !(options->processes && options->threads) ||
         status_fail(status, STATUS_USER, "--processes and --threads exclude each other");
}

/* True if the command line asks for --json, even if other words of it are wrong. */
static bool asks_json(int count, char **word) {
  for (int i = 2; i < count; i++)
    if (strcmp(word[i], "--json") == 0) return true;
  return false;
}

static bool open_plan(Plan *plan, const char *path, Status *status) {
  char why[PLAN_WHY_BYTES];
  if (!plan_open(plan, path, why)) return status_fail(status, STATUS_USER, "%s", why);
  if (plan_has_job(plan)) return true;
  plan_close(plan);
  return status_fail(status, STATUS_USER, "%s: holds no job", path);
}

static bool launch(const Plan *plan, const RunOptions *options, int count, char **word,
                   Status *status) {
  LaunchSetup setup = {plan, word, count, options->keep_plan, options->limit_signal, options->json};
  status->code = launch_run(&setup, status);
  return *status->text == 0;
}

static bool run(const Plan *plan, const RunOptions *options, Status *status) {
  RequestsSetup requests = {options->limit_signal, run_ask_to_stop, run_stop_at_once,
                            run_lost_file};
  run_set_trains(plan);
  if (!requests_open(&requests))
    return status_fail(status, STATUS_WORLD, "no thread that waits for signals");
  bool done = run_job(plan, options, status);
  requests_close();
  return done;
}

static bool look(const Plan *plan, bool is_full, Status *status) {
  enum { LOOK_S = 55 };
  static Preflight facts;
  static Full full;
  Deadline *deadline = deadline_begin(facts.node, "the look at it", LOOK_S, "it takes too long");
  preflight_look(plan, &facts);
  preflight_print(&facts, stdout);
  bool good = fflush(stdout) == 0 || status_fail(status, STATUS_WORLD, "stdout: cannot be written");
  if (good && network_is_there()) good = network_look(facts.node, is_full, stdout, status);
  if (good && is_full) { /* last, so that no node waits for a slower one */
    full_look(plan, &facts, &full, stdout);
    full_print(&full, stdout);
    good = fflush(stdout) == 0 || status_fail(status, STATUS_WORLD, "stdout: cannot be written");
  }
  deadline_end(deadline);
  return good;
}

static bool judge(const Plan *plan, int count, char **word, Status *status) {
  static const char write[] = "--write=";
  PreflightAsked asked = {0};
  int first = 4;
  if (first < count && strcmp(word[first], "--full") == 0) asked.is_full = true, first++;
  if (first < count && strncmp(word[first], write, strlen(write)) == 0)
    asked.write_bs = strtod(word[first++] + strlen(write), NULL);
  if (count <= first)
    return status_fail(status, STATUS_USER, "--preflight-judge wants a plan's id and files");
  if (strtoull(word[3], NULL, 16) != plan->id)
    return status_fail(status, STATUS_USER, "%s is plan %016llx, not %s: submit the job again",
                       word[1], (unsigned long long)plan->id, word[3]);
  return preflight_judge(plan, &asked, word + first, count - first, stdout, status);
}

/* Describes this node, or judges the descriptions of all nodes: two modes that run nothing. */
static bool preflight(const Plan *plan, int count, char **word, Status *status) {
  if (strcmp(word[2], "--preflight-judge") == 0) return judge(plan, count, word, status);
  bool is_full = count == 4 && strcmp(word[3], "full") == 0;
  if (strcmp(word[2], "--preflight") != 0 || (count > 3 && !is_full))
    return status_fail(status, STATUS_USER, "%s: after --preflight comes full, or nothing",
                       count > 3 ? word[3] : word[2]);
  return look(plan, is_full, status);
}

static bool is_preflight(int count, char **word) {
  return count > 2 && strncmp(word[2], "--preflight", strlen("--preflight")) == 0;
}

/* Removes the Lua files of the plan, unless a kept plan is there, of this run or of an earlier one:
 * the files may be its. */
static void remove_sources(const Plan *plan, const RunOptions *options) {
  char path[PATH_MAX];
  if (access(options->keep_plan, F_OK) == 0) return;
  snprintf(path, sizeof path, "%s/" MANIFEST_SOURCES "/%016" PRIx64, job_run_dir(plan), plan->id);
  folder_clear(path);
  snprintf(path, sizeof path, "%s/" MANIFEST_SOURCES, job_run_dir(plan));
  (void)rmdir(path);
}

/* Removes the files that were made for a run that did not start, and folders that are otherwise
 * empty. The plan of a run that started has its own name already. */
static void remove_unstarted(const Plan *plan, const RunOptions *options) {
  (void)unlink(options->plan_path);
  remove_sources(plan, options);
  folder_remove_unused(job_checkpoint_dir(plan));
  folder_remove_unused(job_run_dir(plan));
}

/* A launcher removes a plan that is not kept when all its ranks have ended. */
static bool open_and_run(int count, char **word, Status *status) {
  Plan plan;
  if (!open_plan(&plan, word[1], status)) return false;
  if (is_preflight(count, word)) {
    bool is_fit = preflight(&plan, count, word, status);
    plan_close(&plan);
    return is_fit;
  }
  RunOptions options = run_defaults(&plan);
  options.plan_path = word[1];
  bool done = parse_options(&options, count, word, status);
  if (done && options.processes)
    done = launch(&plan, &options, count, word, status);
  else if (done)
    done = run(&plan, &options, status);
  bool is_rank = !options.threads && boot_pmix_is_launched();
  if (!done && options.keep_plan != NULL && !is_rank) remove_unstarted(&plan, &options);
  plan_close(&plan);
  return done;
}

static int bench(int count, char **word) {
  Status status = {0};
  process_prepare("lockstep-rank");
  const bool is_copies = count == 3 && strcmp(word[2], "copies") == 0;
  const bool is_kernels = count == 3 && strcmp(word[2], "kernels") == 0;
  const bool is_sums = count == 3 && strcmp(word[2], "collectives") == 0;
  if (!is_copies && !is_kernels && !is_sums && (count != 4 || strcmp(word[2], "files") != 0)) {
    fputs(usage, stderr);
    return STATUS_USER;
  }
  if (is_copies    ? bench_copies(stdout, &status)
      : is_kernels ? bench_kernels(stdout, &status)
      : is_sums    ? bench_collectives(stdout, &status)
                   : bench_files(word[3], stdout, &status))
    return fflush(stdout) == 0 ? STATUS_DONE : STATUS_WORLD;
  text_warn("%s", status.text);
  return status.code;
}

int main(int count, char **word) {
  if (count == 2 && strcmp(word[1], "--version") == 0) {
    printf("lockstep-rank %s, plan format %d\n", LOCKSTEP_VERSION, PLAN_VERSION);
    return fflush(stdout) == 0 ? STATUS_DONE : STATUS_WORLD;
  }
  if (count == 2 && strcmp(word[1], "--help") == 0) {
    fputs(usage, stdout);
    return fflush(stdout) == 0 ? STATUS_DONE : STATUS_WORLD;
  }
  if (count > 2 && strcmp(word[1], "--bench") == 0) return bench(count, word);
  if (count < 2 || word[1][0] == '-') {
    fputs(usage, stderr);
    return STATUS_USER;
  }
  process_prepare("lockstep-rank");
  Status status = {0};
  char why[STACK_WHY_BYTES];
  if (!stack_prepare(why))
    (void)status_fail(&status, STATUS_WORLD, "%s", why);
  else if (open_and_run(count, word, &status))
    return status.code;
  if (status.code == 0) status.code = STATUS_OURS;
  text_warn("lockstep-rank: %s", status.text);
  if (asks_json(count, word)) report_failure(&status);
  return status.code;
}
