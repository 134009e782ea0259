/* estimate.c -- lockstep estimate: the settings of a table, with the memory and time of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/search/fit.h"
#include "compiler/show/cli/cli.h"

typedef VEC(const char *) Cells;

/* Splits a line at commas; a cell in quotes may have some, and "" is a quote in it. */
static Cells cells_of(Arena *arena, const char *line) {
  Cells cells = {0};
  const char *at = line;
  for (;;) {
    char *cell = arena_alloc(arena, strlen(at) + 1), *end = cell;
    bool is_quoted = false;
    for (; *at != '\0' && (is_quoted || *at != ','); at++) {
      if (*at != '"')
        *end++ = *at;
      else if (is_quoted && at[1] == '"')
        *end++ = *at++;
      else
        is_quoted = !is_quoted;
    }
    while (end > cell && (end[-1] == ' ' || end[-1] == '\r'))
      *--end = '\0';
    VEC_PUSH(arena, &cells, cell + strspn(cell, " "));
    if (*at++ == '\0') return cells;
  }
}

static Cells lines_of(Arena *arena, FILE *file) {
  Cells lines = {0};
  char *line = NULL;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, file)) >= 0;) {
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
      line[--length] = '\0';
    if (length > 0) VEC_PUSH(arena, &lines, arena_copy(arena, line));
  }
  free(line);
  return lines;
}

typedef struct Table {
  const Options *options;
  Arena *arena;
  Cells keys;
  FILE *out;
} Table;

static void add_override(Options *own, Arena *arena, const char *key, const char *value) {
  if (own->overrides.count < WORDS_MAX)
    own->overrides.at[own->overrides.count++] = arena_printf(arena, "%s=%s", key, value);
}

static const char *first_error(const Compile *c) {
  for (int32_t i = 0; i < c->diags.list.count; i++)
    if (c->diags.list.at[i].severity == SEVERITY_ERROR) return c->diags.list.at[i].message;
  return "";
}

/* A cell of a table: quoted where it has commas or quotes. */
static void print_cell(const char *text, FILE *out) {
  const bool is_plain = strpbrk(text, ",\"\n") == NULL;
  if (!is_plain) fputc('"', out);
  for (const char *p = text; *p != '\0'; p++) {
    if (*p == '"') fputc('"', out);
    fputc(*p == '\n' ? ' ' : *p, out);
  }
  if (!is_plain) fputc('"', out);
}

/* False: the machine failed. */
static bool estimate_line(const Table *t, const char *line) {
  Options own = *t->options;
  const Cells values = cells_of(t->arena, line);
  Compile *c = open_compile();
  if (c == NULL) return false;
  own.verb = "estimate";
  own.no_data = true;
  own.words.at[0] = t->options->template;
  own.words.count = 1;
  if (t->options->software != NULL)
    add_override(&own, c->arena, "cluster.software", t->options->software);
  for (int32_t i = 0; i < t->keys.count && i < values.count; i++)
    if (*values.at[i] != '\0') add_override(&own, c->arena, t->keys.at[i], values.at[i]);
  Machine machine;
  Compiled known = {0};
  Estimate got = {0};
  Job *job = read_job(c, &own, &machine);
  const bool is_good = job != NULL && !compile_failed(c) &&
                       compile_open(c, job, &machine, &known) && fit_estimate(c, job, &known, &got);
  if (is_good)
    fprintf(t->out, "%s,%.6f,%lld,%lld,%lld,%s,%.4f,\n", line, 1e-6 * (double)got.step_ns,
            (long long)got.live_bytes, (long long)got.arena_bytes, (long long)known.budget_bytes,
            got.arena_bytes <= known.budget_bytes ? "yes" : "no", got.mfu);
  else {
    fprintf(t->out, "%s,,,,,,,", line);
    print_cell(first_error(c), t->out);
    fputc('\n', t->out);
  }
  compile_close(&known);
  compile_free(c);
  return true;
}

static ExitCode estimate_lines(Table *t, const Cells *lines, const char *path) {
  if (lines->count == 0)
    return complain(EXIT_USER, "%s is empty: its first line names keys, such as parallel.tp", path);
  t->keys = cells_of(t->arena, lines->at[0]);
  fprintf(t->out, "%s,step_ms,live_bytes,arena_bytes,budget_bytes,fits,mfu,error\n", lines->at[0]);
  for (int32_t i = 1; i < lines->count; i++)
    if (!estimate_line(t, lines->at[i])) return EXIT_WORLD;
  return EXIT_DONE;
}

ExitCode verb_estimate(const Options *options) {
  if (options->csv == NULL || options->template == NULL)
    return complain(EXIT_USER, "estimate wants a table and a job: --csv FILE --template JOB.lua");
  FILE *file = fopen(options->csv, "r");
  if (file == NULL) return complain(EXIT_USER, "cannot read %s: %s", options->csv, strerror(errno));
  Table t = {.options = options, .arena = arena_new(), .out = stdout};
  const Cells lines = lines_of(t.arena, file);
  fclose(file);
  ExitCode code = EXIT_DONE;
  const char *part = options->out ? arena_printf(t.arena, "%s.part", options->out) : NULL;
  if (part != NULL) t.out = fopen(part, "w");
  if (t.out == NULL) {
    code = complain(EXIT_WORLD, "cannot write %s: %s", options->out, strerror(errno));
  } else {
    code = estimate_lines(&t, &lines, options->csv);
    const bool is_written = part == NULL || fclose(t.out) == 0;
    if (part != NULL && code == EXIT_DONE && (!is_written || rename(part, options->out) != 0))
      code = complain(EXIT_WORLD, "cannot write %s: %s", options->out, strerror(errno));
    if (part != NULL && code != EXIT_DONE) (void)remove(part);
  }
  arena_free(t.arena);
  return code;
}
