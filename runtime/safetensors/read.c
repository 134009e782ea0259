/* read.c -- headers: every entry is checked alone, then all against the data. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/json/json.h"
#include "runtime/safetensors/safetensors.h"

static const char *const dtype_names[] = {
#define SAFE_DTYPE(name, bytes) #name,
#include "runtime/safetensors/dtypes.def"
#undef SAFE_DTYPE
};

static const int64_t dtype_sizes[] = {
#define SAFE_DTYPE(name, bytes) bytes,
#include "runtime/safetensors/dtypes.def"
#undef SAFE_DTYPE
};

const char *safe_dtype_name(SafeDtype dtype) {
  return dtype_names[dtype];
}

int64_t safe_dtype_bytes(SafeDtype dtype) {
  return dtype_sizes[dtype];
}

SafeDtype safe_dtype_of(const char *name) {
  for (int32_t i = 0; i < SafeDtype_COUNT; i++)
    if (strcmp(dtype_names[i], name) == 0) return (SafeDtype)i;
  return SafeDtype_COUNT;
}

typedef struct TensorsReading {
  SafeFile *file;
  const SafeSink *sink;
  bool is_good;
} TensorsReading;

__attribute__((format(printf, 5, 6))) static bool bad(TensorsReading *reading, const char *tensor,
                                                      int64_t first_byte, int64_t bytes,
                                                      const char *format, ...) {
  SafeProblem problem = {
      .file = reading->file->path, .tensor = tensor, .first_byte = first_byte, .bytes = bytes};
  va_list list;
  va_start(list, format);
  (void)vsnprintf(problem.why, sizeof problem.why, format, list);
  va_end(list);
  if (reading->sink) reading->sink->report(reading->sink->context, &problem);
  reading->is_good = false;
  return false;
}

/* A fault of a tensor's entry, which is somewhere in the header. */
static bool bad_entry(TensorsReading *reading, const char *tensor, const char *why) {
  return bad(reading, tensor, SAFE_LENGTH_BYTES, reading->file->data_first - SAFE_LENGTH_BYTES,
             "%s", why);
}

static bool parse_shape(TensorsReading *reading, SafeTensor *tensor, const json_t *shape) {
  const json_t *dim;
  size_t i;
  if (!json_is_array(shape)) return bad_entry(reading, tensor->name, "shape is not a list");
  if (json_array_size(shape) > SAFE_RANK_MAX)
    return bad_entry(reading, tensor->name, "the shape has more than 8 dims");
  tensor->rank = (int32_t)json_array_size(shape);
  tensor->elements = 1;
  json_array_foreach(shape, i, dim) {
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return bad_entry(reading, tensor->name, "a dim of the shape is not a whole number");
    tensor->shape[i] = json_integer_value(dim);
    if (__builtin_mul_overflow(tensor->elements, tensor->shape[i], &tensor->elements))
      return bad_entry(reading, tensor->name, "the shape has more elements than any file");
  }
  return true;
}

static bool parse_offsets(TensorsReading *reading, SafeTensor *tensor, const json_t *offsets) {
  const json_t *first = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  int64_t bytes;
  if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(end))
    return bad_entry(reading, tensor->name, "data_offsets is not two whole numbers");
  int64_t from = json_integer_value(first), to = json_integer_value(end);
  if (from < 0 || to < from || to > INT64_MAX - reading->file->data_first)
    return bad_entry(reading, tensor->name, "data_offsets do not ascend from 0");
  if (__builtin_mul_overflow(tensor->elements, dtype_sizes[tensor->dtype], &bytes) ||
      bytes != to - from)
    return bad_entry(reading, tensor->name, "data_offsets have another size than shape and dtype");
  tensor->first_byte = reading->file->data_first + from;
  tensor->bytes = bytes;
  return true;
}

static bool parse_tensor(TensorsReading *reading, const char *name, const json_t *entry) {
  SafeTensor tensor = {.name = name};
  const char *dtype = json_text(entry, "dtype");
  if (!json_is_object(entry)) return bad_entry(reading, name, "the entry is not an object");
  if (json_object_size(entry) > 3)
    return bad_entry(reading, name, "the entry has keys besides dtype, shape and data_offsets");
  if (!dtype) return bad_entry(reading, name, "dtype is not a text");
  tensor.dtype = safe_dtype_of(dtype);
  if (tensor.dtype == SafeDtype_COUNT) return bad_entry(reading, name, "the dtype is not known");
  if (!parse_shape(reading, &tensor, json_object_get(entry, "shape")) ||
      !parse_offsets(reading, &tensor, json_object_get(entry, "data_offsets")))
    return false;
  reading->file->tensor[reading->file->tensor_count++] = tensor;
  return true;
}

