/* settings.c -- every key of a job as it was resolved, with its exact value: the record of a run,
 * and how a job is compared with that of a checkpoint. Equal texts are equal values: "4096 tokens"
 * and "16 sequences" of 256 become the same text. */
#include "compiler/job/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/job/offload.h"
#include "compiler/job/units.h"

/* Keys that do not change the experiment. All others do: a change of a new key is refused on resume
 * until someone has thought about it. */
static const struct {
  int32_t field;
  SettingEffect effect;
} effects[] = {
    {FIELD_job_name, SETTING_SAFE},
    {FIELD_job_reason, SETTING_SAFE},
    {FIELD_job_accept, SETTING_SAFE},
    {FIELD_model_vocab_multiple, SETTING_LAYOUT},
    {FIELD_model_weights, SETTING_SAFE}, /* model.weights_hash is compared */
    {FIELD_data_valid, SETTING_SAFE},
    {FIELD_data_prefetch, SETTING_SAFE},
    {FIELD_train_microbatch, SETTING_SAFE},
    {FIELD_train_steps, SETTING_SCHEDULE},
    {FIELD_train_deterministic, SETTING_SAFE},
    {FIELD_train_validate_every, SETTING_SAFE},
    {FIELD_train_validate_steps, SETTING_SAFE},
    {FIELD_optimizer_lr, SETTING_SCHEDULE},
    {FIELD_precision_loss_scale, SETTING_SAFE},
    {FIELD_parallel_order, SETTING_SAFE},
    {FIELD_parallel_tp_across, SETTING_SAFE},
};

/* Sections whose keys, and whose word, all have the same effect. */
static const struct {
  int32_t section;
  SettingEffect effect;
} section_effects[] = {
    {SECTION_schedule, SETTING_SCHEDULE}, {SECTION_parallel, SETTING_LAYOUT},
    {SECTION_cluster, SETTING_SAFE},      {SECTION_memory, SETTING_SAFE},
    {SECTION_offload, SETTING_SAFE},      {SECTION_checkpoint, SETTING_SAFE},
    {SECTION_log, SETTING_SAFE},          {SECTION_sample, SETTING_SAFE},
    {SECTION_slurm, SETTING_SAFE},
};

static SettingEffect section_effect(int32_t section) {
  for (size_t i = 0; i < sizeof section_effects / sizeof *section_effects; i++)
    if (section_effects[i].section == section) return section_effects[i].effect;
  return SETTING_EXPERIMENT;
}

SettingEffect spec_effect(int32_t section, int32_t field) {
  if (field < 0) return section_effect(section);
  for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
    if (effects[i].field == field) return effects[i].effect;
  return section_effect((int32_t)spec_fields[field].section);
}

/* ---- values */

/* In double quotes if the name contains a separator, so that two lists never have one text. */
static const char *exact_name(Arena *arena, const char *name) {
  if (*name != '\0' && strpbrk(name, " ,;:\"\t\r\n") == NULL) return name;
  const char *text = "\"";
  for (; *name != '\0'; name++)
    text = arena_printf(arena, "%s%s%c", text, *name == '"' ? "\"" : "", *name);
  return arena_printf(arena, "%s\"", text);
}

/* A long list is cut for people, and ends with the hash of all of it. */
static const char *exact_list(Arena *arena, const TextList *list) {
  enum { SHOWN = 3 };
  const char *shown = "", *all = "";
  for (int32_t i = 0; i < list->count && i < SHOWN; i++)
    shown = arena_printf(arena, "%s%s%s", shown, i ? " " : "", exact_name(arena, list->at[i]));
  if (list->count <= SHOWN) return shown;
  for (int32_t i = 0; i < list->count; i++)
    all = arena_printf(arena, "%016llx %s", (unsigned long long)hash_text(all), list->at[i]);
  return arena_printf(arena, "%s ... (%d files, #%08llx)", shown, list->count,
                      (unsigned long long)(hash_text(all) & 0xffffffff));
}

static const char *exact_columns(Arena *arena, const ColumnList *inputs) {
  const char *text = "";
  for (int32_t i = 0; i < inputs->count; i++) {
    text =
        arena_printf(arena, "%s%s%s:", text, i ? "; " : "", exact_name(arena, inputs->at[i].input));
    for (int32_t k = 0; k < inputs->at[i].names.count; k++)
      text = arena_printf(arena, "%s %s", text, exact_name(arena, inputs->at[i].names.at[k]));
  }
  return text;
}

