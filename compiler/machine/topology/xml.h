/* xml.h -- reads untrusted XML with libxml2 within limits; xml.c alone calls the library. Private
 * to this room. */
#ifndef LOCKSTEP_TOPOLOGY_XML_H
#define LOCKSTEP_TOPOLOGY_XML_H

#include <libxml/tree.h>

#include "compiler/machine/topology/node.h"

/* Well-formed UTF-8 XML without entities, at most 64 deep, 200,000 tags, 256 attributes a tag;
 * NULL: reported. The caller frees it with xml_free. */
xmlDoc *xml_read(Compile *c, const char *path, const char *bytes, size_t size_bytes);

void xml_free(xmlDoc *document);
xmlNode *xml_root(xmlDoc *document);

/* The document written again without its DOCTYPE, size_bytes and a 0; the caller frees it. NULL: no
 * memory. */
char *xml_text(xmlDoc *document, int *size_bytes);

Span xml_span(const char *path, const xmlNode *node);
bool xml_is(const xmlNode *node, const char *name);

/* An attribute's text, in the document's memory; NULL: absent. */
const char *xml_attr(const xmlNode *node, const char *name);

/* A whole number within bounds; absent: `absent`. False: reported. */
typedef struct XmlNumber {
  const char *name;
  int64_t least, most, absent;
} XmlNumber;
bool xml_number(Compile *c, const char *path, const xmlNode *node, XmlNumber wanted,
                int64_t *number);

/* "0x030200" or "30200"; absent is 0. False: reported. */
bool xml_hex(Compile *c, const char *path, const xmlNode *node, const char *name, uint32_t *number);

/* "0000:1b:00.0": is it an address? */
bool is_pci_address(const char *text);

/* The readers. */
bool nccl_read(Compile *c, const char *path, const xmlNode *root, HostNode *node);
bool hwloc_screen(Compile *c, const char *path, const xmlNode *root);
bool hwloc_read(Compile *c, const char *path, xmlDoc *document, HostNode *node);

#endif
