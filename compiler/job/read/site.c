/* site.c -- section slurm: lists of words, names with values, and what a file of specs/sites says
 * of the keys that the job leaves open. A site file is a plain table of the section's own keys; it
 * may begin with another site's name.
 *
 * All of these texts end up in a shell script. They are quoted there; here texts with a line break
 * or another control character are refused. */
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox.h"

enum { LONGEST_CHAIN = 8 };

const char *launch_text_fault(const char *text) {
  for (const char *p = text; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f) return "holds a control character";
  return text_find_bad(text, text + strlen(text)) ? "is not UTF-8" : NULL;
}

static bool check_launch_text(Compile *c, const JobValue *value, int32_t field, const char *text) {
  const char *fault = launch_text_fault(text);
  if (!fault) return true;
  return error_at(c, value->origin.span, "wrong-type", "%s: \"%s\" %s", field_name(c->arena, field),
                  text_show(c->arena, text), fault);
}

/* ---- lists of words */

bool check_words(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  TextList *list = field_at(job, field);
  *list = (TextList){0};
  for (const char *p = raw->is_typed ? raw->text : ""; *p;) { /* of -D: separated by commas */
    size_t width = strcspn(p, ",");
    if (width > 0) VEC_PUSH(c->arena, list, arena_copy_n(c->arena, p, width));
    p += width + (p[width] == ',');
  }
  if (raw->kind == RAW_TEXT && !raw->is_typed) VEC_PUSH(c->arena, list, raw->text);
  bool is_list = raw->kind == RAW_TABLE && raw->named.count == 0 && !raw->bad_key;
  for (int32_t i = 0; is_list && i < raw->list.count; i++) {
    if (raw->list.at[i]->kind != RAW_TEXT) return refuse_type(c, value, field);
    VEC_PUSH(c->arena, list, raw->list.at[i]->text);
  }
  for (int32_t i = 0; i < list->count; i++)
    if (!*list->at[i] || !check_launch_text(c, value, field, list->at[i]))
      return *list->at[i] ? false : refuse_type(c, value, field);
  return list->count > 0 ? true : refuse_type(c, value, field);
}

/* ---- names with values */

static bool is_environment_name(const char *name) {
  size_t good = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
  return *name && !name[good] && !strchr("0123456789", *name);
}

static bool is_option_name(const char *name) {
  return *name && *name != '-' && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz-0123456789")];
}

/* Slurm takes any; these need no quotes anywhere. */
static bool is_partition_name(const char *name) {
  size_t good = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.0123456789");
  return *name && !name[good];
}

/* mail_type and --mail-type are mail-type. */
static const char *option_name(Arena *arena, const char *name) {
  char *plain = arena_copy(arena, name + (strncmp(name, "--", 2) == 0 ? 2 : 0));
  for (char *p = plain; *p; p++)
    if (*p == '_') *p = '-';
  return plain;
}

static bool refuse_pair_name(Compile *c, const JobValue *value, int32_t field, const char *name) {
  const char *what = field == FIELD_slurm_env ? "the environment: letters, digits and _"
                     : field == FIELD_slurm_partitions
                         ? "a partition: letters, digits, _, - and ."
                         : "an option: the long one, of small letters, digits and -";
  return error_at(c, value->origin.span, "name", "%s: \"%s\" is no name of %s",
                  field_name(c->arena, field), text_show(c->arena, name), what);
}

static bool add_pair(Compile *c, const JobValue *value, const RawEntry *entry, int32_t field,
                     PairList *list) {
  const Raw *raw = entry->value;
  bool is_environment = field == FIELD_slurm_env;
  bool is_option = field == FIELD_slurm_sbatch || field == FIELD_slurm_srun;
  const char *name = is_option ? option_name(c->arena, entry->key) : entry->key;
  Pair pair = {.name = name, .origin = value->origin};
  bool is_good = is_option        ? is_option_name(name)
                 : is_environment ? is_environment_name(name)
                                  : is_partition_name(name);
  if (!is_good) return refuse_pair_name(c, value, field, entry->key);
  bool is_word = raw->kind == RAW_TEXT && raw->is_typed;
  bool is_true = is_word ? strcmp(raw->text, "true") == 0 : raw->number != 0;
  if (raw->kind == RAW_NUMBER) pair.text = arena_printf(c->arena, "%.15g", raw->number);
  if (raw->kind == RAW_TEXT) pair.text = raw->text;
  if (raw->kind == RAW_FLAG || (is_word && (is_true || strcmp(raw->text, "false") == 0))) {
    pair.is_off = !is_true;
    pair.text = is_environment && is_true ? "1" : NULL;
  } else if (!pair.text) {
    return refuse_type(c, value, field);
  }
  if (pair.text && !check_launch_text(c, value, field, pair.text)) return false;
  VEC_PUSH(c->arena, list, pair);
  return true;
}

