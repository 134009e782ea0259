/* rank_kept.c -- see rank_kept.h.
 *
 *   step over | each rank: its part, in memory of its node | all tell sums | first rank of a node:
 *             |                                            |               | manifest, name, the
 *             |                                            |               | one before goes
 *
 * A run that is killed at any point leaves the previous one whole, or all parts of the new one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/owner.h"
#include "runtime/checkpoint/pick.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/folder.h"
#include "runtime/process/plural.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_state.h"

static bool echo(Status *status) {
  status->code = STATUS_ECHO;
  return false;
}

static bool gather(const Rank *rank, const void *own, void *all, size_t bytes, Status *status) {
  return rank->comm->ops->gather_bytes(rank->comm, own, all, bytes) || echo(status);
}

static bool broadcast(const Rank *rank, int32_t root, void *bytes, size_t count, Status *status) {
  return rank->comm->ops->broadcast_bytes(rank->comm, root, bytes, count) || echo(status);
}

static bool no_memory(Status *status) {
  return status_fail(status, STATUS_WORLD, "not enough memory for checkpoints in memory");
}

/* ---- copies in memory that the last start has kept */

/* The newest copy that a rank finds on its node. */
typedef struct NewestKept {
  uint64_t node;
  int64_t step; /* -1: nothing that is whole */
  uint64_t text_bytes;
} NewestKept;

typedef struct Draining {
  Rank *rank;
  char path[CHECKPOINT_PATH_BYTES], folder[CHECKPOINT_PATH_BYTES], whole[CHECKPOINT_PATH_BYTES];
  MemoryWanted wanted;
  NewestKept own, *all;
  char *text; /* of the manifest */
  int32_t source, nodes;
  bool leads;
} Draining;

static int32_t ranks_of(const Rank *rank) {
  return rank->run->mesh.rank_count;
}

/* Finds the rank that has the newest copy, and counts nodes. */
static void choose(Draining *d) {
  const int32_t ranks = ranks_of(d->rank);
  d->leads = true;
  d->source = d->nodes = 0;
  for (int32_t i = 0; i < ranks; i++) {
    bool is_first = true;
    for (int32_t k = 0; k < i; k++)
      is_first &= d->all[k].node != d->all[i].node;
    d->nodes += is_first;
    if (i < d->rank->number) d->leads &= d->all[i].node != d->own.node;
    if (d->all[i].step > d->all[d->source].step) d->source = i;
  }
}

/* Gives the text of the newest manifest to all. */
static bool share_text(Draining *d, Status *status) {
  enum { SHARE_BYTES = 1 << 20 };
  const NewestKept *from = &d->all[d->source];
  if (d->rank->number != d->source) {
    free(d->text);
    d->text = malloc((size_t)from->text_bytes + 1);
  }
  int32_t has_room = d->text != NULL;
  int32_t *have = calloc((size_t)ranks_of(d->rank), sizeof *have);
  if (have == NULL) return no_memory(status);
  bool good = gather(d->rank, &has_room, have, sizeof has_room, status);
  for (int32_t i = 0; good && i < ranks_of(d->rank); i++)
    good = have[i] != 0 || no_memory(status);
  free(have);
  for (uint64_t at = 0; good && at < from->text_bytes; at += SHARE_BYTES) {
    const uint64_t left = from->text_bytes - at;
    good = broadcast(d->rank, d->source, d->text + at,
                     left < SHARE_BYTES ? (size_t)left : SHARE_BYTES, status);
  }
  return good;
}

/* Rank 0: the folder on disk, if the step is newer than all that is there. */
static bool begin(Draining *d, int32_t *is_newer, Status *status) {
  const char *directory = job_checkpoint_dir(d->rank->plan);
  int64_t newest = -1, step = d->all[d->source].step;
  bool is_file = false;
  *is_newer = 0;
  if (!pick_newest_below(directory, INT64_MAX, &newest, &is_file, status)) return false;
  if (newest >= step) return true;
  if (!folder_make(directory, status)) return false;
  if (access(d->folder, F_OK) == 0) (void)checkpoint_remove_folder(d->folder);
  if (mkdir(d->folder, 0777) != 0)
    return status_fail(status, STATUS_WORLD, "%s: cannot be made: %s", d->folder, strerror(errno));
  *is_newer = 1;
  return true;
}

