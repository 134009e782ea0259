/* parts.c -- whether a rank's part of a checkpoint fits the plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/plural.h"

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

bool checkpoint_same_mesh(const CheckpointPart *part, const Plan *plan) {
  uint32_t state_axes = job_state_axes(plan);
  if (!part) return state_axes == 0;
  bool same = part->state_axes == state_axes && part->axis_count == plan->axes_count;
  for (uint32_t i = 0; same && i < plan->axes_count; i++)
    same = part->size[i] == plan->axes[i].size &&
           strncmp(part->name[i], plan_string(plan, plan->axes[i].name),
                   CHECKPOINT_AXIS_NAME_BYTES - 1) == 0;
  return same;
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
                       "%s: tensor %s has %lld element%s of %s there, %lld of %s in the plan",
                       checkpoint->path, name, (long long)entry->elements, plural(entry->elements),
                       entry->dtype < DTYPE_COUNT ? dtype_name((DType)entry->dtype) : "?",
                       (long long)tensor->elements, dtype_name((DType)tensor->dtype));
  return true;
}

static bool match_mesh(const Checkpoint *first, const Plan *plan, Status *status) {
  const CheckpointPart *part = first->part;
  if (checkpoint_same_mesh(part, plan)) return true;
  char saved[MESH_TEXT_BYTES], planned[MESH_TEXT_BYTES];
  return status_fail(status, STATUS_USER,
                     "%s: was saved %s%s, the plan is for %s%s: resume with the degrees and the "
                     "ZeRO stage that it was saved with, or start anew with resume = \"never\"",
                     first->path, part ? "in parts on " : "whole",
                     part ? mesh_text(saved, plan, part) : "", mesh_text(planned, plan, NULL),
                     job_state_axes(plan) ? " with state in parts" : " with whole state");
}

static bool match_rank(const Checkpoint *checkpoint, const Plan *plan, const PlanClass *class,
                       Status *status) {
  Matching matching = {.checkpoint = checkpoint, .plan = plan, .status = status};
  if (!checkpoint_each(plan, class, match_tensor, &matching)) return false;
  if (matching.entry == checkpoint->header->entry_count) return true;
  return status_fail(status, STATUS_USER, "%s: has tensor %s, which the plan lacks",
                     checkpoint->path, checkpoint->text + checkpoint->entry[matching.entry].name);
}

/* Missing or differently cut tensors follow from keys of the job, which is what the user can
 * change. */
bool checkpoint_match(const Checkpoint *own, const Plan *plan, const PlanClass *class,
                      const CheckpointChanges *changes, Status *status) {
  if (match_mesh(own, plan, status) && match_rank(own, plan, class, status)) return true;
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
                     own->path, experiment, experiments > 0 && layouts > 0 ? ", " : "", layout,
                     experiments > 0 ? "has other tensors" : "is cut differently");
}
