/* write.c -- a rank's part: its pieces as rows.h orders them, in blocks with sums. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernels/math/split.h"
#include "runtime/checkpoint/owner.h"

enum { DIRTY_BYTES_MAX = 128 << 20, XFS_MAGIC = 0x58465342 };

/* A file being written. */
typedef struct Writing {
  CheckpointStore *store;
  const CheckpointState *state;
  int32_t coordinate[PLAN_AXES_MAX];
  int descriptor;
  uint64_t offset; /* of the block in the file */
  size_t used;     /* of the block */
  int64_t blocks;  /* summed so far */
  bool is_direct;  /* whole blocks go to the disk without a copy in the page cache */
  bool is_device;  /* the device has failed, and `status` says how; otherwise errno says why */
  Status *status;
} Writing;

const PlanTensor *checkpoint_tensor(const Plan *plan, const PlanClass *class, uint32_t name,
                                    BufferKind kind, int32_t layer) {
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    bool has_layer = layer < 0 ? tensor->layer_first < 0
                               : layer >= tensor->layer_first && tensor->layer_first >= 0 &&
                                     layer - tensor->layer_first < (int32_t)tensor->layer_count;
    if (has_layer && tensor->kind == (uint32_t)kind &&
        strcmp(plan_string(plan, tensor->name), plan_string(plan, name)) == 0)
      return tensor;
  }
  return NULL;
}

/* ---- blocks */

/* A save beside the steps takes processor time from them, half of it for the copy into the page
 * cache, which a direct write avoids. Only ext4 and XFS, on disks of this machine, are written
 * directly, because network file systems wait for a server at each direct write. */
static bool may_be_direct(const Writing *w) {
  struct statfs about;
  if (w->state->copy == NULL || fstatfs(w->descriptor, &about) != 0) return false;
  return about.f_type == EXT4_SUPER_MAGIC || about.f_type == XFS_MAGIC;
}

