/* install.c -- copies a checkpoint's tensors from their file into the state of every rank that has
 * them.
 *
 * The first rank with a part of the state reads its file piece by piece into place, and the others
 * get each piece from there. A reader that fails still shares what it has, because the others wait
 * for it; afterwards all learn that it is useless. */
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/take.h"

typedef struct Installing {
  const CheckpointSearch *search;
  const Checkpoint *from;
  const CheckpointTarget *target;
  uint32_t entry;
  CheckpointFault *fault;
  Status *status;
} Installing;

/* Up to a window of what the file has at `offset`. */
static bool install_piece(const Installing *installing, const TierWindow *to, size_t count,
                          uint64_t offset, Checksum *sum) {
  const Checkpoint *from = installing->from;
  Comm *comm = installing->search->comm;
  Status *status = installing->status;
  void *bytes = tier_window_open(to, count, ACCESS_WRITE, status);
  if (bytes == NULL) return false;
  if (from->is_reader && *installing->fault == CHECKPOINT_WHOLE)
    (void)checkpoint_read(from->descriptor, from->path, bytes, count, offset, installing->fault,
                          status);
  if (!comm->ops->share_bytes(comm, bytes, count)) {
    status->code = STATUS_ECHO;
    return false;
  }
  checksum_add(sum, bytes, count);
  return tier_window_close(to, status);
}

static bool install_tensor(void *context, const PlanTensor *tensor, int32_t layer,
                           uint64_t offset) {
  (void)layer;
  Installing *installing = context;
  const Checkpoint *from = installing->from;
  const CheckpointEntry *entry = &from->entry[installing->entry++];
  TierWindow to = {installing->target->device, (Tier)tensor->tier,
                   installing->target->arena[tensor->tier] + offset};
  Checksum sum;
  checksum_begin(&sum);
  for (uint64_t done = 0; done < tensor->size_bytes;) {
    uint64_t left = tensor->size_bytes - done;
    size_t take = left < DEVICE_WINDOW_BYTES ? (size_t)left : DEVICE_WINDOW_BYTES;
    if (!install_piece(installing, &to, take, entry->offset + done, &sum)) return false;
    to.at += take;
    done += take;
  }
  if (*installing->fault == CHECKPOINT_WHOLE && checksum_end(&sum) != entry->sum)
    (void)checkpoint_damaged(from->path, from->text + entry->name, installing->fault,
                             installing->status);
  return true;
}

bool checkpoint_install(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status) {
  Installing installing = {
      .search = search, .from = own, .target = target, .fault = fault, .status = status};
  return checkpoint_each(search->plan, target->class, install_tensor, &installing);
}
