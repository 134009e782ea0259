/* save.c -- lists a directory's checkpoints, and adds one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/owner.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/schedule.h"
#include "runtime/process/folder.h"

int64_t checkpoint_step_of(const char *name, const char **rest) {
  static const char prefix[] = "step_";
  enum { DIGITS = 8 };
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return -1;
  const char *digits = name + sizeof prefix - 1;
  size_t count = strspn(digits, "0123456789");
  if (count < DIGITS || count > 18) return -1;
  long long step = strtoll(digits, NULL, 10);
  if (rest) *rest = digits + count;
  return rest || digits[count] == '\0' ? step : -1;
}

void checkpoint_path(char path[CHECKPOINT_PATH_BYTES], const char *directory, int64_t step) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.*s/step_%08lld", CHECKPOINT_PATH_BYTES - 64,
                 directory, (long long)step);
}

void checkpoint_new_path(char path[CHECKPOINT_PATH_BYTES], const CheckpointStore *store,
                         int64_t step) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.*s/step_%08lld.%lld.new",
                 CHECKPOINT_PATH_BYTES - 64, store->directory, (long long)step,
                 (long long)store->steps.generation);
}

static int compare_steps(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* ---- opening */

static bool no_memory(Status *status) {
  return status_fail(status, STATUS_WORLD, "not enough memory for checkpoints");
}

static bool open_part(CheckpointStore *store, Status *status) {
  const PartId id = {.number = store->number};
  if (state_part_data(&store->state, store->number) == 0) return true;
  store->header = part_header(&store->state, &id, &store->layout);
  store->sums = calloc((size_t)store->layout.blocks + 1, sizeof *store->sums);
  store->block = aligned_alloc(PART_ALIGN_BYTES, PART_BLOCK_BYTES); /* also for direct writes */
  return (store->header && store->sums && store->block) || no_memory(status);
}

/* The manifest is of all parts. */
static bool open_manifest(CheckpointStore *store, Status *status) {
  const Plan *plan = store->plan;
  const State *state = &store->state;
  ManifestRun run = {.plan_id = plan->id,
                     .data_sum = store->data.sum,
                     .weights_sum = store->data.weights_sum,
                     .epoch_samples = store->data.epoch_samples,
                     .last_step = job_steps(plan),
                     .sample_tokens = job_sample_tokens(plan)};
  (void)snprintf(run.program, sizeof run.program, "%s", LOCKSTEP_VERSION);
  store->part = calloc((size_t)state->numbers, sizeof *store->part);
  if (store->part == NULL) return no_memory(status);
  for (int32_t number = 0; number < state->numbers; number++) {
    int64_t bytes = state_part_data(state, number);
    if (bytes < 0) return no_memory(status);
    if (bytes > 0) store->part[store->part_count++].number = number;
  }
  checkpoint_list_sources(store);
  return manifest_text_open(&store->text, state, &run, store->part_count) || no_memory(status);
}

bool checkpoint_is_milestone(const CheckpointStore *store, int64_t step) {
  return store->milestone > 0 && step % store->milestone == 0;
}

bool checkpoint_store_open(CheckpointStore *store, const Plan *plan, const Mesh *mesh, int32_t rank,
                           bool names, CheckpointData data, Status *status) {
  *store = (CheckpointStore){
      .plan = plan, .rank = rank, .number = mesh_number(mesh, rank), .data = data};
  store->class = mesh_class(mesh, plan, rank);
  if (!store->class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
  store->directory = job_checkpoint_dir(plan);
  int64_t keep = job_checkpoint_keep(plan);
  store->keep = (int32_t)(keep < 1                     ? 1
                          : keep < CHECKPOINT_KEEP_MAX ? keep
                                                       : CHECKPOINT_KEEP_MAX - 1);
  const PlanSetting *milestone = plan_setting(plan, "checkpoint.milestone");
  if (milestone != NULL) store->milestone = (int64_t)milestone->real;
  return state_open(&store->state, plan, status) && open_part(store, status) &&
         (!names || open_manifest(store, status));
}

bool checkpoint_store_list(CheckpointStore *store, Status *status) {
  CheckpointSteps *steps = &store->steps;
  if (!folder_make(store->directory, status)) return false;
  DIR *folder = opendir(store->directory);
  if (!folder)
    return status_fail(status, STATUS_WORLD, "%s: cannot be listed: %s", store->directory,
                       strerror(errno));
  for (struct dirent *item; (item = readdir(folder));) {
    int64_t step = checkpoint_step_of(item->d_name, NULL);
    bool may_go = step >= 0 && !checkpoint_is_milestone(store, step);
    if (may_go && steps->count < CHECKPOINT_KEEP_MAX) steps->at[steps->count++] = step;
  }
  closedir(folder);
  qsort(steps->at, (size_t)steps->count, sizeof *steps->at, compare_steps);
  return owner_take(store->directory, &steps->generation, status);
}

void checkpoint_store_close(CheckpointStore *store) {
  free(store->header);
  free(store->sums);
  free(store->block);
  free(store->part);
  for (int32_t i = 0; i < store->source_count; i++)
    free(store->source[i]);
  free(store->source);
  manifest_text_close(&store->text);
  state_close(&store->state);
  *store = (CheckpointStore){0};
}

/* ---- a save */

static bool refuse_write(const char *path, int failure, Status *status) {
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

bool checkpoint_begin(const CheckpointStore *store, int64_t step, Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  checkpoint_new_path(path, store, step);
  if (mkdir(path, 0777) == 0) return true;
  if (errno == EEXIST && checkpoint_remove_folder(path) && mkdir(path, 0777) == 0) return true;
  return refuse_write(path, errno, status);
}

/* The size of a part that another rank has closed, and the last of its sums. */
static bool look_at_part(const char *folder, ManifestPart *part, Status *status) {
  char name[PART_FILE_NAME_BYTES], path[CHECKPOINT_PATH_BYTES + sizeof name];
  uint8_t end[PART_SUM_BYTES] = {0};
  CheckpointFault fault;
  int descriptor;
  part_file_name(name, part->number);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!checkpoint_open_file(path, &descriptor, &part->file_bytes, &fault, status)) return false;
  bool read = part->file_bytes >= sizeof end
                  ? checkpoint_read(descriptor, path, end, sizeof end,
                                    part->file_bytes - sizeof end, &fault, status)
                  : status_fail(status, STATUS_WORLD, "%s: is shorter than it was written", path);
  (void)close(descriptor);
  if (!read) return false;
  part->sum = 0;
  for (int32_t i = PART_SUM_BYTES; i-- > 0;)
    part->sum = part->sum << 8 | end[i];
  return true;
}

static bool write_manifest(CheckpointStore *store, const CheckpointState *state, const char *folder,
                           Status *status) {
  const Plan *plan = store->plan;
  char path[CHECKPOINT_PATH_BYTES + 32];
  ManifestFacts facts = {.step = state->step,
                         .samples = state->samples,
                         .generation = store->steps.generation,
                         .save = checkpoint_save_id(store, state->step),
                         .lr = schedule_lr(plan, state->step),
                         .lasting = state->lasting};
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++) {
    const PlanSlot *at = plan_slot(plan, slot);
    if (at != NULL && at->kind == SLOT_LASTING) facts.lasting_mask |= CONTROL_BIT(slot);
  }
  size_t bytes = manifest_text(&store->text, &facts, store->part, store->part_count);
  (void)snprintf(path, sizeof path, "%s/%s", folder, MANIFEST_FILE);
  return checkpoint_write_file(path, store->text.text, bytes) || refuse_write(path, errno, status);
}

