/* table.c -- the columns that a plan names, from all its files, as rows of numbers. */
#include "runtime/data/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/csv/csv.h"
#include "runtime/process/plural.h"

typedef struct TableReader {
  Csv csv;
  char *name[CSV_COLUMNS_MAX];       /* of each column of the table */
  int32_t field_of[CSV_COLUMNS_MAX]; /* the file's field for it */
  uint32_t vocab[CSV_COLUMNS_MAX];   /* of a column that holds ids; 0: numbers */
  Status *status;
} TableReader;

static bool refuse(const TableReader *reader) {
  return status_fail(reader->status, reader->csv.is_worlds ? STATUS_WORLD : STATUS_USER, "%s",
                     reader->csv.why);
}

/* Adds the columns of one input; `line` lists them in CSV. */
static bool add_names(TableReader *reader, Table *table, const char *line, uint32_t vocab) {
  bool good = csv_split(&reader->csv, line) || refuse(reader);
  for (int32_t i = 0; good && i < reader->csv.field_count; i++) {
    if (table->columns < CSV_COLUMNS_MAX) reader->vocab[table->columns] = vocab;
    if (table->columns == CSV_COLUMNS_MAX)
      good = status_fail(reader->status, STATUS_USER, "more than %d columns", CSV_COLUMNS_MAX);
    else
      reader->name[table->columns] = strdup(csv_field(&reader->csv, i));
    if (good && !reader->name[table->columns])
      good = status_fail(reader->status, STATUS_WORLD, "not enough memory to read tables");
    table->columns += good;
  }
  csv_close(&reader->csv);
  return good;
}

static bool read_names(TableReader *reader, Table *table, const Plan *plan) {
  for (uint32_t i = 0; i < plan->inputs_count; i++) {
    int32_t before = table->columns;
    const PlanInput *input = &plan->inputs[i];
    if (!add_names(reader, table, plan_string(plan, input->columns), input->vocab)) return false;
    if (table->columns - before != plan->inputs[i].sample_elements)
      return status_fail(
          reader->status, STATUS_OURS, "plan: input '%s' has %lld number%s, %d column%s",
          plan_string(plan, plan->inputs[i].name), (long long)plan->inputs[i].sample_elements,
          plural(plan->inputs[i].sample_elements), table->columns - before,
          plural(table->columns - before));
  }
  return table->columns > 0 ||
         status_fail(reader->status, STATUS_OURS, "plan: a table without columns");
}

static bool find_columns(TableReader *reader, const Table *table) {
  for (int32_t i = 0; i < table->columns; i++) {
    reader->field_of[i] = csv_find(&reader->csv, reader->name[i]);
    if (reader->field_of[i] >= 0) continue;
    if (reader->csv.why[0]) return refuse(reader);
    return status_fail(reader->status, STATUS_USER, "%s:%lld: no column is named '%s'",
                       reader->csv.path, (long long)reader->csv.line, reader->name[i]);
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

static bool add_row(TableReader *reader, Table *table) {
  if (!grow(table))
    return status_fail(reader->status, STATUS_WORLD, "%s:%lld: not enough memory for the table",
                       reader->csv.path, (long long)reader->csv.line);
  float *row = table->values + table->rows * table->columns;
  for (int32_t i = 0; i < table->columns; i++) {
    uint32_t vocab = reader->vocab[i];
    bool good = vocab > 0
                    ? csv_id(&reader->csv, reader->field_of[i], reader->name[i], vocab, &row[i])
                    : csv_number(&reader->csv, reader->field_of[i], reader->name[i], &row[i]);
    if (!good) return refuse(reader);
  }
  table->rows++;
  return true;
}

static bool read_file(TableReader *reader, Table *table, const char *path) {
  bool good = csv_open(&reader->csv, path) || refuse(reader);
  good = good && find_columns(reader, table);
  CsvResult next = CSV_END;
  while (good && (next = csv_next(&reader->csv)) == CSV_RECORD)
    good = add_row(reader, table);
  if (good && next == CSV_BAD) good = refuse(reader);
  csv_close(&reader->csv);
  return good;
}

bool table_open(Table *table, const Plan *plan, bool valid, Status *status) {
  *table = (Table){0};
  TableReader *reader = calloc(1, sizeof *reader);
  if (!reader) return status_fail(status, STATUS_WORLD, "not enough memory to read tables");
  reader->status = status;
  bool good = read_names(reader, table, plan);
  for (uint32_t i = 0; good && i < plan->files_count; i++)
    if ((plan->files[i].valid != 0) == valid)
      good = read_file(reader, table, plan_string(plan, plan->files[i].path));
  for (int32_t i = 0; i < table->columns; i++)
    free(reader->name[i]);
  free(reader);
  if (good) return true;
  table_close(table);
  return false;
}

void table_close(Table *table) {
  free(table->values);
  *table = (Table){0};
}
