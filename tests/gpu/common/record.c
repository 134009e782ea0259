#include "tests/gpu/common/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/common/probe.h"

struct Results {
  FILE *file;
  FILE *line; /* the record being built, in memory */
  char *text;
  size_t size_bytes;
  bool all_ok;
};

Results *results_open(const char *path) {
  Results *results = calloc(1, sizeof *results);
  if (!results) return NULL;
  results->all_ok = true;
  results->file = fopen(path, "w");
  if (!results->file) {
    perror(path);
    free(results);
    return NULL;
  }
  return results;
}

bool results_close(Results *results) {
  bool ok = results->all_ok;
  if (fclose(results->file) != 0) ok = false;
  free(results);
  return ok;
}

static void write_string(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\') {
      fprintf(out, "\\%c", *c);
    } else if (*c < 0x20) {
      fprintf(out, "\\u%04x", *c);
    } else {
      fputc(*c, out);
    }
  }
  fputc('"', out);
}

static void write_key(Results *results, const char *key) {
  fputs(", ", results->line);
  write_string(results->line, key);
  fputs(": ", results->line);
}

void record_begin(Results *results, const char *probe, const char *name) {
  results->line = open_memstream(&results->text, &results->size_bytes);
  if (!results->line) abort(); /* out of memory for one line: nothing can be reported any more */
  fputs("{\"probe\": ", results->line);
  write_string(results->line, probe);
  write_key(results, "case");
  write_string(results->line, name);
}

void record_text(Results *results, const char *key, const char *text) {
  write_key(results, key);
  write_string(results->line, text);
}

void record_number(Results *results, const char *key, double value) {
  write_key(results, key);
  if (isfinite(value)) {
    fprintf(results->line, "%.9g", value);
  } else {
    fputs("null", results->line);
  }
}

void record_integer(Results *results, const char *key, int64_t value) {
  write_key(results, key);
  fprintf(results->line, "%" PRId64, value);
}

void record_bool(Results *results, const char *key, bool value) {
  write_key(results, key);
  fputs(value ? "true" : "false", results->line);
}

void record_end(Results *results, bool ok) {
  record_bool(results, "ok", ok);
  if (!ok) {
    record_text(results, "error", probe_failure());
    results->all_ok = false;
  }
  probe_clear_failure();
  fputs("}\n", results->line);
  fclose(results->line);
  fwrite(results->text, 1, results->size_bytes, results->file);
  if (fflush(results->file) != 0) results->all_ok = false;
  fwrite(results->text, 1, results->size_bytes, stdout);
  fflush(stdout);
  free(results->text);
  results->line = NULL;
  results->text = NULL;
}
