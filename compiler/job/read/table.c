/* table.c -- CSV files: their columns, every number in them, and which of the model's inputs they
 * feed. */
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/job/job_room.h"
#include "compiler/job/units.h"
#include "runtime/csv/csv.h"
#include "runtime/tokens/tokens.h"

/* ---- one file */

typedef struct Wanted {
  const char *name;
  int32_t field;  /* of the file */
  uint32_t vocab; /* of ids; 0: a number */
} Wanted;

typedef struct TableFile {
  Compile *c;
  const Job *job;
  const DataInputs *inputs; /* once the model is known: only columns of ids are read; or NULL */
  Span at;
  const char *path;
  Csv csv;
  VEC(Wanted) columns;
} TableFile;

/* How many ids an input of the model takes; 0: it takes numbers. */
static uint32_t vocab_of(const DataInputs *inputs, const char *name) {
  for (int32_t i = 0; i < inputs->count; i++)
    if (inputs->at[i].is_ids && strcmp(inputs->at[i].name, name) == 0)
      return inputs->at[i].vocab < INT32_MAX ? (uint32_t)inputs->at[i].vocab : INT32_MAX;
  return 0;
}

static bool refuse_absent(TableFile *t, const char *name) {
  Arena *arena = t->c->arena;
  TextList header = {0};
  const char *all = "";
  for (int32_t i = 0; i < t->csv.field_count; i++) {
    VEC_PUSH(arena, &header, arena_copy(arena, csv_field(&t->csv, i)));
    if (i < 12) all = arena_printf(arena, "%s %s", all, text_show(arena, header.at[i]));
  }
  const char *near = nearest_word(name, header.at, header.count);
  error_at(t->c, t->job->origin[FIELD_data_columns].span, "data", "%s has no column '%s'; it has%s",
           t->path, text_show(arena, name), all);
  if (near) fix_last(t->c, "\"%s\"", near);
  return false;
}

/* Why the header may not have the columns of the job. */
static void note_header(TableFile *t) {
  bool is_number = true;
  float number;
  for (int32_t i = 0; i < t->csv.field_count && is_number; i++)
    is_number = csv_number(&t->csv, i, "", &number);
  if (is_number)
    note_at(t->c, (Span){0}, "the first line of a CSV file names the columns; it holds numbers");
  else if (t->csv.field_count == 1) {
    const char *other = strpbrk(csv_field(&t->csv, 0), " :^~");
    note_at(t->c, (Span){0}, "it has one column, because fields are separated by commas");
    if (other)
      note_at(t->c, (Span){0},
              "pandas.read_csv(FILE, sep=\"%s\").to_csv(\"train.csv\", index=False) writes them so",
              *other == ' ' ? "\\s+" : arena_printf(t->c->arena, "%c", *other));
  }
}

static bool find_columns(TableFile *t) {
  bool is_good = true;
  for (int32_t i = 0; i < t->job->data.columns.count; i++) {
    const TextList *names = &t->job->data.columns.at[i].names;
    uint32_t vocab = t->inputs ? vocab_of(t->inputs, t->job->data.columns.at[i].input) : 0;
    for (int32_t k = 0; k < names->count && (vocab > 0 || !t->inputs); k++) {
      Wanted wanted = {names->at[k], csv_find(&t->csv, names->at[k]), vocab};
      VEC_PUSH(t->c->arena, &t->columns, wanted);
      if (wanted.field >= 0) continue;
      if (t->csv.why[0])
        error_at(t->c, t->at, "data", "%s", t->csv.why);
      else
        refuse_absent(t, wanted.name);
      is_good = false;
    }
  }
  if (!is_good) note_header(t);
  return is_good;
}

static bool read_field(TableFile *t, const Wanted *column) {
  float number;
  return column->vocab > 0 ? csv_id(&t->csv, column->field, column->name, column->vocab, &number)
                           : csv_number(&t->csv, column->field, column->name, &number);
}

static bool read_rows(TableFile *t, int64_t *rows) {
  CsvResult result;
  while ((result = csv_next(&t->csv)) == CSV_RECORD) {
    for (int32_t i = 0; i < t->columns.count; i++)
      if (!read_field(t, &t->columns.at[i])) return error_at(t->c, t->at, "data", "%s", t->csv.why);
    ++*rows;
  }
  if (result == CSV_BAD) return error_at(t->c, t->at, "data", "%s", t->csv.why);
  return *rows > 0 || error_at(t->c, t->at, "data", "%s has a header and no rows", t->path);
}

static bool read_file(Compile *c, const Job *job, const DataInputs *inputs, Span at,
                      const char *path, int64_t *rows) {
  TableFile *t = ARENA_NEW(c->arena, TableFile);
  *t = (TableFile){.c = c, .job = job, .inputs = inputs, .at = at, .path = path};
  bool is_good = csv_open(&t->csv, path) || error_at(c, at, "data", "%s", t->csv.why);
  is_good = is_good && find_columns(t) && read_rows(t, rows);
  csv_close(&t->csv);
  return is_good;
}

bool table_check(Compile *c, const Job *job, Span at, const char *path, int64_t *rows) {
  TokensForeign foreign;
  if (tokens_foreign(path, &foreign))
    return error_at(c, at, "data", "%s is %s, not CSV: %s", path, foreign.what, foreign.for_table);
  int64_t own = 0;
  bool is_good = read_file(c, job, NULL, at, path, &own);
  *rows += own;
  return is_good;
}

/* ---- the model's inputs */

