/* read.c -- a manifest from its text. Everything that later code relies on is checked here: the
 * text may have been made by anybody. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/manifest/sum.h"
#include "runtime/plan/plan_text.h"

enum {
  RANKS_MAX = 1 << 20,
  ITEMS_MAX = 1 << 22, /* layers of tensors */
  STRINGS_MAX = 64 << 20
};
static const int64_t elements_max = (int64_t)1 << 48;

/* Memory of the plan's tables. */
typedef struct ManifestTables {
  PlanAxis *axes;
  PlanClass *classes;
  PlanBound *bounds;
  PlanTensor *tensors;
  PlanLayout *layouts;
  PlanLayoutDim *dims;
  PlanCut *cuts;
  PlanSetting *settings;
  char *strings;
} ManifestTables;

/* A text being read. */
typedef struct ManifestReading {
  Manifest *to;
  json_t *root;
  char *why;
  ManifestFault fault;
  ManifestTables *t; /* while they are filled; the manifest's */
  uint32_t strings_used;
} ManifestReading;

static bool refuse(ManifestReading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(ManifestReading *r, const char *format, ...) {
  va_list more;
  va_start(more, format);
  (void)vsnprintf(r->why, MANIFEST_WHY_BYTES, format, more);
  va_end(more);
  r->fault = MANIFEST_DAMAGED;
  return false;
}

/* ---- values */

static bool whole_of(const json_t *value, int64_t least, int64_t most, int64_t *number) {
  if (!json_is_integer(value)) return false;
  *number = json_integer_value(value);
  return *number >= least && *number <= most;
}

static bool whole(ManifestReading *r, const char *key, int64_t least, int64_t most,
                  int64_t *number) {
  return whole_of(json_object_get(r->root, key), least, most, number) ||
         refuse(r, "has no number '%s' in its range", key);
}

static bool u32_of(const json_t *value, int64_t most, uint32_t *number) {
  int64_t wide = 0;
  bool good = whole_of(value, 0, most, &wide);
  *number = (uint32_t)wide;
  return good;
}

static bool hex_of(const json_t *value, uint64_t *number) {
  const char *text = json_string_value(value);
  char *end;
  if (text == NULL || strlen(text) != MANIFEST_SUM_DIGITS ||
      strspn(text, "0123456789abcdef") != MANIFEST_SUM_DIGITS)
    return false;
  *number = strtoull(text, &end, 16);
  return true;
}

static bool hex(ManifestReading *r, const char *key, uint64_t *number) {
  return hex_of(json_object_get(r->root, key), number) || refuse(r, "has no 16 digits '%s'", key);
}

/* Strings have room: they are parts of the text. */
static bool string_of(ManifestReading *r, const json_t *value, uint32_t *offset) {
  const char *text = json_string_value(value);
  if (text == NULL) return false;
  *offset = r->strings_used;
  size_t bytes = strlen(text) + 1;
  memcpy(r->t->strings + r->strings_used, text, bytes);
  r->strings_used += (uint32_t)bytes;
  return true;
}

static const json_t *list(ManifestReading *r, const char *key) {
  const json_t *value = json_object_get(r->root, key);
  if (json_is_array(value)) return value;
  (void)refuse(r, "has no list '%s'", key);
  return NULL;
}

/* ---- tables */

static bool read_axes(ManifestReading *r) {
  const json_t *axes = list(r, "axes"), *axis;
  size_t i;
  int64_t ranks = 1;
  if (axes == NULL) return false;
  if (json_array_size(axes) > PLAN_AXES_MAX) return refuse(r, "has too many axes");
  json_array_foreach((json_t *)axes, i, axis) {
    if (!string_of(r, json_array_get(axis, 0), &r->t->axes[i].name) ||
        !u32_of(json_array_get(axis, 1), RANKS_MAX / ranks, &r->t->axes[i].size) ||
        r->t->axes[i].size == 0)
      return refuse(r, "has an axis %zu that is none", i);
    ranks *= r->t->axes[i].size;
  }
  r->to->plan.axes_count = (uint32_t)json_array_size(axes);
  for (uint32_t n = r->to->plan.axes_count, stride = 1; n-- > 0;) {
    r->t->axes[n].rank_stride = r->t->axes[n].size > 1 ? stride : 0;
    stride *= r->t->axes[n].size;
  }
  return true;
}

static bool read_dim(ManifestReading *r, const json_t *from, int64_t *elements) {
  Plan *plan = &r->to->plan;
  PlanLayoutDim *dim = &r->t->dims[plan->layout_dims_count++];
  const json_t *cuts = json_array_get(from, 3), *cut;
  size_t i;
  uint32_t used = 0;
  if (!string_of(r, json_array_get(from, 0), &dim->name) ||
      !whole_of(json_array_get(from, 1), 1, elements_max, &dim->size) ||
      !whole_of(json_array_get(from, 2), 0, dim->size, &dim->real_size) || !json_is_array(cuts) ||
      __builtin_mul_overflow(*elements, dim->size, elements) || *elements > elements_max)
    return false;
  dim->cuts_first = plan->cuts_count;
  dim->cuts_count = (uint32_t)json_array_size(cuts);
  json_array_foreach((json_t *)cuts, i, cut) {
    uint32_t *axis = &r->t->cuts[plan->cuts_count++].axis;
    if (!u32_of(cut, (int64_t)plan->axes_count - 1, axis) || (used >> *axis & 1u) != 0)
      return false;
    used |= 1u << *axis;
  }
  return true;
}

static bool read_layout(ManifestReading *r, const json_t *from) {
  Plan *plan = &r->to->plan;
  PlanLayout *layout = &r->t->layouts[plan->layouts_count++];
  const json_t *dims = json_object_get(from, "dims"), *dim;
  size_t i;
  int64_t elements = 1;
  if (!u32_of(json_object_get(from, "flat_axes"), (1 << plan->axes_count) - 1,
              &layout->flat_axes) ||
      !whole_of(json_object_get(from, "piece"), 0, elements_max, &layout->piece) ||
      !json_is_array(dims) || json_array_size(dims) > STATE_DIMS_MAX)
    return false;
  layout->dims_first = plan->layout_dims_count;
  layout->dims_count = (uint32_t)json_array_size(dims);
  json_array_foreach((json_t *)dims, i, dim) {
    if (!read_dim(r, dim, &elements)) return false;
  }
  return true;
}

static bool read_layouts(ManifestReading *r) {
  const json_t *layouts = list(r, "layouts"), *layout;
  size_t i;
  if (layouts == NULL) return false;
  json_array_foreach((json_t *)layouts, i, layout) {
    if (!read_layout(r, layout)) return refuse(r, "has a layout %zu that is none", i);
  }
  return true;
}

static DType dtype_named(const char *name) {
  DType dtype = 0;
  while (dtype < DTYPE_COUNT && strcmp(state_dtype_name(dtype), name) != 0)
    dtype++;
  return dtype;
}

static bool read_tensor(ManifestReading *r, const json_t *from, int64_t *items) {
  Plan *plan = &r->to->plan;
  PlanTensor *tensor = &r->t->tensors[plan->tensors_count++];
  const char *kind = json_string_value(json_array_get(from, 1));
  const char *dtype = json_string_value(json_array_get(from, 2));
  int64_t first = 0;
  if (!string_of(r, json_array_get(from, 0), &tensor->name) || kind == NULL || dtype == NULL ||
      state_kind_named(kind) == NULL || dtype_named(dtype) == DTYPE_COUNT ||
      !whole_of(json_array_get(from, 3), -1, ITEMS_MAX, &first) ||
      !u32_of(json_array_get(from, 4), ITEMS_MAX - *items, &tensor->layer_count) ||
      !u32_of(json_array_get(from, 5), (int64_t)plan->layouts_count - 1, &tensor->layout))
    return false;
  tensor->kind = state_kind_named(kind)->buffer;
  tensor->dtype = dtype_named(dtype);
  tensor->layer_first = (int32_t)first;
  *items += tensor->layer_count;
  return true;
}

static bool read_bounds(ManifestReading *r, PlanClass *class, const json_t *bounds) {
  Plan *plan = &r->to->plan;
  class->bounds_first = plan->bounds_count;
  class->bounds_count = plan->axes_count;
  class->rank_count = 1;
  if (json_array_size(bounds) != plan->axes_count) return false;
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    PlanBound *bound = &r->t->bounds[plan->bounds_count++];
    const json_t *from = json_array_get(bounds, i);
    if (!u32_of(json_array_get(from, 0), r->t->axes[i].size, &bound->first) ||
        !u32_of(json_array_get(from, 1), r->t->axes[i].size, &bound->end) ||
        bound->first >= bound->end)
      return false;
    class->rank_count *= bound->end - bound->first;
  }
  return true;
}

