/* parts.c -- a checkpoint of one file or of one a writing rank, as one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checksum.h"

enum { MESH_TEXT_BYTES = 160 };

/* The axes that have more than one rank: "dp 2 x tp 4". */
static const char *mesh_text(char text[MESH_TEXT_BYTES], const Plan *plan,
                             const CheckpointPart *part) {
  size_t used = 0;
  uint32_t count = part ? part->axis_count : plan->axes_count;
  for (uint32_t i = 0; i < count && i < MESH_AXES_MAX && used < MESH_TEXT_BYTES; i++) {
    uint32_t size = part ? part->size[i] : plan->axes[i].size;
    const char *name = part ? part->name[i] : plan_string(plan, plan->axes[i].name);
    int length = part ? CHECKPOINT_AXIS_NAME_BYTES - 1 : 32;
    if (size > 1)
      used += (size_t)snprintf(text + used, MESH_TEXT_BYTES - used, "%s%.*s %u",
                               used > 0 ? " x " : "", length, name, size);
  }
  return used > 0 ? text : "one rank";
}

/* State in parts is of a mesh: another one would have to cut the tensors anew. */
static bool same_mesh(const CheckpointPart *part, const Plan *plan) {
  uint32_t state_axes = plan->jobs[0].state_axes;
  if (!part) return state_axes == 0;
  bool same = part->state_axes == state_axes && part->axis_count == plan->axes_count;
  for (uint32_t i = 0; same && i < plan->axes_count; i++)
    same = part->size[i] == plan->axes[i].size &&
           strncmp(part->name[i], plan_string(plan, plan->axes[i].name),
                   CHECKPOINT_AXIS_NAME_BYTES - 1) == 0;
  return same;
}

static bool open_part(CheckpointSet *set, int32_t rank, Status *status) {
  const Checkpoint *first = &set->at[0];
  Checkpoint *part = &set->at[rank];
  char path[CHECKPOINT_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.*s.r%05d", CHECKPOINT_PATH_BYTES - 16, first->path, rank);
  if (!checkpoint_open(part, path, &set->fault, status)) {
    if (set->fault == CHECKPOINT_ABSENT) set->fault = CHECKPOINT_DAMAGED; /* not whole */
    return false;
  }
  CheckpointPart want = *first->part;
  want.rank = rank;
  if (part->part && memcmp(part->part, &want, sizeof want) == 0 &&
      part->header->step == first->header->step &&
      part->header->samples == first->header->samples &&
      part->header->plan_id == first->header->plan_id)
    return true;
  set->fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is not of the same checkpoint as %s", path,
                     first->path);
}

/* Only of the plan's own mesh: what a foreign file says of its ranks reserves nothing. */
static bool open_parts(CheckpointSet *set, const Plan *plan, Status *status) {
  Mesh mesh;
  const Checkpoint *first = &set->at[0];
  if (first->part->rank != 0) {
    set->fault = CHECKPOINT_DAMAGED;
    return status_fail(status, STATUS_USER, "%s: is not rank 0's part of a checkpoint",
                       first->path);
  }
  if (!same_mesh(first->part, plan)) return true;
  if (!mesh_read(&mesh, plan, status)) return false;
  Checkpoint *all = calloc((size_t)mesh.rank_count, sizeof *all);
  if (!all) {
    set->fault = CHECKPOINT_UNREAD;
    return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", first->path);
  }
  all[0] = *first;
  free(set->at);
  set->at = all;
  set->count = mesh.rank_count;
  for (int32_t rank = 1; rank < mesh.rank_count; rank++)
    if (checkpoint_writer(&mesh, plan->jobs[0].state_axes, rank) == rank &&
        !open_part(set, rank, status))
      return false;
  return true;
}

bool checkpoint_set_open(CheckpointSet *set, const char *path, const Plan *plan, Status *status) {
  *set = (CheckpointSet){.at = calloc(1, sizeof *set->at), .count = 1};
  if (!set->at) return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", path);
  if (checkpoint_open(&set->at[0], path, &set->fault, status) &&
      (!set->at[0].part || open_parts(set, plan, status)))
    return true;
  CheckpointFault fault = set->fault;
  checkpoint_set_close(set);
  set->fault = fault;
  return false;
}

void checkpoint_set_close(CheckpointSet *set) {
  for (int32_t i = 0; i < set->count; i++)
    checkpoint_close(&set->at[i]);
  free(set->at);
  *set = (CheckpointSet){0};
}

/* One rank's tensors beside a file's entries. */
typedef struct Matching {
  const Checkpoint *checkpoint;
  const Plan *plan;
  uint32_t entry;
  Status *status;
} Matching;

static bool match_tensor(void *context, const PlanTensor *tensor, int32_t layer, uint64_t offset) {
  (void)offset;
  Matching *matching = context;
  const Checkpoint *checkpoint = matching->checkpoint;
  const char *name = plan_string(matching->plan, tensor->name);
  if (matching->entry == checkpoint->header->entry_count)
    return status_fail(matching->status, STATUS_USER, "%s: lacks tensor %s, which the plan has",
                       checkpoint->path, name);
  const CheckpointEntry *entry = &checkpoint->entry[matching->entry++];
  const char *saved = checkpoint->text + entry->name;
  if (strcmp(saved, name) != 0 || entry->layer != layer || entry->kind != tensor->kind)
    return status_fail(
        matching->status, STATUS_USER,
        "%s: is of another model: it has tensor %s (layer %d) where the plan has %s (layer %d)",
        checkpoint->path, saved, entry->layer, name, layer);
  if (entry->dtype != tensor->dtype || entry->elements != tensor->elements ||
      entry->size_bytes != tensor->size_bytes)
    return status_fail(matching->status, STATUS_USER,
                       "%s: tensor %s has %lld elements of %s there, %lld of %s in the plan",
                       checkpoint->path, name, (long long)entry->elements,
                       entry->dtype < DTYPE_COUNT ? dtype_name((DType)entry->dtype) : "?",
                       (long long)tensor->elements, dtype_name((DType)tensor->dtype));
  return true;
}

