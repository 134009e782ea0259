/* override.c -- -D section.key=value and -D section=NAME, in the order given. Values arrive as
 * texts and take the type of their key; where a table may be, a text that begins with { is what
 * it would be in a file. */
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox.h"

static void refuse_form(Compile *c, Span at) {
  error_at(c, at, "override", "expected section.key=value or section=NAME");
  fix_last(c, "-D train.steps=10");
}

/* ---- tables */

static bool takes_table(int32_t field) {
  Kind kind = spec_fields[field].kind;
  return kind == KIND_COUNTS || kind == KIND_LIST || kind == KIND_COLUMNS || kind == KIND_WORDS ||
         kind == KIND_PAIRS || kind == KIND_SCALE || numbered_key(field) ||
         field == FIELD_offload_optimizer || field == FIELD_offload_activations ||
         field == FIELD_precision_linear;
}

/* Every place in a table of the command line is that whole word. */
static SpanMap *places_of(Compile *c, const char *table, Span at) {
  SpanMap *map = span_map(c->arena, at.file, arena_printf(c->arena, "return %s", table), "return");
  map->constructor = at;
  for (int32_t i = 0; i < map->keys.count; i++)
    map->keys.at[i].key = map->keys.at[i].value = at;
  return map;
}

/* NULL when reported. */
static Raw *read_table(Compile *c, const char *text, Span at, SpanMap **spans) {
  int32_t errors = c->diags.error_count;
  lua_State *L = sandbox_open(c);
  Raw *raw = sandbox_run_value(c, L, text, at) ? raw_read(c->arena, L, -1) : NULL;
  sandbox_close(L);
  *spans = places_of(c, text, at);
  if (raw) refuse_repeated(c, *spans);
  return c->diags.error_count == errors ? raw : NULL;
}

static bool is_table(const char *text) {
  return text[strspn(text, " \t\n")] == '{';
}

/* ---- one key, one section */

static void replace_section(Compile *c, Merged *merged, int32_t section, JobValue value) {
  SpanMap *spans = NULL;
  if (is_table(value.raw->text)) {
    value.raw = read_table(c, value.raw->text, value.key_span, &spans);
    merged->sections[section].is_broken |= value.raw == NULL;
    if (value.raw) merged_set_section(c, merged, section, value, spans);
    return;
  }
  if (strcmp(spec_sections[section].head, "none") == 0) {
    if (refuse_later_word(c, value.origin.span, section, value.raw->text)) return;
    error_at(c, value.origin.span, "override", "%s takes no word; name one of its keys",
             spec_sections[section].name);
    fix_last(c, "-D %s.%s=...", spec_sections[section].name,
             section == SECTION_train      ? "steps"
             : section == SECTION_parallel ? "dp"
                                           : "KEY");
    return;
  }
  merged_set_section(c, merged, section, value, NULL);
}

static void set_field(Compile *c, Merged *merged, int32_t field, JobValue value) {
  SpanMap *spans = NULL;
  if (takes_table(field) && is_table(value.raw->text))
    value.raw = read_table(c, value.raw->text, value.key_span, &spans);
  if (value.raw) merged_set(c, merged, (int32_t)spec_fields[field].section, value);
  merged->is_meant[field] |= value.raw == NULL;
}

static const Raw *raw_of(const Merged *merged, int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  for (int32_t i = 0; i < merged->sections[info->section].keys.count; i++)
    if (strcmp(merged->sections[info->section].keys.at[i].key, info->key) == 0)
      return merged->sections[info->section].keys.at[i].raw;
  return NULL;
}

/* The table keeps its other keys; a word becomes the table that begins with it. */
static Raw *with_key(Arena *arena, const Raw *before, const char *key, Raw *item) {
  Raw *raw = ARENA_NEW(arena, Raw);
  *raw = (Raw){.kind = RAW_TABLE};
  bool is_whole = before != NULL && before->kind == RAW_TABLE;
  if (is_whole) raw->list = before->list;
  if (is_whole) raw->bad_key = before->bad_key;
  if (before != NULL && before->kind == RAW_TEXT)
    VEC_PUSH(arena, &raw->list, raw_typed(arena, before->text));
  bool is_set = false;
  for (int32_t i = 0; is_whole && i < before->named.count; i++) {
    RawEntry entry = before->named.at[i];
    int order = strcmp(key, entry.key);
    if (order <= 0 && !is_set) VEC_PUSH(arena, &raw->named, (RawEntry){key, item});
    is_set = is_set || order <= 0;
    if (order != 0) VEC_PUSH(arena, &raw->named, entry);
  }
  if (!is_set) VEC_PUSH(arena, &raw->named, (RawEntry){key, item});
  return raw;
}

