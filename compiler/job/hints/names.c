/* names.c -- refusing a key or a section that does not exist, with the name that does. */
#include <ctype.h>
#include <string.h>

#include "compiler/job/hints/words.h"
#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

static const Meant nothing = {-1, -1};

/* ---- words */

/* True if `names` of a row has the word. */
static bool row_has(const char *names, const char *word) {
  for (const char *at = names; *at; at += strspn(at, " ")) {
    size_t width = strcspn(at, " ");
    char name[64];
    if (width < sizeof name) {
      memcpy(name, at, width);
      name[width] = 0;
      if (word_is_same(name, word)) return true;
    }
    at += width;
  }
  return false;
}

/* NULL: no row has it. */
static const WordRow *known_word(const char *where, const char *words, const char *word) {
  for (int32_t i = 0; i < word_row_count(); i++) {
    const WordRow *known = word_row(i);
    if (known->answer != WORD_VALUE) continue;
    size_t width = strlen(known->ours); /* names of a section are also names of its keys */
    bool is_here =
        strncmp(known->ours, where, width) == 0 && (!where[width] || where[width] == '.');
    if (is_here && row_has(known->names, word) && word_index(words, known->value) >= 0)
      return known;
  }
  return NULL;
}

const char *word_reason(const char *where, const char *words, const char *word) {
  const WordRow *known = known_word(where, words, word);
  return known != NULL && *known->note ? known->note : NULL;
}

const char *translated_word(Arena *arena, const char *where, const char *words, const char *word) {
  const WordRow *known = known_word(where, words, word);
  if (known != NULL) return known->value;
  for (int32_t i = 0; *word_at(arena, words, i); i++)
    if (word_is_same(word_at(arena, words, i), word)) return word_at(arena, words, i);
  return NULL;
}

const char *meant_word(Arena *arena, const char *where, const char *words, const char *word) {
  const char *ours = translated_word(arena, where, words, word);
  return ours ? ours : nearest_of(arena, words, word);
}

/* ---- the fix: the key where it belongs, with a value that it takes */

/* A value that the key takes, for a fix that cannot keep what was written. */
static const char *sample_value(int32_t field) {
  const FieldInfo *info = &spec_fields[field];
  bool has_default = strcmp(info->initial, "!") != 0 && strcmp(info->initial, "=") != 0 &&
                     strcmp(info->initial, "none") != 0;
  switch (info->kind) {
  case KIND_COUNT:
  case KIND_COUNT_OR: return has_default ? info->initial : "8";
  case KIND_NUMBER: return has_default ? info->initial : "6e-4";
  case KIND_FLAG: return "true";
  case KIND_AMOUNT: return field == FIELD_train_batch ? "\"64 sequences\"" : "1000";
  default: return NULL;
  }
}

/* "train.batch" or "precision". */
static Meant meant_by_path(Arena *arena, const char *path) {
  const char *dot = strchr(path, '.');
  Meant meant = nothing;
  if (!dot) {
    meant.section = section_find(path);
    return meant;
  }
  meant.section = section_find(arena_copy_n(arena, path, (size_t)(dot - path)));
  if (meant.section >= 0) meant.field = field_find((SectionId)meant.section, dot + 1);
  return meant;
}

/* A value that a key of this path takes, with a number for N in `form`; "": any value. NULL: it is
 * the user's own. */
const char *field_sample(Arena *arena, const char *path, const char *form) {
  const char *n = strchr(form, 'N');
  if (n) {
    const char *number = strstr(form, "backoff") ? "0.5" : strstr(form, "2^N") ? "16" : "64";
    return arena_printf(arena, "%.*s%s%s", (int)(n - form), form, number, n + 1);
  }
  const Meant meant = meant_by_path(arena, path);
  if (meant.field < 0) return NULL;
  const FieldInfo *info = &spec_fields[meant.field];
  const char *value = sample_value(meant.field);
  if (value) return value;
  switch (info->kind) {
  case KIND_CHOICE:
  case KIND_SCALE: return arena_printf(arena, "\"%s\"", word_at(arena, info->values, 0));
  case KIND_BYTES:
  case KIND_BYTES_OR: return "\"64MiB\"";
  case KIND_COUNTS: return "{ 8, 8 }";
  case KIND_LIST: return "\"train.bin\"";
  default: return NULL;
  }
}

/* N in `form` by the number that was written. */
static const char *fill_form(Arena *arena, const char *form, const Raw *raw) {
  const char *n = strchr(form, 'N');
  if (!n) return form;
  double number = raw ? raw->number : 0;
  bool is_number = raw && (raw->kind == RAW_NUMBER ||
                           (raw->kind == RAW_TEXT && units_count(raw->text, &number)));
  if (!is_number) return NULL;
  return arena_printf(arena, "%.*s%.15g%s", (int)(n - form), form, number, n + 1);
}

static bool is_simple(const Raw *raw) {
  return raw && (raw->kind == RAW_NUMBER || raw->kind == RAW_FLAG || raw->kind == RAW_TEXT);
}