/* True if the folder of this name is the one that was just written: NFS may lose the answer to a
 * rename, and says that the old name is gone when it asks again. errno stays. */
static bool is_named(const CheckpointStore *store, const char *path) {
  char name[CHECKPOINT_PATH_BYTES + 32], begin[4096];
  const int failure = errno;
  (void)snprintf(name, sizeof name, "%s/%s", path, MANIFEST_FILE);
  const int descriptor = open(name, O_RDONLY | O_CLOEXEC);
  const ssize_t length = descriptor < 0 ? -1 : read(descriptor, begin, sizeof begin);
  if (descriptor >= 0) (void)close(descriptor);
  errno = failure;
  return length > 0 && strnlen(store->text.text, (size_t)length) == (size_t)length &&
         memcmp(begin, store->text.text, (size_t)length) == 0;
}

static bool give_name(CheckpointStore *store, const char *from, int64_t step, Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  checkpoint_path(path, store->directory, step);
  store->is_lost =
      !store->is_memory && !owner_is(store->directory, store->steps.generation, status);
  if (store->is_lost) return false;
  if (rename(from, path) != 0 && !is_named(store, path)) return refuse_write(path, errno, status);
  return checkpoint_sync_folder(store->directory) || refuse_write(path, errno, status);
}

bool checkpoint_name(CheckpointStore *store, const CheckpointState *state, Status *status) {
  char folder[CHECKPOINT_PATH_BYTES];
  checkpoint_new_path(folder, store, state->step);
  if (!write_manifest(store, state, folder, status)) return false;
  if (!checkpoint_sync_folder(folder)) return refuse_write(folder, errno, status);
  return give_name(store, folder, state->step, status);
}

bool checkpoint_publish(CheckpointStore *store, const CheckpointState *state, const char *record,
                        Status *status) {
  char folder[CHECKPOINT_PATH_BYTES];
  checkpoint_new_path(folder, store, state->step);
  for (int32_t i = 0; i < store->part_count; i++)
    if (!look_at_part(folder, &store->part[i], status)) return false;
  if (record != NULL) checkpoint_keep_files(store, record, folder);
  return checkpoint_name(store, state, status);
}

/* ---- what may go */

/* After resuming from an older checkpoint, steps replace folders of the same name: no step is
 * listed twice. */
static void remember(CheckpointSteps *steps, int64_t step) {
  int32_t at = 0;
  while (at < steps->count && steps->at[at] < step)
    at++;
  if (at < steps->count && steps->at[at] == step) return;
  memmove(steps->at + at + 1, steps->at + at, (size_t)(steps->count - at) * sizeof *steps->at);
  steps->at[at] = step;
  steps->count++;
}

/* A name is a whole checkpoint, so it gets another before files are removed. What cannot be removed
 * does no harm. */
static void remove_beyond(CheckpointStore *store, int32_t keep) {
  char path[CHECKPOINT_PATH_BYTES], old[CHECKPOINT_PATH_BYTES + 8];
  CheckpointSteps *steps = &store->steps;
  while (steps->count > keep) {
    checkpoint_path(path, store->directory, steps->at[0]);
    (void)snprintf(old, sizeof old, "%s.old", path);
    if (rename(path, old) == 0) (void)checkpoint_remove_folder(old);
    steps->count--;
    memmove(steps->at, steps->at + 1, (size_t)steps->count * sizeof *steps->at);
  }
}

void checkpoint_remove_oldest(CheckpointStore *store, int64_t step) {
  if (checkpoint_is_milestone(store, step)) return;
  remove_beyond(store, CHECKPOINT_KEEP_MAX - 1);
  remember(&store->steps, step);
  remove_beyond(store, store->keep);
}
