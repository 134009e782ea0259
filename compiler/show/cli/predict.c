/* predict.c -- lockstep predict WHAT --data FILE.csv -o OUT.csv: what the loss would compare, row
 * by row; of classes their probabilities. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/use.h"
#include "runtime/csv/csv.h"

typedef struct Predict {
  const Options *options;
  Used used;
  TextList lacking; /* columns that the job reads and the file does not have */
} Predict;

/* ---- the table that ranks read: the file, and zeros for what is predicted */

static const char *quoted(Arena *arena, const char *name) {
  const size_t bytes = csv_quote(name, NULL, 0);
  char *text = arena_alloc(arena, bytes);
  (void)csv_quote(name, text, bytes);
  return text;
}

/* The names in "columns={ ["x"] = { "a", "b", }, }" that use_settings has written. */
static ExitCode columns_of(Predict *p, TextList *columns) {
  Arena *arena = p->used.c->arena;
  const char *key = "data.columns=", *text = NULL;
  for (int32_t i = 0; i < p->used.settings.count; i++)
    if (strncmp(p->used.settings.at[i], key, strlen(key)) == 0)
      text = p->used.settings.at[i] + strlen(key);
  if (text == NULL)
    return complain(EXIT_USER,
                    "%s is not of a job with data = \"table\": predict is for tables; "
                    "lockstep sample goes on from texts",
                    p->options->words.at[0]);
  bool is_input = false;
  for (const char *at = text; *at != '\0'; at++) {
    if (*at == '[') is_input = true;
    if (*at != '"') continue;
    char *name = arena_copy(arena, at + 1), *to = name;
    for (at++; *at != '\0' && *at != '"'; at++) {
      at += *at == '\\' && at[1] != '\0';
      *to++ = *at;
    }
    *to = '\0';
    if (!is_input) VEC_PUSH(arena, columns, name);
    is_input = false;
  }
  return EXIT_DONE;
}

/* False: the output cannot be written. */
static bool write_record(const Predict *p, const Csv *csv, bool is_header, FILE *out) {
  Arena *arena = p->used.c->arena;
  bool good = true;
  for (int32_t i = 0; i < csv->field_count; i++)
    good = fprintf(out, "%s%s", i > 0 ? "," : "", quoted(arena, csv_field(csv, i))) >= 0 && good;
  for (int32_t i = 0; i < p->lacking.count; i++)
    good = fprintf(out, ",%s", is_header ? quoted(arena, p->lacking.at[i]) : "0") >= 0 && good;
  return fputc('\n', out) != EOF && good;
}

/* A record is in the line that it is in of the file, so that errors name that line. */
static bool write_in_line(const Predict *p, const Csv *csv, bool is_header, int64_t *line,
                          FILE *out) {
  bool good = true;
  for (; good && *line < csv->line; ++*line)
    good = fputc('\n', out) != EOF;
  *line = csv->lines_read + 1;
  return good && write_record(p, csv, is_header, out);
}

static ExitCode copy_table(Predict *p, Csv *csv, const TextList *columns, FILE *out) {
  int64_t line = 1;
  for (int32_t i = 0; i < columns->count; i++)
    if (csv_find(csv, columns->at[i]) < 0) VEC_PUSH(p->used.c->arena, &p->lacking, columns->at[i]);
  bool good = write_in_line(p, csv, true, &line, out);
  CsvResult result = CSV_RECORD;
  while (good && (result = csv_next(csv)) == CSV_RECORD)
    good = write_in_line(p, csv, false, &line, out);
  if (result == CSV_BAD) return complain(csv->is_worlds ? EXIT_WORLD : EXIT_USER, "%s", csv->why);
  return good ? EXIT_DONE : complain(EXIT_WORLD, "a table cannot be written: %s", strerror(errno));
}

