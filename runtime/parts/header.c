/* header.c -- the header of a part as text. The same code counts its bytes, so that sizes are known
 * without the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/parts/parts.h"

/* The bytes that count: where many headers are only measured, text is counted once for each tensor.
 */
typedef enum CountWhat { COUNT_ALL, COUNT_TEXT, COUNT_NUMBERS } CountWhat;

/* Text that is written, or, without `to`, only counted. */
typedef struct Writer {
  char *to;
  size_t used;
  bool is_nested; /* inside a text of the header, where quotes are escaped */
  CountWhat counts;
} Writer;

static void put(Writer *w, char c) {
  if (w->counts == COUNT_NUMBERS) return;
  if (w->is_nested && (c == '"' || c == '\\')) {
    if (w->to) w->to[w->used] = '\\';
    w->used++;
  }
  if (w->to) w->to[w->used] = c;
  w->used++;
}

static void put_text(Writer *w, const char *text) {
  if (w->counts == COUNT_NUMBERS) return;
  for (; *text; text++)
    put(w, *text);
}

static void put_number(Writer *w, int64_t number) {
  char digits[24];
  int32_t count = 0;
  if (w->counts == COUNT_TEXT) return;
  do
    digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  if (!w->to) w->used += (size_t)count;
  while (w->to && count > 0)
    w->to[w->used++] = digits[--count];
}

/* The inside of a JSON string. Names are UTF-8. */
static void put_escaped(Writer *w, const char *text) {
  char code[8];
  if (w->counts == COUNT_NUMBERS) return;
  for (; *text; text++) {
    if ((unsigned char)*text < 0x20) {
      (void)snprintf(code, sizeof code, "\\u%04x", (unsigned)(unsigned char)*text);
      put_text(w, code);
      continue;
    }
    if (*text == '"' || *text == '\\') put(w, '\\');
    put(w, *text);
  }
}

/* "key":[first,second] */
static void put_pair(Writer *w, const char *key, int64_t first, int64_t second) {
  put_text(w, key);
  put(w, '[');
  put_number(w, first);
  put(w, ',');
  put_number(w, second);
  put(w, ']');
}

static void put_list(Writer *w, const char *key, const int64_t *number, int32_t count) {
  put_text(w, key);
  put(w, '[');
  for (int32_t i = 0; i < count; i++) {
    if (i > 0) put(w, ',');
    put_number(w, number[i]);
  }
  put(w, ']');
}

/* A header while it is made: every piece adds its entry to the tensors or to the metadata. */
typedef struct Header {
  const State *state;
  Writer *w;
  bool is_first;
  int64_t data_bytes;
} Header;

static const char *kind_of(const State *state, const StateStored *stored) {
  return state_kind_of(state_tensor(state, stored->item)->kind)->name;
}

static void put_key(const Header *header, const StateStored *stored) {
  const char *kind = kind_of(header->state, stored);
  put(header->w, '"');
  put_escaped(header->w, stored->item->name);
  if (strcmp(kind, "param") != 0) {
    put(header->w, '/');
    put_text(header->w, kind);
  }
  if (!state_piece_is_whole(&stored->piece)) {
    put(header->w, '#');
    put_number(header->w, stored->number);
  }
  put_text(header->w, "\":{");
}

static void begin_entry(Header *header, const StateStored *stored) {
  if (!header->is_first) put(header->w, ',');
  header->is_first = false;
  put_key(header, stored);
}

static bool put_piece(void *context, const StateStored *stored) {
  Header *header = context;
  Writer *w = header->w;
  const StatePiece *piece = &stored->piece;
  begin_entry(header, stored);
  put_text(w, "\"name\":\"");
  put_escaped(w, stored->item->name);
  put_text(w, "\",\"kind\":\"");
  put_text(w, kind_of(header->state, stored));
  put_list(w, "\",\"shape\":", piece->shape, piece->dims);
  put_text(w, ",\"box\":[");
  for (int32_t i = 0; i < piece->dims; i++)
    put_pair(w, i > 0 ? "," : "", piece->first[i], piece->count[i]);
  put_pair(w, "],\"range\":", piece->range_first, piece->range_count);
  put(w, '}');
  return true;
}