/* Rank 0: all parts are there. */
static bool name_it(const Draining *d, Status *status) {
  char path[CHECKPOINT_PATH_BYTES + 32];
  (void)snprintf(path, sizeof path, "%s/" MANIFEST_FILE, d->folder);
  if (checkpoint_write_file(path, d->text, (size_t)d->all[d->source].text_bytes) &&
      checkpoint_sync_folder(d->folder) && rename(d->folder, d->whole) == 0 &&
      checkpoint_sync_folder(job_checkpoint_dir(d->rank->plan)))
    return true;
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", d->whole, strerror(errno));
}

static void tell_drained(const Draining *d, int32_t parts, int32_t wanted) {
  const long long step = (long long)d->all[d->source].step;
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  if (parts == wanted)
    text_add(&text, "drained  step %lld, kept in memory of %d node%s, is a checkpoint now: %s\n",
             step, d->nodes, plural(d->nodes), d->whole);
  else
    text_add(
        &text,
        "note     step %lld was kept in memory, but only %d of its %d parts are there: the run "
        "goes on from an older copy, or from the newest checkpoint on disk\n",
        step, parts, wanted);
  (void)text_flush(&text);
}

/* Each node gives its parts; `status` is of the first rank that could not. */
static bool give(Draining *d, const Manifest *manifest, bool *is_whole, Status *status) {
  const int32_t ranks = ranks_of(d->rank);
  MemoryGiven own = {0}, *all = calloc((size_t)ranks, sizeof *all);
  Status why = {0};
  int32_t parts = 0, bad = -1;
  if (all == NULL) return no_memory(status);
  if (d->leads) own = memory_give(d->path, manifest, d->folder, &why);
  bool good = gather(d->rank, &own, all, sizeof own, status);
  for (int32_t i = 0; good && i < ranks; i++) {
    parts += all[i].parts;
    if (all[i].failed != 0 && bad < 0) bad = i;
  }
  free(all);
  if (!good) return false;
  *is_whole = bad < 0 && parts == manifest->part_count;
  if (d->rank->number == 0 && !*is_whole) (void)checkpoint_remove_folder(d->folder);
  if (bad >= 0) {
    *status = why;
    return d->rank->number == bad ? false : echo(status);
  }
  int32_t is_named = 1;
  if (d->rank->number == 0 && *is_whole) is_named = name_it(d, status);
  if (!broadcast(d->rank, 0, &is_named, sizeof is_named, status)) return false;
  if (is_named == 0) return d->rank->number == 0 ? false : echo(status);
  if (d->rank->number == 0) tell_drained(d, parts, manifest->part_count);
  return true;
}

/* Tries the newest copy that is wanted. `ends`: the copy is now on disk, or no copy is newer than
 * those on disk. */
static bool drain_one(Draining *d, bool *ends, Status *status) {
  Rank *rank = d->rank;
  Checkpoint own = {0};
  CheckpointFault fault;
  int32_t is_newer = 0;
  free(d->text);
  d->own.step = memory_newest(d->path, &d->wanted, &d->text, &d->own.text_bytes);
  if (!gather(rank, &d->own, d->all, sizeof d->own, status)) return false;
  choose(d);
  const int64_t step = d->all[d->source].step;
  *ends = step < 0;
  if (*ends) return true;
  checkpoint_path(d->whole, job_checkpoint_dir(rank->plan), step);
  (void)snprintf(d->folder, sizeof d->folder, "%.*s.memory.new", CHECKPOINT_PATH_BYTES - 32,
                 d->whole);
  int32_t is_begun = rank->number != 0 || begin(d, &is_newer, status);
  int32_t word[2] = {is_begun, is_newer};
  if (!broadcast(rank, 0, word, sizeof word, status)) return false;
  if (word[0] == 0) return rank->number == 0 ? false : echo(status);
  *ends = word[1] == 0;
  if (*ends) return true;
  bool good = share_text(d, status) &&
              pick_manifest(&own, d->whole, d->text, d->all[d->source].text_bytes, &fault, status);
  good = good && give(d, &own.manifest, ends, status);
  checkpoint_close(&own);
  return good;
}

/* A copy that one node has given its name, and another one had to give up, is not whole; the
 * previous one is. */
static bool drain(Draining *d, Status *status) {
  Rank *rank = d->rank;
  int32_t is_known = 1;
  bool ends = false;
  if (rank->number == 0)
    is_known = owner_generation(job_checkpoint_dir(rank->plan), &d->wanted.generation, status);
  if (!broadcast(rank, 0, &is_known, sizeof is_known, status) ||
      !broadcast(rank, 0, &d->wanted.generation, sizeof d->wanted.generation, status))
    return false;
  if (is_known == 0) return rank->number == 0 ? false : echo(status);
  for (d->wanted.below = INT64_MAX; !ends; d->wanted.below = d->all[d->source].step)
    if (!drain_one(d, &ends, status)) return false;
  return true;
}

