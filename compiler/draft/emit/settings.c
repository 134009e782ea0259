/* settings.c -- the job in the plan: its resolved keys, what follows from job, model and machine,
 * and a hash of the traced model. The only place that writes these numbers. */
#include "compiler/job/settings.h"

#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/emit/tables.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"

static void emit_setting(Tables *t, const Draft *d, const ResolvedKey *setting) {
  TABLE_PUSH(t, settings,
             (PlanSetting){.count = setting->count,
                           .real = setting->real,
                           .effect = setting->effect,
                           .kind = setting->kind,
                           .key = table_string(t, setting->key),
                           .text = table_string(t, setting->text),
                           .origin = table_string(t, library_text(d->compile, setting->origin))});
}

static int64_t offset_of(const Stage *stage, int32_t buffer) {
  return stage->buffers.at[buffer].offset;
}

/* The rows that are no keys of the job; their order is of no account. */
static void derive_rows(const Draft *d, int64_t parameters, ResolvedKey row[JOB_ROW_COUNT]) {
  const Derived *derived = &d->derived;
  const Stage *first = &d->stages[0]; /* these offsets are the same on every stage */
  const Tier staging = first->buffers.at[first->staging_buffer].tier;
  row[JOB_accumulation].count = derived->accumulation;
  row[JOB_validate_samples].count = d->eval != NULL ? derived->validate_samples : 0;
  row[JOB_parameters].count = parameters;
  row[JOB_flops_per_token].count = d->flops_per_token;
  row[JOB_peak_flops_per_s].count = (int64_t)cost_peak(d);
  row[JOB_prefetch_steps].count = draft_prefetch_steps(d);
  row[JOB_control_depth].count = draft_control_depth(d);
  row[JOB_control_offset].count = offset_of(first, first->control_buffer);
  row[JOB_control_bytes].count = draft_control_bytes(d);
  row[JOB_control_ring_offset].count = offset_of(first, first->control_ring_buffer);
  row[JOB_staging_offset].count = offset_of(first, first->staging_buffer);
  row[JOB_samples_offset].count = offset_of(first, first->samples_buffer);
  row[JOB_sample_bytes].count = d->sample_bytes;
  row[JOB_threads].count = d->cluster->threads;
  row[JOB_vocab].count = token_vocab(d->train);
  row[JOB_state_axes].count =
      mesh_used(&d->mesh, TENSOR_AXES | MESH_BIT(MESH_PP) | draft_zero_axes(derived));
  row[JOB_target].text = Target_names[d->cluster->target];
  row[JOB_staging_tier].text = Tier_names[staging];
  row[JOB_config_json].text = d->train->config_json;
  row[JOB_model_folder].text = d->train->model_folder;
  row[JOB_device].text = d->cluster->device;
  row[JOB_model].text = d->train->model_name;
  row[JOB_loss].text = d->train->loss_name;
}

/* Checkpoints are compared by the content of the files, not by their folder. */
static void emit_weights(Tables *t, const Draft *d) {
  const Graph *g = d->train;
  if (g->has_weights)
    emit_setting(t, d,
                 &(ResolvedKey){
                     .effect = SETTING_EXPERIMENT,
                     .kind = SETTING_TEXT,
                     .key = PLAN_WEIGHTS_KEY,
                     .text = arena_printf(t->arena, "%016llx", (unsigned long long)g->weights_sum),
                     .origin = "the files"});
  if (g->tied_tensors != NULL)
    emit_setting(t, d,
                 &(ResolvedKey){.effect = SETTING_SAFE,
                                .kind = SETTING_TEXT,
                                .key = PLAN_TIED_KEY,
                                .text = g->tied_tensors,
                                .origin = "the files"});
}

/* The rows of settings.def, then the other keys. */
void emit_settings(Tables *t, const Draft *d, int64_t parameters) {
  SettingList list = spec_settings(t->arena, d->job, &d->derived);
  ResolvedKey row[JOB_ROW_COUNT] = {0};
  bool *is_row = arena_alloc(t->arena, (size_t)list.count * sizeof *is_row);
  derive_rows(d, parameters, row);
  for (int32_t i = 0; i < JOB_ROW_COUNT; i++) {
    row[i].key = job_rows[i].key;
    row[i].kind = job_rows[i].kind;
    row[i].effect = SETTING_DERIVED;
    row[i].origin = "derived";
    for (int32_t k = 0; k < list.count; k++)
      if (strcmp(list.at[k].key, row[i].key) == 0) row[i] = list.at[k], is_row[k] = true;
    emit_setting(t, d, &row[i]);
  }
  for (int32_t k = 0; k < list.count; k++)
    if (!is_row[k]) emit_setting(t, d, &list.at[k]);
  emit_weights(t, d);
  Plan plan;
  char id[PLAN_GRAPH_BYTES];
  table_view(t, &plan);
  emit_setting(t, d,
               &(ResolvedKey){.effect = SETTING_EXPERIMENT,
                              .kind = SETTING_TEXT,
                              .key = PLAN_GRAPH_KEY,
                              .text = plan_graph_text(&plan, id),
                              .origin = "derived: hash of the traced model"});
}
