/* dcp.c -- see dcp.h. */
#include "compiler/show/cli/dcp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/pickle/pickle.h"

#define METADATA_MODULE "torch.distributed.checkpoint.metadata."
static const int64_t elements_most = (int64_t)1 << 50, file_bytes_most = (int64_t)1 << 60;
enum { METADATA_BYTES_MAX = 1 << 30 };

static bool refuse(ExitCode *code, const char *path, const char *why) {
  *code = complain(EXIT_USER, "%s: %s", path, why);
  return false;
}

const char *dcp_key(Arena *arena, const char *name, uint32_t kind) {
  switch (kind) {
  case BUFFER_PARAM:
  case BUFFER_MASTER: return name;
  case BUFFER_MOMENT1: return arena_printf(arena, "optimizer.state.%s.exp_avg", name);
  case BUFFER_MOMENT2: return arena_printf(arena, "optimizer.state.%s.exp_avg_sq", name);
  default: return NULL;
  }
}

/* ---- .metadata */

/* The ints of a torch.Size. -1: it is none, or has more dims than a checkpoint's tensors. */
static int32_t size_of(const PickleValue *value, int64_t size[STATE_DIMS_MAX]) {
  const PickleValue *row =
      pickle_is(value, "torch.Size") ? pickle_at(pickle_arguments(value), 0) : value;
  if (row == NULL || row->kind != PICKLE_ROW || row->item.count > STATE_DIMS_MAX) return -1;
  for (int32_t i = 0; i < row->item.count; i++)
    if (!pickle_int(row->item.at[i], &size[i]) || size[i] < 0 || size[i] > elements_most) return -1;
  return row->item.count;
}

static bool add_chunk(DcpFolder *folder, DcpTensor *tensor, const PickleValue *from) {
  DcpChunk chunk = {.data = -1};
  StatePiece *piece = &chunk.piece;
  *piece = (StatePiece){.dims = tensor->dims, .range_count = 1};
  if (size_of(pickle_get(from, "offsets"), piece->first) != tensor->dims ||
      size_of(pickle_get(from, "sizes"), piece->count) != tensor->dims)
    return false;
  for (int32_t i = 0; i < tensor->dims; i++) {
    piece->shape[i] = tensor->shape[i];
    piece->room[i] = piece->count[i];
    if (piece->first[i] + piece->count[i] > piece->shape[i]) return false;
    if (piece->count[i] > 0 && piece->range_count > elements_most / piece->count[i]) return false;
    piece->range_count *= piece->count[i];
  }
  VEC_PUSH(folder->arena, &tensor->chunk, chunk);
  return true;
}

/* False: the object is not a tensor of a checkpoint. Texts and other objects are passed over. */
static bool add_tensor(DcpFolder *folder, const char *name, const PickleValue *from) {
  DcpTensor tensor = {.name = name};
  if (!pickle_is(from, METADATA_MODULE "TensorStorageMetadata")) return true;
  const PickleValue *properties = pickle_get(from, "properties");
  const PickleValue *state =
      properties != NULL && properties->item.count > 2 ? properties->item.at[2] : NULL;
  const PickleValue *dtype = pickle_at(state, 0), *chunks = pickle_get(from, "chunks");
  tensor.dims = size_of(pickle_get(from, "size"), tensor.shape);
  if (tensor.dims < 0 || dtype == NULL || dtype->kind != PICKLE_CLASS || chunks == NULL ||
      chunks->kind != PICKLE_ROW)
    return false;
  tensor.dtype = strrchr(dtype->text, '.') + 1;
  for (int32_t i = 0; i < chunks->item.count; i++)
    if (!add_chunk(folder, &tensor, chunks->item.at[i])) return false;
  VEC_PUSH(folder->arena, &folder->tensor, tensor);
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const DcpTensor *)a)->name, ((const DcpTensor *)b)->name);
}

DcpTensor *dcp_find(const DcpFolder *folder, const char *name) {
  const DcpTensor key = {.name = name};
  return folder->tensor.count > 0
             ? bsearch(&key, folder->tensor.at, (size_t)folder->tensor.count, sizeof key, by_name)
             : NULL;
}

/* The place of a chunk: MetadataIndex{fqn, offset} -> _StorageInfo{relative_path, offset, length}.
 */
