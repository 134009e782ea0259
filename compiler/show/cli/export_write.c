/* export_write.c -- writes tensors as safetensors files, one chunk after another. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/export.h"
#include "kernels/math/floats.h"

enum { CHUNK_ELEMENTS = 1 << 20, ALIGN_BYTES = 8 };

typedef struct ExportWriter {
  Export *e;
  const char *path;
  int descriptor;
  uint8_t *chunk; /* elements as they are read, */
  uint8_t *put;   /* and as they are written */
} ExportWriter;

static bool write_all(const ExportWriter *w, const void *bytes, size_t count, ExitCode *code) {
  for (size_t done = 0; done < count;) {
    ssize_t wrote = write(w->descriptor, (const char *)bytes + done, count - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) {
      *code = cannot_write(w->path, errno);
      return false;
    }
    done += (size_t)wrote;
  }
  return true;
}

/* ---- elements */

static DType dtype_of(SafeDtype dtype) {
  return dtype == SAFE_F32 ? DTYPE_F32 : dtype == SAFE_BF16 ? DTYPE_BF16 : DTYPE_F16;
}

/* Equal dtypes are copied; others are rounded to nearest. False: a value is too large. */
static bool convert(const OutTensor *tensor, const uint8_t *from, uint8_t *to, int64_t count,
                    ExitCode *code) {
  DType dtype = dtype_of(tensor->to);
  if (dtype == tensor->from) {
    memcpy(to, from, (size_t)(count * dtype_bytes(dtype)));
    return true;
  }
  for (int64_t i = 0; i < count; i++) {
    float value = float_get(from, i, tensor->from);
    float_put(to, i, dtype, value);
    if (dtype != DTYPE_F16 || !isfinite(value) || isfinite(float_get(to, i, dtype))) continue;
    *code = complain(EXIT_USER,
                     "tensor %s has the value %g, which is too large for fp16 (65,504): --dtype "
                     "bf16 or fp32 keeps it",
                     tensor->name, (double)value);
    return false;
  }
  return true;
}

static bool read_elements(const ExportWriter *w, const OutTensor *tensor, int64_t first,
                          int64_t count, uint8_t *to, ExitCode *code) {
  Status status = {0};
  int64_t width = dtype_bytes(tensor->from);
  if (w->e->reader != NULL) return saved_read(w->e->reader, tensor->item, first, count, to, code);
  if (safe_read(tensor->place.file, tensor->place.tensor->first_byte + first * width, to,
                (size_t)(count * width), &status))
    return true;
  *code = complain(EXIT_WORLD, "%s", status.text);
  return false;
}

static bool write_straight(const ExportWriter *w, const OutTensor *tensor, ExitCode *code) {
  for (int64_t first = 0; first < tensor->elements; first += CHUNK_ELEMENTS) {
    int64_t left = tensor->elements - first, count = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
    if (!read_elements(w, tensor, first, count, w->chunk, code) ||
        !convert(tensor, w->chunk, w->put, count, code) ||
        !write_all(w, w->put, (size_t)(count * safe_dtype_bytes(tensor->to)), code))
      return false;
  }
  return true;
}

/* The whole tensor is in memory, because each row of the file needs an element of all rows here. */
static bool write_turned(const ExportWriter *w, const OutTensor *tensor, ExitCode *code) {
  const int64_t in = tensor->shape[0], out = tensor->shape[1], width = dtype_bytes(tensor->from);
  uint8_t *all = malloc((size_t)(tensor->elements * width));
  bool good = all != NULL;
  if (!good) *code = complain(EXIT_WORLD, "%s: not enough memory", tensor->name);
  good = good && read_elements(w, tensor, 0, tensor->elements, all, code);
  for (int64_t row = 0, held = 0; good && row < in; row++)
    for (int64_t k = 0; good && k < out; k++) {
      memcpy(w->chunk + held++ * width, all + (k * in + row) * width, (size_t)width);
      bool last = row == in - 1 && k == out - 1;
      if (held < CHUNK_ELEMENTS && !last) continue;
      good = convert(tensor, w->chunk, w->put, held, code) &&
             write_all(w, w->put, (size_t)(held * safe_dtype_bytes(tensor->to)), code);
      held = 0;
    }
  free(all);
  return good;
}

/* ---- files */

