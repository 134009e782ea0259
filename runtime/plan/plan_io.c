#include "runtime/plan/plan_io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_why.h"

/* A struct larger than the sum of its fields has padding, and padding would make equal plans
 * differ. */
#define TABLE(Type, table) _Static_assert(sizeof(Type) == 0
#define END(Type, table)                                                                           \
  , #Type " has padding: put 64-bit fields first, or add a PAD");
#define U32(f)      +4
#define I32(f)      +4
#define U64(f)      +8
#define I64(f)      +8
#define F64(f)      +8
#define STR(f)      +4
#define ENUM(f, e)  +4
#define REF(f, t)   +4
#define OPT(f, t)   +4
#define RANGE(f, t) +8
#define FLAGS(f)    +4
#define PAD(f)      +4
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"

#define PLAN_T(Type, table) +1
enum { TABLE_COUNT = 0 PLAN_TABLES(PLAN_T) };
#undef PLAN_T

typedef struct PlanFileTable {
  uint64_t offset; /* multiple of 8; tables follow each other in order, zeros between */
  uint32_t count;
  uint32_t record_bytes;
} PlanFileTable;

typedef struct FileHeader {
  char magic[8];
  uint32_t endianness; /* ENDIANNESS as the writer's machine stores it */
  uint32_t version;
  uint64_t checksum; /* of every byte from here on */
  uint64_t file_bytes;
  uint32_t table_count;
  uint32_t zero;
  PlanFileTable table[TABLE_COUNT];
} FileHeader;

static const uint32_t ENDIANNESS = 0x01020304u;
enum { HASHED_FROM = offsetof(FileHeader, file_bytes), FIXED_BYTES = offsetof(FileHeader, table) };

static uint64_t align8(uint64_t bytes) {
  return (bytes + 7) & ~(uint64_t)7;
}

/* Lays out the tables and computes the checksum: the header is a function of the plan. */
static FileHeader make_header(const Plan *plan) {
  FileHeader header = {.endianness = ENDIANNESS, .version = PLAN_VERSION};
  memcpy(header.magic, PLAN_MAGIC, sizeof header.magic);
  header.table_count = TABLE_COUNT;
  uint64_t at = sizeof header;
  int index = 0;
#define PLAN_T(Type, name)                                                                         \
  header.table[index++] = (PlanFileTable){at, plan->name##_count, sizeof(Type)};                   \
  at = align8(at + (uint64_t)plan->name##_count * sizeof(Type));
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  header.file_bytes = at;

  PlanHash hash;
  plan_hash_begin(&hash);
  plan_hash_add(&hash, (const char *)&header + HASHED_FROM, sizeof header - HASHED_FROM);
#define PLAN_T(Type, name)                                                                         \
  plan_hash_add(&hash, plan->name, (size_t)plan->name##_count * sizeof(Type));
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  header.checksum = plan_hash_end(&hash);
  return header;
}

uint64_t plan_compute_id(const Plan *plan) {
  return make_header(plan).checksum;
}

static bool write_all(int file, const void *bytes, uint64_t byte_count) {
  const char *at = bytes;
  while (byte_count > 0) {
    ssize_t done = write(file, at, byte_count < (1u << 30) ? byte_count : 1u << 30);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    at += done, byte_count -= (uint64_t)done;
  }
  return true;
}

static bool write_tables(int file, const Plan *plan, const FileHeader *header) {
  static const char zeros[8];
  if (!write_all(file, header, sizeof *header)) return false;
#define PLAN_T(Type, name)                                                                         \
  {                                                                                                \
    uint64_t bytes = (uint64_t)plan->name##_count * sizeof(Type);                                  \
    if (!write_all(file, plan->name, bytes)) return false;                                         \
    if (!write_all(file, zeros, align8(bytes) - bytes)) return false;                              \
  }
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  return fsync(file) == 0;
}

/* A rename is durable only after its directory is synced. */
static bool sync_directory(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL) {
    strcpy(folder, ".");
  } else {
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, length);
    folder[length] = '\0';
  }
  int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  bool synced = fsync(directory) == 0 || errno == EINVAL; /* some file systems have no such thing */
  close(directory);
  return synced;
}

/* A device or a pipe is written to directly, because a rename would replace it. */
static bool write_special(const Plan *plan, const FileHeader *header, const char *path, char *why) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && write_tables(file, plan, header);
  int error = errno;
  bool synced = written || error == EINVAL || error == EROFS; /* there is nothing to sync */
  if (file >= 0 && close(file) != 0 && synced) error = errno, synced = false;
  return synced || plan_refuse(why, "%.150s: %s", path, strerror(error));
}

/* A pipe, a device, or a link such as /dev/stdout, whose place no file may take. */
static bool is_special(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* The mode that open would give. The mask can only be read by setting it. */
static bool give_rights(int file) {
  mode_t mask = umask(022);
  (void)umask(mask);
  return fchmod(file, 0666 & ~mask) == 0;
}

bool plan_write(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]) {
  char reason[PLAN_WHY_BYTES];
  if (!plan_check(plan, reason)) return plan_refuse(why, "%.100s: %.150s", path, reason);
  FileHeader header = make_header(plan);
  plan->id = header.checksum;
  if (is_special(path)) return write_special(plan, &header, path, why);
  char temporary[PATH_MAX];
  int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  if (length >= PATH_MAX) return plan_refuse(why, "%.100s...: name too long", path);
  int file = mkostemp(temporary, O_CLOEXEC);
  if (file < 0) return plan_refuse(why, "%.150s: %s", path, strerror(errno));

  bool written = write_tables(file, plan, &header) && give_rights(file);
  written = close(file) == 0 && written;
  written = written && rename(temporary, path) == 0;
  if (!written) {
    int error = errno;
    unlink(temporary);
    return plan_refuse(why, "%.150s: %s", path, strerror(error));
  }
  if (!sync_directory(path)) return plan_refuse(why, "%.150s: %s", path, strerror(errno));
  return true;
}

