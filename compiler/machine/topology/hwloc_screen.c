/* hwloc_screen.c -- checks what hwloc would trust. It allocates by numbers of the file and asserts
 * their meaning, so they are bounded here first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/topology/xml.h"

enum { MASK_BYTES_MOST = 8192, INDEX_MOST = 65535, DISTANCES_MOST = 1024 };

typedef struct XmlCounts {
  int32_t objects, pus, numas;
} XmlCounts;

static bool is_type(const xmlNode *object, const char *type) {
  const char *is = xml_attr(object, "type");
  return is && strcmp(is, type) == 0;
}

/* Attributes that hold one whole number, in any element. */
static bool is_count(const char *name) {
  static const char *const counts[] = {
      "os_index",     "gp_index", "depth",  "cache_size", "cache_linesize", "cache_associativity",
      "local_memory", "nbobjs",   "length", "cache_type", "osdev_type",     "kind",
      "subkind",      "size",     "count",  "online",     "logical_index"};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (strcmp(counts[i], name) == 0) return true;
  return false;
}

/* The largest number that is accepted: CPU and NUMA numbers become bits of masks, whose memory
 * grows with the number. */
static uint64_t most_of(const xmlNode *node, const char *name) {
  if (strcmp(name, "nbobjs") == 0) return DISTANCES_MOST;
  if (strcmp(name, "os_index") != 0) return UINT64_MAX;
  return is_type(node, "PU") || is_type(node, "NUMANode") ? INDEX_MOST : UINT64_MAX;
}

static bool screen_count(Compile *c, const char *path, const xmlNode *node, const char *name) {
  const char *text = xml_attr(node, name);
  /* hwloc 1 writes the missing kinds of caches as negative numbers, which hwloc reads as such. */
  if (strcmp(name, "cache_associativity") == 0 && *text == '-') text++;
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  bool is_number = *text >= '0' && *text <= '9' && !*end && errno == 0;
  if (is_number && number <= most_of(node, name)) return true;
  return error_at(c, xml_span(path, node), "topology-value", "%s=\"%.40s\" of <%s> is %s", name,
                  text, (const char *)node->name, is_number ? "too large" : "no whole number");
}

static bool is_mask_name(const char *name) {
  return strstr(name, "cpuset") || strstr(name, "nodeset");
}

static bool screen_mask(Compile *c, const char *path, const xmlNode *node, const char *name) {
  const char *text = xml_attr(node, name);
  size_t length = strlen(text);
  if (length <= MASK_BYTES_MOST && strspn(text, "0123456789abcdefxABCDEF,.") == length) return true;
  return error_at(c, xml_span(path, node), "topology-value", "%s=\"%.40s\" is no mask of CPUs",
                  name, text);
}

static bool screen_attributes(Compile *c, const char *path, const xmlNode *node) {
  for (const xmlAttr *attr = node->properties; attr; attr = attr->next) {
    const char *name = (const char *)attr->name;
    if (is_count(name) && !screen_count(c, path, node, name)) return false;
    if (is_mask_name(name) && !screen_mask(c, path, node, name)) return false;
  }
  return true;
}

static bool screen_object(Compile *c, const char *path, const xmlNode *object, XmlCounts *counts) {
  Span span = xml_span(path, object);
  if (++counts->objects > 100000)
    return error_at(c, span, "topology-limit", "more than 100,000 objects in one machine");
  counts->pus += is_type(object, "PU");
  counts->numas += is_type(object, "NUMANode");
  if (counts->pus > CPUS_MOST)
    return error_at(c, span, "topology-limit", "more than %d CPUs in one machine", CPUS_MOST);
  if (counts->numas > NUMA_MOST)
    return error_at(c, span, "topology-limit", "more than %d NUMA nodes in one machine", NUMA_MOST);
  const char *pci = is_type(object, "PCIDev") ? xml_attr(object, "pci_busid") : NULL;
  if (pci && !is_pci_address(pci))
    return error_at(c, span, "topology-value", "pci_busid=\"%.40s\" is no PCI address", pci);
  return true;
}

static bool screen_below(Compile *c, const char *path, const xmlNode *node, XmlCounts *counts) {
  for (const xmlNode *child = node->children; child; child = child->next) {
    if (child->type != XML_ELEMENT_NODE) continue;
    if (!screen_attributes(c, path, child)) return false;
    if (xml_is(child, "object") && !screen_object(c, path, child, counts)) return false;
    if (!screen_below(c, path, child, counts)) return false; /* at most 64 deep */
  }
  return true;
}

static int compare_addresses(const void *a, const void *b) {
  const xmlNode *const *x = a, *const *y = b;
  return strcasecmp(xml_attr(*x, "pci_busid"), xml_attr(*y, "pci_busid"));
}

typedef struct Cards {
  VEC(const xmlNode *) list;
} Cards;

static void collect_cards(Compile *c, const xmlNode *node, Cards *cards) {
  for (const xmlNode *child = node->children; child; child = child->next) {
    if (xml_is(child, "object") && is_type(child, "PCIDev") && xml_attr(child, "pci_busid"))
      VEC_PUSH(c->arena, &cards->list, child);
    if (child->type == XML_ELEMENT_NODE) collect_cards(c, child, cards);
  }
}

static bool screen_duplicates(Compile *c, const char *path, const xmlNode *root) {
  Cards cards = {0};
  collect_cards(c, root, &cards);
  if (cards.list.count > DEVICES_MOST)
    return error_at(c, xml_span(path, root), "topology-limit", "more than %d PCI devices",
                    DEVICES_MOST);
  if (cards.list.count > 1)
    qsort(cards.list.at, (size_t)cards.list.count, sizeof *cards.list.at, compare_addresses);
  for (int32_t i = 1; i < cards.list.count; i++)
    if (compare_addresses(&cards.list.at[i - 1], &cards.list.at[i]) == 0)
      return error_at(c, xml_span(path, cards.list.at[i]), "topology-duplicate",
                      "%s is in the file twice", xml_attr(cards.list.at[i], "pci_busid"));
  return true;
}

bool hwloc_screen(Compile *c, const char *path, const xmlNode *root) {
  const char *version = xml_attr(root, "version");
  if (version && strtol(version, NULL, 10) > 2) {
    error_at(c, xml_span(path, root), "topology-version",
             "hwloc XML %.10s is of hwloc 3; hwloc 1 and 2 are read", version);
    fix_last(c, "on that machine: lstopo --export-xml-flags v2 node.xml");
    return false;
  }
  XmlCounts counts = {0};
  return screen_below(c, path, root, &counts) && screen_duplicates(c, path, root);
}
