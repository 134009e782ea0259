/* saved.c -- a checkpoint of ours as the weights that a run begins with: of its state only masters
 * and weights are read. Its degrees of parallelism may differ. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/model/huggingface.h"
#include "runtime/manifest/manifest.h"

enum { TOLD_MAX = 24 };

/* "step_00000300": the step, or -1. */
static long long step_of(const char *name) {
  char *end;
  if (strncmp(name, "step_", 5) != 0) return -1;
  long long step = strtoll(name + 5, &end, 10);
  return end != name + 5 && *end == '\0' ? step : -1;
}

static const char *newest_in(Model *model, const char *folder) {
  Arena *arena = model->compile->arena;
  const char *newest = NULL;
  long long best = -1;
  DIR *items = opendir(folder);
  for (struct dirent *item; items != NULL && (item = readdir(items)) != NULL;) {
    const char *path = arena_printf(arena, "%s/%s", folder, item->d_name);
    long long step = step_of(item->d_name);
    if (step <= best || !weights_is_checkpoint(path)) continue;
    best = step;
    newest = path;
  }
  if (items != NULL) (void)closedir(items);
  return newest;
}

bool saved_find_newest(Model *model) {
  Arena *arena = model->compile->arena;
  bool is_one = weights_is_checkpoint(model->weights);
  model->saved_path = is_one ? model->weights : newest_in(model, model->weights);
  if (model->saved_path == NULL)
    model->saved_path = newest_in(model, arena_printf(arena, "%s/checkpoint", model->weights));
  if (model->saved_path != NULL)
    VEC_PUSH(arena, &model->compile->read, ((ReadFile){.path = model->saved_path}));
  return model->saved_path != NULL;
}

bool saved_open_weights(Model *model) {
  Compile *c = model->compile;
  Status status = {0};
  size_t bytes = 0;
  char why[MANIFEST_WHY_BYTES] = "", *text;
  const Span at = {.file = model->saved_path};
  text = weights_manifest(model->saved_path, &bytes, &model->weights_sum, &status);
  if (text == NULL) return error_at(c, at, "weights-file", "%s", status.text);
  model->saved = ARENA_NEW(c->arena, Manifest);
  ManifestFault fault = manifest_read(model->saved, text, bytes, why);
  free(text);
  return fault == MANIFEST_WHOLE || error_at(c, at, "weights-file", "its manifest %s", why);
}

void saved_close_weights(Model *model) {
  if (model->saved != NULL) manifest_close(model->saved);
  model->saved = NULL;
}

/* The item that a parameter's layer begins with; item_count: there is none. */
static uint32_t find_item(const State *state, const char *name) {
  uint32_t item = state_find(state, name, BUFFER_MASTER);
  return item < state->item_count ? item : state_find(state, name, BUFFER_PARAM);
}

static bool same_dims(const Trace *t, const Param *param, const State *state, uint32_t item) {
  const PlanLayout *layout = &state->plan->layouts[state_tensor(state, &state->item[item])->layout];
  if (layout->dims_count != (uint32_t)param->dim_count) return false;
  for (int32_t i = 0; i < param->dim_count; i++) {
    const Dim *dim = &t->g->dims.at[param->dims[i]];
    int64_t size = dim->real_size > 0 ? dim->real_size : dim->size;
    if (state->plan->layout_dims[layout->dims_first + (uint32_t)i].real_size != size) return false;
  }
  return true;
}

/* The first layer of a parameter that does not fit is reported. */
static bool check_parameter(const Trace *t, const Param *param, const State *state) {
  const Region *region = &t->g->regions.at[param->region];
  const Span at = {.file = t->model->saved_path};
  char name[WEIGHTS_NAME_BYTES];
  for (int64_t layer = 0; layer < region->repeat; layer++) {
    if (!weights_name(name, param->name, region->is_stack ? (int32_t)layer : -1)) return false;
    uint32_t item = find_item(state, name);
    if (item == state->item_count)
      return error_at(t->g->compile, at, "weights-tensor", "it lacks parameter %s of the model",
                      name);
    if (!same_dims(t, param, state, item))
      return error_at(t->g->compile, at, "weights-tensor",
                      "parameter %s has other dimensions than in the model", name);
  }
  return true;
}

static bool is_of_model(const Trace *t, const char *name) {
  char layer_name[WEIGHTS_NAME_BYTES];
  for (int32_t i = 0; i < t->g->params.count; i++) {
    const Param *param = &t->g->params.at[i];
    const Region *region = &t->g->regions.at[param->region];
    for (int64_t layer = 0; layer < region->repeat; layer++)
      if (weights_name(layer_name, param->name, region->is_stack ? (int32_t)layer : -1) &&
          strcmp(layer_name, name) == 0)
        return true;
  }
  return false;
}

bool saved_check(Trace *t) {
  const State *state = &t->model->saved->state;
  int32_t told = 0;
  t->g->has_weights = true;
  t->g->weights_sum = t->model->weights_sum;
  for (int32_t i = 0; i < t->g->params.count && told < TOLD_MAX; i++)
    told += !check_parameter(t, &t->g->params.at[i], state);
  for (uint32_t i = 0; i < state->item_count && told < TOLD_MAX; i++) {
    uint32_t kind = state_tensor(state, &state->item[i])->kind;
    if ((kind != BUFFER_PARAM && kind != BUFFER_MASTER) || is_of_model(t, state->item[i].name) ||
        matches_any(&t->model->job->model.ignore, state->item[i].name))
      continue;
    told++;
    error_at(t->g->compile, (Span){.file = t->model->saved_path}, "weights-tensor",
             "tensor %s is no parameter of the model", state->item[i].name);
  }
  return told == 0;
}