static const char *exact_counts(Arena *arena, const CountList *list) {
  const char *text = "";
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(arena, "%s%s%lld", text, i ? " " : "", (long long)list->at[i]);
  return text;
}

static ResolvedKey text_of(const char *text) {
  return (ResolvedKey){.kind = SETTING_TEXT, .text = text};
}

static ResolvedKey count_of(int64_t count, const char *unit) {
  return (ResolvedKey){.kind = SETTING_COUNT, .count = count, .text = unit};
}

static ResolvedKey real_of(double real, const char *unit) {
  return (ResolvedKey){.kind = SETTING_REAL, .real = real, .text = unit};
}

static ResolvedKey flag_of(bool flag) {
  return (ResolvedKey){.kind = SETTING_FLAG, .count = flag, .text = ""};
}

static ResolvedKey choice_of(Arena *arena, const Job *job, int32_t field) {
  const int32_t *at = field_at((Job *)job, field);
  const char *word = word_at(arena, spec_fields[field].values, *at);
  int64_t count = numbered_count(job, field);
  const Amount *part = offload_part((Job *)job, field);
  if (part != NULL && part->value > 0)
    return text_of(arena_printf(arena, "%s, %s = %.15g %s", word,
                                part->unit == UNIT_PERCENT ? "share" : "most", part->value,
                                part->unit == UNIT_PERCENT ? "%" : "B"));
  if (field == FIELD_precision_linear && job->is_fp8_by_block)
    return text_of(arena_printf(arena, "%s, scaling = block", word));
  return text_of(count == 0 ? word
                            : arena_printf(arena, "%s, %s = %lld", word, numbered_key(field),
                                           (long long)count));
}

/* The batch and the length, converted to one unit. */
static ResolvedKey amount_of(const Job *job, const Derived *derived, int32_t field) {
  if (field == FIELD_train_steps) return count_of(derived->steps, "");
  if (field == FIELD_train_batch)
    return count_of(derived->batch_samples,
                    job->train.batch.unit == UNIT_SAMPLES ? "samples" : "sequences");
  const Amount *amount = field_at((Job *)job, field);
  if (amount->unit == UNIT_NONE) return count_of((int64_t)amount->value, "");
  if (amount->unit == UNIT_NEVER || amount->unit == UNIT_AUTO)
    return text_of(units_word(amount->unit));
  return real_of(amount->value, amount->unit == UNIT_BYTES ? "B" : units_word(amount->unit));
}

static ResolvedKey value_of(Arena *arena, const Job *job, const Derived *derived, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  const void *at = field_at((Job *)job, field);
  if (!job->set[field]) return (ResolvedKey){.kind = SETTING_NONE, .text = ""};
  switch (info->kind) {
  case KIND_TEXT:
  case KIND_PATH: {
    const char *text = *(const char *const *)at;
    return text ? text_of(text) : (ResolvedKey){.kind = SETTING_NONE, .text = ""};
  }
  case KIND_COUNT:
  case KIND_COUNT_OR:
  case KIND_BYTES:
  case KIND_BYTES_OR: {
    int64_t number = *(const int64_t *)at;
    bool is_word = number < 0 && (info->kind == KIND_COUNT_OR || info->kind == KIND_BYTES_OR);
    if (is_word) return text_of(word_at(arena, info->values, (int32_t)(-1 - number)));
    return count_of(number, info->kind == KIND_BYTES || info->kind == KIND_BYTES_OR ? "B" : "");
  }
  case KIND_COUNTS: return text_of(exact_counts(arena, at));
  case KIND_NUMBER: return real_of(*(const double *)at, "");
  case KIND_RATE: return real_of(*(const double *)at, "B/s");
  case KIND_FLAG: return flag_of(*(const bool *)at);
  case KIND_CHOICE: return choice_of(arena, job, field);
  case KIND_SCALE:
    return *(const int32_t *)at == LOSS_SCALE_CONSTANT
               ? real_of(job->loss_scale.number[LOSS_SCALE_OF_INIT], "")
               : text_of(word_at(arena, info->values, *(const int32_t *)at));
  case KIND_AMOUNT: return amount_of(job, derived, field);
  case KIND_LIST: return text_of(exact_list(arena, at));
  case KIND_COLUMNS: return text_of(exact_columns(arena, at));
  case KIND_WORDS: return text_of(exact_list(arena, at));
  case KIND_PAIRS: break; /* of slurm, which is no part of the plan */
  }
  return text_of("");
}

/* ---- the list: where a plan runs is no part of it, so slurm is left out */

