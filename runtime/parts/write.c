/* write.c -- writes a part in one pass: blocks are summed as they fill. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/parts/parts.h"

struct PartWriter {
  char path[4096];
  int descriptor;
  PartLayout layout;
  uint64_t *sum;
  uint8_t *block;
  int64_t used; /* bytes of the block */
  int64_t full; /* blocks written */
};

static bool cannot(const PartWriter *w, Status *status) {
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", w->path, strerror(errno));
}

static bool write_bytes(const PartWriter *w, const void *bytes, size_t count, Status *status) {
  for (size_t done = 0; done < count;) {
    ssize_t wrote = write(w->descriptor, (const char *)bytes + done, count - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return cannot(w, status);
    done += (size_t)wrote;
  }
  return true;
}

static bool end_block(PartWriter *w, Status *status) {
  if (w->used == 0) return true;
  w->sum[w->full++] = part_sum(w->block, (size_t)w->used);
  size_t bytes = (size_t)w->used;
  w->used = 0;
  return write_bytes(w, w->block, bytes, status);
}

bool part_writer_put(PartWriter *w, const void *bytes, int64_t count, Status *status) {
  for (int64_t done = 0; done < count;) {
    int64_t room = PART_BLOCK_BYTES - w->used, left = count - done;
    int64_t more = left < room ? left : room;
    memcpy(w->block + w->used, (const char *)bytes + done, (size_t)more);
    w->used += more;
    done += more;
    if (w->used == PART_BLOCK_BYTES && !end_block(w, status)) return false;
  }
  return true;
}

PartWriter *part_writer_open(const State *state, const PartId *id, const char *folder,
                             Status *status) {
  char name[PART_FILE_NAME_BYTES];
  PartWriter *w = calloc(1, sizeof *w);
  char *header = w ? part_header(state, id, &w->layout) : NULL;
  if (header) w->sum = calloc((size_t)w->layout.blocks + 1, sizeof *w->sum);
  if (header) w->block = malloc(PART_BLOCK_BYTES);
  if (!w || !header || !w->sum || !w->block) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to write part %d", id->number);
    free(header);
    if (w) free(w->sum);
    if (w) free(w->block);
    free(w);
    return NULL;
  }
  part_file_name(name, id->number);
  (void)snprintf(w->path, sizeof w->path, "%.4000s/%s", folder, name);
  w->descriptor = open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool is_begun = w->descriptor >= 0 ? part_writer_put(w, header, w->layout.header_bytes, status)
                                     : cannot(w, status);
  free(header);
  if (is_begun) return w;
  part_writer_drop(w);
  return NULL;
}

void part_writer_drop(PartWriter *w) {
  if (w->descriptor >= 0) (void)close(w->descriptor);
  free(w->sum);
  free(w->block);
  free(w);
}

bool part_writer_close(PartWriter *w, int64_t *file_bytes, uint64_t *sum, Status *status) {
  static const uint8_t zeros[PART_SUM_BYTES] = {0};
  const PartLayout *layout = &w->layout;
  int64_t pad = layout->sums_first - layout->header_bytes - layout->data_bytes;
  bool is_good = part_writer_put(w, zeros, pad, status) && end_block(w, status);
  w->sum[layout->blocks] = part_sum(w->sum, (size_t)layout->blocks * PART_SUM_BYTES);
  *sum = w->sum[layout->blocks];
  *file_bytes = layout->file_bytes;
  is_good =
      is_good && write_bytes(w, w->sum, ((size_t)layout->blocks + 1) * PART_SUM_BYTES, status);
  if (is_good && fsync(w->descriptor) != 0) is_good = cannot(w, status);
  int descriptor = w->descriptor;
  w->descriptor = -1;
  if (close(descriptor) != 0 && is_good) is_good = cannot(w, status);
  part_writer_drop(w);
  return is_good;
}
