/* write.c -- the text of a manifest. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/manifest/sum.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"

static const char *kind_name(uint32_t buffer) {
  return state_kind_of(buffer)->name;
}

/* A JSON string. Bytes that are no ASCII pass as they are: names are UTF-8. */
static void put_text(FILE *to, const char *text) {
  (void)fputc('"', to);
  for (; *text != '\0'; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\')
      (void)fprintf(to, "\\%c", byte);
    else if (byte < 0x20)
      (void)fprintf(to, "\\u%04x", byte);
    else
      (void)fputc(byte, to);
  }
  (void)fputc('"', to);
}

static const char *comma(uint32_t i) {
  return i > 0 ? "," : "";
}

static void put_axes(FILE *to, const Plan *plan) {
  (void)fputs(",\n\"axes\":[", to);
  for (uint32_t i = 0; i < plan->axes_count; i++) {
    (void)fprintf(to, "%s[", comma(i));
    put_text(to, plan_string(plan, plan->axes[i].name));
    (void)fprintf(to, ",%u]", plan->axes[i].size);
  }
  (void)fputs("]", to);
}

static void put_dim(FILE *to, const Plan *plan, const PlanLayoutDim *dim) {
  (void)fputs("[", to);
  put_text(to, plan_string(plan, dim->name));
  (void)fprintf(to, ",%" PRId64 ",%" PRId64 ",[", dim->size, dim->real_size);
  for (uint32_t i = 0; i < dim->cuts_count; i++)
    (void)fprintf(to, "%s%u", comma(i), plan->cuts[dim->cuts_first + i].axis);
  (void)fputs("]]", to);
}

/* Layouts of saved tensors get new numbers, in order. */
static void put_layouts(FILE *to, const Plan *plan, const uint32_t *number, uint32_t count) {
  (void)fputs(",\n\"layouts\":[", to);
  for (uint32_t n = 0; n < count; n++)
    for (uint32_t i = 0; i < plan->layouts_count; i++) {
      const PlanLayout *layout = &plan->layouts[i];
      if (number[i] != n) continue;
      (void)fprintf(to, "%s\n{\"flat_axes\":%u,\"piece\":%" PRId64 ",\"dims\":[", comma(n),
                    layout->flat_axes, layout->piece);
      for (uint32_t d = 0; d < layout->dims_count; d++) {
        (void)fputs(comma(d), to);
        put_dim(to, plan, &plan->layout_dims[layout->dims_first + d]);
      }
      (void)fputs("]}", to);
    }
  (void)fputs("]", to);
}

static void put_tensor(FILE *to, const Plan *plan, const PlanTensor *tensor, uint32_t layout) {
  (void)fputs("\n[", to);
  put_text(to, plan_string(plan, tensor->name));
  (void)fprintf(to, ",\"%s\",\"%s\",%d,%u,%u]", kind_name(tensor->kind),
                state_dtype_name(state_saved_dtype(tensor)), tensor->layer_first,
                tensor->layer_count, layout);
}

static void put_classes(FILE *to, const Plan *plan, const uint32_t *layout, const bool *saved) {
  (void)fputs(",\n\"classes\":[", to);
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanClass *class = &plan->classes[c];
    uint32_t count = 0;
    (void)fprintf(to, "%s\n{\"name\":", comma(c));
    put_text(to, plan_string(plan, class->name));
    (void)fputs(",\"bounds\":[", to);
    for (uint32_t i = 0; i < class->bounds_count; i++) {
      const PlanBound *bound = &plan->bounds[class->bounds_first + i];
      (void)fprintf(to, "%s[%u,%u]", comma(i), bound->first, bound->end);
    }
    (void)fputs("],\"tensors\":[", to);
    for (uint32_t i = class->tensors_first; i < class->tensors_first + class->tensors_count; i++) {
      if (!saved[i]) continue;
      (void)fputs(comma(count++), to);
      put_tensor(to, plan, &plan->tensors[i], layout[plan->tensors[i].layout]);
    }
    (void)fputs("]}", to);
  }
  (void)fputs("]", to);
}

static void put_settings(FILE *to, const Plan *plan) {
  uint32_t count = 0;
  (void)fputs(",\n\"settings\":[", to);
  for (uint32_t i = 0; i < plan->settings_count; i++) {
    const PlanSetting *setting = &plan->settings[i];
    char number[SETTING_NUMBER_BYTES];
    if (!plan_setting_is_key(setting)) continue;
    (void)fprintf(to, "%s\n[", comma(count++));
    put_text(to, plan_string(plan, setting->key));
    (void)fputs(",", to);
    put_text(to, plan_setting_text(plan, setting, number));
    (void)fputs(",", to);
    put_text(to, plan_string(plan, setting->origin));
    (void)fprintf(to, ",\"%s\"]", SettingEffect_names[setting->effect]);
  }
  (void)fputs("]", to);
}

/* Marks the tensors that are saved; their layouts get numbers. Returns how many layouts. */
static uint32_t mark(const State *state, bool *saved, uint32_t *layout) {
  const Plan *plan = state->plan;
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->layouts_count; i++)
    layout[i] = PLAN_NONE;
  for (uint32_t i = 0; i < state->item_count; i++)
    saved[state->item[i].tensor] = true;
  for (uint32_t i = 0; i < plan->tensors_count; i++) {
    uint32_t *number = &layout[plan->tensors[i].layout];
    if (saved[i] && *number == PLAN_NONE) *number = count++;
  }
  return count;
}