static bool add_place(DcpFolder *folder, const PickleValue *index, const PickleValue *info) {
  int64_t first[STATE_DIMS_MAX], offset, bytes;
  const PickleValue *name = pickle_get(index, "fqn"), *file = pickle_get(info, "relative_path");
  if (name == NULL || name->kind != PICKLE_TEXT || file == NULL || file->kind != PICKLE_TEXT ||
      strchr(file->text, '/') != NULL || !pickle_int(pickle_get(info, "offset"), &offset) ||
      !pickle_int(pickle_get(info, "length"), &bytes) || offset < 0 || bytes < 0 ||
      offset > file_bytes_most || bytes > file_bytes_most)
    return false;
  DcpTensor *tensor = dcp_find(folder, name->text);
  if (tensor == NULL) return true; /* of something else than a tensor */
  if (size_of(pickle_get(index, "offset"), first) != tensor->dims) return false;
  for (int32_t i = 0; i < tensor->chunk.count; i++) {
    DcpChunk *chunk = &tensor->chunk.at[i];
    if (memcmp(chunk->piece.first, first, (size_t)tensor->dims * sizeof *first) != 0) continue;
    chunk->file = file->text;
    chunk->offset = offset;
    chunk->bytes = bytes;
  }
  return true;
}

static bool read_metadata(DcpFolder *folder, const PickleValue *root, const char *path,
                          ExitCode *code) {
  const PickleValue *tensors = pickle_get(root, "state_dict_metadata");
  const PickleValue *places = pickle_get(root, "storage_data");
  if (!pickle_is(root, METADATA_MODULE "Metadata") || tensors == NULL || places == NULL ||
      tensors->kind != PICKLE_DICT || places->kind != PICKLE_DICT)
    return refuse(code, path, "is no metadata of torch.distributed.checkpoint");
  for (int32_t i = 0; i + 1 < tensors->item.count; i += 2) {
    const PickleValue *name = tensors->item.at[i];
    if (name->kind != PICKLE_TEXT || !add_tensor(folder, name->text, tensors->item.at[i + 1]))
      return refuse(code, path,
                    arena_printf(folder->arena, "tensor %s has metadata that are none",
                                 name->kind == PICKLE_TEXT ? name->text : "without a name"));
  }
  if (folder->tensor.count > 0)
    qsort(folder->tensor.at, (size_t)folder->tensor.count, sizeof *folder->tensor.at, by_name);
  for (int32_t i = 0; i + 1 < places->item.count; i += 2)
    if (!add_place(folder, places->item.at[i], places->item.at[i + 1]))
      return refuse(code, path, "says of no file where a tensor lies");
  return true;
}

static uint8_t *read_whole(Arena *arena, const char *path, size_t *bytes) {
  struct stat about;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &about) != 0 || about.st_size > METADATA_BYTES_MAX) {
    if (file >= 0) (void)close(file), errno = EFBIG;
    return NULL;
  }
  uint8_t *text = arena_alloc(arena, (size_t)about.st_size + 1);
  ssize_t got = 1;
  for (*bytes = 0; got > 0 && *bytes < (size_t)about.st_size;) {
    got = read(file, text + *bytes, (size_t)about.st_size - *bytes);
    if (got < 0 && errno == EINTR)
      got = 1;
    else if (got > 0)
      *bytes += (size_t)got;
  }
  int failure = errno;
  (void)close(file);
  errno = failure;
  return got >= 0 ? text : NULL;
}

bool dcp_open(DcpFolder *folder, Arena *arena, const char *path, ExitCode *code) {
  char why[PICKLE_WHY_BYTES];
  size_t bytes;
  const char *file = arena_printf(arena, "%s/.metadata", path);
  *folder = (DcpFolder){.arena = arena, .path = path, .descriptor = -1};
  const uint8_t *text = read_whole(arena, file, &bytes);
  if (text == NULL) {
    *code = complain(errno == ENOENT ? EXIT_USER : EXIT_WORLD, "%s: cannot be read: %s", file,
                     strerror(errno));
    return false;
  }
  const PickleValue *root = pickle_read(arena, text, bytes, why);
  return root != NULL ? read_metadata(folder, root, file, code) : refuse(code, file, why);
}

