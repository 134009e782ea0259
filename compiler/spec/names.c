/* names.c -- refusing a key or a section that does not exist, with the name that does. */
#include <ctype.h>
#include <string.h>

#include "compiler/spec/spec_room.h"

typedef struct Renamed {
  const char *theirs, *ours, *note;
} Renamed;
typedef struct Declined {
  const char *theirs, *reason;
} Declined;
typedef struct Later {
  const char *section, *key, *instead;
} Later;

#define RENAMED(theirs, ours, note) {theirs, ours, note},
#define DECLINED(theirs, reason)
#define LATER(section, key, instead)
#define LATER_SECTION(section, instead)
static const Renamed renamed[] = {
#include "compiler/spec/names.def"
};
#undef RENAMED
#undef DECLINED
#define RENAMED(theirs, ours, note)
#define DECLINED(theirs, reason) {theirs, reason},
static const Declined declined[] = {
#include "compiler/spec/names.def"
};
#undef DECLINED
#undef LATER
#define DECLINED(theirs, reason)
#undef LATER_SECTION
#define LATER(section, key, instead)    {#section, #key, instead},
#define LATER_SECTION(section, instead) {#section, "", instead},
static const Later laters[] = {
#include "compiler/spec/names.def"
};
#undef RENAMED
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

static Meant refuse_renamed(Compile *c, Span at, const char *full, const Renamed *name) {
  const Later *later = find_later_path(c->arena, name->ours);
  if (later) {
    error_at(c, at, "not-built", "%s: that is %s here, which is not built yet;\n    %s", full,
             name->ours, later->instead);
    return nothing;
  }
  const char *dot = strchr(name->ours, '.');
  error_at(c, at, dot ? "unknown-key" : "unknown-section", "%s: no such key; that is %s here%s%s",
           full, name->ours, *name->note ? ", " : "", name->note);
  if (dot)
    fix_last(c, "%.*s = { %s = ... }", (int)(dot - name->ours), name->ours, dot + 1);
  else
    fix_last(c, "%s = ...", name->ours);
  return meant_by_path(c->arena, name->ours);
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
                            const char *full) {
  const char *kind = section < 0 ? "unknown-section" : "unknown-key";
  const char *what = section < 0 ? "section" : "key";
  const char *near = nearest_key(c, section, name);
  int32_t other = section_with(name);
  if (near) {
    error_at(c, at, kind, "%s: no such %s; did you mean '%s'?", full, what, near);
    fix_last(c, "%s", near);
    return section < 0 ? meant_by_path(c->arena, near)
                       : (Meant){section, field_find((SectionId)section, near)};
  } else if (other == SECTION_job) {
    error_at(c, at, kind, "%s: no such %s; it stands in job itself", full, what);
    fix_last(c, "job { %s = ... }", name);
  } else if (other >= 0) {
    error_at(c, at, kind, "%s: no such %s; section %s has it", full, what,
             spec_sections[other].name);
    fix_last(c, "%s = { %s = ... }", spec_sections[other].name, name);
    return (Meant){other, field_find((SectionId)other, name)};
  } else if (section < 0) {
    error_at(c, at, kind, "%s: no such section or key", full);
    note_at(c, (Span){0}, "lockstep help lists them");
  } else {
    error_at(c, at, kind, "%s: no such key", full);
    note_at(c, (Span){0}, "lockstep help %s lists its keys", spec_sections[section].name);
  }
  return nothing;
}

Meant refuse_name(Compile *c, Span at, int32_t section, const char *name) {
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
    if (is_same_name(renamed[i].theirs, name)) return refuse_renamed(c, at, full, &renamed[i]);
  return refuse_unknown(c, at, section, name, full);
}
