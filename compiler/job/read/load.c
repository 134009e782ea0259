/* load.c -- merges files and -D: base files first; each later one replaces the keys that it sets.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox.h"
#include "compiler/job/lua/sandbox_state.h"
#include "compiler/job/source.h"

enum { LONGEST_CHAIN = 16 };

typedef struct FileChain {
  const char *paths[LONGEST_CHAIN];
  int32_t count;
} FileChain;

/* ---- one file */

/* job { ... } returns its table with a mark, which tells it from any other table. */
static int call_job(lua_State *L) {
  if (lua_gettop(L) > 1)
    return sandbox_error(L, "not-a-job", NULL, "job takes one table, got %d value%s", lua_gettop(L),
                         plural(lua_gettop(L)));
  if (lua_type(L, 1) != LUA_TTABLE)
    return sandbox_error(L, "not-a-job", "return job { ... }", "job takes one table, got %s",
                         lua_typename(L, lua_type(L, 1)));
  bool is_second = lua_getfield(L, LUA_REGISTRYINDEX, "job") == LUA_TTABLE;
  if (is_second)
    return sandbox_error(L, "not-a-job", NULL,
                         "job is called a second time; a file is one job, and one of the two would "
                         "be ignored");
  lua_pushvalue(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "job");
  lua_settop(L, 1);
  return 1;
}

void refuse_repeated(Compile *c, const SpanMap *spans) {
  for (int32_t i = 0; i < spans->keys.count; i++)
    if (spans->keys.at[i].is_repeated)
      error_at(c, spans->keys.at[i].key, "repeated-key", "%s is written twice; the last would win",
               text_show(c->arena, spans->keys.at[i].path));
}

static const char *source_text(lua_State *L, const char *path) {
  const Sandbox *sandbox = sandbox_of(L);
  for (int32_t i = sandbox->sources.count - 1; i >= 0; i--)
    if (strcmp(sandbox->sources.at[i].path, path) == 0) return sandbox->sources.at[i].text;
  return "";
}

SpecFile spec_file_read(Compile *c, lua_State *L, const char *path, const char *constructor,
                        Span at) {
  SpecFile file = {.path = arena_copy(c->arena, path), .directory = path_directory(c->arena, path)};
  if (!sandbox_run_file(c, L, path, at)) return file;
  file.spans = span_map(c->arena, file.path, source_text(L, path), constructor);
  refuse_repeated(c, file.spans);
  if (lua_type(L, -1) == LUA_TTABLE) file.raw = raw_read(c->arena, L, -1);
  return file;
}

/* The file ran, and what it returned is not what job { ... } made. Its result and the job, if it
 * made one, are on top of the stack. */
static void refuse_result(Compile *c, lua_State *L, const SpecFile *file, const char *text) {
  Span whole = {.file = file->path}, made = file->spans->constructor;
  bool has_job = lua_type(L, -1) == LUA_TTABLE, is_first = made.column == 1;
  if (has_job && lua_isnil(L, -2)) {
    error_at(c, made, "not-a-job", "a job file ends with: return job { ... }; return is missing");
    if (is_first) fix_last(c, "return job {");
  } else if (has_job) {
    error_at(c, made, "not-a-job", "a job file ends with: return job { ... }");
  } else if (lua_type(L, -2) == LUA_TTABLE) {
    Span at = span_map(c->arena, file->path, text, "return")->constructor;
    error_at(c, at, "not-a-job", "a job file ends with: return job { ... }; this table has no job");
    if (at.line > 0) fix_last(c, "return job {");
  } else if (!text[strspn(text, " \t\r\n")]) {
    error_at(c, whole, "not-a-job", "the file is empty; a job file ends with: return job { ... }");
  } else {
    error_at(c, whole, "not-a-job", "a job file ends with: return job { ... }");
  }
}

static SpecFile read_job_file(Compile *c, lua_State *L, const char *path, Span at) {
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "job");
  int32_t errors = c->diags.error_count, top = lua_gettop(L);
  SpecFile file = spec_file_read(c, L, path, "job", at);
  if (file.spans && c->diags.error_count == errors) {
    lua_getfield(L, LUA_REGISTRYINDEX, "job");
    if (!file.raw || !lua_rawequal(L, -1, -2)) {
      refuse_result(c, L, &file, source_text(L, path));
      file.raw = NULL;
    }
  }
  lua_settop(L, top);
  return file;
}

/* ---- merging */

