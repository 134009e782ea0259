/* save.c -- lists a directory's checkpoints, and adds one. Saving allocates nothing, because it
 * happens between steps. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"
#include "runtime/process/folder.h"

enum { TENSOR_ALIGN_BYTES = 64 };

static bool is_saved(const PlanTensor *tensor) {
  return tensor->kind == BUFFER_PARAM || tensor->kind == BUFFER_MASTER ||
         tensor->kind == BUFFER_COMPENSATION || tensor->kind == BUFFER_MOMENT1 ||
         tensor->kind == BUFFER_MOMENT2;
}

bool checkpoint_each(const Plan *plan, const PlanClass *class, CheckpointVisit *visit,
                     void *context) {
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    for (uint32_t layer = 0; is_saved(tensor) && layer < tensor->layer_count; layer++) {
      int32_t number = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)layer;
      if (!visit(context, tensor, number, tensor->offset + layer * tensor->layer_stride))
        return false;
    }
  }
  return true;
}

static bool count_entry(void *context, const PlanTensor *tensor, int32_t layer, uint64_t offset) {
  (void)layer, (void)offset;
  CheckpointStore *store = context;
  store->entry_count++;
  store->text_bytes += strlen(plan_string(store->plan, tensor->name)) + 1;
  return true;
}

static void count_setting(CheckpointStore *store, const PlanSetting *setting) {
  const Plan *plan = store->plan;
  char number[SETTING_NUMBER_BYTES];
  store->setting_count++;
  store->text_bytes += strlen(plan_string(plan, setting->key)) +
                       strlen(plan_setting_text(plan, setting, number)) +
                       strlen(plan_string(plan, setting->origin)) + 3;
}

int64_t checkpoint_step_of(const char *file_name, const char **rest) {
  static const char prefix[] = "step_", suffix[] = ".ckpt";
  if (strncmp(file_name, prefix, sizeof prefix - 1) != 0) return -1;
  const char *digits = file_name + sizeof prefix - 1;
  char *end;
  long long step = strtoll(digits, &end, 10);
  if (end == digits || step < 0 || strncmp(end, suffix, sizeof suffix - 1) != 0) return -1;
  end += sizeof suffix - 1;
  if (rest) *rest = end;
  return rest || *end == '\0' ? step : -1;
}

void checkpoint_path(char path[CHECKPOINT_PATH_BYTES], const char *directory, int64_t step,
                     int32_t rank) {
  int length = snprintf(path, CHECKPOINT_PATH_BYTES, "%.*s/step_%08lld.ckpt",
                        CHECKPOINT_PATH_BYTES - 64, directory, (long long)step);
  if (rank > 0)
    (void)snprintf(path + length, (size_t)(CHECKPOINT_PATH_BYTES - length), ".r%05d", rank);
}

int32_t checkpoint_writer(const Mesh *mesh, uint32_t state_axes, int32_t rank) {
  int32_t coordinate[MESH_AXES_MAX] = {0}, writer = 0;
  mesh_coordinates(mesh, rank, coordinate);
  for (int32_t i = 0; i < mesh->axis_count; i++)
    writer = writer * mesh->size[i] + ((state_axes >> i & 1u) != 0 ? coordinate[i] : 0);
  return writer;
}

static int compare_steps(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

bool checkpoint_store_open(CheckpointStore *store, const Plan *plan, const Mesh *mesh, int32_t rank,
                           uint64_t data_sum, Status *status) {
  *store = (CheckpointStore){.plan = plan, .number = mesh_number(mesh, rank), .data_sum = data_sum};
  store->class = mesh_class(mesh, plan, rank);
  if (!store->class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
  store->in_parts = job_state_axes(plan) != 0;
  store->directory = job_checkpoint_dir(plan);
  int64_t keep = job_checkpoint_keep(plan);
  store->keep = (int32_t)(keep < 1                     ? 1
                          : keep < CHECKPOINT_KEEP_MAX ? keep
                                                       : CHECKPOINT_KEEP_MAX - 1);
  (void)checkpoint_each(plan, store->class, count_entry, store);
  for (uint32_t i = 0; i < plan->settings_count; i++)
    if (plan_setting_is_key(&plan->settings[i])) count_setting(store, &plan->settings[i]);
  store->table_bytes = (store->in_parts ? sizeof(CheckpointPart) : 0) +
                       store->entry_count * sizeof(CheckpointEntry) +
                       store->setting_count * sizeof(CheckpointSetting) + store->text_bytes;
  store->table = calloc(store->table_bytes + 1, 1);
  if (!store->table) return status_fail(status, STATUS_WORLD, "not enough memory for checkpoints");
  return true;
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
    if (step >= 0 && steps->count < CHECKPOINT_KEEP_MAX) steps->at[steps->count++] = step;
  }
  closedir(folder);
  qsort(steps->at, (size_t)steps->count, sizeof *steps->at, compare_steps);
  return true;
}

void checkpoint_store_close(CheckpointStore *store) {
  free(store->table);
  *store = (CheckpointStore){0};
}

/* A file being written. */
typedef struct Writing {
  CheckpointStore *store;
  const CheckpointState *state;
  int descriptor;
  uint32_t entry;
  uint64_t text; /* used so far */
  uint64_t offset;
  Status *status; /* of the device; a failure of the file is in errno */
} Writing;