bool rank_kept_drain(Rank *rank, Status *status) {
  const RunOptions *options = rank->run->options;
  if (!rank_checkpoints(rank) || options->resume == RESUME_NEVER || options->resume == RESUME_PATH)
    return true;
  Draining *d = calloc(1, sizeof *d);
  if (d == NULL) return no_memory(status);
  d->rank = rank;
  d->own.node = memory_node();
  d->all = calloc((size_t)ranks_of(rank), sizeof *d->all);
  memory_path(d->path, job_checkpoint_dir(rank->plan));
  const bool good = d->all != NULL ? drain(d, status) : no_memory(status);
  free(d->all);
  free(d->text);
  free(d);
  return good;
}

/* ---- opening */

static void tell_no_room(const Rank *rank, int64_t need_bytes, int64_t free_bytes) {
  char need[QUANTITY_BYTES], have[QUANTITY_BYTES];
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  text_add(&text,
           "note     checkpoint.memory: two copies of the parts of this node need %s, and %s has "
           "%s free: the run keeps no copies in memory; make room there, or set "
           "checkpoint.memory = \"none\"\n",
           text_bytes(need, (double)need_bytes), rank->kept.path,
           text_bytes(have, (double)free_bytes));
  (void)text_flush(&text);
}

/* Two copies of the parts of the node's ranks must fit: the older one is removed when the newer one
 * is whole. A single copy is not tried, because it could take the room that MPI and NCCL need
 * there. */
static bool has_room(Rank *rank, const uint64_t *node, bool *fits, Status *status) {
  RankKept *kept = &rank->kept;
  const State *state = &kept->store.state;
  int64_t bytes = 0;
  for (int32_t i = 0; i < ranks_of(rank); i++) {
    PartLayout layout;
    const int32_t number = mesh_number(&rank->run->mesh, i);
    if (node[i] != node[rank->number] || state_part_data(state, number) <= 0) continue;
    if (!part_layout(state, number, &layout)) return no_memory(status);
    bytes += 2 * layout.file_bytes;
  }
  const int64_t room = memory_free_bytes(kept->path);
  *fits = room < 0 || room >= bytes;
  if (!*fits) tell_no_room(rank, bytes, room);
  return true;
}

/* The first rank of a node makes its folder. The answer of all ranks about it has been reported. */
static bool open_folder(Rank *rank, const uint64_t *node, bool *fits, Status *status) {
  RankKept *kept = &rank->kept;
  const int32_t ranks = ranks_of(rank);
  kept->leads = true;
  for (int32_t i = 0; i < rank->number; i++)
    kept->leads &= node[i] != node[rank->number];
  if (!checkpoint_store_open(&kept->store, rank->plan, &rank->run->mesh, rank->number, kept->leads,
                             rank->store.data, status))
    return false;
  kept->store.directory = kept->path;
  kept->store.keep = 1;
  kept->store.milestone = 0;
  kept->store.is_memory = true;
  kept->store.steps.generation = rank->store.steps.generation;
  if (kept->leads) memory_clear(kept->path);
  kept->told = calloc((size_t)ranks, sizeof *kept->told);
  kept->end = calloc((size_t)ranks, sizeof *kept->end);
  if (kept->told == NULL || kept->end == NULL) return no_memory(status);
  return !kept->leads || (memory_make(kept->path, status) && has_room(rank, node, fits, status));
}

/* If one node has no room, no node keeps copies, because every copy would lack that node's parts.
 */
static bool agree_room(Rank *rank, bool fits, Status *status) {
  RankKept *kept = &rank->kept;
  const KeptWord own = {.has_failed = !fits};
  if (!gather(rank, &own, kept->told, sizeof own, status)) return false;
  for (int32_t i = 0; i < ranks_of(rank); i++)
    if (kept->told[i].has_failed != 0) kept->every = 0;
  if (kept->every == 0 && kept->leads) memory_clear(kept->path);
  return true;
}

static void tell_opened(const Rank *rank) {
  const RankKept *kept = &rank->kept;
  if (rank->number == 0 && kept->every > 0)
    report_note(rank->report, "memory   the state is kept every %lld step%s in %s of each node",
                (long long)kept->every, plural(kept->every), kept->path);
}

