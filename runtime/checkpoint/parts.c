/* parts.c -- a checkpoint of one file or of one a writing rank, as one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/checkpoint.h"

enum { MESH_TEXT_BYTES = 160 };

/* The mesh that a part speaks of; false when it makes no sense. */
static bool mesh_of(const CheckpointPart *part, Mesh *mesh) {
  if (part->axis_count > MESH_AXES_MAX) return false;
  *mesh = (Mesh){.axis_count = (int32_t)part->axis_count, .rank_count = 1};
  for (uint32_t i = 0; i < part->axis_count; i++) {
    if (part->size[i] == 0 || part->size[i] > (uint32_t)(MESH_RANKS_MAX / mesh->rank_count))
      return false;
    mesh->size[i] = (int32_t)part->size[i];
    mesh->rank_count *= mesh->size[i];
  }
  return true;
}

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

static bool open_part(CheckpointSet *set, int32_t rank, const char *first_path, Status *status) {
  const Checkpoint *first = &set->at[0];
  Checkpoint *part = &set->at[rank];
  char path[CHECKPOINT_PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.*s.r%05d", CHECKPOINT_PATH_BYTES - 16, first_path, rank);
  if (!checkpoint_open(part, path, status)) return false;
  CheckpointPart want = *first->part;
  want.rank = rank;
  if (part->part && memcmp(part->part, &want, sizeof want) == 0 &&
      part->header->step == first->header->step &&
      part->header->samples == first->header->samples &&
      part->header->seed == first->header->seed && part->header->plan_id == first->header->plan_id)
    return true;
  return status_fail(status, STATUS_USER, "%s: is not of the same checkpoint as %s", path,
                     first_path);
}

static bool open_parts(CheckpointSet *set, const char *path, Status *status) {
  Mesh mesh;
  const CheckpointPart *part = set->at[0].part;
  if (!mesh_of(part, &mesh) || part->rank != 0)
    return status_fail(status, STATUS_USER, "%s: is not rank 0's part of a checkpoint", path);
  Checkpoint *all = realloc(set->at, (size_t)mesh.rank_count * sizeof *all);
  if (!all) return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", path);
  memset(all + 1, 0, (size_t)(mesh.rank_count - 1) * sizeof *all);
  set->at = all;
  set->count = mesh.rank_count;
  for (int32_t rank = 1; rank < mesh.rank_count; rank++)
    if (checkpoint_writer(&mesh, set->at[0].part->state_axes, rank) == rank &&
        !open_part(set, rank, path, status))
      return false;
  return true;
}

bool checkpoint_set_open(CheckpointSet *set, const char *path, Status *status) {
  *set = (CheckpointSet){.at = calloc(1, sizeof *set->at), .count = 1};
  if (!set->at) return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", path);
  if (checkpoint_open(&set->at[0], path, status) &&
      (!set->at[0].part || open_parts(set, path, status)))
    return true;
  checkpoint_set_close(set);
  return false;
}

void checkpoint_set_close(CheckpointSet *set) {
  for (int32_t i = 0; i < set->count; i++)
    checkpoint_close(&set->at[i]);
  free(set->at);
  *set = (CheckpointSet){0};
}

typedef struct Matching {
  const Checkpoint *checkpoint;
  const Plan *plan;
  uint32_t entry;
  uint8_t *arena;
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
  const char *saved = checkpoint->names + entry->name;
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

/* State in parts is of a mesh: another one would have to cut the tensors anew. */
static bool match_mesh(const Checkpoint *first, const Plan *plan, Status *status) {
  const CheckpointPart *part = first->part;
  uint32_t state_axes = plan->jobs[0].state_axes;
  bool same = part ? part->state_axes == state_axes && part->axis_count == plan->axes_count
                   : state_axes == 0;
  for (uint32_t i = 0; part && same && i < plan->axes_count; i++)
    same = part->size[i] == plan->axes[i].size &&
           strncmp(part->name[i], plan_string(plan, plan->axes[i].name),
                   CHECKPOINT_AXIS_NAME_BYTES - 1) == 0;
  if (same) return true;
  char saved[MESH_TEXT_BYTES], planned[MESH_TEXT_BYTES];
  return status_fail(status, STATUS_USER,
                     "%s: was saved %s%s, the plan is for %s%s: resume with the degrees and the "
                     "ZeRO stage that it was saved with, or start anew with resume = \"never\"",
                     first->path, part ? "in parts on " : "whole",
                     part ? mesh_text(saved, plan, part) : "", mesh_text(planned, plan, NULL),
                     state_axes ? " with state in parts" : " with whole state");
}

static bool match_rank(const Checkpoint *checkpoint, const Plan *plan, const PlanClass *class,
                       Status *status) {
  Matching matching = {.checkpoint = checkpoint, .plan = plan, .status = status};
  if (!checkpoint_each(plan, class, match_tensor, &matching)) return false;
  if (matching.entry == checkpoint->header->entry_count) return true;
  return status_fail(status, STATUS_USER, "%s: has tensor %s, which the plan lacks",
                     checkpoint->path, checkpoint->names + checkpoint->entry[matching.entry].name);
}

static const Checkpoint *file_of(const CheckpointSet *set, const Plan *plan, const Mesh *mesh,
                                 int32_t rank) {
  return &set->at[checkpoint_writer(mesh, plan->jobs[0].state_axes, rank)];
}

bool checkpoint_match(const CheckpointSet *set, const Plan *plan, const Mesh *mesh,
                      Status *status) {
  const CheckpointHeader *header = set->at[0].header;
  if (!match_mesh(&set->at[0], plan, status)) return false;
  for (int32_t rank = 0; rank < mesh->rank_count; rank++) {
    const PlanClass *class = mesh_class(mesh, plan, rank);
    if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
    if (!match_rank(file_of(set, plan, mesh, rank), plan, class, status)) return false;
  }
  if (header->seed != plan->jobs[0].seed)
    return status_fail(
        status, STATUS_USER,
        "%s: was trained with seed %llu, the plan says %llu: data and dropout would change",
        set->at[0].path, (unsigned long long)header->seed, (unsigned long long)plan->jobs[0].seed);
  return true;
}

static bool restore_tensor(void *context, const PlanTensor *tensor, int32_t layer,
                           uint64_t offset) {
  (void)layer;
  Matching *matching = context;
  const CheckpointEntry *entry = &matching->checkpoint->entry[matching->entry++];
  memcpy(matching->arena + offset, (const uint8_t *)matching->checkpoint->mapped + entry->offset,
         tensor->size_bytes);
  return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the tensors are written through it */
void checkpoint_restore(const CheckpointSet *set, uint8_t *arena, const Plan *plan,
                        const Mesh *mesh, int32_t rank) {
  const PlanClass *class = mesh_class(mesh, plan, rank);
  Matching matching = {.checkpoint = file_of(set, plan, mesh, rank), .plan = plan, .arena = arena};
  if (class) (void)checkpoint_each(plan, class, restore_tensor, &matching);
}
