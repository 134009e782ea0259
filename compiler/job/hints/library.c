/* library.c -- names that a job or a model file may use: files of the library, words of sections,
 * calls of model files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/job/hints/help.h"
#include "compiler/job/job_room.h"

typedef struct Name {
  const char *name, *doc;  /* doc: sentences in one line */
  const char *head, *body; /* what else help shows: after the name, below the doc; or NULL */
} Name;
typedef VEC(Name) Names;

typedef enum NameSource { FROM_FILES, FROM_CALLS, FROM_WORDS } NameSource;

/* `use`: how a job says it, % being the name. */
static const struct {
  const char *kind, *one, *use;
  NameSource source;
} kinds[] = {
    {"models", "a model", "model = { \"%\", ... }", FROM_FILES},
    {"clusters", "a cluster", "cluster = \"%\"", FROM_FILES},
    {"sites", "a site", "slurm = \"%\"", FROM_FILES},
    {"software", "a program", "cluster = { ..., software = \"%\" }", FROM_FILES},
    {"devices", "a device", "cluster = { ..., device = \"%\" }", FROM_FILES},
    {"ops", "a call of model files", "", FROM_CALLS},
    {"optimizers", "an optimizer", "optimizer = { \"%\", ... }", FROM_WORDS},
    {"schedules", "a schedule", "schedule = { \"%\", ... }", FROM_WORDS},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct {
  const char *kind, *word, *doc;
} words[] = {
#define WORD(kind, word, doc) {#kind, word, doc},
#include "compiler/job/hints/words.def"
#undef WORD
};

/* ---- files */

static const char *read_text(Arena *arena, const char *path) {
  enum { TEXT_MOST = 1 << 18 };
  FILE *file = fopen(path, "r");
  struct stat about;
  if (!file) return "";
  bool is_plain = fstat(fileno(file), &about) == 0 && about.st_size <= TEXT_MOST;
  char *text = arena_alloc(arena, is_plain ? (size_t)about.st_size + 1 : 1);
  text[is_plain ? fread(text, 1, (size_t)about.st_size, file) : 0] = 0;
  fclose(file);
  return text;
}

static const char *append(Arena *arena, const char *text, const char *line, size_t length) {
  return arena_printf(arena, "%s%s%.*s", text, *text ? " " : "", (int)length, line);
}

/* The comment in front is the doc, the rest the body where it is short: a preset, a device. */
static void read_comment(Arena *arena, const char *path, Name *name) {
  enum { BODY_BYTES = 400 };
  const char *at = read_text(arena, path);
  name->doc = "";
  while (strncmp(at, "--", 2) == 0) {
    at += 2 + strspn(at + 2, " ");
    size_t length = strcspn(at, "\n");
    name->doc = append(arena, name->doc, at, length);
    at += length + (at[length] == '\n');
  }
  at += strspn(at, "\n");
  bool is_short = strlen(at) <= BODY_BYTES && strncmp(at, "return", 6) == 0;
  name->body = arena_printf(arena, "%sfile %s", is_short ? at : "", path);
}

/* `only`: the file whose comment is read, among the names of all; NULL: of all. */
static Names read_files(Compile *c, const char *kind, const char *only) {
  Names names = {0};
  const char *folder = arena_printf(c->arena, "%s/%s", c->specs_dir, kind);
  TextList files = library_names(c, folder);
  for (int32_t i = 0; i < files.count; i++) {
    Name name = {.name = files.at[i]};
    if (!only || strcmp(only, name.name) == 0)
      read_comment(c->arena, arena_printf(c->arena, "%s/%s.lua", folder, name.name), &name);
    VEC_PUSH(c->arena, &names, name);
  }
  return names;
}

/* ---- calls: lines of lua/model.d.lua
 *   ---What it does.
 *   ---@param x Value what it is
 *   function name(x, ...) end */

static Names read_calls(Compile *c) {
  Names names = {0};
  const char *at = read_text(c->arena, path_join(c->arena, c->specs_dir, "../lua/model.d.lua"));
  Name name = {.doc = "", .body = ""};
  for (size_t length; *at; at += length + (at[length] == '\n')) {
    length = strcspn(at, "\n");
    if (strncmp(at, "---@param ", 10) == 0) {
      int word = (int)strcspn(at + 10, " \n");
      name.body = arena_printf(c->arena, "%s%.*s: %.*s\n", name.body, word, at + 10,
                               (int)length - 11 - word, at + 11 + word);
    } else if (strncmp(at, "---@", 4) == 0) {
      continue;
    } else if (strncmp(at, "---", 3) == 0) {
      name.doc = append(c->arena, name.doc, at + 3, length - 3);
    } else if (strncmp(at, "function ", 9) == 0) {
      const char *start = at + 9;
      name.name = arena_copy_n(c->arena, start, strcspn(start, "("));
      name.head = arena_copy_n(c->arena, start, strcspn(start, ")") + 1);
      VEC_PUSH(c->arena, &names, name);
      name = (Name){.doc = "", .body = ""};
    } else {
      name = (Name){.doc = "", .body = ""};
    }
  }
  return names;
}

/* ---- all of a kind */

/* `only`: the name whose doc is asked for, "" for none; NULL: of all. */
static Names read_kind(Compile *c, int32_t k, const char *only) {
  Names names = kinds[k].source == FROM_CALLS   ? read_calls(c)
                : kinds[k].source == FROM_FILES ? read_files(c, kinds[k].kind, only)
                                                : (Names){0};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].kind, kinds[k].kind) == 0)
      VEC_PUSH(c->arena, &names, (Name){.name = words[i].word, .doc = words[i].doc});
  return names;
}

