/* settings.c -- the resolved job as a table of the plan, with a hash of the traced model. */
#include "compiler/draft/emit/tables.h"
#include "runtime/plan/plan_graph.h"

void emit_settings(Tables *t, const Draft *d) {
  SettingList list = spec_settings(t->arena, d->job, &d->derived);
  for (int32_t i = 0; i < list.count; i++)
    TABLE_PUSH(
        t, settings,
        (PlanSetting){.effect = list.at[i].effect,
                      .key = table_string(t, list.at[i].key),
                      .value = table_string(t, list.at[i].value),
                      .origin = table_string(t, library_text(d->compile, list.at[i].origin))});
  Plan plan;
  char id[PLAN_GRAPH_BYTES];
  table_view(t, &plan);
  TABLE_PUSH(t, settings,
             (PlanSetting){.effect = SETTING_EXPERIMENT,
                           .key = table_string(t, PLAN_GRAPH_KEY),
                           .value = table_string(t, plan_graph_text(&plan, id)),
                           .origin = table_string(t, "derived: hash of the traced model")});
}
