/* read.c -- a rank's file into memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/trace/trace.h"

/* At most 18 digits, which fit. */
static const char *take_number(const char *text, int64_t *number) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 18) return NULL;
  *number = strtoll(text, NULL, 10);
  return text + digits;
}

bool trace_steps(const char *text, int64_t *first, int64_t *last) {
  const char *at = take_number(text, first);
  *last = *first;
  if (at != NULL && strncmp(at, "..", 2) == 0) at = take_number(at + 2, last);
  return at != NULL && *at == 0 && *first > 0 && *last >= *first;
}

static bool refuse(char why[TRACE_WHY_BYTES], const char *path, const char *what) {
  (void)snprintf(why, TRACE_WHY_BYTES, "%.400s: %.100s", path, what);
  return false;
}

static bool check_header(const TraceHeader *header, const char *path, const Plan *plan,
                         char why[TRACE_WHY_BYTES]) {
  if (memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0)
    return refuse(why, path, "is no trace of a rank");
  if (header->version != TRACE_VERSION)
    return refuse(why, path, "is of another version of lockstep: run with --trace again");
  if (header->plan_id != plan->id)
    return refuse(why, path, "is of another plan than the folder's: run with --trace again");
  return true;
}

static bool is_sound(const TraceEntry *entry, const Plan *plan) {
  return entry->record < plan->records_count && entry->lane < plan->lanes_count &&
         entry->end_ns >= entry->start_ns && entry->start_ns > 0;
}

static bool keep(Trace *trace, int64_t *room, const TraceEntry *entry) {
  if (trace->count == *room) {
    int64_t more = *room > 0 ? 2 * *room : 4096;
    TraceEntry *grown = realloc(trace->entry, (size_t)more * sizeof *grown);
    if (grown == NULL) return false;
    trace->entry = grown;
    *room = more;
  }
  trace->entry[trace->count++] = *entry;
  return true;
}

static bool read_entries(Trace *trace, FILE *file, const char *path, const Plan *plan,
                         int64_t first, int64_t last, char why[TRACE_WHY_BYTES]) {
  TraceEntry entry;
  int64_t room = 0;
  while (fread(&entry, sizeof entry, 1, file) == 1) {
    if (!is_sound(&entry, plan)) return refuse(why, path, "is damaged: run with --trace again");
    bool is_chosen = entry.step >= first && entry.step <= last;
    if (is_chosen && !keep(trace, &room, &entry)) return refuse(why, path, "not enough memory");
  }
  return !ferror(file) || refuse(why, path, strerror(errno));
}

bool trace_read(Trace *trace, const char *path, const Plan *plan, int64_t first, int64_t last,
                char why[TRACE_WHY_BYTES]) {
  *trace = (Trace){0};
  FILE *file = fopen(path, "rb");
  if (file == NULL) return refuse(why, path, strerror(errno));
  bool read = fread(&trace->header, sizeof trace->header, 1, file) == 1 ||
              refuse(why, path, "is no trace of a rank");
  read = read && check_header(&trace->header, path, plan, why) &&
         read_entries(trace, file, path, plan, first, last, why);
  (void)fclose(file);
  if (!read) trace_free(trace);
  return read;
}

void trace_free(Trace *trace) {
  free(trace->entry);
  *trace = (Trace){0};
}
