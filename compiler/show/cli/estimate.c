/* estimate.c -- lockstep estimate: the settings of a table, with the memory and time of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "compiler/show/cli/outputs.h"

typedef VEC(const char *) Cells;

/* Splits a line at commas; a cell in quotes may have some, and "" is a quote in it. No cell: a
 * quote is not closed. */
static Cells cells_of(Arena *arena, const char *line) {
  Cells cells = {0};
  const char *at = line;
  char *end = arena_alloc(arena, strlen(line) + 1);
  for (;;) {
    char *cell = end;
    bool is_quoted = false;
    for (; *at != '\0' && (is_quoted || *at != ','); at++) {
      if (*at != '"')
        *end++ = *at;
      else if (is_quoted && at[1] == '"')
        *end++ = *at++;
      else
        is_quoted = !is_quoted;
    }
    char *last = end;
    while (last > cell && (last[-1] == ' ' || last[-1] == '\r'))
      last--;
    *last = *end++ = '\0'; /* over its comma */
    if (is_quoted) return (Cells){0};
    VEC_PUSH(arena, &cells, cell + strspn(cell, " "));
    if (*at++ == '\0') return cells;
  }
}

/* A line of the table that is not empty. */
typedef struct EstimateLine {
  const char *text;
  int32_t number;
} EstimateLine;
typedef VEC(EstimateLine) Lines;

/* False: the file cannot be read (errno), or is not text (0). */
static bool read_lines(Arena *arena, FILE *file, Lines *lines) {
  static const char mark[] = "\xEF\xBB\xBF"; /* with which spreadsheets begin UTF-8 */
  bool is_text = true;
  int32_t number = 0;
  char *line = NULL;
  size_t room = 0;
  errno = 0;
  for (ssize_t length; is_text && (length = getline(&line, &room, file)) >= 0; number++) {
    is_text = memchr(line, '\0', (size_t)length) == NULL;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
      line[--length] = '\0';
    const bool is_marked = number == 0 && strncmp(line, mark, strlen(mark)) == 0;
    const char *text = line + (is_marked ? strlen(mark) : 0);
    if (*text != '\0') VEC_PUSH(arena, lines, (EstimateLine){arena_copy(arena, text), number + 1});
  }
  const bool is_read = !ferror(file);
  free(line);
  if (!is_text) errno = 0;
  return is_read && is_text;
}

typedef struct EstimateTable {
  const Options *options;
  Arena *arena;
  Cells keys;
  FILE *out;
  int32_t refused; /* lines */
} EstimateTable;

/* False: reported. Each line has a cell for each key, so that results are below their heads. */
static bool check_lines(const EstimateTable *t, const Lines *lines) {
  Arena *arena = t->arena;
  const char *path = t->options->csv;
  const Cells keys = cells_of(arena, lines->at[0].text);
  if (keys.count + t->options->overrides.count >= WORDS_MAX)
    return complain(EXIT_USER, "%s names %d keys, of %d that a command may set with -D", path,
                    keys.count, WORDS_MAX - 1),
           false;
  for (int32_t i = 0; i < lines->count; i++) {
    const EstimateLine *line = &lines->at[i];
    const Cells cells = cells_of(arena, line->text);
    if (cells.count == 0)
      return complain(EXIT_USER, "%s:%d: a quote is not closed", path, line->number), false;
    if (cells.count != keys.count)
      return complain(EXIT_USER, "%s:%d: %d value%s, and %d key%s in the first line", path,
                      line->number, cells.count, plural(cells.count), keys.count,
                      plural(keys.count)),
             false;
  }
  for (int32_t i = 0; i < keys.count; i++)
    for (int32_t k = 0; k < i; k++)
      if (strcmp(keys.at[i], keys.at[k]) == 0)
        return complain(EXIT_USER, "%s: two columns are named '%.40s'", path, keys.at[i]), false;
  return true;
}

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
static bool estimate_line(EstimateTable *t, const char *line) {
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
  const bool is_moved = job != NULL && job->offload.optimizer == CHOICE_OFFLOAD_AUTO;
  const bool is_good = job != NULL && !compile_failed(c) &&
                       compile_open(c, job, &machine, &known) && fit_estimate(c, job, &known, &got);
  const bool fits = is_good && estimate_fits(&known, &got);
  if (is_good) {
    fprintf(t->out, "%s,%.6f,%lld,%lld,%lld,%s,%.4f,%s\n", line, 1e-6 * (double)got.step_ns,
            (long long)got.live_bytes, (long long)got.arena_bytes, (long long)known.budget_bytes,
            fits ? "yes" : "no", got.mfu,
            is_moved && !fits ? "estimates do not have what offload = auto moves" : "");
  } else {
    t->refused++;
    fprintf(t->out, "%s,,,,,,,", line);
    print_cell(first_error(c), t->out);
    fputc('\n', t->out);
  }
  compile_close(&known);
  compile_free(c);
  return true;
}