static bool match_mesh(const Checkpoint *first, const Plan *plan, Status *status) {
  const CheckpointPart *part = first->part;
  if (same_mesh(part, plan)) return true;
  char saved[MESH_TEXT_BYTES], planned[MESH_TEXT_BYTES];
  return status_fail(status, STATUS_USER,
                     "%s: was saved %s%s, the plan is for %s%s: resume with the degrees and the "
                     "ZeRO stage that it was saved with, or start anew with resume = \"never\"",
                     first->path, part ? "in parts on " : "whole",
                     part ? mesh_text(saved, plan, part) : "", mesh_text(planned, plan, NULL),
                     plan->jobs[0].state_axes ? " with state in parts" : " with whole state");
}

static bool match_rank(const Checkpoint *checkpoint, const Plan *plan, const PlanClass *class,
                       Status *status) {
  Matching matching = {.checkpoint = checkpoint, .plan = plan, .status = status};
  if (!checkpoint_each(plan, class, match_tensor, &matching)) return false;
  if (matching.entry == checkpoint->header->entry_count) return true;
  return status_fail(status, STATUS_USER, "%s: has tensor %s, which the plan lacks",
                     checkpoint->path, checkpoint->text + checkpoint->entry[matching.entry].name);
}

static const Checkpoint *file_of(const CheckpointSet *set, const Plan *plan, const Mesh *mesh,
                                 int32_t rank) {
  return &set->at[checkpoint_writer(mesh, plan->jobs[0].state_axes, rank)];
}

static bool match_all(const CheckpointSet *set, const Plan *plan, const Mesh *mesh,
                      Status *status) {
  if (!match_mesh(&set->at[0], plan, status)) return false;
  for (int32_t rank = 0; rank < mesh->rank_count; rank++) {
    const PlanClass *class = mesh_class(mesh, plan, rank);
    if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
    if (!match_rank(file_of(set, plan, mesh, rank), plan, class, status)) return false;
  }
  return true;
}

/* Tensors that are missing or cut differently follow from keys of the job: those are what the user
 * can change. */
bool checkpoint_match(const CheckpointSet *set, const Plan *plan, const Mesh *mesh,
                      const CheckpointChanges *changes, Status *status) {
  if (match_all(set, plan, mesh, status)) return true;
  char experiment[STATUS_TEXT_BYTES / 3], layout[STATUS_TEXT_BYTES / 3];
  uint32_t other = 1u << SETTING_EXPERIMENT | 1u << SETTING_MODEL;
  int32_t experiments =
      checkpoint_changes_text(changes, other, false, experiment, sizeof experiment);
  int32_t layouts =
      checkpoint_changes_text(changes, 1u << SETTING_LAYOUT, true, layout, sizeof layout);
  if (status->code != STATUS_USER || experiments + layouts == 0) return false;
  return status_fail(status, STATUS_USER,
                     "%s: %s%s%s: the state %s. Resume with what it was saved with, or start anew: "
                     "-D name=..., or --resume never",
                     set->at[0].path, experiment, experiments > 0 && layouts > 0 ? ", " : "",
                     layout, experiments > 0 ? "has other tensors" : "is cut differently");
}

/* A rank's tensors while they are read. */
typedef struct Restoring {
  const Checkpoint *checkpoint;
  uint32_t entry;
  uint8_t *arena;
  int descriptor;
  Status *status;
} Restoring;

static bool restore_tensor(void *context, const PlanTensor *tensor, int32_t layer,
                           uint64_t offset) {
  (void)layer;
  Restoring *restoring = context;
  CheckpointFault fault;
  const Checkpoint *from = restoring->checkpoint;
  const CheckpointEntry *entry = &from->entry[restoring->entry++];
  uint8_t *bytes = restoring->arena + offset;
  if (!checkpoint_read(restoring->descriptor, from->path, bytes, tensor->size_bytes, entry->offset,
                       &fault, restoring->status))
    return false;
  return checksum(bytes, tensor->size_bytes) == entry->sum ||
         status_fail(restoring->status, STATUS_WORLD, "%s: changed while it was read", from->path);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the tensors are written through it */
bool checkpoint_restore(const CheckpointSet *set, uint8_t *arena, const Plan *plan,
                        const Mesh *mesh, int32_t rank, Status *status) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
  Restoring restoring = {
      .checkpoint = file_of(set, plan, mesh, rank), .arena = arena, .status = status};
  restoring.descriptor = open(restoring.checkpoint->path, O_RDONLY | O_CLOEXEC);
  if (restoring.descriptor < 0)
    return status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", restoring.checkpoint->path,
                       strerror(errno));
  bool restored = checkpoint_each(plan, class, restore_tensor, &restoring);
  close(restoring.descriptor);
  return restored;
}
