/* csv.h -- comma-separated text, as RFC 4180 has it: names of columns in the first record, then
 * records of as many fields. A field in quotes may hold commas, line ends and, written twice,
 * quotes. Blanks around fields, blank lines, a byte-order mark and any kind of line end are read
 * over. The compiler checks tables with it, the runtime reads them: what one accepts, so does the
 * other. */
#ifndef LOCKSTEP_CSV_H
#define LOCKSTEP_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSV_WHY_BYTES = 512, CSV_COLUMNS_MAX = 4096 };

/* Large: keep it on the heap. Read-only to the caller. */
typedef struct Csv {
  FILE *in;
  const char *path;     /* the caller's */
  int64_t line;         /* on which the present record begins; the first is 1 */
  int64_t lines_read;   /* line ends so far */
  int32_t field_count;  /* of the present record */
  int32_t column_count; /* of the header; every record has as many fields */
  bool has_quotes;      /* the present record */
  bool is_worlds;       /* `why` is not about what the file says: memory, reading */
  char *text;           /* the fields, one after another, each with its 0 */
  size_t text_bytes;
  size_t text_room;
  size_t field_at[CSV_COLUMNS_MAX]; /* in text */
  char why[CSV_WHY_BYTES];          /* of the last failure, one line: FILE:LINE: what */
} Csv;

typedef enum CsvResult { CSV_RECORD, CSV_END, CSV_BAD } CsvResult;

/* Opens `path` and reads the header; false: `why`. csv_close in either case. */
bool csv_open(Csv *csv, const char *path);
void csv_close(Csv *csv);

/* The next record's fields replace the present ones. */
CsvResult csv_next(Csv *csv);
const char *csv_field(const Csv *csv, int32_t field);

/* While the header is the present record: which field is called `name`; -1: none, or (`why`) more
 * than one. */
int32_t csv_find(Csv *csv, const char *name);

/* The number in a field, `column` being its name for messages; false: `why`. */
bool csv_number(Csv *csv, int32_t field, const char *column, float *number);

/* Splits one line that is in memory, as columns of a plan are; false: `why`. csv_close afterwards.
 */
bool csv_split(Csv *csv, const char *line);

/* `name` as a field of such a line, in quotes where it needs them. Returns the bytes it takes with
 * its 0; writes only when `room` has them. */
size_t csv_quote(const char *name, char *out, size_t room);

#endif