static bool read_class(ManifestReading *r, const json_t *from, int64_t *items) {
  Plan *plan = &r->to->plan;
  PlanClass *class = &r->t->classes[plan->classes_count++];
  const json_t *tensors = json_object_get(from, "tensors"), *tensor;
  size_t i;
  if (!string_of(r, json_object_get(from, "name"), &class->name) || !json_is_array(tensors) ||
      !read_bounds(r, class, json_object_get(from, "bounds")))
    return false;
  class->tensors_first = plan->tensors_count;
  class->tensors_count = (uint32_t)json_array_size(tensors);
  json_array_foreach((json_t *)tensors, i, tensor) {
    if (!read_tensor(r, tensor, items)) return false;
  }
  return true;
}

static bool read_classes(ManifestReading *r) {
  const json_t *classes = list(r, "classes"), *class;
  size_t i;
  int64_t items = 0;
  if (classes == NULL) return false;
  json_array_foreach((json_t *)classes, i, class) {
    if (!read_class(r, class, &items)) return refuse(r, "has a class %zu that is none", i);
  }
  return true;
}

static SettingEffect effect_named(const char *name) {
  SettingEffect effect = 0;
  while (effect < SettingEffect_COUNT && strcmp(SettingEffect_names[effect], name) != 0)
    effect++;
  return effect;
}