static ExitCode make_table(Predict *p) {
  const char *path = arena_printf(p->used.c->arena, "%s/rows.csv", p->used.folder);
  TextList columns = {0};
  ExitCode code = columns_of(p, &columns);
  if (code != EXIT_DONE) return code;
  Csv *csv = calloc(1, sizeof *csv);
  FILE *out = fopen(path, "w");
  if (csv == NULL || out == NULL)
    code = complain(EXIT_WORLD, "%s: %s", path, strerror(errno));
  else if (!csv_open(csv, p->options->data))
    code = complain(csv->is_worlds ? EXIT_WORLD : EXIT_USER, "%s", csv->why);
  else
    code = copy_table(p, csv, &columns, out);
  if (csv != NULL) csv_close(csv);
  free(csv);
  if (out != NULL && fclose(out) != 0 && code == EXIT_DONE)
    code = complain(EXIT_WORLD, "%s: %s", path, strerror(errno));
  VEC_PUSH(p->used.c->arena, &p->used.settings,
           arena_printf(p->used.c->arena, "data.valid=%s", path));
  p->used.copy = path;
  p->used.original = p->options->data;
  return code;
}

/* ---- the outputs of the model */

/* The node that hands out elements. */
static const Node *picked(const Graph *g) {
  return graph_node(g, graph_value(g, g->losses[0])->producer);
}

/* True if a node reads the input; those that only a left-out loss needs are in no region. */
static bool is_read(const Graph *g, const GraphInput *input) {
  for (RegionId r = 0; r < g->regions.count; r++)
    for (int32_t i = 0; i < g->regions.at[r].forward.count; i++) {
      const Node *node = graph_node(g, g->regions.at[r].forward.at[i]);
      for (int32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] == input->value) return true;
    }
  return false;
}

/* The input that the loss would compare with; NULL: that is computed. */
static const GraphInput *answer_of(const Graph *g) {
  for (int32_t i = 0; i < g->inputs.count; i++)
    if (g->inputs.at[i].value == g->answer) return &g->inputs.at[i];
  return NULL;
}

static const InputColumns *target_columns(const Predict *p) {
  const GraphInput *answer = answer_of(p->used.compiled.draft->train->logical);
  const ColumnList *all = &p->used.compiled.job->data.columns;
  for (int32_t i = 0; answer != NULL && i < all->count; i++)
    if (strcmp(all->at[i].input, answer->name) == 0) return &all->at[i];
  return NULL;
}

static bool are_classes(const Predict *p) {
  const Graph *g = p->used.compiled.draft->train->logical;
  const GraphInput *answer = answer_of(g);
  return answer != NULL && graph_value(g, answer->value)->dtype == DTYPE_I32;
}

/* True if the model reads an input that has the column. */
static bool is_column_read(const Predict *p, const char *column) {
  const Graph *g = p->used.compiled.draft->train->logical;
  const ColumnList *all = &p->used.compiled.job->data.columns;
  bool found = false;
  for (int32_t i = 0; i < all->count; i++)
    for (int32_t k = 0; k < all->at[i].names.count; k++)
      for (int32_t n = 0; n < g->inputs.count && strcmp(all->at[i].names.at[k], column) == 0; n++)
        found |=
            strcmp(g->inputs.at[n].name, all->at[i].input) == 0 && is_read(g, &g->inputs.at[n]);
  return found;
}

/* Only what losses compare with may be absent from the file. */
static ExitCode check_lacking(const Predict *p) {
  for (int32_t i = 0; i < p->lacking.count; i++) {
    if (is_column_read(p, p->lacking.at[i]))
      return complain(EXIT_USER, "%s has no column %s, which the model reads", p->options->data,
                      p->lacking.at[i]);
  }
  const int64_t rows = p->used.compiled.job->train.microbatch;
  if (rows == 1) return EXIT_DONE;
  return complain(EXIT_USER, "predict runs one row after another, and train.microbatch is %lld",
                  (long long)rows);
}

static bool write_header(const Predict *p, bool has_classes, int64_t width, FILE *out) {
  const InputColumns *target = target_columns(p);
  const bool has_names = !has_classes && target != NULL && target->names.count == width;
  bool good = true;
  for (int64_t i = 0; i < width; i++) {
    const char *name = has_names ? quoted(p->used.c->arena, target->names.at[i])
                                 : arena_printf(p->used.c->arena, "%s%lld",
                                                has_classes ? "class_" : "y_", (long long)i);
    good = fprintf(out, "%s%s", i > 0 ? "," : "", name) >= 0 && good;
  }
  return fputc('\n', out) != EOF && good;
}