static void add_head(Arena *arena, const Job *job, int32_t section, SettingList *out) {
  const SectionInfo *info = &spec_sections[section];
  const char *base = (const char *)job;
  if (section == SECTION_job || strcmp(info->head, "none") == 0) return;
  const Origin *origin = (const Origin *)(const void *)(base + info->origin_offset);
  ResolvedKey setting = text_of(*(const char *const *)(const void *)(base + info->text_offset));
  setting.effect = section == SECTION_model ? SETTING_MODEL : section_effect(section);
  setting.key = info->name;
  setting.origin = origin_text(arena, origin);
  VEC_PUSH(arena, out, setting);
}

static void add_size(Arena *arena, const ModelSize *size, SettingList *out) {
  ResolvedKey setting = size->kind == SIZE_TEXT   ? text_of(size->text)
                        : size->kind == SIZE_FLAG ? flag_of(size->number != 0)
                                                  : real_of(size->number, "");
  setting.effect = SETTING_MODEL;
  setting.key = arena_printf(arena, "model.%s", size->name);
  setting.origin = origin_text(arena, &size->origin);
  VEC_PUSH(arena, out, setting);
}

/* Keys that a plan has only where they change what it does, so that others stay as they were. */
static bool is_left_out(const Job *job, int32_t field) {
  return (field == FIELD_checkpoint_memory && !job->set[field]) ||
         (field == FIELD_data_documents && !job_is_apart(job)) ||
         (field == FIELD_data_fill && !job_is_packed(job)) ||
         (spec_fields[field].section == SECTION_sample && job->use != USE_SAMPLE &&
          !field_is_said(job, field));
}

static void add_field(Arena *arena, const Job *job, const Derived *derived, int32_t field,
                      SettingList *out) {
  if (is_left_out(job, field)) return;
  ResolvedKey setting = value_of(arena, job, derived, field);
  setting.effect = spec_effect((int32_t)spec_fields[field].section, field);
  setting.key = field_name(arena, field);
  setting.origin = origin_text(arena, &job->origin[field]);
  VEC_PUSH(arena, out, setting);
}

/* Adds the numbers of the loss scale as settings precision.loss_scale.KEY. */
static void add_loss_scale(Arena *arena, const Job *job, SettingList *out) {
  const int32_t field = FIELD_precision_loss_scale;
  for (int32_t i = 0; job->set[field] && i < LOSS_SCALE_NUMBERS; i++) {
    ResolvedKey setting = real_of(job->loss_scale.number[i], "");
    setting.effect = spec_effect((int32_t)spec_fields[field].section, field);
    setting.key = arena_printf(arena, "%s.%s", field_name(arena, field), loss_scale_keys[i]);
    setting.origin = origin_text(arena, &job->origin[field]);
    VEC_PUSH(arena, out, setting);
  }
}

/* Writes the mix in the form that samples.c reads. Weights are multiples of the least one, so that
 * equal proportions have one text, which resume compares. */
static void add_mix(Arena *arena, const Job *job, SettingList *out) {
  const char *text = "";
  double least = INFINITY;
  for (int32_t i = 0; i < job->mix.count; i++)
    least = fmin(least, job->mix.at[i].weight);
  for (int32_t i = 0; i < job->mix.count; i++)
    text = arena_printf(arena, "%s%s%.15g:%d", text, i > 0 ? " " : "",
                        job->mix.at[i].weight / least, job->mix.at[i].files);
  if (job->mix.count == 0) return;
  ResolvedKey setting = text_of(text);
  setting.effect = SETTING_EXPERIMENT;
  setting.key = PLAN_MIX_KEY;
  setting.origin = origin_text(arena, &job->origin[FIELD_data_train]);
  VEC_PUSH(arena, out, setting);
}

_Static_assert(SECTION_slurm + 1 == SECTION_COUNT, "slurm is the last section");

SettingList spec_settings(Arena *arena, const Job *job, const Derived *derived) {
  SettingList out = {0};
  for (int32_t section = 0; section < SECTION_slurm; section++) {
    add_head(arena, job, section, &out);
    for (int32_t i = 0; i < FIELD_COUNT; i++)
      if ((int32_t)spec_fields[i].section == section) add_field(arena, job, derived, i, &out);
    if (section == SECTION_precision) add_loss_scale(arena, job, &out);
    if (section == SECTION_data) add_mix(arena, job, &out);
    for (int32_t i = 0; section == SECTION_model && i < job->sizes.count; i++)
      add_size(arena, &job->sizes.at[i], &out);
  }
  return out;
}