static CheckpointEntry *entries_of(const CheckpointStore *store) {
  return (CheckpointEntry *)(void *)(store->table + (store->in_parts ? sizeof(CheckpointPart) : 0));
}

static CheckpointSetting *settings_of(const CheckpointStore *store) {
  return (CheckpointSetting *)(void *)(entries_of(store) + store->entry_count);
}

static uint64_t align_up(uint64_t bytes) {
  return (bytes + TENSOR_ALIGN_BYTES - 1) / TENSOR_ALIGN_BYTES * TENSOR_ALIGN_BYTES;
}

/* Copies a string into the text; returns its offset there. */
static uint32_t add_text(Writing *writing, const char *from) {
  char *text = (char *)(settings_of(writing->store) + writing->store->setting_count);
  uint64_t at = writing->text;
  memcpy(text + at, from, strlen(from) + 1);
  writing->text += strlen(from) + 1;
  return (uint32_t)at;
}

static bool write_at(int descriptor, const void *bytes, size_t count, uint64_t offset) {
  const uint8_t *at = bytes;
  while (count > 0) {
    ssize_t written = pwrite(descriptor, at, count, (off_t)offset);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    at += written;
    count -= (size_t)written;
    offset += (uint64_t)written;
  }
  return true;
}

/* Up to a window of a tensor. */
static bool write_piece(const Writing *writing, const TierWindow *window, size_t count,
                        uint64_t offset, Checksum *sum) {
  const void *bytes = tier_window_open(window, count, ACCESS_READ, writing->status);
  if (bytes == NULL) return false;
  checksum_add(sum, bytes, count);
  return write_at(writing->descriptor, bytes, count, offset) &&
         tier_window_close(window, writing->status);
}

static bool write_tensor(void *context, const PlanTensor *tensor, int32_t layer, uint64_t offset) {
  Writing *writing = context;
  TierWindow from = {writing->state->device, (Tier)tensor->tier,
                     writing->state->arena[tensor->tier] + offset};
  Checksum sum;
  checksum_begin(&sum);
  for (uint64_t done = 0; done < tensor->size_bytes;) {
    uint64_t left = tensor->size_bytes - done;
    size_t take = left < DEVICE_WINDOW_BYTES ? (size_t)left : DEVICE_WINDOW_BYTES;
    if (!write_piece(writing, &from, take, writing->offset + done, &sum)) return false;
    from.at += take;
    done += take;
  }
  entries_of(writing->store)[writing->entry++] = (CheckpointEntry){
      .offset = writing->offset,
      .size_bytes = tensor->size_bytes,
      .sum = checksum_end(&sum),
      .elements = tensor->elements,
      .name = add_text(writing, plan_string(writing->store->plan, tensor->name)),
      .kind = tensor->kind,
      .dtype = tensor->dtype,
      .layer = layer,
  };
  writing->offset = align_up(writing->offset + tensor->size_bytes);
  return true;
}

static void fill_part(const CheckpointStore *store) {
  CheckpointPart *part = (CheckpointPart *)(void *)store->table;
  const Plan *plan = store->plan;
  *part = (CheckpointPart){.axis_count = plan->axes_count, .rank = store->number};
  part->state_axes = job_state_axes(plan);
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    part->size[i] = plan->axes[i].size;
    (void)snprintf(part->name[i], sizeof part->name[i], "%s",
                   plan_string(plan, plan->axes[i].name));
  }
}

static void fill_settings(Writing *writing) {
  const CheckpointStore *store = writing->store;
  const Plan *plan = store->plan;
  CheckpointSetting *next = settings_of(store);
  char number[SETTING_NUMBER_BYTES];
  for (uint32_t i = 0; i < plan->settings_count; i++) {
    const PlanSetting *setting = &plan->settings[i];
    if (!plan_setting_is_key(setting)) continue;
    const uint32_t key = add_text(writing, plan_string(plan, setting->key));
    const uint32_t value = add_text(writing, plan_setting_text(plan, setting, number));
    *next++ = (CheckpointSetting){setting->effect, key, value,
                                  add_text(writing, plan_string(plan, setting->origin))};
  }
}

