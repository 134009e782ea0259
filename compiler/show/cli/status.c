/* status.c -- lockstep status: how a run is doing, from the files of its folder; with --ask Slurm
 * is asked, too. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compiler/show/cli/command.h"
#include "compiler/show/cli/runs.h"
#include "compiler/show/cli/saved.h"
#include "runtime/process/lock.h"
#include "slurm/answers.h"

enum { STEPS_NEWEST = 50, PARTS_MOST = 16, FILE_BYTES_MAX = 64 << 20 };

/* Where the time of a step went, on average. */
typedef struct StepPart {
  const char *name; /* "exposed_dp" */
  double ms;
} StepPart;

/* The state of a run by events.jsonl, metrics.jsonl and the folder of checkpoints. */
typedef struct RunStatus {
  const char *folder, *name;
  const char *state; /* "queued", "training", "done" ... */
  bool is_by_hand;   /* started without Slurm */
  const char *why;   /* of an end or a failure, or "" */
  const char *next;  /* what to do about a failure, or "" */
  const char *job, *restart, *nodes;
  const char *slurm;         /* what Slurm says of the job; NULL: it was not asked */
  TextList jobs;             /* of a chain all, in its order */
  int64_t step, steps;       /* done; of the job */
  const char *loss, *unit;   /* "tokens", "samples" */
  StepPart part[PARTS_MOST]; /* of the newest steps; none when they were not kept */
  int32_t part_count;
  double step_s, tokens_per_s, left_s, limit_left_s; /* 0: unknown */
  double silent_s; /* a training run has written nothing for so long; 0: that is normal */
  int64_t failures, starts, tries;
  Saved saved, newest; /* checkpoints: the newest whole one, and the newest by its name */
  bool has_saved;
  const char *fewer;   /* of a start that continues with fewer nodes: how many; NULL: it has all */
  const char *unsaved; /* the failure of the latest save, as "step 9: REASON"; "": it was well */
} RunStatus;

static int64_t count_events(const char *folder, const char *event) {
  char path[4200], *line = NULL;
  size_t room = 0;
  int64_t count = 0;
  snprintf(path, sizeof path, "%s/slurm/events.jsonl", folder);
  FILE *file = fopen(path, "r");
  char begin[64];
  snprintf(begin, sizeof begin, "\"event\":\"%s\"", event);
  while (file && getline(&line, &room, file) > 0)
    count += strstr(line, begin) != NULL;
  free(line);
  if (file) fclose(file);
  return count;
}

/* One of the run's files; "": there is none. */
static const char *file_text(Arena *arena, const RunStatus *s, const char *name) {
  struct stat status;
  FILE *file = fopen(arena_printf(arena, "%s/%s", s->folder, name), "r");
  bool is_file = file && fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
                 status.st_size <= FILE_BYTES_MAX;
  char *text = arena_alloc(arena, is_file ? (size_t)status.st_size + 1 : 1); /* ends with a NUL */
  if (is_file && fread(text, 1, (size_t)status.st_size, file) == 0) *text = 0;
  if (file) fclose(file);
  return text;
}

/* Reads the report of a failure that ranks have left. False: there is none. */
static bool read_failure(Arena *arena, RunStatus *s) {
  const char *text = file_text(arena, s, "failure.json");
  const char *cause = json_value(arena, text, "cause");
  if (*cause) s->why = cause;
  s->next = json_value(arena, text, "next");
  return *cause != 0;
}

