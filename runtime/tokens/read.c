/* read.c -- maps token files, and trusts their headers only if the file size agrees.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tokens/tok.h"

enum {
  LLMC_HEADER_BYTES = 256 * 4,
  LLMC_MAGIC_U16 = 20240520,
  LLMC_VERSION_U16 = 1,
  LLMC_MAGIC_U32 = 20240801,
  LLMC_VERSION_U32 = 7,
  MEGATRON_HEADER_BYTES = 34, /* magic 9, version 8, dtype code 1, sequences 8, documents 8 */
  PATH_BYTES = 4096
};

static const char megatron_magic[9] = "MMIDIDX\0"; /* and the terminator: nine bytes */

static bool refuse(char why[TOKENS_WHY_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(char why[TOKENS_WHY_BYTES], const char *format, ...) {
  va_list list;
  va_start(list, format);
  (void)vsnprintf(why, TOKENS_WHY_BYTES, format, list);
  va_end(list);
  return false;
}

static uint32_t read_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t read_u64(const uint8_t *at) {
  return (uint64_t)read_u32(at) | (uint64_t)read_u32(at + 4) << 32;
}

static bool map_file(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return refuse(why, "%s: cannot be read: %s", path, strerror(errno));
  struct stat state;
  if (fstat(descriptor, &state) != 0 || !S_ISREG(state.st_mode)) {
    close(descriptor);
    return refuse(why, "%s: is not a regular file", path);
  }
  if (state.st_size == 0) {
    close(descriptor);
    return refuse(why, "%s: is empty", path);
  }
  file->mapped_bytes = (size_t)state.st_size;
  file->mapped = mmap(NULL, file->mapped_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int failure = errno;
  close(descriptor);
  if (file->mapped != MAP_FAILED) return true;
  file->mapped = NULL;
  return refuse(why, "%s: cannot be mapped: %s", path, strerror(failure));
}

/* Megatron names the pair by its common prefix: accepts PREFIX, PREFIX.bin and PREFIX.idx. */
static bool megatron_paths(const char *path, char bin[PATH_BYTES], char index[PATH_BYTES],
                           char why[TOKENS_WHY_BYTES]) {
  size_t length = strlen(path);
  if (length > 4 &&
      (strcmp(path + length - 4, ".bin") == 0 || strcmp(path + length - 4, ".idx") == 0))
    length -= 4;
  if (length + 5 > PATH_BYTES) return refuse(why, "%.60s...: path is too long", path);
  (void)snprintf(bin, PATH_BYTES, "%.*s.bin", (int)length, path);
  (void)snprintf(index, PATH_BYTES, "%.*s.idx", (int)length, path);
  return true;
}

bool tokens_detect(const char *path, DataFormat *format, char why[TOKENS_WHY_BYTES]) {
  uint8_t head[9] = {0};
  char bin[PATH_BYTES], index[PATH_BYTES];
  if (!megatron_paths(path, bin, index, why)) return false;
  FILE *file = fopen(index, "rb");
  if (file) {
    bool megatron = fread(head, 1, sizeof head, file) == sizeof head &&
                    memcmp(head, megatron_magic, sizeof head) == 0;
    fclose(file);
    *format = FORMAT_MEGATRON;
    if (megatron) return true;
  }
  file = fopen(path, "rb");
  if (!file) return refuse(why, "%s: cannot be read: %s", path, strerror(errno));
  size_t got = fread(head, 1, sizeof head, file);
  fclose(file);
  *format = FORMAT_TOK;
  if (tok_is(head, got)) return true;
  *format = FORMAT_LLMC;
  uint32_t magic = got >= 4 ? read_u32(head) : 0;
  if (magic == LLMC_MAGIC_U16 || magic == LLMC_MAGIC_U32) return true;
  return refuse(why, "%s: has no header that names its format; say u8, u16 or u32", path);
}

/* Files that a raw format would read without an error, but wrongly. */
static bool is_raw(const char *path, int32_t id_bytes, char why[TOKENS_WHY_BYTES]) {
  DataFormat format = FORMAT_U8;
  TokensForeign foreign;
  if (tokens_foreign(path, &foreign))
    return refuse(why, "%.160s: is %s, not raw tokens: %s", path, foreign.what, foreign.for_tokens);
  if (tokens_detect(path, &format, why) && format != FORMAT_MEGATRON)
    return refuse(why, "%.160s: begins with %s header: say format = \"%s\"", path,
                  format == FORMAT_LLMC ? "llm.c's" : "a .tok file's",
                  format == FORMAT_LLMC ? "llmc" : "tok");
  if (id_bytes > 1 && tokens_is_text(path))
    return refuse(
        why,
        "%.160s: is text, not u%d tokens: bytes as tokens, which lockstep tokenize makes of "
        "it, are format = \"u8\"",
        path, id_bytes * 8);
  return true;
}

static bool open_raw(TokenFile *file, const char *path, int32_t id_bytes,
                     char why[TOKENS_WHY_BYTES]) {
  if (!map_file(file, path, why)) return false;
  if (file->mapped_bytes % (size_t)id_bytes != 0)
    return refuse(why, "%s: %zu bytes are not a whole number of u%d tokens", path,
                  file->mapped_bytes, id_bytes * 8);
  file->ids = file->mapped;
  file->id_bytes = id_bytes;
  file->count = (int64_t)(file->mapped_bytes / (size_t)id_bytes);
  return true;
}

static bool open_llmc(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  if (!map_file(file, path, why)) return false;
  const uint8_t *head = file->mapped;
  if (!head || file->mapped_bytes < LLMC_HEADER_BYTES)
    return refuse(why, "%s: %zu bytes are too few for llm.c's header of %d", path,
                  file->mapped_bytes, LLMC_HEADER_BYTES);
  uint32_t magic = read_u32(head), version = read_u32(head + 4), count = read_u32(head + 8);
  if (magic != LLMC_MAGIC_U16 && magic != LLMC_MAGIC_U32)
    return refuse(why, "%s: first number is %u, not llm.c's %d or %d", path, magic, LLMC_MAGIC_U16,
                  LLMC_MAGIC_U32);
  uint32_t known = magic == LLMC_MAGIC_U16 ? LLMC_VERSION_U16 : LLMC_VERSION_U32;
  if (version != known)
    return refuse(why, "%s: llm.c version %u with magic %u; %u is known", path, version, magic,
                  known);
  file->id_bytes = magic == LLMC_MAGIC_U16 ? 2 : 4;
  file->count = count;
  file->ids = head + LLMC_HEADER_BYTES;
  size_t body_bytes = file->mapped_bytes - LLMC_HEADER_BYTES;
  if (body_bytes != (uint64_t)count * (uint64_t)file->id_bytes)
    return refuse(why, "%s: header promises %u tokens of %d bytes, but %zu bytes follow it", path,
                  count, file->id_bytes, body_bytes);
  if (count == 0) return refuse(why, "%s: holds no tokens", path);
  return true;
}

static int32_t megatron_id_bytes(uint8_t code) {
  switch (code) {
  case 1: return 1; /* uint8 */
  case 4: return 4; /* int32 */
  case 8: return 2; /* uint16 */
  default: return 0;
  }
}

/* Sequences must be contiguous: then the whole .bin is one stream of tokens. */
static bool check_sequences(const TokenFile *index, const char *path, uint64_t sequences,
                            int32_t id_bytes, uint64_t *tokens, char why[TOKENS_WHY_BYTES]) {
  const uint8_t *lengths = (const uint8_t *)index->mapped + MEGATRON_HEADER_BYTES;
  const uint8_t *pointers = lengths + 4 * sequences;
  *tokens = 0;
  for (uint64_t i = 0; i < sequences; i++) {
    if (read_u64(pointers + 8 * i) != *tokens * (uint64_t)id_bytes)
      return refuse(why, "%s: sequence %llu does not begin where the one before it ends", path,
                    (unsigned long long)i);
    *tokens += read_u32(lengths + 4 * i);
  }
  return true;
}

static bool read_index(const TokenFile *index, const char *path, int32_t *id_bytes,
                       uint64_t *tokens, char why[TOKENS_WHY_BYTES]) {
  const uint8_t *head = index->mapped;
  if (!head || index->mapped_bytes < MEGATRON_HEADER_BYTES || memcmp(head, megatron_magic, 9) != 0)
    return refuse(why, "%s: does not begin with Megatron's MMIDIDX", path);
  if (read_u64(head + 9) != 1)
    return refuse(why, "%s: MMIDIDX version %llu; 1 is known", path,
                  (unsigned long long)read_u64(head + 9));
  *id_bytes = megatron_id_bytes(head[17]);
  if (*id_bytes == 0)
    return refuse(why, "%s: token type code %u; 1 (uint8), 4 (int32) and 8 (uint16) are known",
                  path, head[17]);
  uint64_t sequences = read_u64(head + 18), documents = read_u64(head + 26);
  uint64_t room = index->mapped_bytes - MEGATRON_HEADER_BYTES;
  /* a sequence has a length and a pointer, a document one number; multimodal files append one byte
   * a sequence */
  if (sequences > room / 12 || documents > (room - sequences * 12) / 8)
    return refuse(why,
                  "%s: is cut off: %llu sequences and %llu documents need more than %llu bytes",
                  path, (unsigned long long)sequences, (unsigned long long)documents,
                  (unsigned long long)index->mapped_bytes);
  return check_sequences(index, path, sequences, *id_bytes, tokens, why);
}

static bool open_megatron(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  char bin[PATH_BYTES], index_path[PATH_BYTES];
  if (!megatron_paths(path, bin, index_path, why)) return false;
  TokenFile index = {0};
  uint64_t tokens = 0;
  bool read = map_file(&index, index_path, why) &&
              read_index(&index, index_path, &file->id_bytes, &tokens, why);
  tokens_close(&index);
  if (!read || !map_file(file, bin, why)) return false;
  assert(file->id_bytes > 0);
  if (file->mapped_bytes % (size_t)file->id_bytes != 0 ||
      file->mapped_bytes / (size_t)file->id_bytes != tokens)
    return refuse(why, "%s: has %zu bytes, but its .idx describes %llu tokens of %d bytes", bin,
                  file->mapped_bytes, (unsigned long long)tokens, file->id_bytes);
  file->ids = file->mapped;
  file->count = (int64_t)tokens;
  return true;
}

static bool open_format(TokenFile *file, const char *path, DataFormat format,
                        char why[TOKENS_WHY_BYTES]) {
  switch (format) {
  case FORMAT_U8: return is_raw(path, 1, why) && open_raw(file, path, 1, why);
  case FORMAT_U16: return is_raw(path, 2, why) && open_raw(file, path, 2, why);
  case FORMAT_U32: return is_raw(path, 4, why) && open_raw(file, path, 4, why);
  case FORMAT_LLMC: return open_llmc(file, path, why);
  case FORMAT_MEGATRON: return open_megatron(file, path, why);
  case FORMAT_TOK: return map_file(file, path, why) && tok_read(file, path, why);
  default: return refuse(why, "%s: is not of a token format", path);
  }
}

bool tokens_open(TokenFile *file, const char *path, DataFormat format, char why[TOKENS_WHY_BYTES]) {
  *file = (TokenFile){.format = format};
  if (open_format(file, path, format, why)) return true;
  tokens_close(file);
  return false;
}

bool tokens_open_bytes(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  *file = (TokenFile){.format = FORMAT_U8};
  if (open_raw(file, path, 1, why)) return true;
  tokens_close(file);
  return false;
}

void tokens_close(TokenFile *file) {
  if (file->mapped) munmap(file->mapped, file->mapped_bytes);
  *file = (TokenFile){0};
}

int64_t tokens_find_bad(const TokenFile *file, int64_t first, int64_t count, uint32_t vocab) {
  if (file->id_bytes < 4 && vocab >> (8 * file->id_bytes) > 0)
    return -1; /* no id can be too large */
  for (int64_t i = first; i < first + count; i++)
    if (tokens_id(file, i) >= vocab) return i;
  return -1;
}