static int32_t find_kind(const char *kind) {
  for (int32_t k = 0; k < KINDS; k++)
    if (strcmp(kinds[k].kind, kind) == 0) return k;
  return -1;
}

const char *help_kinds(Compile *c) {
  const char *text = "";
  for (int32_t k = 0; k < KINDS; k++)
    text = append(c->arena, text, kinds[k].kind, strlen(kinds[k].kind));
  return text;
}

/* Up to a full stop before a capital letter: "et al. 2019" does not end a sentence. */
static const char *first_sentence(Arena *arena, const char *doc) {
  const char *end = strstr(doc, ". ");
  while (end && !(end[2] >= 'A' && end[2] <= 'Z'))
    end = strstr(end + 1, ". ");
  if (end) return arena_copy_n(arena, doc, (size_t)(end - doc));
  size_t length = strlen(doc);
  return arena_copy_n(arena, doc, length - (length > 0 && doc[length - 1] == '.'));
}

static void print_name(const char *name, const char *doc, FILE *out) {
  enum { DOC = 18, COLUMNS = 80 };
  int32_t column = fprintf(out, "  %-*s ", DOC - 3, name);
  print_wrapped(out, doc, column, DOC, COLUMNS);
}

static void print_names_json(Compile *c, const char *kind, const Names *names, FILE *out) {
  fprintf(out, "{\"version\": 1, \"kind\": \"%s\", \"names\": [", kind);
  for (int32_t i = 0; i < names->count; i++) {
    fprintf(out, "%s\n {\"name\": ", i > 0 ? "," : "");
    print_json_text(names->at[i].name, out);
    fputs(", \"doc\": ", out);
    print_json_text(first_sentence(c->arena, names->at[i].doc), out);
    fputc('}', out);
  }
  fputs("]}\n", out);
}

bool help_list(Compile *c, const char *kind, bool json, FILE *out) {
  int32_t k = kind ? find_kind(kind) : -1;
  if (kind && k < 0) return false;
  Names names = {0};
  for (int32_t i = 0; !kind && i < KINDS; i++) {
    const char *count = arena_printf(c->arena, "%d name%s", read_kind(c, i, "").count,
                                     plural(read_kind(c, i, "").count));
    VEC_PUSH(c->arena, &names, (Name){.name = kinds[i].kind, .doc = count});
  }
  if (kind) names = read_kind(c, k, NULL);
  if (json) {
    print_names_json(c, kind ? kind : "kinds", &names, out);
    return true;
  }
  for (int32_t i = 0; i < names.count; i++)
    print_name(names.at[i].name, first_sentence(c->arena, names.at[i].doc), out);
  fprintf(out, "\n%s\n", kind ? "lockstep help NAME says more" : "lockstep list KIND lists them");
  return true;
}

/* Its lines, each from column 4 on; what is broken continues at `indent`. */
static void print_lines(const char *body, int32_t indent, FILE *out) {
  enum { INDENT = 4, COLUMNS = 80 };
  for (size_t length; *body; body += length + (body[length] == '\n')) {
    length = strcspn(body, "\n");
    char line[1024];
    snprintf(line, sizeof line, "%.*s", (int)length, body);
    fprintf(out, "%*s", INDENT, "");
    print_wrapped(out, line, INDENT, indent, COLUMNS);
  }
}

/* `use` with the name in place of its %. */
static const char *use_text(Arena *arena, const char *use, const char *name) {
  size_t length = strcspn(use, "%");
  return arena_printf(arena, "%.*s%s%s", (int)length, use, use[length] ? name : "",
                      use[length] ? use + length + 1 : "");
}

bool help_name(Compile *c, const char *word, FILE *out) {
  bool is_found = false;
  for (int32_t k = 0; k < KINDS; k++) {
    Names names = read_kind(c, k, word);
    for (int32_t i = 0; i < names.count; i++) {
      const Name *name = &names.at[i];
      if (strcmp(name->name, word) != 0) continue;
      fprintf(out, "%s%s: %s\n", is_found ? "\n" : "", name->head ? name->head : name->name,
              kinds[k].one);
      print_lines(name->doc, 4, out);
      print_lines(use_text(c->arena, kinds[k].use, name->name), 8, out);
      if (name->body) print_lines(name->body, 8, out);
      is_found = true;
    }
  }
  return is_found;
}

/* ---- for completion */

TextList help_keys(Compile *c) {
  TextList keys = {0};
  for (int32_t i = 0; i < FIELD_COUNT; i++)
    VEC_PUSH(c->arena, &keys, field_name(c->arena, i));
  return keys;
}

TextList help_words(Compile *c) {
  TextList list = help_keys(c);
  for (int32_t i = 0; i < SECTION_COUNT; i++)
    VEC_PUSH(c->arena, &list, spec_sections[i].name);
  for (int32_t k = 0; k < KINDS; k++) {
    Names names = read_kind(c, k, "");
    for (int32_t i = 0; i < names.count; i++)
      VEC_PUSH(c->arena, &list, names.at[i].name);
  }
  return list;
}
