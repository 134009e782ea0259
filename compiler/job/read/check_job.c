/* check_job.c -- checks every section of the merged values: heads, keys, sizes of the model,
 * defaults, missing keys. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

static JobValue default_value(Arena *arena, const char *key, const char *text) {
  return (JobValue){.key = key,
                    .raw = raw_typed(arena, text),
                    .origin = {ORIGIN_DEFAULT, {0}, NULL},
                    .directory = "."};
}

static void set_defaults(Compile *c, Job *job) {
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const char *initial = spec_fields[i].initial;
    job->set[i] = false;
    job->origin[i] = (Origin){.kind = ORIGIN_DERIVED};
    if (strcmp(initial, "=") == 0 || strcmp(initial, "!") == 0) continue;
    JobValue value = default_value(c->arena, spec_fields[i].key, initial);
    value_check(c, &value, i, job);
  }
}

/* ---- heads */

static bool set_head(Compile *c, int32_t section, const JobValue *head, Job *job) {
  const SectionInfo *info = &spec_sections[section];
  char *base = (char *)job;
  if (head->raw->kind != RAW_TEXT) {
    error_at(c, head->origin.span, "wrong-type", "%s begins with a word; got %s", info->name,
             raw_show(c->arena, head->raw));
    if (word_index(info->head, info->initial) >= 0)
      fix_last(c, "%s = \"%s\"", info->name, info->initial);
    return false;
  }
  const char *word = head->raw->text;
  int32_t index = word_index(info->head, word);
  bool is_open = strstr(info->head, "NAME") != NULL; /* any name of the library, or a file */
  if (index < 0 && !is_open && refuse_later_word(c, head->origin.span, section, word)) return false;
  if (index < 0 && !is_open) {
    const char *near = meant_word(c->arena, info->name, info->head, word);
    if (near == NULL && section == SECTION_precision) near = info->initial;
    error_at(c, head->origin.span, "unknown-word", "%s: \"%s\" is not one of: %s", info->name,
             text_show(c->arena, word), info->head);
    if (near) fix_last(c, "%s = \"%s\"", info->name, near);
    if (!near && section == SECTION_data && strpbrk(word, "./") && !strpbrk(word, "\"\\"))
      fix_last(c, "data = { train = \"%s\" }", word);
    const char *why = word_reason(info->name, info->head, word);
    if (why) note_at(c, (Span){0}, "%s", why);
    return false;
  }
  if (is_open && !*word)
    return error_at(c, head->origin.span, "wrong-type", "%s: an empty name", info->name);
  *(int32_t *)(void *)(base + info->head_offset) = is_open ? -1 : index;
  *(const char **)(void *)(base + info->text_offset) = word;
  *(Origin *)(void *)(base + info->origin_offset) = head->origin;
  return true;
}

/* A model or cluster file is relative to the file that names it, which may be a base in another
 * folder or -D; later rooms look for it beside the job. */
static JobValue located_head(Compile *c, JobValue head, const Job *job) {
  const char *text = head.raw && head.raw->kind == RAW_TEXT ? head.raw->text : "";
  bool is_relative = strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
  if (!is_relative || strcmp(head.directory, job->directory) == 0) return head;
  const char *path = path_join(c->arena, head.directory, text);
  const char *up = "./", *rest = job->directory;
  if (*path != '/' && (*rest == '/' || strncmp(rest, "..", 2) == 0)) {
    char folder[4096];
    if (getcwd(folder, sizeof folder)) path = path_join(c->arena, folder, path);
  } else if (*path != '/' && strcmp(rest, ".") != 0) {
    for (; rest; rest = strchr(rest, '/') ? strchr(rest, '/') + 1 : NULL)
      up = arena_printf(c->arena, "%s../", up);
  }
  head.raw = raw_typed(c->arena, *path == '/' ? path : arena_printf(c->arena, "%s%s", up, path));
  return head;
}

static bool check_head(Compile *c, const Merged *merged, int32_t section, Job *job) {
  const SectionInfo *info = &spec_sections[section];
  if (strcmp(info->head, "none") == 0 || section == SECTION_job) return true;
  JobValue head = merged->sections[section].head;
  if (section == SECTION_model || section == SECTION_cluster || section == SECTION_slurm)
    head = located_head(c, head, job);
  if (head.raw) return set_head(c, section, &head, job);
  if (strcmp(info->initial, "!") != 0) {
    head = default_value(c->arena, "1", info->initial);
    return set_head(c, section, &head, job);
  }
  if (merged->sections[section].is_broken) return false;
  bool is_present = merged->sections[section].keys.count > 0;
  Span at = is_present ? merged->sections[section].span : (Span){.file = job->path};
  const char *example = section == SECTION_model ? "\"gpt2-124m\"" : "{ \"adamw\", lr = 6e-4 }";
  if (is_present)
    error_at(c, at, "missing-key", "%s has no name: %s = { \"%s\", ... }", info->name, info->name,
             section == SECTION_model ? "gpt2" : "adamw");
  else
    error_at(c, at, "missing-key", "the job has no %s", info->name);
  fix_last(c, "%s = %s", info->name, example);
  return false;
}