void merged_refuse(Compile *c, Merged *merged, const JobValue *value, int32_t section,
                   const char *name) {
  Meant meant = refuse_name(c, value->key_span, section, name, value->raw);
  if (meant.field >= 0) merged->is_meant[meant.field] = true;
  if (meant.field < 0 && meant.section >= 0) merged->sections[meant.section].is_broken = true;
}

void merged_set(Compile *c, Merged *merged, int32_t section, JobValue value) {
  for (int32_t i = 0; i < merged->sections[section].keys.count; i++)
    if (strcmp(merged->sections[section].keys.at[i].key, value.key) == 0) {
      merged->sections[section].keys.at[i] = value;
      return;
    }
  VEC_PUSH(c->arena, &merged->sections[section].keys, value);
}

/* The word of a section, or NULL. */
static const char *word_of(const Raw *raw) {
  if (raw->kind == RAW_TABLE && raw->list.count == 1) raw = raw->list.at[0];
  return raw->kind == RAW_TEXT ? raw->text : NULL;
}

/* "steps = 10,000" is steps = 10 and a value 0 without a key: the comma separates values. */
static bool refuse_split_number(Compile *c, const SectionInfo *info, const Raw *raw,
                                const SpanMap *spans, const char *path) {
  const Raw *item = raw->list.at[raw->list.count - 1];
  int32_t i = 0;
  while (spans && i < spans->keys.count && strcmp(spans->keys.at[i].path, path) != 0)
    i++;
  if (!spans || i == 0 || i == spans->keys.count || item->kind != RAW_NUMBER) return false;
  const PlacedKey *before = &spans->keys.at[i - 1], *after = &spans->keys.at[i];
  size_t width = strlen(info->name);
  if (strncmp(before->path, info->name, width) != 0 || before->path[width] != '.') return false;
  const char *key = before->path + width + 1;
  int32_t field = field_find((SectionId)(info - spec_sections), key), digits = after->value.length;
  for (int32_t j = 0; j < raw->named.count; j++) {
    const Raw *whole = raw->named.at[j].value;
    if (strcmp(raw->named.at[j].key, key) != 0 || whole->kind != RAW_NUMBER) continue;
    bool is_decimal = field >= 0 && spec_fields[field].kind == KIND_NUMBER;
    Span at = before->value;
    if (at.line == after->value.line) at.length = after->value.column + digits - at.column;
    error_at(c, at, "wrong-type", "%s: a comma separates values; %s", before->path,
             is_decimal ? "a number has a point" : "digits are not grouped");
    fix_last(c, "%s = %.0f%s%0*.0f", key, whole->number, is_decimal ? "." : "", (int)digits,
             item->number);
    return true;
  }
  return false;
}

static bool check_table(Compile *c, const SectionInfo *info, const Raw *raw, Span at,
                        const SpanMap *spans) {
  bool takes_head = strcmp(info->head, "none") != 0;
  if (raw->bad_key)
    return error_at(c, at, "wrong-type", "%s has the key %s; keys are words", info->name,
                    raw->bad_key);
  if (raw->list.count == 0 || (raw->list.count == 1 && takes_head)) {
    const Raw *head = raw->list.count == 1 ? raw->list.at[0] : NULL;
    bool is_word = head == NULL || head->kind == RAW_TEXT || raw->named.count == 0;
    const char *path = arena_printf(c->arena, "%s.1", info->name);
    return is_word || !refuse_split_number(c, info, raw, spans, path);
  }
  const char *path = arena_printf(c->arena, "%s.%d", info->name, raw->list.count);
  if (refuse_split_number(c, info, raw, spans, path)) return false;
  if (spans && spans->keys.count > 0) at = span_of_value(spans, path);
  return error_at(c, at, "wrong-type", "%s holds a value without a key: %s", info->name,
                  raw_show(c->arena, raw->list.at[raw->list.count - 1]));
}

