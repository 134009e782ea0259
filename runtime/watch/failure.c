/* failure.c -- a failure as a line, as a document and as a screen. */
#include "runtime/watch/failure.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/text.h"

enum { PATH_BYTES = 4200, WHERE_BYTES = 400, SCREEN_RANKS = 16 };

static const char *const loss_names[] = {"none", "error", "dead", "silent", "stuck", "starved"};

/* ---- where ranks are */

/* A rank's newest record that is still running, or its newest on the main lane. */
static uint32_t busy_lane(const Plan *plan, const Beat *beat) {
  uint32_t waiting = judge_waiting(plan, beat);
  if (waiting < PLAN_LANES_MAX) return waiting;
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
    if (beat->lane[lane].is_running) return lane;
  return plan_main_lane(plan);
}

static void where_is(const Failure *failure, int32_t rank, char text[WHERE_BYTES]) {
  const Beat *beat = &failure->view[rank].beat;
  char record[WHERE_BYTES / 2];
  uint32_t lane = busy_lane(failure->plan, beat);
  flight_text(failure->plan, &beat->lane[lane], lane, record, sizeof record);
  if (beat->phase == FLIGHT_STEP || beat->phase == FLIGHT_VALIDATING)
    (void)snprintf(text, WHERE_BYTES, "step %lld, %s%s", (long long)beat->step,
                   beat->lane[lane].is_running ? "in " : "after ", record);
  else
    (void)snprintf(text, WHERE_BYTES, "%s", flight_phase_name(beat->phase));
}

/* A rank in a communication that the lost rank has not reached, or -1. */
static int32_t who_waits(const Failure *failure) {
  int32_t lost = failure->verdict.rank;
  for (int32_t i = 0; i < failure->mesh->rank_count; i++) {
    uint32_t lane = judge_waiting(failure->plan, &failure->view[i].beat);
    if (i != lost && lane < PLAN_LANES_MAX &&
        judge_is_member(failure->plan, failure->mesh, failure->view, i, lane, lost))
      return i;
  }
  return -1;
}

bool failure_is_written(const Failure *failure) {
  int32_t phase = failure->view[0].beat.phase; /* its process holds the lock */
  bool is_refusal = failure->code == STATUS_USER || failure->code == STATUS_NOTHING_LEFT;
  return phase != FLIGHT_STARTING && !(phase == FLIGHT_RESUMING && is_refusal);
}

/* ---- the line */

static bool is_stop(const Failure *failure) {
  return failure->verdict.loss == LOSS_ERROR && failure->code > STATUS_SIGNAL;
}

/* A rank that is lost, with all that are on its node. */
static bool is_node(const Failure *failure) {
  Loss loss = failure->verdict.loss;
  return (loss == LOSS_DEAD || loss == LOSS_SILENT) &&
         judge_node_is_lost(failure->view, failure->node, failure->mesh->rank_count,
                            failure->verdict.rank, failure->now_ms);
}

/* Ranks on a lost node are not echoes: they were lost with the first one. A requested stop has no
 * rank as its cause.
 */
static const char *role_of(const Failure *failure, int32_t rank) {
  if (is_stop(failure)) return "stopped";
  if (rank == failure->verdict.rank) return "cause";
  bool is_there = strcmp(failure->node[rank], failure->node[failure->verdict.rank]) == 0;
  return is_there && is_node(failure) ? "lost" : "echo";
}

static const char *loss_name(const Failure *failure) {
  if (is_node(failure)) return "node";
  return is_stop(failure) ? "stopped" : loss_names[failure->verdict.loss];
}

/* "is starved: it waited for a processor for 2.9 of the last 3.1 s; the load there is 27.3 on 2
 * processors" */
static void describe_starved(const Failure *failure, char *text, size_t text_bytes) {
  const RankView *view = &failure->view[failure->verdict.rank];
  const Load *load = view->load.processors > 0 ? &view->load : &view->beat.load;
  char there[96] = "";
  if (load->processors > 0)
    (void)snprintf(there, sizeof there, "; the load there is %.1f on %d processor%s",
                   (double)load->average, load->processors, load->processors == 1 ? "" : "s");
  (void)snprintf(text, text_bytes,
                 "is starved: it waited for a processor for %.1f of the last %.1f s%s",
                 (double)(view->beat.starved_ms + view->starved_ms) / 1e3,
                 (double)(failure->now_ms - view->moved_ms) / 1e3, there);
}

