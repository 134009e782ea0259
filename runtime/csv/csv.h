/* csv.h -- comma-separated values by RFC 4180: the first record names the columns, and all records
 * have as many fields. A quoted field may hold commas, line ends and, doubled, quotes. Blanks
 * around fields, blank lines and a byte-order mark are skipped, and any kind of line end is
 * accepted. The compiler checks tables with it and the runtime reads them, so both accept the same
 * files. */
#ifndef LOCKSTEP_CSV_H
#define LOCKSTEP_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CSV_WHY_BYTES = 512, CSV_COLUMNS_MAX = 4096 };

/* A large struct: allocate it on the heap. Callers only read it. */
typedef struct Csv {
  FILE *in;
  const char *path;     /* the caller's */
  int64_t line;         /* on which the current record begins; the first is 1 */
  int64_t lines_read;   /* line ends so far */
  int32_t field_count;  /* of the current record */
  int32_t column_count; /* of the header; every record has as many fields */
  bool has_quotes;      /* the present record */
  bool is_worlds;       /* `why` is not about the file's contents: out of memory, or a read error */
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

/* Reads the next record, whose fields replace the current ones. */
CsvResult csv_next(Csv *csv);
const char *csv_field(const Csv *csv, int32_t field);

/* While the header is the current record: the field called `name`; -1: none, or (with `why`) more
 * than one. */
int32_t csv_find(Csv *csv, const char *name);

/* The decimal number in a field; `column` is its name in messages. False: `why`. */
bool csv_number(Csv *csv, int32_t field, const char *column, float *number);

/* The id in a field: a whole number below `vocab`; below 0: none. False: `why`. */
bool csv_id(Csv *csv, int32_t field, const char *column, uint32_t vocab, float *id);

/* Splits one line in memory, such as the columns of a plan; false: `why`. csv_close afterwards.
 */
bool csv_split(Csv *csv, const char *line);

/* `name` as a field of such a line, in quotes where it needs them. Returns the bytes it takes with
 * its 0; writes only when `room` has them. */
size_t csv_quote(const char *name, char *out, size_t room);

#endif