static bool parse_notes(TensorsReading *reading, const json_t *notes) {
  const char *key;
  json_t *value;
  if (!json_is_object(notes)) return bad_entry(reading, NULL, "__metadata__ is not an object");
  json_object_foreach((json_t *)notes, key, value) {
    if (!json_is_string(value))
      return bad_entry(reading, NULL, "__metadata__ has a value that is not a text");
  }
  return true;
}

static int by_place(const void *a, const void *b) {
  const SafeTensor *left = a, *right = b;
  if (left->first_byte != right->first_byte) return left->first_byte < right->first_byte ? -1 : 1;
  return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

static int by_name(const void *a, const void *b, void *context) {
  const SafeTensor *tensor = context;
  return strcmp(tensor[*(const int32_t *)a].name, tensor[*(const int32_t *)b].name);
}

/* Tensors in the order of their places must follow one another, up to the end of the file. An entry
 * that is wrong was reported, and has left a hole: holes count only if no entry is. */
static void check_cover(TensorsReading *reading) {
  SafeFile *file = reading->file;
  int64_t end = file->data_first;
  bool entries_good = reading->is_good;
  for (int32_t i = 0; i < file->tensor_count; i++) {
    const SafeTensor *t = &file->tensor[i];
    if (t->first_byte < end)
      bad(reading, t->name, t->first_byte, end - t->first_byte, "it overlaps the tensor before it");
    else if (t->first_byte > end && entries_good)
      bad(reading, NULL, end, t->first_byte - end, "these bytes are of no tensor");
    int64_t t_end = t->first_byte + t->bytes;
    if (t_end > file->file_bytes)
      bad(reading, t->name, t->first_byte, t->bytes,
          "the file ends at byte %" PRId64 ", before the tensor does", file->file_bytes);
    if (t_end > end) end = t_end;
  }
  if (end < file->file_bytes && entries_good)
    bad(reading, NULL, end, file->file_bytes - end,
        "these bytes after the last tensor are of none");
}

static SafeResult no_memory(const SafeFile *file, Status *status) {
  status_fail(status, STATUS_WORLD, "%s: not enough memory for its header", file->path);
  return SAFE_UNREAD;
}

static SafeResult parse_all(TensorsReading *reading, const json_t *root, Status *status) {
  SafeFile *file = reading->file;
  const char *name;
  json_t *value;
  size_t count = json_object_size(root);
  file->tensor = malloc((count + 1) * sizeof *file->tensor);
  file->by_name = malloc((count + 1) * sizeof *file->by_name);
  if (!file->tensor || !file->by_name) return no_memory(file, status);
  json_object_foreach((json_t *)root, name, value) {
    if (strcmp(name, "__metadata__") == 0)
      (void)parse_notes(reading, value);
    else
      (void)parse_tensor(reading, name, value);
  }
  qsort(file->tensor, (size_t)file->tensor_count, sizeof *file->tensor, by_place);
  for (int32_t i = 0; i < file->tensor_count; i++)
    file->by_name[i] = i;
  qsort_r(file->by_name, (size_t)file->tensor_count, sizeof *file->by_name, by_name, file->tensor);
  check_cover(reading);
  return reading->is_good ? SAFE_WHOLE : SAFE_DAMAGED;
}

static SafeResult parse(SafeFile *file, const char *header, size_t bytes, const SafeSink *sink,
                        Status *status) {
  TensorsReading reading = {file, sink, true};
  JsonFault fault;
  file->data_first = SAFE_LENGTH_BYTES + (int64_t)bytes;
  file->json = json_read(header, bytes, &fault);
  if (!file->json) {
    int64_t at = SAFE_LENGTH_BYTES + (int64_t)fault.first_byte;
    bad(&reading, NULL, at, file->data_first - at, "the header is not JSON: %s", fault.why);
    return SAFE_DAMAGED;
  }
  if (!json_is_object((json_t *)file->json)) {
    bad(&reading, NULL, SAFE_LENGTH_BYTES, (int64_t)bytes, "the header is not a JSON object");
    return SAFE_DAMAGED;
  }
  return parse_all(&reading, file->json, status);
}

static bool begin(SafeFile *file, const char *path, Status *status) {
  *file = (SafeFile){.descriptor = -1, .path = strdup(path)};
  return file->path || status_fail(status, STATUS_WORLD, "%s: not enough memory", path);
}

SafeResult safe_parse(SafeFile *file, const char *path, const char *header, size_t bytes,
                      int64_t file_bytes, const SafeSink *sink, Status *status) {
  if (!begin(file, path, status)) return SAFE_UNREAD;
  file->file_bytes = file_bytes;
  return parse(file, header, bytes, sink, status);
}

bool safe_read(const SafeFile *file, int64_t first_byte, void *bytes, size_t count,
               Status *status) {
  for (size_t done = 0; done < count;) {
    ssize_t got = pread(file->descriptor, (char *)bytes + done, count - done,
                        (off_t)(first_byte + (int64_t)done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", file->path,
                         strerror(errno));
    if (got == 0)
      return status_fail(status, STATUS_WORLD, "%s: it ends at byte %lld", file->path,
                         (long long)first_byte + (long long)done);
    done += (size_t)got;
  }
  return true;
}

/* The length of the header, or -1 when it cannot be one of this file. */
static int64_t header_length(TensorsReading *reading, const uint8_t bytes[SAFE_LENGTH_BYTES]) {
  uint64_t length = 0;
  for (int32_t i = SAFE_LENGTH_BYTES - 1; i >= 0; i--)
    length = length << 8 | bytes[i];
  int64_t room = reading->file->file_bytes - SAFE_LENGTH_BYTES;
  if (length <= SAFE_HEADER_BYTES_MAX && (int64_t)length <= room) return (int64_t)length;
  bad(reading, NULL, 0, SAFE_LENGTH_BYTES,
      length > SAFE_HEADER_BYTES_MAX ? "the header's length, %" PRIu64
                                       ", is above the format's limit of 100 MB"
                                     : "the file ends before its header of %" PRIu64 " bytes does",
      length);
  return -1;
}

static SafeResult unread(const SafeFile *file, Status *status) {
  status_fail(status, STATUS_WORLD, "%s: cannot be opened: %s", file->path, strerror(errno));
  return SAFE_UNREAD;
}

SafeResult safe_open(SafeFile *file, const char *path, const SafeSink *sink, Status *status) {
  struct stat about;
  uint8_t length_bytes[SAFE_LENGTH_BYTES];
  TensorsReading reading = {file, sink, true};
  if (!begin(file, path, status)) return SAFE_UNREAD;
  file->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe has no length */
  if (file->descriptor < 0 || fstat(file->descriptor, &about) != 0) return unread(file, status);
  file->file_bytes = about.st_size;
  if (file->file_bytes < SAFE_LENGTH_BYTES) {
    bad(&reading, NULL, 0, file->file_bytes, "the file ends within the length of its header");
    return SAFE_DAMAGED;
  }
  if (!safe_read(file, 0, length_bytes, sizeof length_bytes, status)) return SAFE_UNREAD;
  int64_t length = header_length(&reading, length_bytes);
  if (length < 0) return SAFE_DAMAGED;
  char *header = malloc((size_t)length + 1);
  if (!header) return no_memory(file, status);
  bool is_read = safe_read(file, SAFE_LENGTH_BYTES, header, (size_t)length, status);
  SafeResult result = is_read ? parse(file, header, (size_t)length, sink, status) : SAFE_UNREAD;
  free(header);
  return result;
}

void safe_close(SafeFile *file) {
  if (file->descriptor >= 0) (void)close(file->descriptor);
  if (file->json) json_decref(file->json);
  free(file->tensor);
  free(file->by_name);
  free(file->path);
  *file = (SafeFile){.descriptor = -1};
}

const SafeTensor *safe_find(const SafeFile *file, const char *name) {
  int32_t first = 0, end = file->tensor_count;
  while (first < end) {
    int32_t middle = first + (end - first) / 2;
    const SafeTensor *tensor = &file->tensor[file->by_name[middle]];
    int order = strcmp(name, tensor->name);
    if (order == 0) return tensor;
    if (order < 0)
      end = middle;
    else
      first = middle + 1;
  }
  return NULL;
}

const char *safe_note(const SafeFile *file, const char *key) {
  return json_text(json_object_get(file->json, "__metadata__"), key);
}
