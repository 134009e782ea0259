/* write.c -- a header from a list of tensors. */
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/safetensors/safetensors.h"

/* Adds the tensor that begins at byte *at of the data, and moves *at to its end. */
static bool add_entry(json_t *root, const SafeEntry *entry, int64_t *at) {
  int64_t elements = 1;
  json_t *shape = json_array(), *object = json_object();
  bool is_good = shape && object;
  for (int32_t i = 0; is_good && i < entry->rank; i++) {
    elements *= entry->shape[i];
    is_good = json_array_append_new(shape, json_integer(entry->shape[i])) == 0;
  }
  int64_t end = *at + elements * safe_dtype_bytes(entry->dtype);
  json_t *offsets = json_pack("[I, I]", (json_int_t)*at, (json_int_t)end);
  const char *dtype = safe_dtype_name(entry->dtype);
  is_good = is_good && json_object_set_new(object, "dtype", json_string(dtype)) == 0;
  is_good = is_good && json_object_set(object, "shape", shape) == 0;
  is_good = is_good && json_object_set(object, "data_offsets", offsets) == 0;
  is_good = is_good && json_object_set(root, entry->name, object) == 0;
  json_decref(shape);
  json_decref(offsets);
  json_decref(object);
  *at = end;
  return is_good;
}

static bool add_notes(json_t *root, const SafeNote *notes, int32_t count) {
  json_t *object = json_object();
  bool is_good = object != NULL;
  for (int32_t i = 0; is_good && i < count; i++)
    is_good = json_object_set_new(object, notes[i].key, json_string(notes[i].value)) == 0;
  is_good = is_good && json_object_set(root, "__metadata__", object) == 0;
  json_decref(object);
  return is_good;
}

static char *with_length(const json_t *root, size_t align, size_t *bytes) {
  size_t length = json_dumpb(root, NULL, 0, JSON_COMPACT), head = SAFE_LENGTH_BYTES;
  if (length == 0) return NULL;
  *bytes = (head + length + align - 1) / align * align;
  char *header = malloc(*bytes);
  if (!header) return NULL;
  memset(header, ' ', *bytes);
  for (size_t i = 0; i < head; i++)
    header[i] = (char)((*bytes - head) >> (8 * i) & 0xff);
  (void)json_dumpb(root, header + head, length, JSON_COMPACT);
  return header;
}

char *safe_header(const SafeNote *notes, int32_t note_count, const SafeEntry *entries,
                  int32_t entry_count, size_t align, size_t *bytes) {
  int64_t at = 0;
  json_t *root = json_object();
  bool is_good = root != NULL && (note_count == 0 || add_notes(root, notes, note_count));
  for (int32_t i = 0; is_good && i < entry_count; i++)
    is_good = add_entry(root, &entries[i], &at);
  char *header = is_good ? with_length(root, align, bytes) : NULL;
  json_decref(root);
  return header;
}
