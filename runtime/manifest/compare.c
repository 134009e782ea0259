/* compare.c -- compares a job with the one that made a checkpoint, key by key. */
#include "runtime/manifest/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *checkpoint_setting(const Checkpoint *checkpoint, const char *key) {
  const Plan *from = &checkpoint->manifest.plan;
  const PlanSetting *saved = plan_setting(from, key);
  return saved ? plan_string(from, saved->text) : NULL;
}

static bool is_derived(const char *origin) {
  return strncmp(origin, "derived", strlen("derived")) == 0;
}

/* The user did not write it: it may be a key that only one of the two program versions knows. */
static bool is_unsaid(const char *origin) {
  return is_derived(origin) || strcmp(origin, "default") == 0;
}

/* How a run is started does not change the experiment. */
static bool is_start(const char *key) {
  return strcmp(key, "checkpoint.resume") == 0;
}

static void add(CheckpointChanges *changes, CheckpointChange change) {
  if (!is_start(change.key)) changes->at[changes->count++] = change;
}

static void compare_planned(const Checkpoint *checkpoint, const Plan *plan, uint32_t i,
                            CheckpointChanges *changes) {
  const Plan *from = &checkpoint->manifest.plan;
  const PlanSetting *setting = &plan->settings[i];
  const char *key = plan_string(plan, setting->key);
  const char *after = plan_setting_text(plan, setting, changes->number[i]);
  const char *origin = plan_string(plan, setting->origin);
  const PlanSetting *saved = plan_setting(from, key);
  const char *before = saved ? plan_string(from, saved->text) : "none";
  if (!plan_setting_is_key(setting) || (!saved && is_unsaid(origin))) return;
  bool derived = is_derived(origin) && (!saved || is_derived(plan_string(from, saved->origin)));
  if (strcmp(before, after) != 0)
    add(changes, (CheckpointChange){key, before, after, setting->effect, derived});
}

/* Keys that the plan no longer has: sizes of a model, or keys of another version of this program.
 */
static void compare_saved(const Checkpoint *checkpoint, const Plan *plan, uint32_t i,
                          CheckpointChanges *changes) {
  const Plan *from = &checkpoint->manifest.plan;
  const PlanSetting *saved = &from->settings[i];
  const char *key = plan_string(from, saved->key);
  if (plan_setting(plan, key) || is_unsaid(plan_string(from, saved->origin))) return;
  add(changes,
      (CheckpointChange){key, plan_string(from, saved->text), "none", saved->effect, false});
}

/* Drops the changes that `drop` says. */
static void keep_changes(CheckpointChanges *changes, bool drop(const CheckpointChange *change)) {
  int32_t kept = 0;
  for (int32_t i = 0; i < changes->count; i++)
    if (!drop(&changes->at[i])) changes->at[kept++] = changes->at[i];
  changes->count = kept;
}

static bool is_graph(const CheckpointChange *change) {
  return strcmp(change->key, PLAN_GRAPH_KEY) == 0;
}

static bool is_model_name(const CheckpointChange *change) {
  return change->effect == SETTING_MODEL;
}

/* A model traces in the job's precision. */
static bool explains_graph(const CheckpointChange *change) {
  return !change->is_derived &&
         (is_model_name(change) || strncmp(change->key, "precision", strlen("precision")) == 0);
}

static bool is_data_path(const CheckpointChange *change) {
  return strcmp(change->key, PLAN_DATA_KEY) == 0;
}

static bool has(const CheckpointChanges *changes, bool wanted(const CheckpointChange *change)) {
  for (int32_t i = 0; i < changes->count; i++)
    if (wanted(&changes->at[i])) return true;
  return false;
}

/* The same model under another name, or with its defaults written out, is the same. If the graph
 * differs, the keys that explain it are reported instead of its hash. */
static void settle_model(CheckpointChanges *changes) {
  if (!has(changes, is_graph)) {
    keep_changes(changes, is_model_name);
    return;
  }
  if (has(changes, explains_graph)) {
    keep_changes(changes, is_graph);
    return;
  }
  for (int32_t i = 0; i < changes->count; i++)
    if (is_graph(&changes->at[i])) changes->at[i].is_derived = false;
}