/* Tensors are written first: the table holds their checksums, the header the table's. */
static bool write_file(Writing *writing, CheckpointHeader *header) {
  CheckpointStore *store = writing->store;
  int descriptor = writing->descriptor;
  writing->offset = align_up(sizeof *header + store->table_bytes);
  if (store->in_parts) fill_part(store);
  if (!checkpoint_each(store->plan, store->class, write_tensor, writing)) return false;
  fill_settings(writing);
  header->file_bytes = writing->offset;
  header->table_sum = checksum(store->table, store->table_bytes);
  header->header_sum = checksum(header, offsetof(CheckpointHeader, header_sum));
  return ftruncate(descriptor, (off_t)writing->offset) == 0 &&
         write_at(descriptor, store->table, store->table_bytes, sizeof *header) &&
         write_at(descriptor, header, sizeof *header, 0) && fsync(descriptor) == 0;
}

/* The rename itself must reach the disk; otherwise a crash could restore the old directory. */
static bool sync_directory(const char *path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool synced = fsync(descriptor) == 0;
  close(descriptor);
  return synced;
}

/* After resuming from an older checkpoint, steps replace files of the same name: no step is listed
 * twice. */
static void remember(CheckpointSteps *steps, int64_t step) {
  int32_t at = 0;
  while (at < steps->count && steps->at[at] < step)
    at++;
  if (at < steps->count && steps->at[at] == step) return;
  memmove(steps->at + at + 1, steps->at + at, (size_t)(steps->count - at) * sizeof *steps->at);
  steps->at[at] = step;
  steps->count++;
}

static void remove_beyond(CheckpointStore *store, int32_t keep) {
  char path[CHECKPOINT_PATH_BYTES];
  CheckpointSteps *steps = &store->steps;
  while (steps->count > keep) {
    checkpoint_path(path, store->directory, steps->at[0], store->number);
    (void)unlink(path); /* a file that cannot be removed does no harm */
    steps->count--;
    memmove(steps->at, steps->at + 1, (size_t)steps->count * sizeof *steps->at);
  }
}

void checkpoint_remove_oldest(CheckpointStore *store, int64_t step) {
  remove_beyond(store, CHECKPOINT_KEEP_MAX - 1);
  remember(&store->steps, step);
  remove_beyond(store, store->keep);
}

static void temporary_path(char path[CHECKPOINT_PATH_BYTES], const CheckpointStore *store,
                           int64_t step) {
  checkpoint_path(path, store->directory, step, store->number);
  size_t length = strlen(path);
  (void)snprintf(path + length, CHECKPOINT_PATH_BYTES - length, ".new");
}

static void remove_temporary(const CheckpointStore *store, int64_t step) {
  char path[CHECKPOINT_PATH_BYTES];
  temporary_path(path, store, step);
  (void)unlink(path);
}

static bool refuse_write(const CheckpointStore *store, int64_t step, int failure, Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  remove_temporary(store, step);
  checkpoint_path(path, store->directory, step, store->number);
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

static bool give_name(const CheckpointStore *store, int64_t step, Status *status) {
  char path[CHECKPOINT_PATH_BYTES], temporary[CHECKPOINT_PATH_BYTES];
  checkpoint_path(path, store->directory, step, store->number);
  temporary_path(temporary, store, step);
  if (rename(temporary, path) == 0 && sync_directory(store->directory)) return true;
  return refuse_write(store, step, errno, status);
}

bool checkpoint_write(CheckpointStore *store, const CheckpointState *state, Status *status) {
  char temporary[CHECKPOINT_PATH_BYTES];
  temporary_path(temporary, store, state->step);
  CheckpointHeader header = {
      .version = CHECKPOINT_VERSION,
      .entry_count = store->entry_count,
      .setting_count = store->setting_count,
      .part_count = store->in_parts,
      .text_bytes = store->text_bytes,
      .plan_id = store->plan->id,
      .data_sum = store->data_sum,
      .step = state->step,
      .last_step = job_steps(store->plan),
      .lr = schedule_lr(store->plan, state->step),
      .samples = state->samples,
      .lasting_mask = state->lasting_mask,
      .lasting = state->lasting,
  };
  memcpy(header.magic, CHECKPOINT_MAGIC, sizeof header.magic);
  Status device = {0};
  Writing writing = {.store = store, .state = state, .status = &device};
  writing.descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool written = writing.descriptor >= 0 && write_file(&writing, &header);
  int failure = errno;
  if (writing.descriptor >= 0 && close(writing.descriptor) != 0) {
    written = false;
    failure = errno;
  }
  if (!written && device.code != 0) {
    remove_temporary(store, state->step);
    *status = device;
    return false;
  }
  if (!written) return refuse_write(store, state->step, failure, status);
  return store->number == 0 || give_name(store, state->step, status);
}

bool checkpoint_publish(const CheckpointStore *store, int64_t step, Status *status) {
  return give_name(store, step, status);
}
