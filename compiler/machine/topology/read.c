/* read.c -- what kind of file is it? */
#include "compiler/machine/topology/read.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/machine/topology/xml.h"

/* The largest machines take 2 MB. */
enum { FILE_BYTES_MOST = 8 << 20 };

/* ---- bytes */

static const char from_hwloc[] = "on that machine: lockstep topology gather -o node.xml";
static const char from_nccl[] =
    "on that machine, of any NCCL program: NCCL_TOPO_DUMP_FILE=node.xml";

static const char from_slurm[] = "it is beside slurm.conf: scontrol show config | grep SLURM_CONF";

static void refuse_size(Compile *c, Span span) {
  error_at(c, span, "topology-file", "is larger than 8 MiB; the largest machines take 2 MB");
  fix_last(c, "%s", from_hwloc);
}

/* A file beside it that may have been meant, or where such files come from. */
static void fix_path(Compile *c, const char *path) {
  enum { NAMES_MOST = 4096 };
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *near;
  const char *folder = slash ? arena_copy_n(c->arena, path, (size_t)(slash + 1 - path)) : "";
  struct {
    VEC(const char *) list;
  } names = {0};
  DIR *directory = opendir(*folder ? folder : ".");
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (entry->d_name[0] != '.' && names.list.count < NAMES_MOST)
      VEC_PUSH(c->arena, &names.list, arena_copy(c->arena, entry->d_name));
  if (directory) closedir(directory);
  near = nearest_word(name, names.list.at, names.list.count);
  if (near)
    fix_last(c, "%s%s", folder, near);
  else
    fix_last(c, "%s", strstr(name, ".conf") || strstr(name, ".y") ? from_slurm : from_hwloc);
}

/* The whole file with a NUL after it; NULL: reported. */
static char *read_file(Compile *c, const char *path, size_t *size_bytes) {
  Span span = {.file = path};
  struct stat status;
  FILE *file = stat(path, &status) == 0 && !S_ISDIR(status.st_mode) ? fopen(path, "rb") : NULL;
  if (!file) {
    error_at(c, span, "topology-file", "cannot be read: %s",
             errno ? strerror(errno) : "it is a folder");
    fix_path(c, path);
    return NULL;
  }
  VEC_PUSH(c->arena, &c->read, ((ReadFile){.path = path}));
  bool is_regular = S_ISREG(status.st_mode);
  if (is_regular && status.st_size > FILE_BYTES_MOST) {
    fclose(file);
    refuse_size(c, span);
    return NULL;
  }
  size_t room = (is_regular ? (size_t)status.st_size : (size_t)FILE_BYTES_MOST) + 1;
  char *bytes = arena_alloc(c->arena, room + 1);
  *size_bytes = fread(bytes, 1, room, file);
  bool is_read = !ferror(file), is_long = *size_bytes > FILE_BYTES_MOST;
  fclose(file);
  bytes[*size_bytes] = 0;
  if (!is_read)
    error_at(c, span, "topology-file", "cannot be read: %s", strerror(errno));
  else if (is_long)
    refuse_size(c, span);
  return is_read && !is_long ? bytes : NULL;
}

static Span place(const char *path, const char *bytes, const char *at) {
  Span span = {.file = path, .line = 1, .column = 1};
  for (; bytes < at; bytes++) {
    span.column = *bytes == '\n' ? 1 : span.column + 1;
    span.line += *bytes == '\n';
  }
  return span;
}

/* ---- kinds */

/* Where the error says nothing better: the file again, from its machine. */
static void fix_otherwise(Compile *c, const char *fix) {
  const Diag *last = &c->diags.list.at[c->diags.list.count - 1];
  if (last->severity == SEVERITY_ERROR && !last->fix) fix_last(c, "%s", fix);
}

static bool read_hwloc(Compile *c, const char *path, xmlDoc *document, HostNode *node) {
  const xmlNode *root = xml_root(document);
  return hwloc_screen(c, path, root) && hwloc_read(c, path, document, node);
}

static bool read_xml(Compile *c, const char *path, const char *bytes, size_t size_bytes,
                     Topology *topology) {
  xmlDoc *document = xml_read(c, path, bytes, size_bytes);
  if (!document) {
    fix_otherwise(c, strstr(bytes, "<system") ? from_nccl : from_hwloc);
    return false;
  }
  const xmlNode *root = xml_root(document);
  HostNode *node = ARENA_NEW(c->arena, HostNode);
  bool is_good = false, is_nccl = xml_is(root, "system") || xml_is(root, "graphs");
  if (xml_is(root, "topology"))
    is_good = read_hwloc(c, path, document, node);
  else if (xml_is(root, "system"))
    is_good = nccl_read(c, path, root, node);
  else
    error_at(c, xml_span(path, root), "topology-kind",
             "<%.40s> is neither hwloc's <topology> nor NCCL's <system>", (const char *)root->name);
  if (is_good) is_good = node_finish(c, (Span){.file = path}, node);
  xml_free(document);
  if (!is_good) fix_otherwise(c, is_nccl ? from_nccl : from_hwloc);
  if (is_good) topology->node = node;
  return is_good;
}

/* nvidia-smi topo -m: a table of facts that the other files have too, without sizes, speeds or
 * addresses. */
static bool is_matrix(const char *bytes) {
  const char *row = strstr(bytes, "GPU0");
  return row && row - bytes < 200 && strstr(bytes, " X ");
}

static bool is_yaml(const char *path, const char *bytes) {
  size_t length = strlen(path);
  if (length > 5 && strcmp(path + length - 5, ".yaml") == 0) return true;
  if (length > 4 && strcmp(path + length - 4, ".yml") == 0) return true;
  return strncmp(bytes, "---", 3) == 0 || strncmp(bytes, "- ", 2) == 0;
}

bool topology_read_bytes(Compile *c, const char *path, const char *bytes, size_t size_bytes,
                         Topology *topology) {
  *topology = (Topology){.path = path};
  const char *end = bytes + size_bytes;
  if (size_bytes >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) bytes += 3; /* a byte order mark */
  const char *bad = memchr(bytes, 0, (size_t)(end - bytes));
  if (!bad) bad = text_find_bad(bytes, end);
  if (bad) {
    error_at(c, place(path, bytes, bad), "topology-text", "byte 0x%02x is not UTF-8 text",
             (unsigned char)*bad);
    fix_last(c, "text alone: unpacked if it is packed, in UTF-8 if it is in another encoding");
    return false;
  }
  const char *first = bytes + strspn(bytes, " \t\r\n");
  if (!*first) {
    error_at(c, (Span){.file = path}, "topology-kind", "is empty");
    fix_last(c, "%s", from_hwloc);
    return false;
  }
  if (*first == '<') return read_xml(c, path, first, (size_t)(end - first), topology);
  if (is_matrix(bytes)) {
    error_at(c, (Span){.file = path}, "topology-kind",
             "a matrix of nvidia-smi topo has no sizes, speeds or addresses");
    fix_last(c, "%s", from_hwloc);
    return false;
  }
  if (is_yaml(path, first))
    return slurm_yaml_read(c, path, bytes, (size_t)(end - bytes), &topology->networks);
  return slurm_conf_read(c, path, bytes, &topology->networks);
}

bool topology_read(Compile *c, const char *path, Topology *topology) {
  size_t size_bytes = 0;
  errno = 0;
  char *bytes = read_file(c, path, &size_bytes);
  return bytes && topology_read_bytes(c, path, bytes, size_bytes, topology);
}