bool rank_kept_open(Rank *rank, Status *status) {
  RankKept *kept = &rank->kept;
  const PlanSetting *every = plan_setting(rank->plan, "checkpoint.memory");
  const uint64_t own = memory_node();
  memory_path(kept->path, job_checkpoint_dir(rank->plan));
  if (every == NULL || every->real < 1) {
    memory_clear(kept->path); /* of an earlier start, and older than this one's state */
    return true;
  }
  uint64_t *node = calloc((size_t)ranks_of(rank), sizeof *node);
  if (node == NULL) return no_memory(status);
  kept->every = (int64_t)every->real;
  bool fits = true;
  const bool opened =
      gather(rank, &own, node, sizeof own, status) && open_folder(rank, node, &fits, status);
  free(node);
  if (!opened || !agree_room(rank, fits, status)) return false;
  tell_opened(rank);
  return rank_meet(rank, status); /* folders are there */
}

void rank_kept_close(Rank *rank, bool is_done) {
  RankKept *kept = &rank->kept;
  const bool is_open = kept->path[0] != '\0';
  if (!is_open) memory_path(kept->path, job_checkpoint_dir(rank->plan));
  if (is_done && (kept->leads || !is_open) && rank_checkpoints(rank)) memory_clear(kept->path);
  checkpoint_store_close(&kept->store);
  free(kept->told);
  free(kept->end);
}

/* ---- a save */

bool rank_keeps_after(const Rank *rank, int64_t step) {
  return rank->kept.every > 0 && step % rank->kept.every == 0;
}

/* Every rank of a node makes it, for none waits for another. */
static bool make_folder(const CheckpointStore *store, int64_t step, Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  checkpoint_new_path(path, store, step);
  return mkdir(path, 0777) == 0 || errno == EEXIST ||
         status_fail(status, STATUS_WORLD, "%s: cannot be made: %s", path, strerror(errno));
}

static void write_part(Rank *rank, const CheckpointState *state, Status *why) {
  CheckpointStore *store = &rank->kept.store;
  if (!make_folder(store, state->step, why)) return;
  rank_allow_arenas(rank, true);
  (void)checkpoint_write(store, state, why);
  rank_allow_arenas(rank, false);
}

static KeptWord word_of(const CheckpointStore *store, const Status *why) {
  KeptWord word = {.has_failed = why->code != 0};
  if (store->header == NULL) return word;
  word.end = (MemoryEnd){store->layout.file_bytes, store->sums[store->layout.blocks]};
  return word;
}

/* All ranks learn whether all have done it. */
static bool agree(Rank *rank, const Status *why, int32_t *bad, Status *status) {
  RankKept *kept = &rank->kept;
  const KeptWord own = word_of(&kept->store, why);
  if (!gather(rank, &own, kept->told, sizeof own, status)) return false;
  *bad = -1;
  for (int32_t i = ranks_of(rank); i-- > 0;) {
    kept->end[mesh_number(&rank->run->mesh, i)] = kept->told[i].end;
    if (kept->told[i].has_failed != 0) *bad = i;
  }
  return true;
}

/* The copy before stays, on every node; the new copy is removed, even if it has its final name
 * already. */
static bool give_up(Rank *rank, int64_t step, int32_t bad, bool is_named, Status *why,
                    Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  RankKept *kept = &rank->kept;
  if (!broadcast(rank, bad, why->text, sizeof why->text, status)) return false;
  checkpoint_new_path(path, &kept->store, step);
  if (kept->leads) (void)checkpoint_remove_folder(path);
  checkpoint_path(path, kept->store.directory, step);
  if (is_named) (void)checkpoint_remove_folder(path);
  if (rank->number == 0 && kept->failed++ == 0)
    report_note(rank->report, "note     step %lld is not kept in memory: %s", (long long)step,
                why->text);
  return true;
}

bool rank_keep(Rank *rank, int64_t step, Status *status) {
  const int64_t start_ns = rank_now_ns();
  RankKept *kept = &rank->kept;
  CheckpointState state = rank_state_of(rank, step);
  Status why = {0};
  int32_t bad;
  bool is_named = false; /* on this node, by this rank */
  rank_note_phase(rank, FLIGHT_SAVING, step);
  if (!rank_read_lasting(rank, &state.lasting, status)) return false;
  write_part(rank, &state, &why);
  if (!agree(rank, &why, &bad, status)) return false;
  if (bad < 0) {
    is_named = kept->leads && memory_publish(&kept->store, &state, kept->end, &why);
    if (!agree(rank, &why, &bad, status)) return false;
  }
  if (bad < 0 && kept->leads) checkpoint_remove_oldest(&kept->store, step);
  rank->save_wait_ns += rank_now_ns() - start_ns;
  return bad < 0 || give_up(rank, step, bad, is_named, &why, status);
}