/* Judges the first bytes, the most specific reason first: a cut-off plan is called truncated, not
 * corrupt. */
static bool check_header(const FileHeader *header, size_t byte_count, char *why) {
  if (byte_count < sizeof header->magic ||
      memcmp(header->magic, PLAN_MAGIC, sizeof header->magic) != 0)
    return plan_refuse(why, "not a plan");
  if (byte_count < FIXED_BYTES) return plan_refuse(why, "truncated: %zu bytes", byte_count);
  if (header->endianness == __builtin_bswap32(ENDIANNESS))
    return plan_refuse(why, "written on a machine of the other byte order");
  if (header->endianness != ENDIANNESS) return plan_refuse(why, "corrupt: byte order mark");
  if (header->version != PLAN_VERSION)
    return plan_refuse(why,
                       "plan format %u, but this program reads format %d: compile the job again",
                       header->version, PLAN_VERSION);
  if (byte_count < header->file_bytes)
    return plan_refuse(why, "truncated: %zu of %llu bytes", byte_count,
                       (unsigned long long)header->file_bytes);
  if (byte_count > header->file_bytes)
    return plan_refuse(why, "corrupt: %llu bytes after its end",
                       (unsigned long long)(byte_count - header->file_bytes));
  PlanHash hash;
  plan_hash_begin(&hash);
  plan_hash_add(&hash, (const char *)header + HASHED_FROM, byte_count - HASHED_FROM);
  uint64_t checksum = plan_hash_end(&hash);
  if (checksum != header->checksum)
    return plan_refuse(why, "corrupt: checksum %016llx, should be %016llx",
                       (unsigned long long)checksum, (unsigned long long)header->checksum);
  if (header->table_count != TABLE_COUNT || header->zero != 0 || byte_count < sizeof *header)
    return plan_refuse(why, "foreign: %u tables, this program knows %d", header->table_count,
                       TABLE_COUNT);
  return true;
}

/* Only one layout is valid for given counts, so that tables do not overlap and equal plans are
 * equal files. */
static bool check_table(const PlanFileTable *table, const char *name, uint64_t at,
                        size_t record_bytes, const char *bytes, uint64_t byte_count, char *why) {
  if (table->record_bytes != record_bytes)
    return plan_refuse(why, "foreign: records of %s have %u bytes, should have %zu", name,
                       table->record_bytes, record_bytes);
  uint64_t end = at + (uint64_t)table->count * record_bytes;
  if (table->offset != at || align8(end) > byte_count)
    return plan_refuse(why, "corrupt: table %s is out of place", name);
  for (uint64_t i = end; i < align8(end); i++)
    if (bytes[i] != 0) return plan_refuse(why, "corrupt: bytes after table %s", name);
  return true;
}

bool plan_from_bytes(Plan *plan, const void *bytes, size_t byte_count, char why[PLAN_WHY_BYTES]) {
  *plan = (Plan){0};
  const FileHeader *header = bytes;
  if (!check_header(header, byte_count, why)) return false;
  Plan view = {.id = header->checksum};
  const PlanFileTable *table = header->table;
  uint64_t at = sizeof *header;
#define PLAN_T(Type, name)                                                                         \
  if (!check_table(table, #name, at, sizeof(Type), bytes, byte_count, why)) return false;          \
  view.name = (const Type *)((const char *)bytes + at);                                            \
  view.name##_count = table->count;                                                                \
  at = align8(at + (uint64_t)table->count * sizeof(Type));                                         \
  table++;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  if (at != byte_count) return plan_refuse(why, "corrupt: bytes after the last table");
  if (!plan_check(&view, why)) return false;
  *plan = view;
  return true;
}

bool plan_open(Plan *plan, const char *path, char why[PLAN_WHY_BYTES]) {
  *plan = (Plan){0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return plan_refuse(why, "%.150s: %s", path, strerror(errno));
  struct stat status;
  bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || status.st_size < (off_t)sizeof(PLAN_MAGIC) - 1) {
    close(file);
    return plan_refuse(why, "%.150s: not a plan", path);
  }
  size_t byte_count = (size_t)status.st_size;
  void *bytes = mmap(NULL, byte_count, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return plan_refuse(why, "%.150s: %s", path, strerror(errno));
  char reason[PLAN_WHY_BYTES];
  if (!plan_from_bytes(plan, bytes, byte_count, reason)) {
    munmap(bytes, byte_count);
    return plan_refuse(why, "%.100s: %.150s", path, reason);
  }
  plan->mapped = bytes;
  plan->mapped_bytes = byte_count;
  return true;
}

void plan_close(Plan *plan) {
  /* A parsed plan is one block of malloc without mapped bytes. */
  if (plan->mapped_bytes > 0)
    munmap((void *)(uintptr_t)plan->mapped, plan->mapped_bytes);
  else
    free((void *)(uintptr_t)plan->mapped);
  *plan = (Plan){0};
}