/* ---- sizes of the model */

static void add_size(Compile *c, const JobValue *value, Job *job) {
  const Raw *raw = value->raw;
  ModelSize size = {.name = value->key, .origin = value->origin, .text = raw->text};
  double number;
  if (raw->kind == RAW_NUMBER) {
    size.number = raw->number;
  } else if (raw->kind == RAW_FLAG) {
    size.kind = SIZE_FLAG;
    size.number = raw->number;
  } else if (raw->kind == RAW_TEXT &&
             (raw->is_typed ? units_signed(raw->text, &number) : units_count(raw->text, &number))) {
    size.number = number;
  } else if (raw->kind == RAW_TEXT && raw->is_typed &&
             (strcmp(raw->text, "true") == 0 || strcmp(raw->text, "false") == 0)) {
    size.kind = SIZE_FLAG;
    size.number = raw->text[0] == 't';
  } else if (raw->kind == RAW_TEXT) {
    size.kind = SIZE_TEXT;
  } else {
    error_at(c, value->origin.span, "wrong-type", "model.%s: a size is a number; got %s",
             text_show(c->arena, value->key), raw_show(c->arena, raw));
    return;
  }
  bool is_sane = size.kind != SIZE_NUMBER || (size.number >= 0 && size.number <= 1e15);
  if (!is_sane)
    error_at(c, value->origin.span, "range",
             "model.%s: a size is not negative and below 1e15; got %s",
             text_show(c->arena, value->key), raw_show(c->arena, raw));
  else
    VEC_PUSH(c->arena, &job->sizes, size);
}

static bool is_reserved_size(const char *name) {
  return strcmp(name, "attention") == 0;
}

/* ---- keys */

static void check_keys(Compile *c, Merged *merged, int32_t section, Job *job) {
  for (int32_t i = 0; i < merged->sections[section].keys.count; i++) {
    const JobValue *value = &merged->sections[section].keys.at[i];
    int32_t field = field_find((SectionId)section, value->key);
    if (field >= 0)
      value_check(c, value, field, job);
    else if (section == SECTION_model && !is_reserved_size(value->key))
      add_size(c, value, job);
    else
      merged_refuse(c, merged, value, section, value->key);
  }
}

static bool is_written(const Merged *merged, int32_t field) {
  int32_t section = (int32_t)spec_fields[field].section;
  if (merged->sections[section].is_broken)
    return true; /* an error was reported: it may have set the key */
  if (merged->is_meant[field]) return true;
  for (int32_t i = 0; i < merged->sections[section].keys.count; i++)
    if (strcmp(merged->sections[section].keys.at[i].key, spec_fields[field].key) == 0) return true;
  return false;
}

static void report_missing(Compile *c, const Merged *merged, int32_t field, const Job *job,
                           const char *fix) {
  Span at = merged->sections[spec_fields[field].section].span;
  if (!at.file) at = (Span){.file = job->path};
  error_at(c, at, "missing-key", "%s is missing: %s", field_name(c->arena, field),
           spec_fields[field].doc);
  fix_last(c, "%s", fix);
}

static void check_missing(Compile *c, const Merged *merged, bool has_optimizer, Job *job) {
  static const struct {
    int32_t field;
    const char *fix;
  } required[] = {{FIELD_train_batch, "batch = \"64 sequences\""},
                  {FIELD_train_steps, "steps = 1000"},
                  {FIELD_optimizer_lr, "lr = 6e-4"}};
  for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
    int32_t field = required[i].field;
    if (is_written(merged, field)) continue;
    if (field == FIELD_optimizer_lr && !has_optimizer) continue; /* already said: no optimizer */
    report_missing(c, merged, field, job, required[i].fix);
  }
  bool is_synthetic = job->data.head == CHOICE_SYNTHETIC;
  if ((job->use == USE_EVAL || job->use == USE_PREDICT) && !is_written(merged, FIELD_data_valid))
    report_missing(c, merged, FIELD_data_valid, job, "-D data.valid=data/valid.bin");
  if (job->use == USE_TRAIN && !is_synthetic && !is_written(merged, FIELD_data_train))
    report_missing(c, merged, FIELD_data_train, job, "data = { train = \"data/train_*.bin\" }");
  if (job->data.head == CHOICE_TABLE && !is_written(merged, FIELD_data_columns))
    report_missing(c, merged, FIELD_data_columns, job,
                   "columns = { x = { \"area\" }, y = { \"price\" } }");
}

bool merged_check(Compile *c, Merged *merged, Job *job) {
  int32_t errors = c->diags.error_count;
  set_defaults(c, job);
  bool has_optimizer = true;
  for (int32_t section = 0; section < SECTION_COUNT; section++) {
    bool is_good = check_head(c, merged, section, job);
    merged->sections[section].is_broken |= !is_good; /* its other required keys are not known */
    if (section == SECTION_optimizer) has_optimizer = is_good;
    check_keys(c, merged, section, job);
  }
  check_missing(c, merged, has_optimizer, job);
  return c->diags.error_count == errors;
}