static ExitCode estimate_lines(EstimateTable *t, const Lines *lines, const char *path) {
  if (lines->count == 0)
    return complain(EXIT_USER, "%s is empty: its first line names keys, such as parallel.tp", path);
  if (!check_lines(t, lines)) return EXIT_USER;
  t->keys = cells_of(t->arena, lines->at[0].text);
  fprintf(t->out, "%s,step_ms,live_bytes,arena_bytes,budget_bytes,fits,mfu,error\n",
          lines->at[0].text);
  for (int32_t i = 1; i < lines->count; i++)
    if (!estimate_line(t, lines->at[i].text)) return EXIT_WORLD;
  return EXIT_DONE;
}

/* The template, its bases, its model and its data are read; none may be the table that is written.
 * That the template alone is no whole job is no error, because lines add to it. */
static ExitCode check_template(const Options *options) {
  if (options->out == NULL) return EXIT_DONE;
  Compile *c = open_compile();
  if (c == NULL) return EXIT_WORLD;
  Job *job = spec_load(c, options->template, options->overrides.at, options->overrides.count);
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 1};
  Compiled known = {0};
  if (job != NULL && !compile_failed(c)) {
    spec_data_assume(job);
    (void)compile_open(c, job, &machine, &known);
    compile_close(&known);
  }
  const char *path = output_of_inputs(c, job, options);
  const ExitCode code =
      path == NULL
          ? EXIT_DONE
          : complain(EXIT_USER, "%s is a file that the job reads: name another output", path);
  compile_free(c);
  return code;
}

ExitCode verb_estimate(const Options *options) {
  if (options->csv == NULL || options->template == NULL)
    return complain(EXIT_USER, "estimate wants a table and a job: --csv FILE --template JOB.lua");
  ExitCode code = check_template(options);
  if (code != EXIT_DONE) return code;
  FILE *file = fopen(options->csv, "r");
  if (file == NULL) return complain(EXIT_USER, "cannot read %s: %s", options->csv, strerror(errno));
  EstimateTable t = {.options = options, .arena = arena_new(), .out = stdout};
  Lines lines = {0};
  if (!read_lines(t.arena, file, &lines))
    code = complain(EXIT_USER, "cannot read %s: %s", options->csv,
                    errno != 0 ? strerror(errno) : "it is not text");
  fclose(file);
  if (code != EXIT_DONE) {
    arena_free(t.arena);
    return code;
  }
  const char *part = options->out ? file_beside(t.arena, options->out) : NULL;
  if (part != NULL) t.out = fopen(part, "w");
  if (t.out == NULL) {
    code = cannot_write(options->out, errno);
  } else {
    code = estimate_lines(&t, &lines, options->csv);
    const bool is_written = part == NULL || fclose(t.out) == 0;
    if (part != NULL && code == EXIT_DONE && (!is_written || rename(part, options->out) != 0))
      code = cannot_write(options->out, errno);
    if (part != NULL && code != EXIT_DONE) file_forget(part, options->out);
  }
  arena_free(t.arena);
  if (code == EXIT_DONE && t.refused > 0)
    code = complain(EXIT_USER, "lines refused: %d of %d; column error says why", t.refused,
                    lines.count - 1);
  return code;
}