static bool put_tensor(void *context, const StateStored *stored) {
  Header *header = context;
  Writer *w = header->w;
  const StatePiece *piece = &stored->piece;
  int64_t first = (int64_t)stored->data_first;
  begin_entry(header, stored);
  put_text(w, "\"dtype\":\"");
  put_text(w, state_dtype_name(state_saved_dtype(state_tensor(header->state, stored->item))));
  if (state_piece_is_box(piece))
    put_list(w, "\",\"shape\":", piece->count, piece->dims);
  else
    put_list(w, "\",\"shape\":", &piece->range_count, 1);
  put_pair(w, ",\"data_offsets\":", first, first + (int64_t)stored->size_bytes);
  put(w, '}');
  header->data_bytes = first + (int64_t)stored->size_bytes;
  return true;
}

static void put_end(Writer *w, const PartLayout *layout) {
  int64_t pad = layout->sums_first - layout->header_bytes - layout->data_bytes;
  int64_t sums = layout->blocks + 1, data_end = layout->data_bytes + pad;
  put_list(w, ",\"__pad__\":{\"dtype\":\"U8\",\"shape\":", &pad, 1);
  put_pair(w, ",\"data_offsets\":", layout->data_bytes, data_end);
  put_list(w, "},\"__sums__\":{\"dtype\":\"U64\",\"shape\":", &sums, 1);
  put_pair(w, ",\"data_offsets\":", data_end, data_end + PART_SUM_BYTES * sums);
  put_text(w, "}}");
}

/* The beginning of the JSON: all that differs from save to save, in texts of equal length. */
enum { START_BYTES = 192 };

static int start_text(char text[START_BYTES], const PartId *id) {
  return snprintf(text, START_BYTES,
                  "{\"__metadata__\":{\"format\":\"lockstep\",\"version\":\"5\","
                  "\"step\":\"%012lld\",\"save\":\"%016llx\",\"part\":\"%d\",\"block\":\"%d\",",
                  (long long)id->step, (unsigned long long)id->save, id->number, PART_BLOCK_BYTES);
}

void part_stamp(char *header, const PartId *id) {
  char text[START_BYTES];
  int length = start_text(text, id);
  memcpy(header + PART_SUM_BYTES, text, (size_t)length);
}

/* The JSON before the pieces, and between them and the tensors. */
static void put_first(Writer *w, const PartId *id) {
  char text[START_BYTES];
  (void)start_text(text, id);
  put_text(w, text);
  put_text(w, "\"pieces\":\"{");
}

static void put_between(Writer *w) {
  put_text(w, "}\"},");
}

/* The JSON of the header up to `__pad__`. */
static bool put_begin(const PartId *id, Header *header) {
  Writer *w = header->w;
  put_first(w, id);
  w->is_nested = true;
  header->is_first = true;
  if (!state_part_each(header->state, id->number, put_piece, header)) return false;
  w->is_nested = false;
  put_between(w);
  header->is_first = true;
  return state_part_each(header->state, id->number, put_tensor, header);
}