/* False when reported: the section's value has the wrong shape. */
static bool check_section(Compile *c, int32_t section, const JobValue *value,
                          const SpanMap *spans) {
  const SectionInfo *info = &spec_sections[section];
  const Raw *raw = value->raw;
  Span at = value->origin.span;
  bool takes_head = strcmp(info->head, "none") != 0;
  const char *word = word_of(raw);
  if (!takes_head && word && refuse_later_word(c, at, section, word)) return false;
  if (raw->kind == RAW_TABLE) return check_table(c, info, raw, at, spans);
  if (raw->kind == RAW_TEXT && takes_head) return true;
  error_at(c, at, "wrong-type", "%s is a table of keys%s: %s = { ... }; got %s", info->name,
           takes_head ? ", or a word" : "", info->name, raw_show(c->arena, raw));
  const char *meant = NULL; /* precision = 16 */
  if (raw->kind == RAW_NUMBER && section == SECTION_precision)
    meant = meant_word(c->arena, info->name, info->head, arena_printf(c->arena, "%g", raw->number));
  if (meant == NULL && section == SECTION_precision) meant = info->initial;
  if (meant) fix_last(c, "%s = \"%s\"", info->name, meant);
  if (raw->kind == RAW_NUMBER && section == SECTION_cluster && raw->number >= 1)
    fix_last(c, "cluster = { \"here\", devices = %.0f }", raw->number);
  return false;
}

/* A word, { word, changes } or { changes }. A word replaces the section as a whole. */
void merged_set_section(Compile *c, Merged *merged, int32_t section, JobValue value,
                        const SpanMap *spans) {
  const SectionInfo *info = &spec_sections[section];
  const Raw *raw = value.raw;
  if (!check_section(c, section, &value, spans)) {
    merged->sections[section].is_broken = true;
    return;
  }
  merged->sections[section].span = value.key_span;
  bool is_named = raw->kind == RAW_TEXT || raw->list.count == 1;
  if (is_named) {
    merged->sections[section].keys.count = 0;
    JobValue head = value;
    if (raw->kind == RAW_TABLE) {
      head.raw = raw->list.at[0];
      head.origin.span = span_of_value(spans, arena_printf(c->arena, "%s.1", info->name));
    }
    merged->sections[section].head = head;
  }
  for (int32_t i = 0; raw->kind == RAW_TABLE && i < raw->named.count; i++) {
    const RawEntry *entry = &raw->named.at[i];
    const char *path = arena_printf(c->arena, "%s.%s", info->name, entry->key);
    JobValue key = {entry->key,
                    entry->value,
                    {value.origin.kind, span_of_value(spans, path), NULL},
                    span_of_key(spans, path),
                    value.directory};
    merged_set(c, merged, section, key);
  }
}

/* False when reported: the keys beside one that is no word were not all read. */
static bool add_file(Compile *c, Merged *merged, const SpecFile *file, OriginKind kind) {
  const Raw *raw = file->raw;
  if (raw->bad_key)
    return error_at(c, file->spans->constructor, "wrong-type", "job has the key %s; keys are words",
                    raw->bad_key);
  if (raw->list.count > 1)
    error_at(c, file->spans->constructor, "wrong-type",
             "job takes one base file; every other value has a key");
  for (int32_t i = 0; i < raw->named.count; i++) {
    const RawEntry *entry = &raw->named.at[i];
    JobValue value = {entry->key,
                      entry->value,
                      {kind, span_of_value(file->spans, entry->key), NULL},
                      span_of_key(file->spans, entry->key),
                      file->directory};
    int32_t section = section_find(entry->key);
    if (section >= 0)
      merged_set_section(c, merged, section, value, file->spans);
    else if (field_find(SECTION_job, entry->key) >= 0)
      merged_set(c, merged, SECTION_job, value);
    else
      merged_refuse(c, merged, &value, -1, entry->key);
  }
  return true;
}

static bool load_chain(Compile *c, lua_State *L, Merged *merged, FileChain *chain, const char *path,
                       Span at);

static bool load_base(Compile *c, lua_State *L, Merged *merged, FileChain *chain,
                      const SpecFile *file) {
  const Raw *base = file->raw->list.at[0];
  Span at = span_of_value(file->spans, "1");
  if (base->kind != RAW_TEXT)
    return error_at(c, at, "wrong-type", "the base file is a text such as \"./base.lua\"; got %s",
                    raw_show(c->arena, base));
  bool is_path = strncmp(base->text, "./", 2) == 0 || strncmp(base->text, "../", 3) == 0 ||
                 base->text[0] == '/';
  if (!is_path) {
    error_at(c, at, "path", "a base file begins with ./ or /; got %s", raw_show(c->arena, base));
    bool is_there = access(path_join(c->arena, file->directory, base->text), R_OK) == 0;
    const char *word = text_show(c->arena, base->text);
    fix_last(c, is_there || strstr(word, ".lua") ? "\"./%s\"" : "model = \"%s\"", word);
    return false;
  }
  return load_chain(c, L, merged, chain, path_join(c->arena, file->directory, base->text), at);
}

