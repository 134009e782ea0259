/* hwloc_read.c -- hwloc's own XML, and this machine, through libhwloc. */
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/machine/topology/hwloc_node.h"
#include "compiler/machine/topology/read.h"
#include "compiler/machine/topology/xml.h"

/* hwloc leaves out I/O unless asked for, and bridges tell which devices are near each other. */
static hwloc_topology_t open_topology(void) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return NULL;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  return topology;
}

static hwloc_topology_t load_xml(const char *text, int size_bytes) {
  hwloc_topology_t topology = open_topology();
  if (!topology) return NULL;
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_set_xmlbuffer(topology, text, size_bytes) == 0 &&
      hwloc_topology_load(topology) == 0)
    return topology;
  hwloc_topology_destroy(topology);
  return NULL;
}

/* hwloc aborts the program if a file contradicts itself in ways that it asserts, so a child process
 * tries first. */
static bool is_loadable(const char *text, int size_bytes) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    const struct rlimit seconds = {.rlim_cur = 1, .rlim_max = 1}, none = {0};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    _exit(load_xml(text, size_bytes) ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/* The file is written again by libxml2, so that hwloc reads exactly what was screened. */
static hwloc_topology_t load_document(xmlDoc *document) {
  int size_bytes = 0;
  char *text = xml_text(document, &size_bytes);
  if (!text) return NULL;
  setenv("HWLOC_HIDE_ERRORS", "2", 0); /* refused files are explained here */
  hwloc_topology_t topology = NULL;
  if (is_loadable(text, size_bytes + 1)) topology = load_xml(text, size_bytes + 1);
  free(text);
  return topology;
}

static int32_t count_objects(const xmlNode *node, const char *type) {
  int32_t count = 0;
  for (const xmlNode *child = node->children; child; child = child->next) {
    const char *is = xml_is(child, "object") ? xml_attr(child, "type") : NULL;
    count += is && strcmp(is, type) == 0;
    if (child->type == XML_ELEMENT_NODE) count += count_objects(child, type); /* at most 64 deep */
  }
  return count;
}

/* hwloc leaves out what does not fit the rest, and makes up a CPU where there is none. */
static bool is_whole(Compile *c, Span span, const xmlNode *root, hwloc_topology_t topology) {
  int32_t cpus = count_objects(root, "PU"), cores = count_objects(root, "Core");
  int32_t loaded_cpus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  int32_t loaded_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  if (cpus > 0 && cpus == loaded_cpus && cores == loaded_cores) return true;
  return error_at(
      c, span, "topology-value",
      "the file has %d core%s and %d CPU%s, of which hwloc makes %d and %d: their masks "
      "contradict each "
      "other",
      cores, plural(cores), cpus, plural(cpus), loaded_cores, loaded_cpus);
}

bool hwloc_read(Compile *c, const char *path, xmlDoc *document, HostNode *node) {
  const xmlNode *root = xml_root(document);
  const char *version = xml_attr(root, "version");
  node->source = arena_printf(c->arena, "hwloc XML %.8s", version ? version : "1");
  Span span = xml_span(path, root);
  hwloc_topology_t topology = load_document(document);
  if (!topology)
    return error_at(c, span, "topology-value",
                    "hwloc %x.%x cannot load it: objects or masks contradict each other",
                    (unsigned)HWLOC_API_VERSION >> 16, (unsigned)HWLOC_API_VERSION >> 8 & 0xff);
  bool is_good = is_whole(c, span, root, topology) && node_of_hwloc(c, span, topology, node);
  hwloc_topology_destroy(topology);
  return is_good;
}

/* ---- this machine */

const char *topology_environment(Arena *arena) {
  static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return arena_printf(arena, "%s=%.200s", names[i], value);
  }
  return NULL;
}

bool topology_environment_works(Compile *c) {
  const char *setting = topology_environment(c->arena);
  bool is_root = setting && strncmp(setting, "HWLOC_FSROOT", strlen("HWLOC_FSROOT")) == 0;
  if (!setting || is_root || getenv("HWLOC_THISSYSTEM")) return true; /* may well be this machine */
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return true;
  bool works = hwloc_topology_load(topology) == 0 && !hwloc_topology_is_thissystem(topology);
  hwloc_topology_destroy(topology);
  return works ||
         error_at(c, (Span){0}, "topology-file",
                  "%s is set, and hwloc %x.%x cannot use it: unset it, or mend it", setting,
                  (unsigned)HWLOC_API_VERSION >> 16, (unsigned)HWLOC_API_VERSION >> 8 & 0xff);
}

static hwloc_topology_t load_this(Compile *c) {
  hwloc_topology_t topology = open_topology();
  if (topology && hwloc_topology_load(topology) == 0) return topology;
  if (topology) hwloc_topology_destroy(topology);
  error_at(c, (Span){0}, "topology-file", "hwloc cannot find out what this machine is");
  return NULL;
}

HostNode *topology_of_this_machine(Compile *c) {
  hwloc_topology_t topology = load_this(c);
  if (!topology) return NULL;
  HostNode *node = ARENA_NEW(c->arena, HostNode);
  node->source = "this machine";
  bool is_good = node_of_hwloc(c, (Span){0}, topology, node) && node_finish(c, (Span){0}, node);
  hwloc_topology_destroy(topology);
  return is_good ? node : NULL;
}

const char *topology_gather(Compile *c) {
  hwloc_topology_t topology = load_this(c);
  if (!topology) return NULL;
  char *text = NULL;
  int size_bytes = 0;
  const char *copy = NULL;
  if (hwloc_topology_export_xmlbuffer(topology, &text, &size_bytes, 0) == 0) {
    copy = arena_copy(c->arena, text);
    hwloc_free_xmlbuffer(topology, text);
  } else {
    error_at(c, (Span){0}, "topology-file", "hwloc cannot write what this machine is");
  }
  hwloc_topology_destroy(topology);
  return copy;
}