void failure_describe(Failure *failure) {
  int32_t rank = failure->verdict.rank;
  const RankView *lost = &failure->view[rank];
  failure->waits = who_waits(failure);
  failure->code = failure->verdict.loss == LOSS_ERROR ? failure->error->code : STATUS_WORLD;
  char why[FAILURE_TEXT_BYTES - 320] = "speaks, but does not get on";
  if (is_stop(failure)) {
    (void)snprintf(failure->text, sizeof failure->text, "%.600s", failure->error->text);
    return;
  }
  if (failure->verdict.loss == LOSS_ERROR)
    (void)snprintf(why, sizeof why, "failed: %.600s", failure->error->text);
  if (failure->verdict.loss == LOSS_DEAD)
    (void)snprintf(why, sizeof why, "is gone: killed, or crashed");
  if (failure->verdict.loss == LOSS_SILENT)
    (void)snprintf(why, sizeof why,
                   "is silent for %.1f s: its process is stopped, or its node is lost",
                   (double)(failure->now_ms - lost->heard_ms) / 1e3);
  if (failure->verdict.loss == LOSS_STARVED) describe_starved(failure, why, sizeof why);
  if (is_node(failure))
    (void)snprintf(failure->text, sizeof failure->text,
                   "node %.200s is lost with all its ranks, of which rank %d was missed first: it "
                   "went down, or its network did",
                   failure->node[rank], rank);
  else
    (void)snprintf(failure->text, sizeof failure->text, "rank %d on %.200s (process %d) %s", rank,
                   failure->node[rank], lost->beat.pid, why);
}

static const char *what_next(const Failure *failure) {
  if (is_node(failure))
    return "start again without that node: the same command goes on from the last checkpoint";
  if (is_stop(failure)) return "the same command goes on from the last checkpoint";
  if (failure->verdict.loss == LOSS_ERROR)
    return failure->code == STATUS_WORLD
               ? "see to what the message names, then start again: the same command goes on from "
                 "the last checkpoint"
               : "mend what the message says, then start again";
  if (failure->verdict.loss == LOSS_SILENT)
    return "see whether that node answers, and what may have stopped the process there, then start "
           "again: the same command goes on from the last checkpoint";
  if (failure->verdict.loss == LOSS_STARVED)
    return "give ranks processors of their own: end other programs on that node, or ask for it "
           "whole; then the same command goes on from the last checkpoint";
  if (failure->verdict.loss == LOSS_STUCK)
    return "look at that rank's node (disk, memory, GPU), then start again: the same command goes "
           "on from the last checkpoint";
  return "look at that node's kernel log (out of memory?), then start again: the same command goes "
         "on from the last checkpoint";
}

/* ---- files */

static const char *path_of(const Plan *plan, const char *name, char path[PATH_BYTES]) {
  (void)snprintf(path, PATH_BYTES, "%.3900s/%.255s", job_run_dir(plan), name);
  return path;
}