static bool read_settings(ManifestReading *r) {
  const json_t *settings = list(r, "settings"), *from;
  size_t i;
  if (settings == NULL) return false;
  json_array_foreach((json_t *)settings, i, from) {
    PlanSetting *setting = &r->t->settings[r->to->plan.settings_count++];
    const char *effect = json_string_value(json_array_get(from, 3));
    if (!string_of(r, json_array_get(from, 0), &setting->key) ||
        !string_of(r, json_array_get(from, 1), &setting->text) ||
        !string_of(r, json_array_get(from, 2), &setting->origin) || effect == NULL ||
        effect_named(effect) == SettingEffect_COUNT)
      return refuse(r, "has a setting %zu that is none", i);
    setting->kind = SETTING_TEXT;
    setting->effect = effect_named(effect);
  }
  return true;
}

static bool read_parts(ManifestReading *r) {
  const json_t *parts = list(r, "parts"), *from;
  size_t i;
  Manifest *to = r->to;
  if (parts == NULL) return false;
  to->part = calloc(json_array_size(parts) + 1, sizeof *to->part);
  if (to->part == NULL) return refuse(r, "needs more memory than there is");
  json_array_foreach((json_t *)parts, i, from) {
    ManifestPart *part = &to->part[to->part_count++];
    int64_t number = 0, bytes = 0;
    if (!whole_of(json_array_get(from, 0), i > 0 ? part[-1].number + 1 : 0, RANKS_MAX, &number) ||
        !whole_of(json_array_get(from, 1), 0, INT64_MAX, &bytes) ||
        !hex_of(json_array_get(from, 2), &part->sum))
      return refuse(r, "has a part %zu that is none", i);
    part->number = (int32_t)number;
    part->file_bytes = (uint64_t)bytes;
  }
  return true;
}

/* ---- facts */

static bool read_slots(ManifestReading *r) {
  ManifestFacts *facts = &r->to->facts;
  const json_t *control = json_object_get(r->root, "control");
  if (!json_is_object(control)) return refuse(r, "has no control values");
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++) {
    const json_t *value = json_object_get(control, control_name(slot));
    void *to = control_value(&facts->lasting, slot);
    if (value == NULL) continue;
    facts->lasting_mask |= CONTROL_BIT(slot);
    if (!json_is_number(value))
      return refuse(r, "has no number as control value %s", control_name(slot));
    if (manifest_slot_is_real(slot))
      *(double *)to = json_number_value(value);
    else
      *(int64_t *)to = json_integer_value(value);
  }
  return true;
}