static void put_run(FILE *to, const State *state, const ManifestRun *run) {
  (void)fprintf(to,
                ",\n\"program\":\"%s\",\"plan\":\"%016" PRIx64 "\",\"last_step\":%" PRId64
                ",\"sample_tokens\":%" PRId64 ",\"epoch_samples\":%" PRId64
                ",\"data\":\"%016" PRIx64 "\",\"part_bytes\":%" PRId64,
                run->program, run->plan_id, run->last_step, run->sample_tokens, run->epoch_samples,
                run->data_sum, state->part_bytes);
  if (run->weights_sum != 0) (void)fprintf(to, ",\"weights\":\"%016" PRIx64 "\"", run->weights_sum);
}

static bool put_tables(FILE *to, const State *state, const ManifestRun *run) {
  const Plan *plan = state->plan;
  bool *saved = calloc((size_t)plan->tensors_count + 1, sizeof *saved);
  uint32_t *layout = calloc((size_t)plan->layouts_count + 1, sizeof *layout);
  bool good = saved != NULL && layout != NULL;
  if (good) {
    uint32_t layouts = mark(state, saved, layout);
    put_run(to, state, run);
    put_axes(to, plan);
    put_layouts(to, plan, layout, layouts);
    put_classes(to, plan, layout, saved);
    put_settings(to, plan);
  }
  free(saved);
  free(layout);
  return good;
}

enum { FACTS_BYTES = 2048, PART_BYTES = 96, END_BYTES = 64 };

bool manifest_text_open(ManifestText *text, const State *state, const ManifestRun *run,
                        int32_t part_count) {
  *text = (ManifestText){.state = state};
  FILE *to = open_memstream(&text->run, &text->run_bytes);
  bool good = to != NULL && put_tables(to, state, run);
  if (to != NULL && fclose(to) != 0) good = false;
  text->room = FACTS_BYTES + text->run_bytes + (size_t)part_count * PART_BYTES + END_BYTES;
  text->text = good ? malloc(text->room) : NULL;
  if (text->text != NULL) return true;
  manifest_text_close(text);
  return false;
}

void manifest_text_close(ManifestText *text) {
  free(text->run);
  free(text->text);
  *text = (ManifestText){0};
}

bool manifest_slot_is_real(ControlSlot slot) {
  static const bool is_real[CONTROL_SLOT_COUNT] = {
#define CONTROL_SLOT(kind, type, writer, reduce, name, unit)                                       \
  [CONTROL_##name] = _Generic((CONTROL_TYPE_##type)0, double : true, default : false),
      CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
  };
  return is_real[slot];
}

/* A lasting control value, as JSON. */
static int put_slot(char *to, size_t room, Control *values, ControlSlot slot) {
  const void *value = control_value(values, slot);
  if (manifest_slot_is_real(slot))
    return snprintf(to, room, "\"%s\":%.17g", control_name(slot), *(const double *)value);
  return snprintf(to, room, "\"%s\":%" PRId64, control_name(slot), *(const int64_t *)value);
}

static size_t put_facts(char *to, size_t room, const ManifestFacts *facts) {
  Control values = facts->lasting;
  int used = snprintf(
      to, room,
      "{\"format\":\"lockstep\",\"version\":%d,\"step\":%" PRId64 ",\"save\":\"%016" PRIx64
      "\",\"generation\":%" PRId64 ",\"samples\":%" PRId64 ",\"lr\":%.17g,\"control\":{",
      CHECKPOINT_VERSION, facts->step, facts->save, facts->generation, facts->samples, facts->lr);
  bool is_first = true;
  for (ControlSlot slot = 0; slot < CONTROL_SLOT_COUNT; slot++) {
    if ((facts->lasting_mask & CONTROL_BIT(slot)) == 0) continue;
    if (!is_first) to[used++] = ',';
    is_first = false;
    used += put_slot(to + used, room - (size_t)used, &values, slot);
  }
  to[used++] = '}';
  return (size_t)used;
}

size_t manifest_text(ManifestText *text, const ManifestFacts *facts, const ManifestPart *part,
                     int32_t part_count) {
  static const char end[] = "],\n\"sum\":\"0000000000000000\"}\n";
  char *to = text->text;
  size_t used = put_facts(to, FACTS_BYTES, facts);
  memcpy(to + used, text->run, text->run_bytes);
  used += text->run_bytes;
  used += (size_t)snprintf(to + used, text->room - used, ",\n\"parts\":[");
  for (int32_t i = 0; i < part_count; i++)
    used +=
        (size_t)snprintf(to + used, text->room - used, "%s\n[%d,%" PRIu64 ",\"%016" PRIx64 "\"]",
                         comma((uint32_t)i), part[i].number, part[i].file_bytes, part[i].sum);
  memcpy(to + used, end, sizeof end);
  used += sizeof end - 1;
  char digits[MANIFEST_SUM_DIGITS + 1];
  (void)snprintf(digits, sizeof digits, "%016" PRIx64, XXH3_64bits(to, used));
  memcpy(to + used - MANIFEST_SUM_END, digits, MANIFEST_SUM_DIGITS);
  return used;
}