static bool load_chain(Compile *c, lua_State *L, Merged *merged, FileChain *chain, const char *path,
                       Span at) {
  for (int32_t i = 0; i < chain->count; i++)
    if (strcmp(chain->paths[i], path) == 0)
      return error_at(c, at, "base-cycle", "%s starts from itself", path);
  if (chain->count == LONGEST_CHAIN)
    return error_at(c, at, "base-cycle", "more than %d base files in a chain", LONGEST_CHAIN);
  bool is_job = chain->count == 0;
  chain->paths[chain->count++] = path;
  SpecFile file = read_job_file(c, L, path, at);
  if (!file.raw) return false;
  if (file.raw->list.count > 0 && !load_base(c, L, merged, chain, &file)) return false;
  return add_file(c, merged, &file, is_job ? ORIGIN_JOB : ORIGIN_BASE);
}

static Job *make_job(Compile *c, lua_State *L, Merged *merged, const char *path,
                     const JobSource *source) {
  Job *job = ARENA_NEW(c->arena, Job);
  if (source != NULL) job->use = source->use, job->draw = source->draw;
  job->path = path_join(c->arena, "", path);
  job->directory = path_directory(c->arena, job->path);
  merged_check(c, merged, job);
  if (!compile_failed(c)) site_apply(c, L, job);
  return compile_failed(c) ? NULL : job;
}

Job *spec_load(Compile *c, const char *path, const char *const *overrides, int32_t override_count) {
  Merged *merged = ARENA_NEW(c->arena, Merged);
  lua_State *L = sandbox_open(c);
  sandbox_add_function(L, "job", call_job);
  FileChain chain = {0};
  bool is_loaded = load_chain(c, L, merged, &chain, path_join(c->arena, "", path), (Span){0});
  for (int32_t i = 0; i < override_count; i++)
    override_apply(c, merged, overrides[i]);
  Job *job = is_loaded ? make_job(c, L, merged, path, NULL) : NULL;
  sandbox_close(L);
  return job && job_rules(c, job) ? job : NULL;
}

/* Keys that every job has, and only training reads. */
static const char *const unread[] = {"train.batch=1 sequences", "train.steps=1", "optimizer=sgd",
                                     "optimizer.lr=1", "checkpoint.every=never"};

/* A key of -D that a use without training would ignore is refused. */
static bool check_read(Compile *c, const char *override) {
  static const char *const ignored[] = {
      "optimizer",   "schedule",    "checkpoint", "slurm",          "log",
      "offload",     "name",        "data.train", "data.shuffle",   "reason",
      "train.batch", "train.steps", "accept",     "train.validate", "memory.recompute"};
  const char *name = override + strspn(override, " \t");
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
    const size_t length = strlen(ignored[i]);
    if (strncmp(name, ignored[i], length) != 0 ||
        (name[length] != '\0' && strchr(".= \t_", name[length]) == NULL))
      continue;
    return error_at(c,
                    (Span){.file = arena_printf(c->arena, "-D %s", text_show(c->arena, override))},
                    "wrong-use", "only training reads this key: it has no effect here");
  }
  return true;
}

/* With a job file these say whose run is meant, and nothing else. */
static bool names_run(const char *what, const char *override) {
  const size_t length = strlen(what);
  const char *name = override + strspn(override, " \t");
  return length > 4 && strcmp(what + length - 4, ".lua") == 0 &&
         (strncmp(name, "name", 4) == 0 || strncmp(name, "log.dir", 7) == 0);
}

Job *spec_load_source(Compile *c, const JobSource *source, const char *const *overrides,
                      int32_t override_count) {
  Merged *merged = ARENA_NEW(c->arena, Merged);
  const Origin origin = {ORIGIN_BASE, {.file = source->what}, NULL};
  lua_State *L = sandbox_open(c);
  for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
    override_apply_from(c, merged, unread[i], origin);
  for (int32_t i = 0; i < source->setting_count; i++)
    override_apply_from(c, merged, source->settings[i], origin);
  for (int32_t i = 0; i < override_count; i++)
    if (!names_run(source->what, overrides[i]) && check_read(c, overrides[i]))
      override_apply(c, merged, overrides[i]);
  Job *job = make_job(c, L, merged, source->what, source);
  sandbox_close(L);
  return job && job_rules(c, job) ? job : NULL;
}