/* parallel.pipeline.chunks=4 */
static void set_inner(Compile *c, Merged *merged, int32_t section, JobValue value) {
  const char *dot = strchr(value.key, '.');
  const char *key = arena_copy_n(c->arena, value.key, (size_t)(dot - value.key)), *inner = dot + 1;
  int32_t field = field_find((SectionId)section, key);
  if (field < 0) {
    merged_refuse(c, merged, &value, section, key);
    return;
  }
  const char *number = numbered_key(field);
  Kind kind = spec_fields[field].kind;
  bool has_keys = number || kind == KIND_COLUMNS || kind == KIND_PAIRS || kind == KIND_SCALE;
  if (!*inner || !has_keys || (number && strcmp(number, inner) != 0)) {
    error_at(c, value.key_span, "unknown-key", "%s has no key '%s'", field_name(c->arena, field),
             text_show(c->arena, inner));
    if (number) fix_last(c, "-D %s.%s=...", field_name(c->arena, field), number);
    return;
  }
  SpanMap *spans = NULL;
  const char *text = value.raw->text;
  Raw *item =
      is_table(text) ? read_table(c, text, value.key_span, &spans) : raw_typed(c->arena, text);
  value.key = key;
  if (item) value.raw = with_key(c->arena, raw_of(merged, field), inner, item);
  if (item) merged_set(c, merged, section, value);
}

/* "train.batch = 16 sequences": blanks around the = belong to neither side, and a text may have
 * the quotes that it has in a file. */
static const char *trim(Arena *arena, const char *from, const char *end) {
  while (from < end && (*from == ' ' || *from == '\t'))
    from++;
  while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  return arena_copy_n(arena, from, (size_t)(end - from));
}

static const char *unquote(Arena *arena, const char *text) {
  size_t length = strlen(text);
  bool is_quoted = length >= 2 && (*text == '"' || *text == '\'') && text[length - 1] == *text &&
                   memchr(text + 1, *text, length - 2) == NULL;
  return is_quoted ? arena_copy_n(arena, text + 1, length - 2) : text;
}

/* -D lr=3e-4: a key without its section. False: no section has it. */
static bool refuse_bare_key(Compile *c, Merged *merged, JobValue value) {
  const char *owners = "", *full = NULL;
  int32_t count = 0;
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    if (strcmp(spec_fields[i].key, value.key) != 0) continue;
    merged->is_meant[i] = true;
    full = field_name(c->arena, i);
    owners = arena_printf(c->arena, "%s%s%s", owners, count++ ? ", " : "", full);
  }
  if (count == 0) return false;
  error_at(c, value.key_span, "unknown-section", "%s: %s %s; -D wants the whole name", value.key,
           count > 1 ? "that may be" : "that is", owners);
  fix_last(c, "-D %s=%s", full, text_show(c->arena, value.raw->text));
  return true;
}

void override_apply(Compile *c, Merged *merged, const char *text) {
  const Span at = {.file = arena_printf(c->arena, "-D %s", text_show(c->arena, text))};
  override_apply_from(c, merged, text, (Origin){ORIGIN_OVERRIDE, at, NULL});
}

void override_apply_from(Compile *c, Merged *merged, const char *text, Origin origin) {
  const Span at = origin.span;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) {
    refuse_form(c, at);
    return;
  }
  const char *name = trim(c->arena, text, equals);
  const char *said = unquote(c->arena, trim(c->arena, equals + 1, text + strlen(text)));
  const char *dot = strchr(name, '.');
  JobValue value = {
      .raw = raw_typed(c->arena, said), .origin = origin, .key_span = at, .directory = "."};
  const char *group = dot ? arena_copy_n(c->arena, name, (size_t)(dot - name)) : name;
  int32_t section = dot && strcmp(group, "job") == 0 ? SECTION_job : section_find(group);
  value.key = dot ? dot + 1 : name;
  if (!dot && section < 0 && field_find(SECTION_job, name) >= 0)
    merged_set(c, merged, SECTION_job, value);
  else if (section < 0 && !dot && refuse_bare_key(c, merged, value))
    return;
  else if (section < 0)
    merged_refuse(c, merged, &value, -1, dot ? group : name);
  else if (!dot)
    replace_section(c, merged, section, value);
  else if (section == SECTION_model)
    merged_set(c, merged, section, value);
  else if (field_find((SectionId)section, value.key) >= 0)
    set_field(c, merged, field_find((SectionId)section, value.key), value);
  else if (strchr(value.key, '.'))
    set_inner(c, merged, section, value);
  else
    merged_refuse(c, merged, &value, section, value.key);
}