/* Written to a temporary file and renamed. */
static bool start_file(Text *text, const char *path, char fresh[PATH_BYTES + 8]) {
  (void)snprintf(fresh, PATH_BYTES + 8, "%s.new", path);
  text_start(text, open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  return text->descriptor >= 0;
}

static void finish_file(Text *text, const char *fresh, const char *path) {
  bool written = text_flush(text);
  if (close(text->descriptor) != 0 || !written || rename(fresh, path) != 0) (void)unlink(fresh);
}

static void add_rank(const Failure *failure, int32_t rank, Text *text) {
  const RankView *view = &failure->view[rank];
  char where[WHERE_BYTES];
  where_is(failure, rank, where);
  uint32_t lane = judge_waiting(failure->plan, &view->beat);
  text_add(text, "%s\n  {\"rank\":%d,\"node\":", rank ? "," : "", rank);
  text_add_json_string(text, failure->node[rank]);
  text_add(text, ",\"process\":%d,\"role\":\"%s\",\"step\":%lld,\"at\":", view->beat.pid,
           role_of(failure, rank), (long long)view->beat.step);
  text_add_json_string(text, where);
  text_add(text, ",\"silent_ms\":%lld", (long long)(failure->now_ms - view->heard_ms));
  if (lane < PLAN_LANES_MAX) {
    text_add(text, ",\"waits_for\":[");
    const char *comma = "";
    for (int32_t i = 0; i < failure->mesh->rank_count; i++) {
      if (!judge_is_member(failure->plan, failure->mesh, failure->view, rank, lane, i) ||
          judge_has_arrived(failure->view, rank, lane, i))
        continue;
      text_add(text, "%s%d", comma, i);
      comma = ",";
    }
    text_add(text, "]");
  }
  text_add(text, "}");
}

void failure_write(const Failure *failure) {
  char path[PATH_BYTES], fresh[PATH_BYTES + 8], where[WHERE_BYTES];
  Text text;
  if (!start_file(&text, path_of(failure->plan, "failure.json", path), fresh)) return;
  text_add(&text, "{\"outcome\":\"failed\",\"exit\":%d,\"loss\":\"%s\",\"rank\":%d,\"node\":",
           failure->code, loss_name(failure), failure->verdict.rank);
  text_add_json_string(&text, failure->node[failure->verdict.rank]);
  text_add(&text, ",\n \"cause\":");
  text_add_json_string(&text, failure->text);
  where_is(failure, failure->verdict.rank, where);
  text_add(&text, ",\n \"last_heard_at\":");
  text_add_json_string(&text, where);
  if (failure->waits >= 0) where_is(failure, failure->waits, where);
  text_add(&text, ",\n \"waiting_rank\":%d,\"waits_at\":", failure->waits);
  text_add_json_string(&text, failure->waits >= 0 ? where : "");
  text_add(&text, ",\n \"next\":");
  text_add_json_string(&text, what_next(failure));
  text_add(&text, ",\n \"ranks\":[");
  for (int32_t rank = 0; rank < failure->mesh->rank_count; rank++)
    add_rank(failure, rank, &text);
  text_add(&text, "]}\n");
  finish_file(&text, fresh, path);
}

static void add_entry(const FlightLane *lane, uint64_t number, const Plan *plan, uint32_t of,
                      const char *comma, Text *text) {
  const FlightEntry *entry = &lane->entry[number % FLIGHT_ENTRIES];
  FlightNow now = {.begun = number + 1, .record = entry->record, .layer = entry->layer};
  char what[WHERE_BYTES];
  flight_text(plan, &now, of, what, sizeof what);
  text_add(text, "%s\n  {\"lane\":", comma);
  text_add_json_string(text, plan_lane_name(plan, of));
  text_add(text, ",\"number\":%llu,\"step\":%lld,\"microbatch\":%d,\"start_ns\":%lld",
           (unsigned long long)number, (long long)entry->step, entry->microbatch,
           (long long)entry->start_ns);
  if (entry->end_ns > 0)
    text_add(text, ",\"end_ns\":%lld", (long long)entry->end_ns);
  else
    text_add(text, ",\"end_ns\":null");
  text_add(text, ",\"record\":");
  text_add_json_string(text, what);
  text_add(text, "}");
}

void failure_write_flight(const Plan *plan, int32_t rank, const Flight *flight) {
  char path[PATH_BYTES], fresh[PATH_BYTES + 8], name[32];
  Text text;
  (void)snprintf(name, sizeof name, "flight.%d.json", rank);
  if (!start_file(&text, path_of(plan, name, path), fresh)) return;
  text_add(&text, "{\"rank\":%d,\"phase\":\"%s\",\"records\":[", rank,
           flight_phase_name(flight->phase));
  const char *comma = "";
  for (uint32_t of = 0; of < plan->lanes_count; of++) {
    const FlightLane *lane = &flight->lane[of];
    uint64_t end = lane->begun, first = end > FLIGHT_ENTRIES ? end - FLIGHT_ENTRIES : 0;
    for (uint64_t number = first; number < end; number++, comma = ",")
      add_entry(lane, number, plan, of, comma, &text);
  }
  text_add(&text, "]}\n");
  finish_file(&text, fresh, path);
}

/* "flight.17.json". The previous run may have had more ranks. */
static bool is_flight(const char *name) {
  const char *end = strncmp(name, "flight.", 7) == 0 ? name + 7 : "";
  size_t digits = strspn(end, "0123456789");
  return digits > 0 && strcmp(end + digits, ".json") == 0;
}

void failure_clear(const Plan *plan) {
  char path[PATH_BYTES];
  DIR *folder = opendir(job_run_dir(plan));
  (void)unlink(path_of(plan, "failure.json", path));
  for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
    if (is_flight(entry->d_name)) (void)unlink(path_of(plan, entry->d_name, path));
  if (folder) (void)closedir(folder);
}

/* ---- reports of processes without a watchdog */

typedef struct Plain {
  Failure failure;
  RankView *view;
  const char **node;
  char host[256];
} Plain;

static bool open_plain(Plain *plain, const Plan *plan, const Mesh *mesh, int32_t rank,
                       const Status *error) {
  size_t ranks = (size_t)mesh->rank_count;
  *plain = (Plain){.host = "?"};
  (void)gethostname(plain->host, sizeof plain->host - 1);
  plain->view = calloc(ranks, sizeof *plain->view);
  plain->node = calloc(ranks, sizeof *plain->node);
  for (size_t i = 0; plain->node && i < ranks; i++)
    plain->node[i] = plain->host;
  plain->failure = (Failure){.plan = plan,
                             .mesh = mesh,
                             .view = plain->view,
                             .node = plain->node,
                             .verdict = {LOSS_ERROR, rank},
                             .error = error};
  return plain->view && plain->node;
}

static void close_plain(Plain *plain) {
  free(plain->view);
  free(plain->node);
}

void failure_of_threads(const Plan *plan, const Mesh *mesh, const Flight *flight, int32_t rank,
                        const Status *error) {
  Plain plain;
  if (open_plain(&plain, plan, mesh, rank, error)) {
    for (int32_t i = 0; i < mesh->rank_count; i++)
      plain.view[i].beat = flight_beat(&flight[i], plan);
    failure_describe(&plain.failure);
    if (failure_is_written(&plain.failure)) {
      failure_write(&plain.failure);
      for (int32_t i = 0; i < mesh->rank_count; i++)
        failure_write_flight(plan, i, &flight[i]);
    }
  }
  close_plain(&plain);
}

void failure_of_launcher(const Plan *plan, const Mesh *mesh, Verdict verdict, const Status *error,
                         int64_t since_s) {
  char path[PATH_BYTES];
  struct stat state;
  Plain plain;
  bool is_there =
      stat(path_of(plan, "failure.json", path), &state) == 0 && state.st_mtime >= since_s;
  if (is_there) return; /* written by a rank, which knows more */
  if (open_plain(&plain, plan, mesh, verdict.rank, error)) {
    plain.failure.verdict = verdict;
    for (int32_t i = 0; i < mesh->rank_count; i++)
      plain.view[i].beat.phase = FLIGHT_UNKNOWN;
    failure_describe(&plain.failure);
    (void)snprintf(plain.failure.text, sizeof plain.failure.text, "%.900s", error->text);
    failure_write(&plain.failure);
    failure_screen(&plain.failure);
  }
  close_plain(&plain);
}

/* ---- the screen */

/* A line of at most 80 columns, continued below in the column of the text. */
static void add_wrapped(Text *text, const char *head, const char *words) {
  enum { COLUMNS = 80, TAG = 6, HEAD = 9 };
  size_t room = COLUMNS - TAG - HEAD;
  for (const char *label = head; *words; label = "") {
    size_t length = strlen(words), taken = length;
    if (length > room) {
      taken = room;
      while (taken > 0 && words[taken] != ' ')
        taken--;
      if (taken == 0) taken = strcspn(words, " ");
    }
    text_add(text, "%-*s%.*s\n", HEAD, label, (int)taken, words);
    words += taken;
    words += strspn(words, " ");
  }
}

/* "rank 3   echo, step 5, in all_reduce ..." */
static void add_ranks(const Failure *failure, Text *text) {
  char where[WHERE_BYTES], line[WHERE_BYTES + 64], head[32];
  for (int32_t rank = 0; rank < failure->mesh->rank_count && rank < SCREEN_RANKS; rank++) {
    where_is(failure, rank, where);
    (void)snprintf(head, sizeof head, "rank %d", rank);
    const char *role = role_of(failure, rank);
    bool waits = rank == failure->waits && !is_stop(failure);
    (void)snprintf(line, sizeof line, "%s%s%s",
                   strcmp(role, "cause") == 0     ? "CAUSE, last heard of at "
                   : strcmp(role, "lost") == 0    ? "lost with it, at "
                   : strcmp(role, "stopped") == 0 ? ""
                                                  : "echo, ",
                   waits ? "waits for it: " : "", where);
    add_wrapped(text, head, line);
  }
  if (failure->mesh->rank_count > SCREEN_RANKS)
    text_add(text, "         and %d more\n", failure->mesh->rank_count - SCREEN_RANKS);
}

void failure_note_starved(const Failure *failure) {
  char why[256], line[WHERE_BYTES];
  Text text;
  describe_starved(failure, why, sizeof why);
  (void)snprintf(line, sizeof line, "rank %d on %.100s (process %d) %s; the run goes on",
                 failure->verdict.rank, failure->node[failure->verdict.rank],
                 failure->view[failure->verdict.rank].beat.pid, why);
  text_start_screen(&text, STDERR_FILENO);
  add_wrapped(&text, "starved", line);
  (void)text_flush(&text);
}

void failure_screen(const Failure *failure) {
  bool is_known = failure->view[0].beat.phase != FLIGHT_UNKNOWN; /* a launcher does not know */
  char line[WHERE_BYTES];
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  add_wrapped(&text,
              is_stop(failure)                      ? "stopped"
              : failure->verdict.loss == LOSS_ERROR ? "failed"
                                                    : "lost",
              failure->text);
  if (is_known) add_ranks(failure, &text);
  add_wrapped(&text, "next", what_next(failure));
  (void)snprintf(line, sizeof line, "%.300s/failure.json%s", job_run_dir(failure->plan),
                 is_known ? ", flight.RANK.json" : "");
  if (failure_is_written(failure)) add_wrapped(&text, "report", line);
  (void)text_flush(&text);
}