static int64_t up_to(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

static void set_sizes(PartLayout *layout, int64_t header_bytes) {
  layout->header_bytes = header_bytes;
  layout->sums_first = up_to(header_bytes + layout->data_bytes, PART_SUM_BYTES);
  layout->blocks = up_to(layout->sums_first, PART_BLOCK_BYTES) / PART_BLOCK_BYTES;
  layout->file_bytes = layout->sums_first + PART_SUM_BYTES * (layout->blocks + 1);
}

/* The header says how many blocks there are, and is in the first of them: sizes are computed until
 * they agree. They only grow, and a longer header seldom needs another block. */
static void fit_layout(PartLayout *layout, int64_t data_bytes, size_t begin_bytes) {
  int64_t header_bytes = PART_ALIGN_BYTES; /* the least */
  *layout = (PartLayout){.data_bytes = data_bytes};
  do {
    Writer end = {0};
    set_sizes(layout, header_bytes);
    put_end(&end, layout);
    header_bytes = up_to((int64_t)(begin_bytes + end.used) + PART_SUM_BYTES, PART_ALIGN_BYTES);
  } while (header_bytes != layout->header_bytes);
}

bool part_layout(const State *state, int32_t number, PartLayout *layout) {
  const PartId id = {.number = number};
  Writer counted = {0};
  Header header = {.state = state, .w = &counted};
  if (!put_begin(&id, &header)) return false;
  fit_layout(layout, header.data_bytes, counted.used);
  return true;
}

char *part_header(const State *state, const PartId *id, PartLayout *layout) {
  if (!part_layout(state, id->number, layout)) return NULL;
  size_t bytes = (size_t)layout->header_bytes;
  char *text = malloc(bytes);
  if (!text) return NULL;
  memset(text, ' ', bytes);
  for (int32_t i = 0; i < PART_SUM_BYTES; i++)
    text[i] = (char)((bytes - PART_SUM_BYTES) >> (8 * i) & 0xff);
  Writer w = {.to = text + PART_SUM_BYTES};
  Header header = {.state = state, .w = &w};
  if (put_begin(id, &header)) {
    put_end(&w, layout);
    return text;
  }
  free(text);
  return NULL;
}

/* ---- all parts */

enum { PIECE_FORMS = 3 }; /* forms of a piece: the whole tensor, a box, a range of a box */

typedef struct Totals {
  Header header;
  int32_t *text_bytes; /* by item and form: of its two entries, without numbers; 0: not known yet */
  size_t entries_bytes;
} Totals;

/* Both entries of a piece, without the commas before them. */
static size_t count_entries(Header *header, const StateStored *stored, CountWhat counts) {
  Writer counted = {.is_nested = true, .counts = counts};
  header->w = &counted;
  header->is_first = true;
  (void)put_piece(header, stored);
  counted.is_nested = false;
  header->is_first = true;
  (void)put_tensor(header, stored);
  return counted.used;
}

static bool add_entries(void *context, const StateStored *stored) {
  Totals *totals = context;
  const State *state = totals->header.state;
  int32_t form = state_piece_is_whole(&stored->piece) ? 0
                 : state_piece_is_box(&stored->piece) ? 1
                                                      : 2;
  int32_t *text_bytes = &totals->text_bytes[(stored->item - state->item) * PIECE_FORMS + form];
  if (*text_bytes == 0) *text_bytes = (int32_t)count_entries(&totals->header, stored, COUNT_TEXT);
  totals->entries_bytes +=
      (size_t)*text_bytes + count_entries(&totals->header, stored, COUNT_NUMBERS) + 2;
  return true;
}

static bool add_part(Totals *totals, int32_t number, PartTotals *all) {
  const PartId id = {.number = number};
  Writer frame = {0};
  PartLayout layout;
  totals->entries_bytes = 0;
  totals->header.data_bytes = 0;
  if (!state_part_each(totals->header.state, number, add_entries, totals)) return false;
  if (totals->header.data_bytes == 0) return true; /* the rank writes no file */
  put_first(&frame, &id);
  put_between(&frame);
  fit_layout(&layout, totals->header.data_bytes, frame.used + totals->entries_bytes - 2);
  all->bytes += layout.file_bytes;
  all->parts++;
  if (layout.file_bytes > all->largest_bytes) all->largest_bytes = layout.file_bytes;
  return true;
}

bool part_totals(const State *state, PartTotals *all) {
  Totals totals = {.header = {.state = state}};
  totals.text_bytes =
      calloc((size_t)state->item_count * PIECE_FORMS + 1, sizeof *totals.text_bytes);
  bool is_good = totals.text_bytes != NULL;
  *all = (PartTotals){0};
  for (int32_t number = 0; is_good && number < state->numbers; number++)
    is_good = add_part(&totals, number, all);
  free(totals.text_bytes);
  return is_good;
}

void part_file_name(char name[PART_FILE_NAME_BYTES], int32_t number) {
  (void)snprintf(name, PART_FILE_NAME_BYTES, "part-%05d.safetensors", number);
}