/* The same data at another path are the same data; other data at the same path are not. */
static void settle_data(const Checkpoint *checkpoint, const Plan *plan, uint64_t data_sum,
                        CheckpointChanges *changes) {
  uint64_t before = checkpoint->manifest.run.data_sum;
  if (data_sum == before || before == MANIFEST_DATA_ANY) {
    keep_changes(changes, is_data_path);
    return;
  }
  const PlanSetting *setting = plan_setting(plan, PLAN_DATA_KEY);
  if (!setting || has(changes, is_data_path)) return;
  add(changes, (CheckpointChange){PLAN_DATA_KEY, plan_string(plan, setting->text), "other content",
                                  SETTING_EXPERIMENT, false});
}

/* A derived value that differs without a cause among the keys differs because the program's rules
 * have changed.
 */
static void settle_derived(CheckpointChanges *changes) {
  for (int32_t i = 0; i < changes->count; i++)
    if (!changes->at[i].is_derived) return;
  for (int32_t i = 0; i < changes->count; i++)
    if (changes->at[i].effect == SETTING_EXPERIMENT) changes->at[i].is_derived = false;
}

bool checkpoint_changes(const Checkpoint *checkpoint, const Plan *plan, uint64_t data_sum,
                        CheckpointChanges *changes, Status *status) {
  uint32_t saved = checkpoint->manifest.plan.settings_count;
  size_t most = (size_t)plan->settings_count + saved + 2; /* data and weights by content */
  *changes = (CheckpointChanges){.at = calloc(most, sizeof *changes->at),
                                 .number = calloc(most, sizeof *changes->number)};
  if (!changes->at || !changes->number)
    return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", checkpoint->path);
  for (uint32_t i = 0; i < plan->settings_count; i++)
    compare_planned(checkpoint, plan, i, changes);
  for (uint32_t i = 0; i < saved; i++)
    compare_saved(checkpoint, plan, i, changes);
  settle_data(checkpoint, plan, data_sum, changes);
  settle_model(changes);
  settle_derived(changes);
  return true;
}

static bool is_weights(const CheckpointChange *change) {
  return strcmp(change->key, PLAN_WEIGHTS_KEY) == 0;
}

void checkpoint_compare_weights(const Checkpoint *checkpoint, const Plan *plan, uint64_t sum,
                                CheckpointChanges *changes) {
  const uint64_t before = checkpoint->manifest.run.weights_sum;
  const PlanSetting *setting = plan_setting(plan, PLAN_WEIGHTS_KEY);
  if (before == sum || before == 0 || sum == 0 || setting == NULL || has(changes, is_weights))
    return;
  add(changes, (CheckpointChange){PLAN_WEIGHTS_KEY, plan_string(plan, setting->text),
                                  "other content", SETTING_EXPERIMENT, false});
}

void checkpoint_changes_free(CheckpointChanges *changes) {
  free(changes->at);
  free(changes->number);
  *changes = (CheckpointChanges){0};
}

int32_t checkpoint_changes_text(const CheckpointChanges *changes, uint32_t effects, bool derived,
                                char *text, size_t text_bytes) {
  enum { VALUE_SHOWN = 64 };
  int32_t count = 0, left_out = 0;
  size_t used = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < changes->count; i++) {
    const CheckpointChange *change = &changes->at[i];
    if ((effects >> change->effect & 1u) == 0 || (change->is_derived && !derived)) continue;
    char one[256];
    if (is_graph(change))
      (void)snprintf(one, sizeof one, "the model file (what it computes differs)");
    else
      (void)snprintf(one, sizeof one, "%.64s %.*s -> %.*s", change->key, VALUE_SHOWN,
                     change->before, VALUE_SHOWN, change->after);
    count++;
    bool fits = used + strlen(one) + sizeof ", and 1000 more" < text_bytes;
    if (fits)
      used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? ", " : "", one);
    else
      left_out++;
  }
  if (left_out > 0) (void)snprintf(text + used, text_bytes - used, ", and %d more", left_out);
  return count;
}
