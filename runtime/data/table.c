/* table.c -- CSV: comma-separated, names in the first line, fields perhaps in quotes. */
#include "runtime/data/table.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 4096, FIELD_TEXT_MAX = 60 };

typedef struct Reader {
  const char *path;
  int64_t line;
  char *text; /* of the line, cut into fields in place */
  size_t text_room;
  char *field[COLUMNS_MAX];
  int32_t field_count;
  int32_t column_of[COLUMNS_MAX]; /* the file's field for each column of the table */
  char name[COLUMNS_MAX][FIELD_TEXT_MAX + 1];
  uint32_t vocab[COLUMNS_MAX]; /* of a column that holds ids; 0: numbers */
  Status *status;
} Reader;

static char *trim(char *text) {
  while (*text == ' ' || *text == '\t')
    text++;
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r\n", text[length - 1]))
    text[--length] = 0;
  if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
    text[length - 1] = 0;
    text++;
  }
  return text;
}

/* False at the end of the file or when the line has too many fields (then the status is set). */
static bool read_line(Reader *reader, FILE *file) {
  do {
    if (getline(&reader->text, &reader->text_room, file) < 0) return false;
    reader->line++;
  } while (*trim(reader->text) == 0);
  reader->field_count = 0;
  for (char *rest = reader->text; rest;) {
    char *comma = strchr(rest, ',');
    if (comma) *comma = 0;
    if (reader->field_count == COLUMNS_MAX)
      return status_fail(reader->status, STATUS_USER, "%s:%lld: more than %d columns", reader->path,
                         (long long)reader->line, COLUMNS_MAX);
    reader->field[reader->field_count++] = trim(rest);
    rest = comma ? comma + 1 : NULL;
  }
  return true;
}

/* The columns of one input: their names stand separated by commas. */
static bool find_columns(Reader *reader, Table *table, const char *names, uint32_t vocab) {
  for (const char *rest = names; rest;) {
    const char *comma = strchr(rest, ',');
    int32_t length = (int32_t)(comma ? (size_t)(comma - rest) : strlen(rest));
    if (table->columns == COLUMNS_MAX || length > FIELD_TEXT_MAX)
      return status_fail(reader->status, STATUS_USER, "%s: too many or too long column names",
                         reader->path);
    char *name = reader->name[table->columns];
    (void)snprintf(name, FIELD_TEXT_MAX + 1, "%.*s", length, rest);
    int32_t found = -1;
    for (int32_t i = 0; i < reader->field_count; i++)
      if (strcmp(reader->field[i], name) == 0) found = i;
    if (found < 0)
      return status_fail(reader->status, STATUS_USER, "%s:%lld: no column is named '%s'",
                         reader->path, (long long)reader->line, name);
    reader->vocab[table->columns] = vocab;
    reader->column_of[table->columns++] = found;
    rest = comma ? comma + 1 : NULL;
  }
  return true;
}

static bool read_header(Reader *reader, Table *table, const Plan *plan, FILE *file) {
  reader->line = 0;
  if (!read_line(reader, file))
    return status_fail(reader->status, STATUS_USER, "%s:1: has no header line", reader->path);
  table->columns = 0;
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    int32_t before = table->columns;
    const PlanInput *input = &plan->inputs[i];
    if (!find_columns(reader, table, plan_string(plan, input->columns), input->vocab)) return false;
    if (table->columns - before != plan->inputs[i].sample_elements)
      return status_fail(reader->status, STATUS_OURS,
                         "plan: input '%s' has %lld numbers, %d columns",
                         plan_string(plan, plan->inputs[i].name),
                         (long long)plan->inputs[i].sample_elements, table->columns - before);
  }
  return table->columns > 0 ||
         status_fail(reader->status, STATUS_OURS, "plan: a table without columns");
}

/* Numbers are f32, which holds whole ones up to this without a gap. */
enum { ID_MAX = 1 << 24 };

static bool check_id(const Reader *reader, int32_t column, float value) {
  uint32_t vocab = reader->vocab[column];
  if (vocab == 0) return true;
  bool whole = fabsf(value) <= ID_MAX && value == floorf(value);
  if (whole && value < (float)vocab) return true; /* below 0: it counts as no class */
  return status_fail(reader->status, STATUS_USER,
                     "%s:%lld:%s: '%.40s' is no id: expected a whole number below %u", reader->path,
                     (long long)reader->line, reader->name[column],
                     reader->field[reader->column_of[column]], vocab);
}

static bool read_row(const Reader *reader, const Table *table, float *row) {
  for (int32_t i = 0; i < table->columns; i++) {
    int32_t at = reader->column_of[i];
    if (at >= reader->field_count)
      return status_fail(reader->status, STATUS_USER, "%s:%lld:%s: the line has only %d fields",
                         reader->path, (long long)reader->line, reader->name[i],
                         reader->field_count);
    const char *text = reader->field[at];
    char *end;
    row[i] = strtof(text, &end);
    if (end == text || *end != 0 || !isfinite(row[i]))
      return status_fail(reader->status, STATUS_USER, "%s:%lld:%s: '%.40s' is not a finite number",
                         reader->path, (long long)reader->line, reader->name[i], text);
    if (!check_id(reader, i, row[i])) return false;
  }
  return true;
}

static bool grow(Table *table) {
  if (table->rows < table->rows_room) return true;
  assert(table->columns > 0);
  int64_t room = table->rows_room ? 2 * table->rows_room : 1024;
  float *values =
      realloc(table->values, (size_t)room * (size_t)table->columns * sizeof *table->values);
  if (!values) return false;
  table->values = values;
  table->rows_room = room;
  return true;
}

static bool read_file(Reader *reader, Table *table, const Plan *plan) {
  FILE *file = fopen(reader->path, "r");
  if (!file)
    return status_fail(reader->status, STATUS_USER, "%s: cannot be read: %s", reader->path,
                       strerror(errno));
  bool good = read_header(reader, table, plan, file);
  reader->status->code = good ? 0 : reader->status->code;
  while (good && read_line(reader, file)) {
    good = grow(table) ||
           status_fail(reader->status, STATUS_WORLD, "%s:%lld: not enough memory for the table",
                       reader->path, (long long)reader->line);
    good = good && read_row(reader, table, table->values + table->rows * table->columns);
    table->rows += good;
  }
  good = good && reader->status->code == 0;
  if (good && ferror(file))
    good = status_fail(reader->status, STATUS_WORLD, "%s: cannot be read", reader->path);
  fclose(file);
  return good;
}

bool table_open(Table *table, const Plan *plan, bool valid, Status *status) {
  *table = (Table){0};
  Reader *reader = calloc(1, sizeof *reader);
  if (!reader) return status_fail(status, STATUS_WORLD, "not enough memory to read tables");
  reader->status = status;
  bool good = true;
  for (uint32_t i = 0; good && i < plan->files_count; i++) {
    if ((plan->files[i].valid != 0) != valid) continue;
    reader->path = plan_string(plan, plan->files[i].path);
    good = read_file(reader, table, plan);
  }
  free(reader->text);
  free(reader);
  if (good) return true;
  table_close(table);
  return false;
}

void table_close(Table *table) {
  free(table->values);
  *table = (Table){0};
}