static bool write_row(const double *value, bool has_classes, int64_t width, FILE *out) {
  double highest = -INFINITY, sum = 0;
  bool good = true;
  for (int64_t i = 0; i < width; i++)
    highest = fmax(highest, value[i]);
  for (int64_t i = 0; i < width; i++)
    sum += exp(value[i] - highest);
  for (int64_t i = 0; i < width; i++)
    good = fprintf(out, "%s%.9g", i > 0 ? "," : "",
                   has_classes ? exp(value[i] - highest) / sum : value[i]) >= 0 &&
           good;
  return fputc('\n', out) != EOF && good;
}

/* Elements that are no padding come first. */
static int64_t real_width(const Predict *p, int64_t width) {
  const Graph *g = p->used.compiled.draft->train->logical;
  const Value *y = graph_value(g, picked(g)->inputs[0]);
  const Dim *last = &g->dims.at[y->dims[y->dim_count - 1]];
  return last->real_size > 0 && last->size == width ? last->real_size : width;
}

static bool are_finite(const double *value, int64_t width) {
  for (int64_t i = 0; i < width; i++)
    if (!isfinite(value[i])) return false;
  return true;
}

/* *bad: the first row whose answer is no number; -1: none is. */
static bool write_rows(const Predict *p, FILE *in, FILE *out, int64_t rows, int64_t width,
                       int64_t *bad) {
  double *value = ARENA_ARRAY(p->used.c->arena, double, width + 1);
  const int64_t real = real_width(p, width);
  const bool has_classes = are_classes(p);
  bool good = write_header(p, has_classes, real, out);
  for (int64_t row = 0; row < rows && good && *bad < 0; row++) {
    good = fread(value, sizeof *value, (size_t)width, in) == (size_t)width;
    if (good && !are_finite(value, real)) *bad = row;
    good = good && *bad < 0 && write_row(value, has_classes, real, out);
  }
  return good;
}

/* Beside its name first: the file is there as a whole or not at all. */
static ExitCode write_predicted(const Predict *p) {
  Arena *arena = p->used.c->arena;
  const char *from = arena_printf(arena, "%s/predicted", p->used.folder), *to = p->options->out;
  const char *fresh = file_beside(arena, to);
  const int64_t rows = p->used.compiled.job->valid_tokens;
  struct stat about = {0};
  FILE *in = fopen(from, "rb"), *out = in != NULL ? fopen(fresh, "w") : NULL;
  const bool is_known = in != NULL && fstat(fileno(in), &about) == 0;
  const int64_t width = is_known && rows > 0 ? about.st_size / (int64_t)sizeof(double) / rows : 0;
  int64_t bad = -1;
  bool good = out != NULL && write_rows(p, in, out, rows, width, &bad);
  good = good && fflush(out) == 0 && (fsync(fileno(out)) == 0 || errno == EINVAL);
  if (in != NULL) (void)fclose(in);
  if (out != NULL && fclose(out) != 0) good = false;
  if (good && rename(fresh, to) == 0) {
    if (!p->options->quiet)
      printf("wrote    %s   %s row%s\n", text_plain(arena, to), format_count(arena, rows),
             plural(rows));
    return EXIT_DONE;
  }
  const int failure = errno;
  if (out != NULL) file_forget(fresh, to);
  if (bad >= 0)
    return complain(EXIT_USER,
                    "%s: what the model says of row %lld is no finite number: its weights are not "
                    "finite, or the row's numbers are far from those that it was trained on",
                    p->options->data, (long long)bad + 1);
  return cannot_write(to, failure);
}

ExitCode verb_predict(const Options *options) {
  Predict p = {.options = options};
  if (options->data == NULL || options->out == NULL)
    return complain(EXIT_USER, "predict wants --data FILE.csv and -o OUT.csv");
  ExitCode code = use_open(&p.used, options, USE_PREDICT);
  if (code == EXIT_DONE) code = try_output(p.used.c->arena, options->out);
  if (code == EXIT_DONE) code = make_table(&p);
  if (code == EXIT_DONE) {
    VEC_PUSH(p.used.c->arena, &p.used.settings, "train.microbatch=1");
    code = use_compile(&p.used, options, USE_PREDICT, (DrawOptions){.loss = options->loss});
  }
  if (code == EXIT_DONE) code = use_check_output(&p.used, options->out);
  if (code == EXIT_DONE) code = check_lacking(&p);
  if (code == EXIT_DONE) code = use_run(&p.used, options);
  if (code == EXIT_DONE) code = write_predicted(&p);
  use_close(&p.used);
  return code;
}