static bool read_facts(ManifestReading *r) {
  Manifest *to = r->to;
  const char *program = json_text(r->root, "program");
  const json_t *lr = json_object_get(r->root, "lr");
  if (program == NULL || !json_is_number(lr)) return refuse(r, "lacks its program or its lr");
  to->facts.lr = json_number_value(lr);
  (void)snprintf(to->run.program, sizeof to->run.program, "%s", program);
  return hex(r, "plan", &to->run.plan_id) && hex(r, "data", &to->run.data_sum) &&
         (json_object_get(r->root, "weights") == NULL || hex(r, "weights", &to->run.weights_sum)) &&
         hex(r, "save", &to->facts.save) && whole(r, "step", 0, INT64_MAX - 1, &to->facts.step) &&
         whole(r, "generation", 0, INT64_MAX, &to->facts.generation) &&
         whole(r, "samples", 0, INT64_MAX, &to->facts.samples) &&
         whole(r, "last_step", 0, INT64_MAX, &to->run.last_step) &&
         whole(r, "sample_tokens", 0, INT64_MAX, &to->run.sample_tokens) &&
         (json_object_get(r->root, "epoch_samples") == NULL ||
          whole(r, "epoch_samples", 0, INT64_MAX, &to->run.epoch_samples)) &&
         read_slots(r);
}

/* ---- the whole */

/* No table has more records than the text has bytes. */
static bool make_room(ManifestReading *r, size_t bytes) {
  r->t = r->to->tables = calloc(1, sizeof *r->t);
  if (r->t == NULL) return false;
  size_t values = bytes / 2 + 8; /* a value and what separates it from the next */
  r->t->axes = calloc(PLAN_AXES_MAX, sizeof *r->t->axes);
  r->t->classes = calloc(values / 16, sizeof *r->t->classes);
  r->t->bounds = calloc(values / 2, sizeof *r->t->bounds);
  r->t->tensors = calloc(values / 8 + 8, sizeof *r->t->tensors);
  r->t->layouts = calloc(values / 8 + 8, sizeof *r->t->layouts);
  r->t->dims = calloc(values / 4 + 8, sizeof *r->t->dims);
  r->t->cuts = calloc(values, sizeof *r->t->cuts);
  r->t->settings = calloc(values / 4 + 8, sizeof *r->t->settings);
  r->t->strings = malloc(bytes + 1);
  return r->t->axes && r->t->classes && r->t->bounds && r->t->tensors && r->t->layouts &&
         r->t->dims && r->t->cuts && r->t->settings && r->t->strings;
}

static void use_tables(ManifestReading *r) {
  const ManifestTables *t = r->t;
  Plan *plan = &r->to->plan;
  plan->axes = t->axes;
  plan->classes = t->classes;
  plan->bounds = t->bounds;
  plan->tensors = t->tensors;
  plan->layouts = t->layouts;
  plan->layout_dims = t->dims;
  plan->cuts = t->cuts;
  plan->settings = t->settings;
  plan->strings = t->strings;
  plan->strings_count = r->strings_used;
}

static bool read_all(ManifestReading *r) {
  Manifest *to = r->to;
  Status status = {0};
  int64_t part_bytes = 0;
  if (!read_axes(r) || !read_layouts(r) || !read_classes(r) || !read_settings(r) ||
      !read_parts(r) || !read_facts(r) || !whole(r, "part_bytes", 1, INT64_MAX / 2, &part_bytes))
    return false;
  use_tables(r);
  if (!state_open(&to->state, &to->plan, &status)) {
    (void)refuse(r, "%.200s", status.text);
    if (status.code == STATUS_WORLD) r->fault = MANIFEST_NO_MEMORY;
    return false;
  }
  to->state.part_bytes = part_bytes;
  return true;
}