static bool set_direct(const Writing *w, bool is_direct) {
  const int flags = fcntl(w->descriptor, F_GETFL);
  return flags >= 0 &&
         fcntl(w->descriptor, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

static bool end_direct(Writing *w) {
  if (w->is_direct && !set_direct(w, false)) return false;
  w->is_direct = false;
  return true;
}

/* A direct write needs an offset and a length that are multiples of the disk's sectors, and a file
 * system may refuse it: then this block and all later ones are written through the cache. */
static bool write_block(Writing *w) {
  const CheckpointStore *store = w->store;
  if (w->is_direct && w->used == PART_BLOCK_BYTES) {
    if (checkpoint_write_at(w->descriptor, store->block, w->used, w->offset)) return true;
    if (errno != EINVAL) return false;
  }
  return end_direct(w) && checkpoint_write_at(w->descriptor, store->block, w->used, w->offset);
}

/* Old pages go to the disk while new ones are made, so that fsync finds little left. */
static bool end_block(Writing *w) {
  CheckpointStore *store = w->store;
  if (w->used == 0) return true;
  if (atomic_load(&store->gives_up)) {
    errno = ECANCELED;
    return false;
  }
  store->sums[w->blocks++] = part_sum(store->block, w->used);
  if (!write_block(w)) return false;
  w->offset += w->used;
  w->used = 0;
  if (!w->is_direct && w->offset % DIRTY_BYTES_MAX == 0)
    (void)sync_file_range(w->descriptor, (off_t)(w->offset - DIRTY_BYTES_MAX), DIRTY_BYTES_MAX,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                              SYNC_FILE_RANGE_WAIT_AFTER);
  return true;
}

static bool put(Writing *w, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  while (count > 0) {
    size_t room = PART_BLOCK_BYTES - w->used, take = count < room ? count : room;
    memcpy(w->store->block + w->used, at, take);
    w->used += take;
    at += take;
    count -= take;
    if (w->used == PART_BLOCK_BYTES && !end_block(w)) return false;
  }
  return true;
}

/* ---- elements from the arena */

/* Elements of a tensor's layer on their way into a file. */
typedef struct Fetch {
  Writing *w;
  Tier tier;
  uint8_t *from; /* in the tier's arena */
  int64_t width;
  uint8_t *to;
  enum { FETCH_AS_IS, FETCH_LOW, FETCH_HIGH } form;
} Fetch;

static void take_elements(const Fetch *fetch, const void *from, int64_t to, int64_t count) {
  const uint16_t *half = from;
  if (fetch->form == FETCH_AS_IS) {
    memcpy(fetch->to + to * fetch->width, from, (size_t)(count * fetch->width));
    return;
  }
  uint32_t *whole = (uint32_t *)(void *)fetch->to + to;
  for (int64_t i = 0; i < count; i++) {
    float value = fetch->form == FETCH_HIGH ? split_join(half[i], (int16_t)(uint16_t)whole[i]) : 0;
    if (fetch->form == FETCH_HIGH)
      memcpy(&whole[i], &value, sizeof value);
    else
      whole[i] = half[i];
  }
}

static bool fetch_run(void *context, int64_t from, int64_t to, int64_t count) {
  Fetch *fetch = context;
  Device *device = fetch->w->state->device;
  int64_t most = DEVICE_WINDOW_BYTES / fetch->width;
  while (count > 0) {
    int64_t take = count < most ? count : most;
    const TierWindow of = {device, fetch->tier, fetch->from + from * fetch->width};
    const void *window =
        tier_window_open(&of, (uint64_t)(take * fetch->width), ACCESS_READ, fetch->w->status);
    if (window != NULL) take_elements(fetch, window, to, take);
    if (window == NULL || !tier_window_close(&of, fetch->w->status)) {
      fetch->w->is_device = true;
      return false;
    }
    from += take;
    to += take;
    count -= take;
  }
  return true;
}

/* The address of a snapshot's copy, which the host reads like that of its own tier. False: nothing
 * has copied it. */
static bool use_copy(const CheckpointState *state, uint64_t size_bytes, Fetch *fetch) {
  int32_t low = 0, high = state->copy_count;
  if (state->copy == NULL) return true;
  while (low < high) { /* the first copy that ends after the address */
    const int32_t middle = (low + high) / 2;
    if (state->copy[middle].from + state->copy[middle].size_bytes > fetch->from)
      high = middle;
    else
      low = middle + 1;
  }
  const CheckpointCopy *copy = &state->copy[low];
  if (low == state->copy_count || fetch->from < copy->from ||
      fetch->from + size_bytes > copy->from + copy->size_bytes)
    return false;
  fetch->from = (uint8_t *)(uintptr_t)copy->to + (fetch->from - copy->from);
  fetch->tier = TIER_HOST;
  return true;
}

static bool fetch_tensor(Writing *w, const PlanTensor *tensor, const StateStored *stored,
                         const StatePiece *piece, Fetch fetch) {
  StatePiece memory;
  int32_t layer = tensor->layer_first < 0 ? 0 : stored->item->layer - tensor->layer_first;
  fetch.w = w;
  fetch.width = dtype_bytes((DType)tensor->dtype);
  fetch.tier = (Tier)tensor->tier;
  fetch.from =
      w->state->arena[tensor->tier] + tensor->offset + (uint64_t)layer * tensor->layer_stride;
  if (!use_copy(w->state, tensor->size_bytes, &fetch)) {
    w->is_device = true;
    return status_fail(w->status, STATUS_OURS, "plan: no copy has %s", stored->item->name);
  }
  return state_piece(w->store->plan, tensor->layout, w->coordinate, &memory) &&
         state_common(&memory, piece, fetch_run, &fetch);
}

/* The upper halves of a split master are the weight. */
static bool fetch_split(Writing *w, const PlanTensor *low, const StateStored *stored,
                        const StatePiece *piece, uint8_t *to) {
  const CheckpointStore *store = w->store;
  const PlanTensor *high =
      checkpoint_tensor(store->plan, store->class, low->name, BUFFER_PARAM, stored->item->layer);
  if (high == NULL) {
    w->is_device = true;
    return status_fail(w->status, STATUS_OURS, "plan: split master %s has no weight",
                       stored->item->name);
  }
  return fetch_tensor(w, low, stored, piece, (Fetch){.to = to, .form = FETCH_LOW}) &&
         fetch_tensor(w, high, stored, piece, (Fetch){.to = to, .form = FETCH_HIGH});
}

/* Elements are gathered into the block itself. Blocks end between elements: data begin at a
 * multiple of PART_ALIGN_BYTES, and wider elements come first. */
static bool write_piece(void *context, const StateStored *stored) {
  Writing *w = context;
  const PlanTensor *tensor = state_tensor(&w->store->state, stored->item);
  int64_t width = dtype_bytes(state_saved_dtype(tensor));
  for (int64_t done = 0; done < stored->piece.range_count;) {
    int64_t room = (int64_t)(PART_BLOCK_BYTES - w->used) / width;
    int64_t left = stored->piece.range_count - done, take = left < room ? left : room;
    StatePiece piece = state_piece_dense(&stored->piece, done, take);
    uint8_t *to = w->store->block + w->used;
    bool fetched = state_saved_dtype(tensor) == (DType)tensor->dtype
                       ? fetch_tensor(w, tensor, stored, &piece, (Fetch){.to = to})
                       : fetch_split(w, tensor, stored, &piece, to);
    if (!fetched) return false;
    w->used += (size_t)(take * width);
    done += take;
    if (w->used == PART_BLOCK_BYTES && !end_block(w)) return false;
  }
  return true;
}

/* ---- the file */

static bool write_part(Writing *w) {
  static const uint8_t zeros[PART_SUM_BYTES];
  CheckpointStore *store = w->store;
  const PartLayout *layout = &store->layout;
  const PartId id = {store->number, w->state->step, checkpoint_save_id(store, w->state->step)};
  part_stamp(store->header, &id);
  if (fallocate(w->descriptor, 0, 0, layout->file_bytes) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS && errno != EINVAL && errno != EINTR)
    return false;
  w->is_direct = may_be_direct(w) && set_direct(w, true);
  if (!put(w, store->header, (size_t)layout->header_bytes) ||
      !state_part_each(&store->state, store->number, write_piece, w) ||
      !put(w, zeros, (size_t)(layout->sums_first - layout->header_bytes - layout->data_bytes)) ||
      !end_block(w) || !end_direct(w))
    return false;
  store->sums[w->blocks] = part_sum(store->sums, (size_t)w->blocks * PART_SUM_BYTES);
  return checkpoint_write_at(w->descriptor, store->sums, (size_t)(w->blocks + 1) * PART_SUM_BYTES,
                             w->offset) &&
         fsync(w->descriptor) == 0;
}

bool checkpoint_write(CheckpointStore *store, const CheckpointState *state, Status *status) {
  char folder[CHECKPOINT_PATH_BYTES], name[PART_FILE_NAME_BYTES];
  char path[CHECKPOINT_PATH_BYTES + sizeof name];
  if (store->header == NULL) return true;
  Status device = {0};
  Writing w = {.store = store, .state = state, .status = &device};
  state_coordinates(store->plan, store->number, w.coordinate);
  checkpoint_new_path(folder, store, state->step);
  part_file_name(name, store->number);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  w.descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool written = w.descriptor >= 0 && write_part(&w);
  int failure = errno;
  if (w.descriptor >= 0 && close(w.descriptor) != 0 && written) {
    written = false;
    failure = errno;
  }
  if (written) return true;
  if (w.descriptor >= 0) (void)unlink(path);
  store->is_lost = w.is_device;
  if (w.is_device) *status = device;
  if (w.is_device) return false;
  checkpoint_path(folder, store->directory, state->step);
  return status_fail(status, STATUS_WORLD, "%s/%s: cannot be written: %s", folder, name,
                     strerror(failure));
}