bool check_pairs(Compile *c, const JobValue *value, int32_t field, Job *job) {
  const Raw *raw = value->raw;
  PairList *list = field_at(job, field);
  *list = (PairList){0};
  if (raw->kind != RAW_TABLE || raw->list.count > 0 || raw->bad_key)
    return refuse_type(c, value, field);
  for (int32_t i = 0; i < raw->named.count; i++)
    if (!add_pair(c, value, &raw->named.at[i], field, list)) return false;
  return true;
}

/* ---- a site's file */

/* Where both set a name, the first one counts: that of the job, or of the later file. */
static void merge_pairs(Compile *c, PairList first, PairList *list) {
  PairList site = *list;
  *list = first;
  for (int32_t i = 0; i < site.count; i++) {
    bool is_said = false;
    for (int32_t k = 0; k < first.count; k++)
      is_said |= strcmp(first.at[k].name, site.at[i].name) == 0;
    if (!is_said) VEC_PUSH(c->arena, list, site.at[i]);
  }
}

static void apply_key(Compile *c, const SpecFile *file, const RawEntry *entry, Job *job,
                      bool done[FIELD_COUNT]) {
  int32_t field = field_find(SECTION_slurm, entry->key);
  Span at = span_of_key(file->spans, entry->key);
  if (field < 0) {
    refuse_name(c, at, SECTION_slurm, entry->key, entry->value);
    return;
  }
  JobValue value = {entry->key,
                    entry->value,
                    {ORIGIN_PRESET, span_of_value(file->spans, entry->key), NULL},
                    at,
                    file->directory};
  bool is_said = field_is_said(job, field) || done[field];
  if (spec_fields[field].kind == KIND_PAIRS) {
    PairList first = *(PairList *)field_at(job, field);
    Origin origin = job->origin[field];
    if (value_check(c, &value, field, job)) merge_pairs(c, first, field_at(job, field));
    if (is_said) job->origin[field] = origin;
  } else if (!is_said) {
    value_check(c, &value, field, job);
  }
  done[field] = true;
}

static bool apply_chain(Compile *c, lua_State *L, Job *job) {
  Span at = job->slurm.head_origin.span;
  if (!at.file) at = (Span){.file = job->path};
  const char *name = job->slurm.head_text, *directory = job->directory;
  bool done[FIELD_COUNT] = {false};
  int32_t errors = c->diags.error_count;
  for (int32_t depth = 0; name; depth++) {
    if (depth == LONGEST_CHAIN)
      return error_at(c, at, "base-cycle", "these site files begin with each other in a circle");
    const char *path = sandbox_find(c, "sites", name, directory, at);
    if (!path) return false;
    SpecFile file = spec_file_read(c, L, path, "return", at);
    if (!file.spans || c->diags.error_count > errors) return false;
    if (!file.raw)
      return error_at(c, (Span){.file = path}, "wrong-type",
                      "a site file ends with: return { ... }");
    for (int32_t i = 0; i < file.raw->named.count; i++)
      apply_key(c, &file, &file.raw->named.at[i], job, done);
    if (c->diags.error_count > errors) return false;
    const Raw *base = file.raw->list.count > 0 ? file.raw->list.at[0] : NULL;
    name = base && base->kind == RAW_TEXT ? base->text : NULL;
    directory = file.directory;
  }
  return true;
}

/* Texts of one line each; what a shell would take apart is quoted in the script. */
static void check_texts(Compile *c, const Job *job) {
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const FieldInfo *info = &spec_fields[i];
    if (info->section != SECTION_slurm || !job->set[i]) continue;
    if (info->kind != KIND_TEXT && info->kind != KIND_PATH) continue;
    const char *text = *(const char *const *)field_at((Job *)job, i);
    const JobValue value = {.origin = {.span = field_place(job, i)}};
    if (text) check_launch_text(c, &value, i, text);
  }
}

bool site_apply(Compile *c, lua_State *L, Job *job) {
  bool is_named = job->slurm.head_origin.kind > ORIGIN_PRESET;
  if (is_named && !apply_chain(c, L, job)) return false;
  check_texts(c, job);
  return !compile_failed(c);
}