static void close_file(DcpFolder *folder) {
  if (folder->descriptor >= 0) (void)close(folder->descriptor);
}

void dcp_close(DcpFolder *folder) {
  close_file(folder);
  free(folder->elements);
}

DType dcp_dtype(const DcpTensor *tensor) {
  static const struct {
    const char *name;
    DType dtype;
  } dtypes[] = {{"float32", DTYPE_F32},
                {"bfloat16", DTYPE_BF16},
                {"float16", DTYPE_F16},
                {"float64", DTYPE_F64}};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strcmp(dtypes[i].name, tensor->dtype) == 0) return dtypes[i].dtype;
  return DTYPE_COUNT;
}

/* ---- an archive: local files, then the central directory, then its end */

static uint64_t little(const uint8_t *at, int32_t bytes) {
  uint64_t value = 0;
  for (int32_t i = bytes; i-- > 0;)
    value = value << 8 | at[i];
  return value;
}

static bool read_at(DcpFolder *folder, const DcpChunk *chunk, int64_t at, void *bytes,
                    size_t count) {
  if (folder->open == NULL || strcmp(folder->open, chunk->file) != 0) {
    close_file(folder);
    folder->open = chunk->file;
    folder->descriptor =
        open(arena_printf(folder->arena, "%s/%s", folder->path, chunk->file), O_RDONLY | O_CLOEXEC);
  }
  if (folder->descriptor < 0) {
    folder->open = NULL; /* errno says why */
    return false;
  }
  errno = 0;
  for (size_t done = 0; done < count;) {
    ssize_t got =
        pread(folder->descriptor, (char *)bytes + done, count - done, (off_t)at + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* A stored file of the archive whose name ends so: its first byte in the file, and how many. */
typedef struct Stored {
  const char *suffix;
  int64_t first, bytes; /* -1: it is not there */
} Stored;

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, DIRECTORY_MAX = 1 << 20 };

/* Archives above 4 GiB say so in records that are not read: such a rectangle is refused. */
static bool find_stored(DcpFolder *folder, const DcpChunk *chunk, Stored *want, int32_t wanted) {
  uint8_t end[END_BYTES], local[LOCAL_BYTES];
  if (chunk->bytes < END_BYTES ||
      !read_at(folder, chunk, chunk->offset + chunk->bytes - END_BYTES, end, END_BYTES) ||
      little(end, 4) != 0x06054b50)
    return false;
  int64_t bytes = (int64_t)little(end + 12, 4), first = (int64_t)little(end + 16, 4);
  if (bytes > DIRECTORY_MAX || first + bytes > chunk->bytes - END_BYTES) return false;
  uint8_t *directory = arena_alloc(folder->arena, (size_t)bytes + 1);
  if (!read_at(folder, chunk, chunk->offset + first, directory, (size_t)bytes)) return false;
  for (int64_t at = 0; at + ENTRY_BYTES <= bytes;) {
    const uint8_t *entry = directory + at;
    int64_t name = (int64_t)little(entry + 28, 2), size = (int64_t)little(entry + 24, 4);
    int64_t begin = (int64_t)little(entry + 42, 4);
    at += ENTRY_BYTES + name + (int64_t)little(entry + 30, 2) + (int64_t)little(entry + 32, 2);
    if (little(entry, 4) != 0x02014b50 || at > bytes) return false;
    for (int32_t i = 0; i < wanted; i++) {
      int64_t length = (int64_t)strlen(want[i].suffix);
      if (name < length ||
          memcmp(entry + ENTRY_BYTES + name - length, want[i].suffix, (size_t)length) != 0)
        continue;
      if (little(entry + 10, 2) != 0 || begin + LOCAL_BYTES > chunk->bytes ||
          !read_at(folder, chunk, chunk->offset + begin, local, LOCAL_BYTES))
        return false;
      begin += LOCAL_BYTES + (int64_t)little(local + 26, 2) + (int64_t)little(local + 28, 2);
      if (begin + size > chunk->bytes) return false;
      want[i].first = chunk->offset + begin;
      want[i].bytes = size;
    }
  }
  return true;
}

/* The pickle of a tensor: _rebuild_tensor_v2(storage, offset, size, strides, ...). True if its
 * elements are the whole storage in row-major order. */
static bool is_row_major(const DcpTensor *tensor, const DcpChunk *chunk, const PickleValue *root) {
  int64_t size[STATE_DIMS_MAX], stride[STATE_DIMS_MAX], offset, next = 1;
  const PickleValue *row = pickle_arguments(root);
  if (!pickle_is(root, "torch._utils._rebuild_tensor_v2") ||
      !pickle_int(pickle_at(row, 1), &offset) || offset != 0 ||
      size_of(pickle_at(row, 2), size) != tensor->dims ||
      size_of(pickle_at(row, 3), stride) != tensor->dims)
    return false;
  for (int32_t i = tensor->dims; i-- > 0;) {
    if (size[i] != chunk->piece.count[i] || (size[i] > 1 && stride[i] != next)) return false;
    next *= size[i];
  }
  return true;
}

/* Finds the elements. */
static bool open_chunk(DcpFolder *folder, const DcpTensor *tensor, DcpChunk *chunk,
                       ExitCode *code) {
  enum { PICKLE_MAX = 1 << 16 };
  char why[PICKLE_WHY_BYTES] = "its archive is damaged";
  Stored stored[] = {{"/data.pkl", -1, -1}, {"/data/0", -1, -1}};
  int64_t bytes = chunk->piece.range_count * dtype_bytes(dcp_dtype(tensor));
  const PickleValue *root = NULL;
  if (chunk->file == NULL) {
    snprintf(why, sizeof why, "no file has a rectangle of it");
  } else if (find_stored(folder, chunk, stored, 2) && stored[0].bytes >= 0 &&
             stored[0].bytes <= PICKLE_MAX) {
    uint8_t *text = arena_alloc(folder->arena, (size_t)stored[0].bytes + 1);
    if (read_at(folder, chunk, stored[0].first, text, (size_t)stored[0].bytes))
      root = pickle_read(folder->arena, text, (size_t)stored[0].bytes, why);
    if (root != NULL && (!is_row_major(tensor, chunk, root) || stored[1].bytes != bytes)) {
      snprintf(why, sizeof why, "a rectangle of it is not stored row by row");
      root = NULL;
    }
  }
  chunk->data = stored[1].first;
  return root != NULL || refuse(code,
                                arena_printf(folder->arena, "%s/%s", folder->path,
                                             chunk->file ? chunk->file : ".metadata"),
                                arena_printf(folder->arena, "tensor %s: %s", tensor->name, why));
}

/* ---- elements */

typedef struct DcpGather {
  DcpFolder *folder;
  const DcpTensor *tensor;
  const DcpChunk *chunk;
  uint8_t *to;
  int64_t width, found;
  ExitCode *code;
} DcpGather;

static bool count_run(void *context, int64_t from, int64_t to, int64_t count) {
  (void)from, (void)to;
  ((DcpGather *)context)->found += count;
  return true;
}

static bool read_run(void *context, int64_t from, int64_t to, int64_t count) {
  DcpGather *g = context;
  if (read_at(g->folder, g->chunk, g->chunk->data + from * g->width, g->to + to * g->width,
              (size_t)(count * g->width)))
    return true;
  *g->code = complain(EXIT_WORLD, "%s/%s: tensor %s cannot be read: %s", g->folder->path,
                      g->chunk->file, g->tensor->name, errno ? strerror(errno) : "it is short");
  return false;
}

bool dcp_read(DcpFolder *folder, DcpTensor *tensor, const StatePiece *want, void *elements,
              ExitCode *code) {
  DcpGather g = {.folder = folder,
                 .tensor = tensor,
                 .to = elements,
                 .width = dtype_bytes(dcp_dtype(tensor)),
                 .code = code};
  for (int32_t i = 0; i < tensor->chunk.count; i++) {
    DcpChunk *chunk = &tensor->chunk.at[i];
    int64_t before = g.found;
    g.chunk = chunk;
    (void)state_common(&chunk->piece, want, count_run, &g);
    if (g.found == before) continue;
    if (chunk->data < 0 && !open_chunk(folder, tensor, chunk, code)) return false;
    if (!state_common(&chunk->piece, want, read_run, &g)) return false;
  }
  return g.found == want->range_count ||
         refuse(code, folder->path,
                arena_printf(folder->arena, "tensor %s: not each element is there once",
                             tensor->name));
}