/* The text ends with the sum, which is that of the text with zeros in its place. */
static bool sum_agrees(const char *text, size_t bytes) {
  static const char head[] = "\"sum\":\"", zeros[] = "0000000000000000", end[] = "\"}\n";
  size_t at = bytes - MANIFEST_SUM_END;
  XXH3_state_t state;
  char digits[MANIFEST_SUM_DIGITS + 1];
  if (bytes < MANIFEST_SUM_END + sizeof head ||
      memcmp(text + at - (sizeof head - 1), head, sizeof head - 1) != 0 ||
      memcmp(text + at + MANIFEST_SUM_DIGITS, end, sizeof end - 1) != 0)
    return false;
  (void)XXH3_64bits_reset(&state);
  (void)XXH3_64bits_update(&state, text, at);
  (void)XXH3_64bits_update(&state, zeros, MANIFEST_SUM_DIGITS);
  (void)XXH3_64bits_update(&state, text + at + MANIFEST_SUM_DIGITS, sizeof end - 1);
  (void)snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(&state));
  return memcmp(digits, text + at, MANIFEST_SUM_DIGITS) == 0;
}

static bool is_of_format(ManifestReading *r) {
  const char *format = json_text(r->root, "format");
  int64_t version = json_whole(r->root, "version", -1);
  if (format == NULL || strcmp(format, "lockstep") != 0 || version < 0)
    return refuse(r, "is no manifest of a checkpoint");
  if (version == CHECKPOINT_VERSION) return true;
  (void)refuse(r,
               "has checkpoint format %lld, this program reads %d: go on with the program that "
               "wrote it, or start anew with --resume never",
               (long long)version, CHECKPOINT_VERSION);
  r->fault = MANIFEST_FOREIGN;
  return false;
}

bool manifest_is_of(const Manifest *manifest, const char *path, char why[MANIFEST_WHY_BYTES]) {
  static const char prefix[] = "step_";
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const char *digits = name + sizeof prefix - 1;
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return true;
  if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0') return true;
  if (strtoll(digits, NULL, 10) == manifest->facts.step) return true;
  (void)snprintf(why, MANIFEST_WHY_BYTES, "is damaged: it is that of step %lld",
                 (long long)manifest->facts.step);
  return false;
}

ManifestFault manifest_read(Manifest *manifest, const char *text, size_t bytes,
                            char why[MANIFEST_WHY_BYTES]) {
  JsonFault fault = {0};
  *manifest = (Manifest){0};
  ManifestReading r = {.to = manifest, .why = why, .fault = MANIFEST_WHOLE};
  (void)snprintf(why, MANIFEST_WHY_BYTES, "is damaged");
  if (!sum_agrees(text, bytes)) return MANIFEST_DAMAGED;
  r.root = json_read(text, bytes, &fault);
  if (r.root == NULL) {
    (void)refuse(&r, "is damaged: %.200s", fault.why);
    return MANIFEST_DAMAGED;
  }
  bool read = is_of_format(&r) && make_room(&r, bytes) && read_all(&r);
  if (!read && r.fault == MANIFEST_WHOLE) r.fault = MANIFEST_NO_MEMORY;
  if (r.fault == MANIFEST_NO_MEMORY)
    (void)snprintf(why, MANIFEST_WHY_BYTES, "needs more memory than there is");
  json_decref(r.root);
  if (!read) manifest_close(manifest);
  return r.fault;
}

void manifest_close(Manifest *manifest) {
  state_close(&manifest->state);
  ManifestTables *t = manifest->tables;
  if (t != NULL) {
    free(t->axes);
    free(t->classes);
    free(t->bounds);
    free(t->tensors);
    free(t->layouts);
    free(t->dims);
    free(t->cuts);
    free(t->settings);
    free(t->strings);
  }
  free(t);
  free(manifest->part);
  *manifest = (Manifest){0};
}

const ManifestPart *manifest_part(const Manifest *manifest, int32_t number) {
  int32_t first = 0, end = manifest->part_count;
  while (first < end) {
    int32_t middle = first + (end - first) / 2;
    if (manifest->part[middle].number == number) return &manifest->part[middle];
    if (manifest->part[middle].number < number)
      first = middle + 1;
    else
      end = middle;
  }
  return NULL;
}