static const Raw *inner_stage(const Raw *raw) {
  for (int32_t i = 0; raw && raw->kind == RAW_TABLE && i < raw->named.count; i++)
    if (strcmp(raw->named.at[i].key, "stage") == 0) return raw->named.at[i].value;
  return raw;
}

/* Returns the word that is most similar to the value; NULL: none is near. */
static const char *word_for(Arena *arena, int32_t field, const Raw *raw) {
  const char *theirs = raw->kind == RAW_FLAG ? (raw->number != 0 ? "true" : "false") : raw->text;
  const char *ours = meant_word(arena, field_name(arena, field), spec_fields[field].values, theirs);
  return ours ? arena_printf(arena, "\"%s\"", ours) : NULL;
}

static const char *value_for(Arena *arena, int32_t field, const Raw *raw) {
  Kind kind = spec_fields[field].kind;
  if (kind == KIND_CHOICE && raw && (raw->kind == RAW_TEXT || raw->kind == RAW_FLAG))
    return word_for(arena, field, raw);
  bool takes_table = kind == KIND_LIST || kind == KIND_COLUMNS || kind == KIND_COUNTS ||
                     kind == KIND_WORDS || kind == KIND_PAIRS || kind == KIND_SCALE;
  if (field == FIELD_parallel_zero) raw = inner_stage(raw);
  bool is_kept = raw && (takes_table || is_simple(raw));
  if (raw && raw->kind == RAW_FLAG) is_kept = kind == KIND_FLAG;
  if (raw && raw->kind == RAW_TEXT && !raw->is_typed)
    is_kept = kind != KIND_COUNT && kind != KIND_NUMBER && kind != KIND_FLAG;
  const char *text = is_kept ? raw_write(arena, raw) : NULL;
  return text ? text : sample_value(field);
}

/* `section = { key = value }`, in -D as -D takes it. */
static void fix_key(Compile *c, int32_t field, const char *value, const Raw *raw) {
  const FieldInfo *info = &spec_fields[field];
  if (!value) value = "...";
  if (raw && raw->is_typed) {
    const char *quote = strpbrk(value, " \"{") ? "'" : "";
    fix_last(c, "-D %s%s=%s%s", quote, field_name(c->arena, field), value, quote);
  } else if (info->section == SECTION_job)
    fix_last(c, "job { %s = %s }", info->key, value);
  else
    fix_last(c, "%s = { %s = %s }", spec_sections[info->section].name, info->key, value);
}

static const char *section_value(Arena *arena, int32_t section, const WordRow *name,
                                 const Raw *raw) {
  const SectionInfo *info = &spec_sections[section];
  if (*name->value) return name->value;
  const char *word = raw && raw->kind == RAW_TEXT ? raw->text : "";
  const char *near = meant_word(arena, info->name, info->head, word);
  return near                                  ? arena_printf(arena, "\"%s\"", near)
         : strcmp(info->name, "schedule") == 0 ? "\"cosine\""
                                               : "\"bf16\"";
}

static Meant refuse_later(Compile *c, Span at, const char *path, const char *instead) {
  error_at(c, at, "not-built", "%s is not built yet; %s", path, instead);
  return nothing;
}

bool refuse_later_word(Compile *c, Span at, int32_t section, const char *word) {
  const char *instead = later_instead(spec_sections[section].name, word);
  if (!instead) return false;
  error_at(c, at, "not-built", "%s = \"%s\" is not built yet; %s", spec_sections[section].name,
           text_show(c->arena, word), instead);
  return true;
}

static Meant refuse_renamed(Compile *c, Span at, const char *full, const WordRow *name,
                            const Raw *raw) {
  const char *later = word_later(c->arena, name);
  if (later) {
    error_at(c, at, "not-built", "%s: that is %s here, which is not built yet;\n    %s", full,
             name->ours, later);
    return nothing;
  }
  Meant meant = meant_by_path(c->arena, name->ours);
  error_at(c, at, meant.field >= 0 ? "unknown-key" : "unknown-section", "%s: no such key; %s", full,
           word_says(c->arena, name));
  if (meant.field < 0) {
    fix_last(c, "%s%s%s%s", raw && raw->is_typed ? "-D " : "", name->ours,
             raw && raw->is_typed ? "=" : " = ", section_value(c->arena, meant.section, name, raw));
    return meant;
  }
  bool is_converted = !raw || *name->note; /* else the value is kept as it is written */
  const char *value = *name->value && is_converted ? fill_form(c->arena, name->value, raw) : NULL;
  fix_key(c, meant.field, value ? value : value_for(c->arena, meant.field, raw), raw);
  return meant;
}

/* A name of another tool that has no key here. */
static Meant refuse_word(Compile *c, Span at, const char *full, const WordRow *row,
                         const Raw *raw) {
  switch (row->answer) {
  case WORD_RENAMED: return refuse_renamed(c, at, full, row, raw);
  case WORD_UNBUILT:
    error_at(c, at, "not-built", "%s: no such key; %s", full, word_says(c->arena, row));
    return nothing;
  case WORD_DERIVED:
  case WORD_DECLINED:
    error_at(c, at, "declined", "%s does not exist: %s", full, row->note);
    return nothing;
  default:
    error_at(c, at, "declined", "%s: no such key; %s", full, word_says(c->arena, row));
    return nothing;
  }
}

