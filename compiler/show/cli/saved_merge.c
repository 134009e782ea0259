/* saved_merge.c -- lockstep checkpoint merge: writes the parts of a checkpoint into one file of
 * whole tensors. It streams: memory holds one chunk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/saved.h"
#include "kernels/math/floats.h"
#include "kernels/math/split.h"
#include "runtime/safetensors/safetensors.h"

enum { CHUNK_ELEMENTS = 1 << 20, ELEMENT_BYTES_MAX = 8, ALIGN_BYTES = 64 };

/* A tensor of the file that is written. */
typedef struct MergedTensor {
  uint32_t item;
  const char *key;
  DType from, to;
  bool is_split; /* of a master: its weight is the upper half */
  int64_t shape[STATE_DIMS_MAX];
} MergedTensor;

typedef struct Merging {
  Compile *c;
  const Options *options;
  const SavedOpen *saved;
  VEC(MergedTensor) tensors;
  const char *path; /* beside the file's name */
  int descriptor;
  ExitCode code; /* of a failure */
} Merging;

/* The dtype of weights on the device, where a checkpoint has their masters. */
static DType weight_dtype(const Plan *plan) {
  const char *name = saved_setting(plan, "precision.param");
  for (int32_t i = 0; name && i < DTYPE_COUNT; i++)
    if (strcmp(dtype_name((DType)i), name) == 0) return (DType)i;
  return DTYPE_F32;
}

static void choose_tensors(Merging *m) {
  const State *state = &m->saved->checkpoint.manifest.state;
  for (uint32_t i = 0; i < state->item_count; i++) {
    const StateItem *item = &state->item[state->sorted[i]];
    uint32_t kind = state_tensor(state, item)->kind;
    DType dtype = state_saved_dtype(state_tensor(state, item));
    MergedTensor merged = {.item = state->sorted[i],
                           .key = saved_key(m->c->arena, state, item),
                           .from = dtype,
                           .to = dtype};
    if (m->options->weights && kind != BUFFER_PARAM && kind != BUFFER_MASTER) continue;
    if (m->options->weights && kind == BUFFER_MASTER) {
      merged.key = item->name;
      merged.to = weight_dtype(state->plan);
      merged.is_split = state_tensor(state, item)->dtype == DTYPE_I16;
    }
    VEC_PUSH(m->c->arena, &m->tensors, merged);
  }
}

static bool refuse_write(Merging *m, const char *path) {
  m->code = cannot_write(path, errno);
  (void)unlink(m->path);
  return false;
}

static bool write_all(Merging *m, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t wrote = write(m->descriptor, (const char *)bytes + done, count - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return refuse_write(m, m->path);
    done += (size_t)wrote;
  }
  return true;
}

static bool write_header(Merging *m) {
  Arena *arena = m->c->arena;
  const Manifest *manifest = &m->saved->checkpoint.manifest;
  const SafeNote notes[] = {
      {"format", "pt"},
      {"step", arena_printf(arena, "%lld", (long long)manifest->facts.step)},
      {"samples", arena_printf(arena, "%lld", (long long)manifest->facts.samples)},
      {"updates", arena_printf(arena, "%lld", (long long)manifest->facts.lasting.updates)}};
  SafeEntry *entries = ARENA_ARRAY(arena, SafeEntry, m->tensors.count + 1);
  for (int32_t i = 0; i < m->tensors.count; i++) {
    MergedTensor *merged = &m->tensors.at[i];
    int32_t rank = saved_shape(&manifest->state, merged->item, merged->shape);
    entries[i] =
        (SafeEntry){merged->key, safe_dtype_of(state_dtype_name(merged->to)), rank, merged->shape};
  }
  size_t bytes;
  int32_t note_count = m->options->weights ? 1 : (int32_t)(sizeof notes / sizeof *notes);
  char *header = safe_header(notes, note_count, entries, m->tensors.count, ALIGN_BYTES, &bytes);
  if (!header) return complain(EXIT_WORLD, "not enough memory for the header") == EXIT_DONE;
  bool is_written = write_all(m, header, bytes);
  free(header);
  return is_written;
}

/* Masters become the weights that an update makes of them; in place. Halves of a split round ties
 * away from zero (kernels/math/split.h). */
static void round_chunk(const MergedTensor *merged, uint8_t *chunk, int64_t count) {
  if (merged->to == merged->from) return;
  for (int64_t i = 0; i < count; i++) {
    float master;
    memcpy(&master, chunk + i * (int64_t)sizeof master, sizeof master);
    if (merged->is_split) {
      uint16_t weight = split_high(master);
      memcpy(chunk + i * (int64_t)sizeof weight, &weight, sizeof weight);
    } else {
      float_put(chunk, i, merged->to, master);
    }
  }
}

static bool write_tensors(Merging *m) {
  const State *state = &m->saved->checkpoint.manifest.state;
  SavedReader *reader = saved_reader(m->saved);
  uint8_t *chunk = arena_alloc(m->c->arena, (size_t)CHUNK_ELEMENTS * ELEMENT_BYTES_MAX);
  bool is_good = reader != NULL;
  for (int32_t t = 0; is_good && t < m->tensors.count; t++) {
    const MergedTensor *merged = &m->tensors.at[t];
    int64_t elements = saved_elements(state, merged->item);
    for (int64_t first = 0; is_good && first < elements; first += CHUNK_ELEMENTS) {
      int64_t left = elements - first, count = left < CHUNK_ELEMENTS ? left : CHUNK_ELEMENTS;
      is_good = saved_read(reader, merged->item, first, count, chunk, &m->code);
      if (!is_good) break;
      round_chunk(merged, chunk, count);
      is_good = write_all(m, chunk, (size_t)(count * dtype_bytes(merged->to)));
    }
  }
  saved_reader_free(reader);
  if (!is_good) (void)unlink(m->path);
  return is_good;
}

/* The file gets its name when all of it is on the disk. */
static ExitCode finish(Merging *m) {
  const char *out = m->options->out;
  bool is_synced = fsync(m->descriptor) == 0;
  if (close(m->descriptor) != 0 || !is_synced || rename(m->path, out) != 0) {
    (void)refuse_write(m, out);
    return m->code;
  }
  if (!m->options->quiet)
    printf("wrote    %s   %d tensors of step %s\n", text_plain(m->c->arena, out), m->tensors.count,
           format_count(m->c->arena, m->saved->checkpoint.manifest.facts.step));
  return EXIT_DONE;
}

static ExitCode merge(Merging *m) {
  m->code = EXIT_WORLD;
  m->path = arena_printf(m->c->arena, "%s.new", m->options->out);
  m->descriptor = open(m->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (m->descriptor < 0) {
    (void)refuse_write(m, m->path);
    return m->code;
  }
  choose_tensors(m);
  if (write_header(m) && write_tensors(m)) return finish(m);
  (void)close(m->descriptor);
  return m->code;
}

ExitCode saved_verb_merge(Compile *c, const Options *options) {
  SavedOpen *saved = ARENA_NEW(c->arena, SavedOpen);
  Merging m = {.c = c, .options = options, .saved = saved};
  ExitCode code = saved_open_word(c, options, options->words.at[1], saved);
  if (code == EXIT_DONE && is_file_of(c->arena, saved->checkpoint.path, options->out))
    code = complain(EXIT_USER, "-o %s is a file of the checkpoint: name another one", options->out);
  if (code == EXIT_DONE) code = merge(&m);
  saved_close(saved);
  return code;
}
