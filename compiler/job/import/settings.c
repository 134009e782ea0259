/* settings.c -- what leaves say of the job, in one list; two that disagree are an error. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/import/import.h"
#include "compiler/job/job_room.h"

/* ---- values as Lua */

const char *lua_text(Arena *arena, const char *text) {
  char *out = arena_alloc(arena, strlen(text) * 4 + 3), *to = out;
  *to++ = '"';
  for (const char *p = text; *p; p++) {
    unsigned char byte = (unsigned char)*p;
    if (byte < 0x20 || byte == 0x7f) {
      to += sprintf(to, "\\%03d", byte);
      continue;
    }
    if (byte == '"' || byte == '\\') *to++ = '\\';
    *to++ = *p;
  }
  *to++ = '"';
  return out;
}

/* The shortest text that is this number, with e-notation as people write rates. */
const char *lua_number(Arena *arena, double number) {
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, number);
    if (strtod(text, NULL) == number) break;
  }
  if (fabs(number) >= 1 && fabs(number) < 1e15 && floor(number) == number)
    return arena_printf(arena, "%.0f", number);
  if (number != 0 && fabs(number) < 1e-2)
    for (int digits = 0; digits <= 16; digits++) {
      snprintf(text, sizeof text, "%.*e", digits, number);
      if (strtod(text, NULL) == number) break;
    }
  char *e = strchr(text, 'e');
  if (!e) return arena_copy(arena, text);
  long power = strtol(e + 1, NULL, 10);
  *e = 0;
  return arena_printf(arena, "%se%ld", text, power);
}

/* A product or a quotient of two decimals is off by three halves of its last bit at most: where
 * a number of 15 digits is that near, it is the one that is meant. */
double decimal_near(double number) {
  char text[40];
  snprintf(text, sizeof text, "%.15g", number);
  const double near = strtod(text, NULL);
  return fabs(near - number) <= 2 * DBL_EPSILON * fabs(number) ? near : number;
}

/* ---- the list */

static void split(Import *im, const char *path, const char **section, const char **key) {
  const char *dot = strchr(path, '.');
  *section = dot ? arena_copy_n(im->c->arena, path, (size_t)(dot - path)) : path;
  *key = dot ? dot + 1 : NULL;
}

static bool is_at(const JobSetting *setting, const char *section, const char *key) {
  if (strcmp(setting->section, section) != 0) return false;
  return setting->key && key ? strcmp(setting->key, key) == 0 : !setting->key && !key;
}

static JobSetting *find(const Import *im, const char *section, const char *key) {
  for (int32_t i = 0; i < im->settings.count; i++)
    if (is_at(&im->settings.at[i], section, key)) return &im->settings.at[i];
  return NULL;
}

const JobSetting *setting_find(const Import *im, const char *path) {
  const char *section, *key;
  split((Import *)im, path, &section, &key);
  return find(im, section, key);
}

bool setting_number(const Import *im, const char *path, double *number) {
  const JobSetting *setting = setting_find(im, path);
  if (!setting) return false;
  const char *text = setting->value;
  if (*text == '"') text = arena_copy_n(im->c->arena, text + 1, strcspn(text + 1, " \""));
  return text_number(text, number);
}

static const char *place_of(Import *im, const Leaf *leaf) {
  return arena_printf(im->c->arena, "%s:%d", leaf_file(leaf), leaf->at.line);
}

void take_as(Import *im, Leaf *leaf, const char *path) {
  leaf->how = HOW_USED;
  VEC_PUSH(im->c->arena, &leaf->as.list, path);
}

void drop(Leaf *leaf, How how, const char *why, bool changes_training) {
  leaf->how = how;
  leaf->why = why;
  leaf->changes_training = changes_training;
}

static const char *note_of(Import *im, const Leaf *leaf, const char *note) {
  return arena_printf(im->c->arena, "%s %s%s%s", place_of(im, leaf), leaf->shown, *note ? ": " : "",
                      note);
}

/* A path with variables, which a plan must not depend on. */
static bool is_open_path(const char *value, const char *section, const char *key) {
  int32_t at = section_find(section), field = key ? field_find((SectionId)at, key) : -1;
  bool is_path =
      field >= 0 && (spec_fields[field].kind == KIND_PATH || spec_fields[field].kind == KIND_LIST);
  return is_path && (strchr(value, '$') || strncmp(value, "\"~", 2) == 0);
}