/* The section that has this key, if exactly one has: keys are often written one level too high or
 * low. */
static int32_t section_with(const char *key) {
  int32_t found = -1;
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    if (strcmp(spec_fields[i].key, key) != 0) continue;
    if (found >= 0) return -1;
    found = (int32_t)spec_fields[i].section;
  }
  return found;
}

static const char *nearest_key(Compile *c, int32_t section, const char *name) {
  VEC(const char *) words = {0};
  for (int32_t i = 0; i < FIELD_COUNT; i++)
    if ((int32_t)spec_fields[i].section == (section < 0 ? SECTION_job : section))
      VEC_PUSH(c->arena, &words, spec_fields[i].key);
  for (int32_t i = 0; section < 0 && i < SECTION_COUNT; i++)
    if (i != SECTION_job) VEC_PUSH(c->arena, &words, spec_sections[i].name);
  return nearest_word(name, words.at, words.count);
}

/* The key of the section that ends with this word: optimizer.decay is weight_decay, though schedule
 * has a key decay. NULL: none does, or several do. */
static const char *key_ending_with(int32_t section, const char *name) {
  const char *found = NULL;
  const size_t width = strlen(name);
  for (int32_t i = 0; i < FIELD_COUNT; i++) {
    const char *key = spec_fields[i].key;
    const size_t length = strlen(key);
    if ((int32_t)spec_fields[i].section != section || length <= width + 1 ||
        key[length - width - 1] != '_' || strcmp(key + length - width, name) != 0)
      continue;
    if (found != NULL) return NULL;
    found = key;
  }
  return found;
}

static Meant refuse_unknown(Compile *c, Span at, int32_t section, const char *name,
                            const char *full, const Raw *raw) {
  const char *kind = section < 0 ? "unknown-section" : "unknown-key";
  const char *what = section < 0 ? "section" : "key";
  int32_t other = section_with(name), whole = section >= 0 ? section_find(name) : -1;
  int32_t moved = other >= 0 ? field_find((SectionId)other, name) : -1;
  const char *near = section >= 0 && whole < 0 ? key_ending_with(section, name) : NULL;
  if (near == NULL && moved < 0 && whole < 0) near = nearest_key(c, section, name);
  if (near) {
    error_at(c, at, kind, "%s: no such %s; did you mean '%s'?", full, what, near);
    fix_last(c, "%s", near);
    return section < 0 ? meant_by_path(c->arena, near)
                       : (Meant){section, field_find((SectionId)section, near)};
  } else if (whole >= 0) {
    error_at(c, at, kind, "%s: no such key; %s is a section, which goes beside %s, not in it", full,
             name, spec_sections[section].name);
    const char *value = raw ? raw_write(c->arena, raw) : NULL;
    fix_last(c, "job { %s = %s }", name, value ? value : "{ }");
    return (Meant){whole, -1};
  } else if (moved >= 0) {
    bool is_job = other == SECTION_job;
    error_at(c, at, kind, "%s: no such %s; %s%s", full, what,
             is_job ? "it belongs in job itself" : "section ",
             is_job ? "" : arena_printf(c->arena, "%s has it", spec_sections[other].name));
    fix_key(c, moved, value_for(c->arena, moved, raw), raw);
    return (Meant){other, moved};
  } else if (section < 0) {
    error_at(c, at, kind, "%s: no such section or key", full);
    note_at(c, (Span){0}, "lockstep help lists them");
  } else {
    error_at(c, at, kind, "%s: no such key", full);
    note_at(c, (Span){0}, "lockstep help %s lists its keys", spec_sections[section].name);
  }
  return nothing;
}

/* The row of another tool's name; NULL: it is none, or more likely a slip of one of ours. */
static const WordRow *foreign_row(Compile *c, const char *name, const char *full) {
  WordHits exact = {0};
  if (strcmp(full, name) != 0) exact = words_find(c->arena, -1, full);
  if (exact.list.count > 0 && exact.list.at[0].fit == FIT_SAME) return exact.list.at[0].row;
  WordHits hits = words_find(c->arena, -1, name);
  for (int32_t i = 0; i < hits.list.count; i++) {
    const WordRow *row = hits.list.at[i].row;
    if (row->answer == WORD_VALUE || row->answer == WORD_INTERNAL) continue;
    bool is_ours = row->tool != 0 && section_with(name) >= 0;
    return is_ours ? NULL : row;
  }
  return NULL;
}

Meant refuse_name(Compile *c, Span at, int32_t section, const char *name, const Raw *raw) {
  const char *shown = text_show(c->arena, name);
  const char *group = section < 0 ? "job" : spec_sections[section].name;
  const char *full = section < 0 ? shown : arena_printf(c->arena, "%s.%s", group, shown);
  const char *later = later_instead(group, name);
  if (!later && section < 0) later = later_instead(name, "");
  if (later) return refuse_later(c, at, full, later);
  const WordRow *row = foreign_row(c, name, full);
  return row ? refuse_word(c, at, full, row, raw) : refuse_unknown(c, at, section, name, full, raw);
}