/* Seconds since 1970; 0: there is no such file. */
static double written_s(Arena *arena, const char *folder, const char *name) {
  struct stat status;
  bool is_there = stat(arena_printf(arena, "%s/%s", folder, name), &status) == 0;
  return is_there ? (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec : 0;
}

/* Without a checkpoint where checkpoint.every is "never". */
static const char *stopped_words(bool is_saved) {
  return is_saved ? "stopped and saved" : "stopped, nothing saved";
}

/* The state of a run that was started by hand: training if its lock's holder lives, else the state
 * in its summary, unless a later start has died without a summary. */
static const char *state_by_hand(Arena *arena, RunStatus *s) {
  char host[256] = "";
  double metrics_s = written_s(arena, s->folder, "metrics.jsonl");
  if (metrics_s == 0) return "not submitted";
  s->is_by_hand = true;
  (void)gethostname(host, sizeof host - 1);
  if (lock_holder_lives(file_text(arena, s, "lock"), host)) return "training";
  if (read_failure(arena, s)) return "failed";
  if (written_s(arena, s->folder, "summary.json") < metrics_s) return "ended without a report";
  const char *summary = file_text(arena, s, "summary.json");
  if (strcmp(json_value(arena, summary, "outcome"), "stopped") != 0) return "done";
  return stopped_words(strcmp(json_value(arena, summary, "checkpoint"), "null") != 0);
}

/* True if jobs were submitted after the newest start: those have written nothing yet. */
static bool is_queued(Arena *arena, const RunStatus *s) {
  const char *newest = run_event(arena, s->folder, NULL, "job");
  return s->jobs.count > 0 && strtoll(s->jobs.at[0], NULL, 10) > strtoll(newest, NULL, 10);
}

/* Slurm's log of a job. */
static FILE *open_log(Arena *arena, const RunStatus *s, const char *job) {
  return fopen(arena_printf(arena, "%s/slurm/%s.log", s->folder, job), "r");
}

/* True if a line is of Slurm's programs or of a script that they could not start: a site's prolog
 * may write anything. */
static bool is_of_slurm(const char *line) {
  static const char *const begins[] = {
      "slurmstepd", "slurmd", "sbatch: ", "srun: ", "lockstep: ", "mkdir: "};
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (strncmp(line, begins[i], strlen(begins[i])) == 0) return true;
  return strstr(line, "slurm_script: ") != NULL;
}

/* A script that begins writes a line of events.jsonl. Before that, what is in Slurm's log comes
 * from Slurm, or from a script that failed to begin. "": there is no such line. */
static const char *unstarted_words(Arena *arena, const RunStatus *s) {
  char line[300] = "";
  bool is_found = false;
  FILE *log = open_log(arena, s, s->jobs.at[0]);
  while (log && !is_found && fgets(line, sizeof line, log))
    is_found = is_of_slurm(line);
  if (log) fclose(log);
  return is_found ? arena_copy_n(arena, line, strcspn(line, "\n")) : "";
}

/* "*** JOB 7 ON n1 CANCELLED AT ... DUE TO TIME LIMIT ***": Slurm's last line about a job that it
 * has ended together with the script. "": the log ends otherwise. */
static const char *ended_words(Arena *arena, const RunStatus *s) {
  char line[300], last[300] = "";
  FILE *log = open_log(arena, s, run_event(arena, s->folder, "start", "job"));
  while (log && fgets(line, sizeof line, log))
    if (line[strspn(line, " \n")]) memcpy(last, line, sizeof last);
  if (log) fclose(log);
  const char *words =
      strncmp(last, "slurmstepd", strlen("slurmstepd")) == 0 ? strstr(last, "*** JOB ") : NULL;
  return words ? arena_copy_n(arena, words, strcspn(words, "\n")) : "";
}

/* A start that ends says how. One that has not is running, or was killed. */
static void read_state(Arena *arena, RunStatus *s) {
  const char *event = run_event(arena, s->folder, NULL, "event");
  const char *code = run_event(arena, s->folder, "end", "code");
  s->state = "training";
  s->why = "";
  if (run_is_unnumbered(arena, s->folder)) {
    s->state = "submitted, the number of its job is unknown";
    return;
  }
  if (is_queued(arena, s))
    s->state = "queued";
  else if (!*event)
    s->state = state_by_hand(arena, s);
  else if (strcmp(event, "start") == 0)
    s->state = "starting";
  else if (strcmp(event, "failure") == 0)
    s->state = "starting again";
  else if (strcmp(event, "cancel") == 0)
    s->state = "removed from the queue";
  else if (strcmp(event, "limit") == 0)
    s->state = "saving before the limit";
  else if (strcmp(event, "term") == 0)
    s->state = "told to end";
  else if (strcmp(event, "end") == 0)
    s->state =
        strcmp(code, "0") == 0 || strcmp(code, "4") == 0 ? "done"
        : strcmp(code, "chain") == 0                     ? "queued: the next job goes on"
        : strcmp(code, "requeue") == 0                   ? "queued again"
        : strcmp(code, "5") == 0
            ? stopped_words(!strstr(run_event(arena, s->folder, "end", "why"), "nothing is saved"))
        : strcmp(code, "stop") == 0 ? "stopped"
        : strcmp(code, "lost") == 0 ? "lost"
                                    : "failed";
  if (is_queued(arena, s)) {
    s->why = unstarted_words(arena, s);
    if (*s->why) s->state = "failed before its script began";
    return;
  }
  if (s->is_by_hand) return;
  bool is_over = strcmp(event, "end") == 0;
  s->why = run_event(arena, s->folder, is_over ? "end" : "failure", "why");
  if (strcmp(s->state, "done") != 0 && read_failure(arena, s) && !*event) s->state = "failed";
  const char *ended = is_over || strcmp(event, "cancel") == 0 ? "" : ended_words(arena, s);
  if (!*ended) return;
  s->state = "ended by Slurm";
  s->why = ended;
}

/* Lines of the newest steps, which the caller frees; how many. */
static int32_t newest_steps(const char *path, char *newest[STEPS_NEWEST]) {
  char *line = NULL;
  size_t room = 0;
  int64_t count = 0;
  FILE *file = fopen(path, "r");
  while (file && getline(&line, &room, file) > 0) {
    if (strncmp(line, "{\"step\":", 8) != 0 || !strchr(line, '\n')) continue;
    char **at = &newest[count++ % STEPS_NEWEST];
    free(*at);
    *at = strdup(line);
  }
  free(line);
  if (file) fclose(file);
  return count < STEPS_NEWEST ? (int32_t)count : STEPS_NEWEST;
}

/* The sum of a field, "_ms" included, over lines; 0 in a line that does not have it. */
static double sum_ms(char *const *line, int32_t count, const char *name, size_t length) {
  double sum = 0;
  for (int32_t i = 0; i < count; i++)
    for (const char *at = line[i]; at && (at = strstr(at, ",\"")) != NULL; at += 2)
      if (strncmp(at + 2, name, length) == 0 && at[2 + length] == '"')
        sum += strtod(at + 2 + length + 2, NULL);
  return sum;
}

/* The parts of a step, which the newest lines have when they were kept: "data_wait" and its like.
 */
static void read_parts(Arena *arena, char *const *line, int32_t count, RunStatus *s) {
  bool is_kept = count > 0 && strstr(line[0], ",\"compute_ms\":") != NULL &&
                 strstr(line[0], ",\"compute_ms\":null") == NULL;
  for (const char *at = is_kept ? line[0] : NULL; at && (at = strstr(at, ",\"")) != NULL; at += 2) {
    size_t length = strcspn(at + 2, "\"");
    bool is_part = length > 3 && strncmp(at + 2 + length - 3, "_ms", 3) == 0 &&
                   strncmp(at + 2, "step_ms", length) != 0 && s->part_count < PARTS_MOST;
    if (is_part)
      s->part[s->part_count++] = (StepPart){arena_copy_n(arena, at + 2, length - 3),
                                            sum_ms(line, count, at + 2, length) / count};
  }
}

/* "compute 81 %, exposed dp 12 %, tp 5 %, other 2 %": what is not named took less than half a
 * percent. */
static const char *parts_text(Arena *arena, const RunStatus *s) {
  static const char exposed[] = "exposed_";
  const char *text = "";
  bool is_exposed = false;
  for (int32_t i = 0; i < s->part_count; i++) {
    const char *name = s->part[i].name;
    double share = s->step_s > 0 ? s->part[i].ms / (10 * s->step_s) : 0;
    if (share < 0.5) continue;
    bool goes_on = is_exposed && strncmp(name, exposed, strlen(exposed)) == 0;
    is_exposed = strncmp(name, exposed, strlen(exposed)) == 0;
    char *words = arena_copy(arena, goes_on ? name + strlen(exposed) : name);
    for (char *p = words; *p; p++)
      if (*p == '_') *p = ' ';
    text = arena_printf(arena, "%s%s%s %.0f %%", text, *text ? ", " : "", words, share);
  }
  return text;
}

/* Reads the time of the newest steps, and its parts. */
static void read_steps(Arena *arena, const char *path, RunStatus *s) {
  char *newest[STEPS_NEWEST] = {NULL};
  int32_t count = newest_steps(path, newest);
  double all_ms = sum_ms(newest, count, "step_ms", strlen("step_ms"));
  s->step_s = count > 0 ? all_ms / 1000 / count : 0;
  read_parts(arena, newest, count, s);
  for (int32_t i = 0; i < count; i++)
    free(newest[i]);
}

static void read_metrics(Arena *arena, RunStatus *s) {
  const char *path = arena_printf(arena, "%s/metrics.jsonl", s->folder);
  const char *head = last_line(arena, path, "{\"header\""),
             *step = last_line(arena, path, "{\"step\"");
  s->name = json_value(arena, head, "job");
  s->steps = strtoll(json_value(arena, head, "steps"), NULL, 10);
  s->step = strtoll(json_value(arena, step, "step"), NULL, 10);
  s->loss = json_value(arena, step, "loss");
  s->unit = strcmp(json_value(arena, head, "sample_tokens"), "1") == 0 ? "samples" : "tokens";
  read_steps(arena, path, s);
  const char *save = last_line(arena, path, "{\"save_step\""),
             *why = json_value(arena, save, "save_failed");
  s->unsaved = *why == '\0'
                   ? ""
                   : arena_printf(arena, "step %s: %s", json_value(arena, save, "save_step"), why);
  s->tokens_per_s = strtod(json_value(arena, step, "tokens_per_s"), NULL);
  s->left_s = (double)(s->steps - s->step) * s->step_s;
}

/* A job that is killed with its node writes nothing more: a long silence is reported. */
static void read_silence(Arena *arena, RunStatus *s) {
  static const double LEAST_S = 300, STEPS = 20;
  double newest_s = fmax(written_s(arena, s->folder, "metrics.jsonl"),
                         written_s(arena, s->folder, "slurm/events.jsonl"));
  double silent_s = (double)time(NULL) - floor(newest_s);
  double most_s = fmax(LEAST_S, STEPS * s->step_s);
  bool is_running = strcmp(s->state, "training") == 0 || strcmp(s->state, "starting") == 0;
  if (is_running && !s->is_by_hand && silent_s > most_s) s->silent_s = silent_s;
}

static void read_run(Arena *arena, const char *folder, RunStatus *s) {
  *s = (RunStatus){.folder = folder, .next = ""};
  s->jobs = run_jobs(arena, folder);
  s->job = run_event(arena, folder, "start", "job");
  read_state(arena, s);
  read_metrics(arena, s);
  bool is_waiting = is_queued(arena, s);
  if (s->jobs.count > 0 && (is_waiting || !*s->job)) s->job = s->jobs.at[0];
  s->restart = run_event(arena, folder, "start", "restart");
  s->nodes = is_waiting ? "" : run_event(arena, folder, "try", "nodelist");
  double began_s = strtod(run_event(arena, folder, "start", "time"), NULL);
  double limit_s = strtod(run_event(arena, folder, "start", "limit"), NULL);
  if (limit_s > 0) s->limit_left_s = began_s + limit_s - (double)time(NULL);
  s->has_saved = saved_newest(arena, saved_folder(arena, folder), &s->saved, &s->newest);
  bool is_fewer = !is_waiting && *s->job &&
                  strcmp(run_event(arena, folder, "elastic", "job"), s->job) == 0 &&
                  strcmp(run_event(arena, folder, "elastic", "restart"), s->restart) == 0;
  if (is_fewer)
    s->fewer = arena_printf(
        arena, "%s of %s, without %s: slurm.elastic", run_event(arena, folder, "elastic", "nodes"),
        run_event(arena, folder, "start", "nodes"), run_event(arena, folder, "elastic", "avoid"));
  read_silence(arena, s);
  if (run_is_unnumbered(arena, folder))
    s->next = arena_printf(
        arena, "squeue --me shows its number N; lockstep submit %s --adopt N notes it", folder);
  if (strcmp(s->state, "queued") == 0)
    s->next = arena_printf(arena,
                           "squeue --start -j %s says when it could start, status --ask whether "
                           "it still waits: a job that Slurm could not start leaves nothing here",
                           s->job);
  s->failures = count_events(folder, "failure");
  s->starts = count_events(folder, "start");
  s->tries = count_events(folder, "try");
}

/* ---- Slurm, with --ask */

/* True if squeue lists a job that waits or runs. */
static bool is_live(const char *words) {
  static const char *const states[] = {"PENDING",    "CONFIGURING", "RUNNING",  "SUSPENDED",
                                       "COMPLETING", "REQUEUE",     "RESIZING", "STAGE_OUT"};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    if (strncmp(words, states[i], strlen(states[i])) == 0) return true;
  return false;
}

/* "12 PENDING Priority; 13 PENDING Dependency". sacct is asked about jobs that squeue has
 * forgotten. */
static void ask_slurm(Arena *arena, RunStatus *s) {
  TextList one = {.at = &s->job, .count = 1};
  const TextList *asked = s->jobs.count > 0 ? &s->jobs : &one;
  const char *jobs = joined_texts(arena, asked, ",");
  Command answer;
  command_run(&answer, (const char *const[]){"squeue", "--noheader", "--states=all", "-j", jobs,
                                             "-o", "%i %T %r", NULL});
  AnswerRows rows = answer_rows(arena, answer.out, asked);
  bool is_forgotten = command_knows_no_job(&answer) || (answer.code == 0 && rows.count == 0);
  if (is_forgotten) {
    command_run(&answer, (const char *const[]){"sacct", "--noheader", "-X", "-P", "--delimiter= ",
                                               "-j", jobs, "-o", "JobID,State,ExitCode", NULL});
    rows = answer_rows(arena, answer.out, asked);
  }
  bool is_known = answer.code == 0 && rows.count > 0;
  s->slurm =
      answer.code == COMMAND_MISSING ? "squeue is not on this machine" : "it does not answer";
  if (!is_known && !is_forgotten) return;
  bool has_live_job = false;
  s->slurm = is_known ? "" : "it no longer knows the job";
  for (int32_t i = 0; is_known && i < rows.count; i++) {
    has_live_job |= is_live(rows.at[i].words);
    s->slurm = arena_printf(arena, "%s%s%s %s", s->slurm, i > 0 ? "; " : "", rows.at[i].job,
                            rows.at[i].words);
  }
  if (has_live_job) return;
  s->state = "ended without a report";
  s->next = "lockstep submit takes the job up again";
}

/* True if the files show no end of the job: it waits, runs, or was killed. */
static bool is_open(Arena *arena, const RunStatus *s) {
  const char *event = run_event(arena, s->folder, NULL, "event");
  const char *code = run_event(arena, s->folder, "end", "code");
  bool has_ended =
      strcmp(event, "cancel") == 0 ||
      (strcmp(event, "end") == 0 && strcmp(code, "requeue") != 0 && strcmp(code, "chain") != 0);
  return *s->job && (is_queued(arena, s) || (*event && !has_ended));
}

/* ---- printing */

/* "3 min 20 s", "2 h 13 min", "4 d 3 h". */
static const char *span_text(Arena *arena, double time_s) {
  long long s = (long long)time_s;
  if (s < 0) return "no time";
  if (s < 60) return arena_printf(arena, "%lld s", s);
  if (s < 3600) return arena_printf(arena, "%lld min %lld s", s / 60, s % 60);
  if (s < 86400) return arena_printf(arena, "%lld h %lld min", s / 3600, s / 60 % 60);
  return arena_printf(arena, "%lld d %lld h", s / 86400, s / 3600 % 24);
}

static void line(FILE *out, const char *head, const char *text) {
  enum { COLUMN = 9 };
  int32_t column = fprintf(out, "%-9s", head);
  print_wrapped(out, text, column, COLUMN, COLUMNS_MOST);
}

/* "job 2 of 4: 12, 13, 14, 15" */
static const char *chain_text(Arena *arena, const RunStatus *s) {
  int32_t at = 0;
  while (at + 1 < s->jobs.count && strcmp(s->jobs.at[at], s->job) != 0)
    at++;
  return arena_printf(arena, "job %d of %d: %s", at + 1, s->jobs.count,
                      joined_texts(arena, &s->jobs, ", "));
}

/* A newer one that is damaged is named: a run would continue from the previous one. */
static const char *saved_text(Arena *arena, const RunStatus *s) {
  const char *text = "nothing yet";
  if (s->has_saved)
    text = arena_printf(arena, "step %s, %s", format_count(arena, s->saved.step),
                        format_bytes(arena, s->saved.bytes));
  if (s->newest.step < 0 || s->newest.state == SAVED_WHOLE) return text;
  return text_plain(
      arena, arena_printf(arena, "%s; step %s is %s: %s", text, format_count(arena, s->newest.step),
                          s->newest.state == SAVED_FOREIGN ? "of another format" : "damaged",
                          s->newest.why));
}

static void print_status(Arena *arena, const RunStatus *s, FILE *out) {
  const char *job = *s->job ? arena_printf(arena, ", job %s", s->job) : "";
  const char *nodes = *s->nodes ? arena_printf(arena, ", on %s", s->nodes) : "";
  const char *how = s->is_by_hand ? ", without Slurm" : "";
  line(
      out, "run",
      arena_printf(arena, "%s: %s%s%s%s", text_plain(arena, s->folder), s->state, how, job, nodes));
  if (s->steps > 0)
    line(out, "step",
         arena_printf(arena, "%s of %s   loss %s   %s %s/s", format_count(arena, s->step),
                      format_count(arena, s->steps), *s->loss ? s->loss : "none",
                      format_count(arena, (int64_t)s->tokens_per_s), s->unit));
  if (s->part_count > 0) line(out, "time", parts_text(arena, s));
  bool is_running = strcmp(s->state, "training") == 0;
  if (is_running && s->left_s > 0)
    line(out, "left",
         arena_printf(arena, "%s at this rate%s", span_text(arena, s->left_s),
                      s->limit_left_s > 0
                          ? arena_printf(arena, "; the limit comes in %s%s",
                                         span_text(arena, s->limit_left_s),
                                         s->left_s > s->limit_left_s ? ", before the end" : "")
                          : ""));
  if (s->slurm) line(out, "slurm", text_plain(arena, s->slurm));
  if (s->fewer) line(out, "nodes", s->fewer);
  if (s->silent_s > 0)
    line(out, "silent",
         arena_printf(arena, "nothing was written for %s; squeue -j %s shows whether it still runs",
                      span_text(arena, s->silent_s), s->job));
  line(out, "saved", saved_text(arena, s));
  if (*s->unsaved) line(out, "unsaved", text_plain(arena, s->unsaved));
  if (s->jobs.count > 1) line(out, "chain", chain_text(arena, s));
  if (s->failures > 0 || s->starts > 1)
    line(out, "starts",
         arena_printf(arena, "%lld, retries %lld, failures %lld", (long long)s->starts,
                      (long long)(s->tries > s->starts ? s->tries - s->starts : 0),
                      (long long)s->failures));
  if (*s->why && strcmp(s->why, "done") != 0) line(out, "why", text_plain(arena, s->why));
  if (*s->next) line(out, "next", text_plain(arena, s->next));
}

static void print_json(Arena *arena, const RunStatus *s, FILE *out) {
  fputs("{\"version\": 1, \"run\": ", out);
  print_json_text(s->folder, out);
  fputs(", \"state\": ", out);
  print_json_text(s->state, out);
  fputs(", \"why\": ", out);
  print_json_text(s->why, out);
  fputs(", \"next\": ", out);
  print_json_text(s->next, out);
  fputs(", \"slurm\": ", out);
  print_json_text(s->slurm, out);
  fputs(", \"fewer\": ", out);
  print_json_text(s->fewer, out);
  fputs(", \"unsaved\": ", out);
  print_json_text(s->unsaved, out);
  fprintf(out,
          ", \"job\": %s, \"jobs\": [%s], \"step\": %lld, \"steps\": %lld, \"step_s\": %.9g, "
          "\"left_s\": %.9g, "
          "\"limit_left_s\": %.9g, \"silent_s\": %.9g, \"saved_step\": %lld, \"starts\": %lld, "
          "\"retries\": %lld, "
          "\"failures\": %lld, \"parts_ms\": {",
          *s->job ? s->job : "null", joined_texts(arena, &s->jobs, ", "), (long long)s->step,
          (long long)s->steps, s->step_s, s->left_s, s->limit_left_s, s->silent_s,
          s->has_saved ? (long long)s->saved.step : 0LL, (long long)s->starts,
          (long long)(s->tries > s->starts ? s->tries - s->starts : 0), (long long)s->failures);
  for (int32_t i = 0; i < s->part_count; i++)
    fprintf(out, "%s\"%s\": %.9g", i > 0 ? ", " : "", s->part[i].name, s->part[i].ms);
  fputs("}}", out);
}

/* No word given: every run below runs/. */
static TextList all_runs(Arena *arena) {
  TextList all = {0};
  DIR *directory = opendir("runs");
  for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.')
      VEC_PUSH(arena, &all, arena_printf(arena, "runs/%s", entry->d_name));
  if (directory) closedir(directory);
  return all;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

ExitCode verb_status(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  TextList folders = {0};
  if (options->words.count == 0) folders = all_runs(c->arena);
  for (int32_t i = 0; i < options->words.count; i++) {
    const char *folder;
    if (run_folder(c, options, options->words.at[i], &folder) == EXIT_DONE)
      VEC_PUSH(c->arena, &folders, folder);
  }
  bool is_good = folders.count > 0 && folders.count >= options->words.count;
  if (!is_good && options->words.count == 0) complain(EXIT_USER, "there are no runs in runs/");
  if (folders.count > 0)
    qsort(folders.at, (size_t)folders.count, sizeof *folders.at, compare_texts);
  if (options->json) putchar('[');
  for (int32_t i = 0; i < folders.count; i++) {
    RunStatus status;
    read_run(c->arena, folders.at[i], &status);
    if (options->ask && is_open(c->arena, &status)) ask_slurm(c->arena, &status);
    if (i > 0) fputs(options->json ? ",\n" : "\n", stdout);
    if (options->json)
      print_json(c->arena, &status, stdout);
    else
      print_status(c->arena, &status, stdout);
  }
  if (options->json) puts("]");
  compile_free(c);
  return is_good ? EXIT_DONE : EXIT_USER;
}