static const InputColumns *columns_of(const Job *job, const char *input) {
  for (int32_t i = 0; i < job->data.columns.count; i++)
    if (strcmp(job->data.columns.at[i].input, input) == 0) return &job->data.columns.at[i];
  return NULL;
}

static bool refuse_source(Compile *c, const DataInput *input, const char *why) {
  return error_at(c, input->at, "data", "input '%s' cannot be filled: %s", input->name, why);
}

/* A column listed twice is a mistake; one in both input and target makes training pointless. */
static bool check_twice(Compile *c, const Job *job) {
  VEC(Wanted) seen = {0};
  const ColumnList *all = &job->data.columns;
  for (int32_t i = 0; i < all->count; i++)
    for (int32_t k = 0; k < all->at[i].names.count; k++) {
      const char *name = all->at[i].names.at[k];
      for (int32_t s = 0; s < seen.count; s++) {
        if (strcmp(seen.at[s].name, name) != 0) continue;
        const char *first = all->at[seen.at[s].field].input;
        return error_at(c, job->origin[FIELD_data_columns].span, "data",
                        seen.at[s].field == i
                            ? "column '%s' is listed twice in %s"
                            : "column '%s' feeds both %s and %s: a column feeds one input; a model "
                              "that sees its target learns only that",
                        text_show(c->arena, name), first, all->at[i].input);
      }
      VEC_PUSH(c->arena, &seen, ((Wanted){name, i, 0}));
    }
  return true;
}

static bool check_unknown(Compile *c, const Job *job, const DataInputs *inputs) {
  TextList names = {0};
  const char *all = "";
  for (int32_t i = 0; i < inputs->count; i++) {
    VEC_PUSH(c->arena, &names, inputs->at[i].name);
    all = arena_printf(c->arena, "%s %s", all, inputs->at[i].name);
  }
  for (int32_t i = 0; i < job->data.columns.count; i++) {
    const char *name = job->data.columns.at[i].input;
    bool is_known = false;
    for (int32_t k = 0; k < names.count; k++)
      is_known = is_known || strcmp(names.at[k], name) == 0;
    if (is_known) continue;
    error_at(c, job->origin[FIELD_data_columns].span, "data",
             "data.columns feeds '%s', but the model has no such input; it has%s",
             text_show(c->arena, name), all);
    const char *near = nearest_word(name, names.at, names.count);
    if (near) fix_last(c, "%s", near);
    return false;
  }
  return true;
}

static bool check_columns(Compile *c, const Job *job, const DataInput *input) {
  if (input->is_ids && input->vocab == 0)
    return refuse_source(c, input,
                         "its ids are looked up nowhere, so nothing says how many there are");
  Span at = job->origin[FIELD_data_columns].span;
  const InputColumns *columns = columns_of(job, input->name);
  if (!columns) {
    error_at(c, at, "data", "data.columns does not mention the model's input '%s'", input->name);
    fix_last(c, "%s = { ... }", input->name);
    return false;
  }
  if (columns->names.count == input->elements) return true;
  error_at(c, at, "data", "data.columns gives input '%s' %d column%s, the model takes %s",
           input->name, columns->names.count, plural(columns->names.count),
           format_count(c->arena, input->elements));
  if (input->feature) fix_last(c, "%s = %d", input->feature, columns->names.count);
  return false;
}

static bool check_ids(Compile *c, const Job *job, const DataInput *input, bool has_vocab) {
  if (job->data.head == CHOICE_TOKENS && !input->is_stream)
    return refuse_source(c, input,
                         "files of tokens fill inputs of ids over { \"batch\", \"seq\" }: the "
                         "tokens, and the next ones as 'targets'");
  if (!input->is_ids || input->vocab > 0 || has_vocab) return true;
  return refuse_source(c, input,
                       "its ids are looked up nowhere, so nothing says how many there are");
}

/* The files are read again for their ids, because they are counted before the model is known. */
static bool check_ids_of_files(Compile *c, const Job *job, const DataInputs *inputs) {
  static const int32_t lists[] = {FIELD_data_train, FIELD_data_valid};
  bool has_ids = false, is_good = true;
  for (int32_t i = 0; i < inputs->count; i++)
    has_ids = has_ids || inputs->at[i].is_ids;
  for (size_t l = 0; has_ids && is_good && l < sizeof lists / sizeof *lists; l++) {
    const TextList *list = field_at((Job *)job, lists[l]);
    for (int32_t i = 0; is_good && i < list->count; i++) {
      int64_t rows = 0;
      is_good = read_file(c, job, inputs, job->origin[lists[l]].span, list->at[i], &rows);
    }
  }
  return is_good;
}

bool spec_data_inputs(Compile *c, const Job *job, const DataInputs *inputs, bool has_vocab) {
  if ((job_is_apart(job) || job_is_packed(job)) && job->data.head != CHOICE_TOKENS) {
    int32_t field = job_is_apart(job) ? FIELD_data_documents : FIELD_data_fill;
    return error_at(c, field_place(job, field), "conflict", "data.%s is about files of tokens",
                    spec_fields[field].key);
  }
  bool is_table = job->data.head == CHOICE_TABLE;
  if (is_table && (!check_twice(c, job) || !check_unknown(c, job, inputs))) return false;
  bool is_good = true;
  for (int32_t i = 0; i < inputs->count && is_good; i++)
    is_good = (is_table ? check_columns(c, job, &inputs->at[i])
                        : check_ids(c, job, &inputs->at[i], has_vocab));
  bool is_counted = job->train_tokens > 0; /* not with --no-data */
  return is_good && (!is_table || !is_counted || check_ids_of_files(c, job, inputs));
}
