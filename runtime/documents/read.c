/* read.c -- files as documents. Lines are read in batches; threads take the lines of a batch one
 * after another, and their documents are joined in the order of the lines, so that the result does
 * not depend on the number of threads. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/documents/line.h"

enum { WORKERS_MAX = 32, BATCH_BYTES = 8 << 20, BATCH_LINES = 1 << 16 };

/* A line of the batch, and its document. */
typedef struct BatchLine {
  size_t first_byte, bytes; /* of the batch's text */
  uint32_t *ids;
  uint8_t *is_target;
  int64_t count; /* 0: a blank line */
  bool is_refused;
  char *why;
} BatchLine;

typedef struct Batch {
  char *text;
  size_t bytes, room;
  BatchLine *line;
  int64_t lines, line_room, first_line; /* counted from 0 */
  atomic_llong next;
} Batch;

/* The documents read so far. `is_target` has a byte for every id. */
typedef struct DocumentReader {
  const char *path;
  DocumentWorker worker[WORKERS_MAX];
  int32_t workers;
  pthread_mutex_t chat_lock;
  Batch batch;
  uint32_t *ids;
  uint8_t *is_target;
  int64_t *start;
  int64_t count, room; /* ids */
  int64_t documents, documents_room;
  uint32_t most;
  bool has_mask;
  char *why;
} DocumentReader;

