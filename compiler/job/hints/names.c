/* names.c -- refusing a key or a section that does not exist, with the name that does. */
#include <ctype.h>
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

typedef struct Renamed {
  const char *theirs, *ours, *note, *value;
} Renamed;
typedef struct Word {
  const char *where, *theirs, *ours;
} Word;
typedef struct Declined {
  const char *theirs, *reason;
} Declined;
typedef struct Later {
  const char *section, *key, *instead;
} Later;

#define RENAMED(theirs, ours, note, value) {theirs, ours, note, value},
#define WORD(where, theirs, ours)
#define DECLINED(theirs, reason)
#define LATER(section, key, instead)
#define LATER_SECTION(section, instead)
static const Renamed renamed[] = {
#include "compiler/job/hints/names.def"
};
#undef RENAMED
#undef WORD
#define RENAMED(theirs, ours, note, value)
#define WORD(where, theirs, ours) {where, theirs, ours},
static const Word foreign_words[] = {
#include "compiler/job/hints/names.def"
};
#undef WORD
#undef DECLINED
#define WORD(where, theirs, ours)
#define DECLINED(theirs, reason) {theirs, reason},
static const Declined declined[] = {
#include "compiler/job/hints/names.def"
};
#undef DECLINED
#undef LATER
#define DECLINED(theirs, reason)
#undef LATER_SECTION
#define LATER(section, key, instead)    {#section, #key, instead},
#define LATER_SECTION(section, instead) {#section, "", instead},
static const Later laters[] = {
#include "compiler/job/hints/names.def"
};
#undef RENAMED
#undef WORD
#undef DECLINED
#undef LATER
#define COUNT_OF(array) (int32_t)(sizeof(array) / sizeof *(array))

/* "--micro-batch-size", "MicroBatchSize" and "micro_batch_size" are one name. */
static bool is_same_name(const char *a, const char *b) {
  for (;;) {
    while (*a == '_' || *a == '-')
      a++;
    while (*b == '_' || *b == '-')
      b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    if (!*a) return true;
    a++;
    b++;
  }
}

static const Later *find_later(const char *section, const char *key) {
  for (int32_t i = 0; i < COUNT_OF(laters); i++)
    if (strcmp(laters[i].section, section) == 0 && strcmp(laters[i].key, key) == 0)
      return &laters[i];
  return NULL;
}

/* "parallel.tp" -> the Later of it, or of its section. */
static const Later *find_later_path(Arena *arena, const char *path) {
  const char *dot = strchr(path, '.');
  if (!dot) return find_later(path, "");
  const char *section = arena_copy_n(arena, path, (size_t)(dot - path));
  const Later *later = find_later(section, dot + 1);
  return later ? later : find_later(section, "");
}

static const Meant nothing = {-1, -1};

/* ---- words */

const char *translated_word(Arena *arena, const char *where, const char *words, const char *word) {
  for (int32_t i = 0; i < COUNT_OF(foreign_words); i++) {
    const Word *known = &foreign_words[i];
    size_t width = strlen(known->where); /* those of a section are those of its keys */
    bool is_here =
        strncmp(known->where, where, width) == 0 && (!where[width] || where[width] == '.');
    if (is_here && is_same_name(known->theirs, word) && word_index(words, known->ours) >= 0)
      return known->ours;
  }
  for (int32_t i = 0; *word_at(arena, words, i); i++)
    if (is_same_name(word_at(arena, words, i), word)) return word_at(arena, words, i);
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

/* The word for it here; NULL: there is none near. */
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

static const char *section_value(Arena *arena, int32_t section, const Renamed *name,
                                 const Raw *raw) {
  const SectionInfo *info = &spec_sections[section];
  if (*name->value) return name->value;
  const char *word = raw && raw->kind == RAW_TEXT ? raw->text : "";
  const char *near = meant_word(arena, info->name, info->head, word);
  return near                                  ? arena_printf(arena, "\"%s\"", near)
         : strcmp(info->name, "schedule") == 0 ? "\"cosine\""
                                               : "\"bf16\"";
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

static Meant refuse_later(Compile *c, Span at, const char *path, const Later *later) {
  error_at(c, at, "not-built", "%s is not built yet; %s", path, later->instead);
  return nothing;
}

bool refuse_later_word(Compile *c, Span at, int32_t section, const char *word) {
  const Later *later = find_later(spec_sections[section].name, word);
  if (!later) return false;
  error_at(c, at, "not-built", "%s = \"%s\" is not built yet; %s", spec_sections[section].name,
           text_show(c->arena, word), later->instead);
  return true;
}

static Meant refuse_renamed(Compile *c, Span at, const char *full, const Renamed *name,
                            const Raw *raw) {
  const Later *later = find_later_path(c->arena, name->ours);
  if (later) {
    error_at(c, at, "not-built", "%s: that is %s here, which is not built yet;\n    %s", full,
             name->ours, later->instead);
    return nothing;
  }
  Meant meant = meant_by_path(c->arena, name->ours);
  error_at(c, at, meant.field >= 0 ? "unknown-key" : "unknown-section",
           "%s: no such key; that is %s here%s%s", full, name->ours, *name->note ? ", " : "",
           name->note);
  if (meant.field < 0) {
    fix_last(c, "%s%s%s%s", raw && raw->is_typed ? "-D " : "", name->ours,
             raw && raw->is_typed ? "=" : " = ", section_value(c->arena, meant.section, name, raw));
    return meant;
  }
  const char *value = *name->value ? fill_form(c->arena, name->value, raw) : NULL;
  fix_key(c, meant.field, value ? value : value_for(c->arena, meant.field, raw), raw);
  return meant;
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

static Meant refuse_unknown(Compile *c, Span at, int32_t section, const char *name,
                            const char *full, const Raw *raw) {
  const char *kind = section < 0 ? "unknown-section" : "unknown-key";
  const char *what = section < 0 ? "section" : "key";
  int32_t other = section_with(name), whole = section >= 0 ? section_find(name) : -1;
  int32_t moved = other >= 0 ? field_find((SectionId)other, name) : -1;
  const char *near = moved < 0 && whole < 0 ? nearest_key(c, section, name) : NULL;
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

Meant refuse_name(Compile *c, Span at, int32_t section, const char *name, const Raw *raw) {
  const char *shown = text_show(c->arena, name);
  const char *group = section < 0 ? "job" : spec_sections[section].name;
  const char *full = section < 0 ? shown : arena_printf(c->arena, "%s.%s", group, shown);
  const Later *later = find_later(group, name);
  if (!later && section < 0) later = find_later(name, "");
  if (later) return refuse_later(c, at, full, later);
  for (int32_t i = 0; i < COUNT_OF(declined); i++)
    if (is_same_name(declined[i].theirs, name)) {
      error_at(c, at, "declined", "%s does not exist: %s", full, declined[i].reason);
      return nothing;
    }
  for (int32_t i = 0; i < COUNT_OF(renamed); i++)
    if (is_same_name(renamed[i].theirs, name) || is_same_name(renamed[i].theirs, full))
      return refuse_renamed(c, at, full, &renamed[i], raw);
  return refuse_unknown(c, at, section, name, full, raw);
}