static const char *file_name(const Export *e, int32_t file, int32_t files) {
  return files == 1 ? "model.safetensors"
                    : arena_printf(e->c->arena, "model-%05d-of-%05d.safetensors", (int)file + 1,
                                   (int)files);
}

static bool write_header(const ExportWriter *w, int32_t file, ExitCode *code) {
  const Export *e = w->e;
  static const SafeNote notes[] = {{"format", "pt"}};
  SafeEntry *entries = ARENA_ARRAY(e->c->arena, SafeEntry, e->tensors.count + 1);
  int32_t count = 0;
  size_t bytes;
  for (int32_t i = 0; i < e->tensors.count; i++) {
    const OutTensor *tensor = &e->tensors.at[i];
    if (tensor->file == file)
      entries[count++] = (SafeEntry){tensor->name, tensor->to, tensor->rank, tensor->shape};
  }
  char *header = safe_header(notes, 1, entries, count, ALIGN_BYTES, &bytes);
  if (header == NULL) *code = complain(EXIT_WORLD, "not enough memory for the header");
  bool good = header != NULL && write_all(w, header, bytes, code);
  free(header);
  return good;
}

static ExitCode write_file(ExportWriter *w, int32_t file, int32_t files) {
  Export *e = w->e;
  ExitCode code = EXIT_DONE;
  w->path = arena_printf(e->c->arena, "%s/%s", e->folder, file_name(e, file, files));
  w->descriptor = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (w->descriptor < 0) return cannot_write(w->path, errno);
  bool good = write_header(w, file, &code);
  for (int32_t i = 0; good && i < e->tensors.count; i++) {
    const OutTensor *tensor = &e->tensors.at[i];
    if (tensor->file != file) continue;
    good =
        tensor->is_transposed ? write_turned(w, tensor, &code) : write_straight(w, tensor, &code);
  }
  if (good) code = EXIT_DONE; /* reading sets it before each part */
  if (good && fsync(w->descriptor) != 0) code = cannot_write(w->path, errno);
  if (close(w->descriptor) != 0 && code == EXIT_DONE) code = cannot_write(w->path, errno);
  return code;
}

/* A file ends before the tensor that would make it larger than asked. Returns how many there are.
 */
static int32_t divide(Export *e) {
  int32_t files = 1;
  int64_t used = 0;
  for (int32_t i = 0; i < e->tensors.count; i++) {
    OutTensor *tensor = &e->tensors.at[i];
    int64_t bytes = tensor->elements * safe_dtype_bytes(tensor->to);
    if (e->shard_bytes > 0 && used > 0 && used + bytes > e->shard_bytes) files++, used = 0;
    tensor->file = files - 1;
    used += bytes;
    e->total_bytes += bytes;
  }
  return files;
}

static ExitCode write_index(const Export *e, int32_t files) {
  const char *path = arena_printf(e->c->arena, "%s/model.safetensors.index.json", e->folder);
  FILE *out = fopen(path, "w");
  if (out == NULL) return cannot_write(path, errno);
  fprintf(out, "{\n  \"metadata\": {\"total_size\": %lld},\n  \"weight_map\": {",
          (long long)e->total_bytes);
  for (int32_t i = 0; i < e->tensors.count; i++) {
    fputs(i > 0 ? ",\n    " : "\n    ", out);
    print_json_text(e->tensors.at[i].name, out);
    fputs(": ", out);
    print_json_text(file_name(e, e->tensors.at[i].file, files), out);
  }
  fputs("\n  }\n}\n", out);
  bool good = fflush(out) == 0 && fsync(fileno(out)) == 0;
  return fclose(out) == 0 && good ? EXIT_DONE : cannot_write(path, errno);
}

ExitCode export_write(Export *e) {
  int32_t files = divide(e);
  ExportWriter w = {.e = e,
                    .chunk = arena_alloc(e->c->arena, (size_t)CHUNK_ELEMENTS * sizeof(float)),
                    .put = arena_alloc(e->c->arena, (size_t)CHUNK_ELEMENTS * sizeof(float))};
  for (int32_t file = 0; file < files; file++) {
    ExitCode code = write_file(&w, file, files);
    if (code != EXIT_DONE) return code;
  }
  return files > 1 ? write_index(e, files) : EXIT_DONE;
}