static bool refuse(const DocumentReader *r, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* line: counted from 1; 0: none. */
static bool refuse(const DocumentReader *r, int64_t line, const char *format, ...) {
  va_list list;
  int at = line > 0 ? snprintf(r->why, TOKENS_WHY_BYTES, "%.160s:%lld: ", r->path, (long long)line)
                    : snprintf(r->why, TOKENS_WHY_BYTES, "%.160s: ", r->path);
  va_start(list, format);
  (void)vsnprintf(r->why + at, TOKENS_WHY_BYTES - (size_t)at, format, list);
  va_end(list);
  return false;
}

bool documents_are_lines(const char *path) {
  size_t length = strlen(path);
  return (length > 6 && strcmp(path + length - 6, ".jsonl") == 0) ||
         (length > 7 && strcmp(path + length - 7, ".ndjson") == 0);
}

/* ---- all documents */

static bool make_room(DocumentReader *r, int64_t ids) {
  if (r->documents + 2 > r->documents_room) {
    int64_t room = 2 * r->documents_room + 1024;
    int64_t *start = realloc(r->start, (size_t)room * sizeof *start);
    if (!start) return refuse(r, 0, "not enough memory");
    r->start = start, r->documents_room = room;
  }
  if (r->count + ids <= r->room) return true;
  int64_t room = 2 * r->room + ids + 65536;
  uint32_t *more = realloc(r->ids, (size_t)room * sizeof *more);
  if (more) r->ids = more;
  uint8_t *targets = more ? realloc(r->is_target, (size_t)room) : NULL;
  if (!targets) return refuse(r, 0, "not enough memory");
  r->is_target = targets, r->room = room;
  return true;
}

static bool add_document(DocumentReader *r, const uint32_t *ids, const uint8_t *is_target,
                         int64_t count) {
  if (!make_room(r, count)) return false;
  assert(r->start != NULL && r->ids != NULL && r->is_target != NULL);
  r->start[r->documents++] = r->count;
  memcpy(r->ids + r->count, ids, (size_t)count * sizeof *ids);
  if (is_target)
    memcpy(r->is_target + r->count, is_target, (size_t)count);
  else
    memset(r->is_target + r->count, 1, (size_t)count);
  r->has_mask |= is_target != NULL;
  for (int64_t i = 0; i < count; i++)
    if (ids[i] > r->most) r->most = ids[i];
  r->count += count;
  return true;
}

/* ---- batches of lines */

static void *copy(const void *bytes, size_t count) {
  void *to = malloc(count);
  return to ? memcpy(to, bytes, count) : NULL;
}

static bool is_blank(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (text[i] == '\0' || !strchr(" \t\r\n", text[i])) return false;
  return true;
}

static void take_line(DocumentWorker *w, const Batch *batch, BatchLine *line) {
  const char *text = batch->text + line->first_byte;
  if (is_blank(text, line->bytes)) return;
  if (document_of_line(w, text, line->bytes)) {
    line->count = w->ids.count;
    line->ids = copy(w->ids.at, (size_t)line->count * sizeof *line->ids);
    if (w->has_mask) line->is_target = copy(w->is_target, (size_t)line->count);
    if (line->ids && (line->is_target || !w->has_mask)) return;
    (void)snprintf(w->why, sizeof w->why, "not enough memory");
  }
  line->is_refused = true;
  line->why = strdup(w->why);
}

typedef struct Share {
  Batch *batch;
  DocumentWorker *worker;
} Share;

static void *take_lines(void *user) {
  const Share *share = user;
  Batch *batch = share->batch;
  for (int64_t i; (i = atomic_fetch_add(&batch->next, 1)) < batch->lines;)
    take_line(share->worker, batch, &batch->line[i]);
  return NULL;
}

/* Threads beside this one; where one cannot be made the others have its lines. */
static void run_batch(DocumentReader *r) {
  pthread_t thread[WORKERS_MAX];
  Share share[WORKERS_MAX];
  int32_t threads = 0;
  assert(r->workers > 0);
  atomic_store(&r->batch.next, 0);
  for (int32_t i = 0; i < r->workers; i++)
    share[i] = (Share){&r->batch, &r->worker[i]};
  for (int32_t i = 1; i < r->workers && i < r->batch.lines; i++)
    if (pthread_create(&thread[threads], NULL, take_lines, &share[i]) == 0) threads++;
  take_lines(&share[0]);
  for (int32_t i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
}

/* Adds the documents of a batch and frees them. */
static bool join_batch(DocumentReader *r) {
  Batch *batch = &r->batch;
  bool is_good = true;
  for (int64_t i = 0; i < batch->lines; i++) {
    BatchLine *line = &batch->line[i];
    if (is_good && line->is_refused)
      is_good =
          refuse(r, batch->first_line + i + 1, "%s", line->why ? line->why : "not enough memory");
    if (is_good && line->count > 0)
      is_good = add_document(r, line->ids, line->is_target, line->count);
    free(line->ids), free(line->is_target), free(line->why);
  }
  batch->first_line += batch->lines;
  batch->lines = 0;
  batch->bytes = 0;
  return is_good;
}

static bool add_line(DocumentReader *r, const char *text, size_t bytes) {
  Batch *batch = &r->batch;
  if (batch->lines == batch->line_room) {
    int64_t room = 2 * batch->line_room + 1024;
    BatchLine *line = realloc(batch->line, (size_t)room * sizeof *line);
    if (!line) return refuse(r, 0, "not enough memory");
    batch->line = line, batch->line_room = room;
  }
  if (batch->bytes + bytes > batch->room) {
    size_t room = 2 * batch->room + bytes + 65536;
    char *grown = realloc(batch->text, room);
    if (!grown) return refuse(r, 0, "not enough memory");
    batch->text = grown, batch->room = room;
  }
  batch->line[batch->lines++] = (BatchLine){.first_byte = batch->bytes, .bytes = bytes};
  memcpy(batch->text + batch->bytes, text, bytes);
  batch->bytes += bytes;
  return true;
}

static bool read_lines(DocumentReader *r, FILE *file) {
  char *text = NULL;
  size_t room = 0;
  ssize_t bytes = 0;
  bool is_good = true;
  r->batch.first_line = 0;
  while (is_good && (bytes = getline(&text, &room, file)) >= 0) {
    is_good = add_line(r, text, (size_t)bytes);
    if (!is_good || (r->batch.bytes < BATCH_BYTES && r->batch.lines < BATCH_LINES)) continue;
    run_batch(r);
    is_good = join_batch(r);
  }
  if (is_good && ferror(file)) is_good = refuse(r, 0, "cannot be read: %s", strerror(errno));
  if (is_good) {
    run_batch(r);
    is_good = join_batch(r);
  }
  free(text);
  return is_good;
}

/* ---- files */

/* A text is one document; a file that is another thing is named. */
static bool read_text(DocumentReader *r) {
  TokenFile text;
  TokensForeign foreign;
  DocumentWorker *w = &r->worker[0];
  if (!w->options->tokenizer) return refuse(r, 0, "is a text, and there is no tokenizer");
  if (tokens_foreign(r->path, &foreign) && !foreign.is_text)
    return refuse(r, 0, "is %s, not text: extract the text first", foreign.what);
  if (!tokens_open_bytes(&text, r->path, r->why)) return false;
  bool is_good =
      document_of_text(w, (const char *)text.ids, (size_t)text.count) || refuse(r, 0, "%s", w->why);
  if (is_good && w->ids.count == 0) is_good = refuse(r, 0, "has no tokens");
  tokens_close(&text);
  return is_good && add_document(r, w->ids.at, NULL, w->ids.count);
}

static bool read_file(DocumentReader *r) {
  if (!documents_are_lines(r->path)) return read_text(r);
  int64_t before = r->documents;
  FILE *file = fopen(r->path, "re");
  if (!file) return refuse(r, 0, "%s", strerror(errno));
  bool is_good = read_lines(r, file);
  (void)fclose(file);
  return is_good && (r->documents > before || refuse(r, 0, "holds no documents"));
}

/* ---- threads */

static bool make_workers(DocumentReader *r, const DocumentOptions *options) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  r->workers = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (int32_t)processors;
  (void)pthread_mutex_init(&r->chat_lock, NULL);
  for (int32_t i = 0; i < r->workers; i++) {
    r->worker[i] = (DocumentWorker){.options = options, .chat_lock = &r->chat_lock};
    if (!options->tokenizer) continue;
    r->worker[i].encoder = encoder_new(options->tokenizer);
    if (!r->worker[i].encoder) return refuse(r, 0, "not enough memory");
  }
  return true;
}

static void free_reader(DocumentReader *r, DocumentCounts *counts) {
  for (int32_t i = 0; i < r->workers; i++) {
    DocumentWorker *w = &r->worker[i];
    EncoderCounts texts = w->encoder ? encoder_counts(w->encoder) : (EncoderCounts){0};
    counts->texts.specials += texts.specials;
    counts->texts.unassigned += texts.unassigned;
    counts->texts.dropped += texts.dropped;
    counts->pairs += w->pairs;
    counts->pairs_otherwise += w->pairs_otherwise;
    encoder_free(w->encoder);
    tokenizer_free_ids(&w->ids);
    tokenizer_free_ids(&w->joined);
    free(w->is_target), free(w->text);
  }
  (void)pthread_mutex_destroy(&r->chat_lock);
  free(r->batch.text), free(r->batch.line);
}

bool documents_read(const char *const *paths, int32_t count, const DocumentOptions *options,
                    TokDocuments *all, DocumentCounts *counts, char why[TOKENS_WHY_BYTES]) {
  DocumentReader *r = calloc(1, sizeof *r);
  *all = (TokDocuments){0};
  *counts = (DocumentCounts){0};
  (void)snprintf(why, TOKENS_WHY_BYTES, "not enough memory");
  if (!r) return false;
  r->why = why;
  r->path = paths[0];
  bool is_good = make_workers(r, options);
  for (int32_t i = 0; is_good && i < count; i++) {
    r->path = paths[i];
    is_good = read_file(r);
  }
  free_reader(r, counts);
  if (is_good) r->start[r->documents] = r->count;
  *all = (TokDocuments){.ids = r->ids,
                        .is_target = r->is_target,
                        .start = r->start,
                        .count = r->documents,
                        .vocab = r->most + 1};
  if (is_good && options->tokenizer) {
    all->vocab = tokenizer_vocab(options->tokenizer);
    all->tokenizer = tokenizer_hash(options->tokenizer);
  }
  if (!r->has_mask && is_good) free(r->is_target), all->is_target = NULL;
  free(r);
  if (!is_good) documents_free(all);
  return is_good;
}

void documents_free(TokDocuments *all) {
  free((void *)all->ids);
  free((void *)all->is_target);
  free((void *)all->start);
  *all = (TokDocuments){0};
}