void take(Import *im, Leaf *leaf, const char *path, const char *value, const char *note) {
  const char *section, *key;
  split(im, path, &section, &key);
  JobSetting *known = find(im, section, key);
  if (known && !known->leaf && strcmp(known->note, "-D") == 0) {
    drop(leaf, HOW_DECLINED, arena_printf(im->c->arena, "-D %s says it", path), false);
    return;
  }
  if (known && known->leaf && strcmp(known->value, value) != 0) {
    error_at(im->c, leaf->at, "import-conflict",
             "%s = %s here makes %s = %s, and %s:%d:%d %s makes it %s",
             text_plain(im->c->arena, leaf->shown), text_plain(im->c->arena, leaf->text), path,
             value, known->leaf->at.file, known->leaf->at.line, known->leaf->at.column,
             text_plain(im->c->arena, known->leaf->shown), known->value);
    return;
  }
  const JobSetting *head = find(im, section, NULL); /* -D model=NAME replaces the section */
  bool is_replaced = head && !head->leaf && strcmp(head->note, "-D") == 0 &&
                     (strcmp(section, "model") == 0 || strcmp(section, "data") == 0);
  if (is_replaced) {
    drop(leaf, HOW_DECLINED, arena_printf(im->c->arena, "-D %s says it", section), false);
    return;
  }
  if (is_open_path(value, section, key)) {
    drop(leaf, HOW_UNREAD, "its variables are known only when the program runs", false);
    if (strcmp(section, "data") != 0) /* for which there is a line anyway */
      open_line(im, arena_printf(im->c->arena, "%s = %s: a path without variables", path, value));
    return;
  }
  take_as(im, leaf, path);
  if (known && known->leaf) return;
  JobSetting setting = {section, key, value, note_of(im, leaf, note), leaf};
  if (known) { /* a default of theirs */
    *known = setting;
    return;
  }
  VEC_PUSH(im->c->arena, &im->settings, setting);
}

void take_default(Import *im, const char *path, const char *value, const char *note) {
  const char *section, *key;
  split(im, path, &section, &key);
  if (find(im, section, key)) return;
  JobSetting setting = {section, key, value, note, NULL};
  VEC_PUSH(im->c->arena, &im->settings, setting);
}

void take_define(Import *im, const char *define) {
  Arena *arena = im->c->arena;
  const char *equals = strchr(define, '='), *section, *key;
  if (!equals || equals == define) {
    error_at(im->c, (Span){0}, "override", "-D %s: it takes section.key=value",
             text_plain(arena, define));
    return;
  }
  const char *path = arena_copy_n(arena, define, (size_t)(equals - define));
  const char *value = equals + 1;
  double number = 0;
  split(im, path, &section, &key);
  int32_t id = section_find(section);
  if (id < 0 && !key) id = -2;
  if (id == -1) {
    error_at(im->c, (Span){0}, "override", "-D %s: there is no section %s",
             text_plain(arena, define), text_plain(arena, section));
    return;
  }
  if (id == -2) {
    key = section;
    section = "job";
  }
  bool is_lua = *value == '{' || *value == '"' || strcmp(value, "true") == 0 ||
                strcmp(value, "false") == 0 || text_number(value, &number);
  JobSetting setting = {section, key, is_lua ? value : lua_text(arena, value), "-D", NULL};
  JobSetting *known = find(im, section, key);
  if (known)
    *known = setting;
  else
    VEC_PUSH(arena, &im->settings, setting);
}

/* ---- leaves as values */

bool leaf_number(Import *im, Leaf *leaf, double *number) {
  if (leaf->kind == LEAF_TEXT && text_number(leaf->text, number)) return true;
  if (leaf->kind == LEAF_NUMBER) {
    *number = leaf->number;
    return true;
  }
  if (leaf->kind == LEAF_UNREAD) return false;
  return error_at(im->c, leaf->at, "wrong-type", "%s: a number is expected, not %s",
                  text_plain(im->c->arena, leaf->shown), text_plain(im->c->arena, leaf->text));
}

bool leaf_count(Import *im, Leaf *leaf, int64_t *count) {
  double number = 0;
  if (!leaf_number(im, leaf, &number)) return false;
  if (number < -1 || number > 1e15 || floor(number) != number)
    return error_at(im->c, leaf->at, "wrong-type", "%s: a whole number is expected, not %s",
                    text_plain(im->c->arena, leaf->shown), text_plain(im->c->arena, leaf->text));
  *count = (int64_t)number;
  return true;
}

void take_number(Import *im, int32_t tool, const char *key, const char *path) {
  Leaf *leaf = leaf_find(im, tool, key);
  double number = 0;
  if (leaf && !leaf_is_auto(leaf) && leaf_number(im, leaf, &number))
    take(im, leaf, path, lua_number(im->c->arena, number), "");
}

void take_count(Import *im, int32_t tool, const char *key, const char *path) {
  Leaf *leaf = leaf_find(im, tool, key);
  int64_t count = 0;
  if (leaf && !leaf_is_auto(leaf) && leaf_count(im, leaf, &count))
    take(im, leaf, path, lua_number(im->c->arena, (double)count), "");
}

void take_sequences(Import *im, Leaf *leaf, double count, const char *note) {
  take(im, leaf, "train.batch", arena_printf(im->c->arena, "\"%.0f sequences\"", count), note);
}
