#include "compiler/machine/topology/xml.h"

#include <errno.h>
#include <libxml/parser.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/library.h"

/* Loaded with the first XML file: libxml2 brings ICU and the C++ library, and linking it made every
 * command start in 2.3 ms instead of 1. A table of calls, each with libxml2's own type. */
#define LIBXML_CALLS(CALL)                                                                         \
  CALL(xmlNewParserCtxt)                                                                           \
  CALL(xmlFreeParserCtxt)                                                                          \
  CALL(xmlCtxtReadMemory)                                                                          \
  CALL(xmlSetStructuredErrorFunc)                                                                  \
  CALL(xmlDocGetRootElement)                                                                       \
  CALL(xmlGetLineNo)                                                                               \
  CALL(xmlHasProp)                                                                                 \
  CALL(xmlGetIntSubset)                                                                            \
  CALL(xmlUnlinkNode)                                                                              \
  CALL(xmlFreeDtd)                                                                                 \
  CALL(xmlDocDumpMemory)                                                                           \
  CALL(xmlFreeDoc)

static struct {
#define CALL(name) __typeof__(name) *name;
  LIBXML_CALLS(CALL)
#undef CALL
  xmlFreeFunc *free; /* a variable of the library */
} xml;

static Status not_loaded;

static void load_library(void) {
  /* Structures changed with the number of the library, so the one of the headers is taken. */
  static const char *const places[] = {LIBXML_VERSION >= 21400 ? "libxml2.so.16" : "libxml2.so.2"};
  static const LibraryCall calls[] = {
#define CALL(name) {#name, (void *)&xml.name},
      LIBXML_CALLS(CALL)
#undef CALL
          {"xmlFree", (void *)&xml.free}};
  static const Library library = {.name = "libxml2",
                                  .places = places,
                                  .place_count = 1,
                                  .calls = calls,
                                  .call_count = sizeof calls / sizeof *calls,
                                  .missing = "it reads files in XML",
                                  .older = "install the version that this was built with"};
  (void)library_load(&library, &not_loaded);
}

static bool need_library(Compile *c, Span span) {
  static pthread_once_t once = PTHREAD_ONCE_INIT; /* workers of tune compile side by side */
  pthread_once(&once, load_library);
  if (not_loaded.code == 0) return true;
  error_at(c, span, "topology-library", "%s", not_loaded.text);
  fix_last(c, "install it (Debian's package is libxml2), or add its folder to LD_LIBRARY_PATH");
  return false;
}

enum { TAGS_MOST = 200000, ATTRIBUTES_MOST = 256, DEPTH_MOST = 64 };

Span xml_span(const char *path, const xmlNode *node) {
  return (Span){.file = path, .line = (int32_t)xml.xmlGetLineNo(node)};
}

bool xml_is(const xmlNode *node, const char *name) {
  return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

const char *xml_attr(const xmlNode *node, const char *name) {
  const xmlAttr *attr = xml.xmlHasProp(node, (const xmlChar *)name);
  if (!attr) return NULL;
  return attr->children && attr->children->content ? (const char *)attr->children->content : "";
}

/* ---- numbers */

bool xml_number(Compile *c, const char *path, const xmlNode *node, XmlNumber wanted,
                int64_t *number) {
  const char *text = xml_attr(node, wanted.name);
  *number = wanted.absent;
  if (!text) return true;
  char *end;
  errno = 0;
  long long read = strtoll(text, &end, 10);
  bool is_number = end != text && !*end && errno == 0;
  if (is_number && read >= wanted.least && read <= wanted.most) {
    *number = read;
    return true;
  }
  return error_at(c, xml_span(path, node), "topology-value",
                  "%s=\"%.40s\" of <%s> is no whole number from %lld to %lld", wanted.name, text,
                  (const char *)node->name, (long long)wanted.least, (long long)wanted.most);
}

bool xml_hex(Compile *c, const char *path, const xmlNode *node, const char *name,
             uint32_t *number) {
  const char *text = xml_attr(node, name);
  *number = 0;
  if (!text || !*text) return true;
  char *end;
  errno = 0;
  unsigned long long read = strtoull(text, &end, 16);
  if (!*end && errno == 0 && read <= UINT32_MAX && !strchr(text, '-')) {
    *number = (uint32_t)read;
    return true;
  }
  return error_at(c, xml_span(path, node), "topology-value",
                  "%s=\"%.40s\" of <%s> is no hexadecimal number", name, text,
                  (const char *)node->name);
}

static size_t hex_digits(const char *text) {
  return strspn(text, "0123456789abcdefABCDEF");
}

bool is_pci_address(const char *text) {
  size_t domain = hex_digits(text);
  if (domain < 4 || domain > 8 || text[domain] != ':') return false;
  text += domain + 1;
  if (hex_digits(text) != 2 || text[2] != ':') return false;
  text += 3;
  return hex_digits(text) == 2 && text[2] == '.' && hex_digits(text + 3) == 1 && !text[4];
}

/* ---- limits, before libxml2 sees a byte: what it does with a tag takes the square of its
 * attributes */

static int32_t line_of(const char *bytes, const char *at) {
  int32_t line = 1;
  for (; bytes < at; bytes++)
    line += *bytes == '\n';
  return line;
}

static bool refuse_bytes(Compile *c, Span span, const char *what) {
  return error_at(c, span, "topology-hostile", "%s; no description of a machine has that", what);
}

static bool screen_bytes(Compile *c, const char *path, const char *bytes, const char *end) {
  int32_t tags = 0, attributes = 0;
  for (const char *at = bytes; at < end; at++) {
    Span span = {.file = path};
    if (*at == '<' && end - at > 4 && strncmp(at, "<!--", 4) == 0) {
      const char *close = memmem(at + 4, (size_t)(end - at - 4), "-->", 3);
      if (!close) return true; /* the reader's own message is better */
      at = close + 2;
      continue;
    }
    if (*at == '<' && end - at > 8 && strncmp(at, "<!ENTITY", 8) == 0) {
      span.line = line_of(bytes, at);
      return refuse_bytes(c, span, "the file declares an entity");
    }
    if (*at == '<') attributes = 0, tags++;
    if (*at == '=') attributes++;
    if (tags <= TAGS_MOST && attributes <= ATTRIBUTES_MOST) continue;
    span.line = line_of(bytes, at);
    return refuse_bytes(
        c, span, tags > TAGS_MOST ? "more than 200,000 tags" : "more than 256 attributes in a tag");
  }
  return true;
}

static bool screen_depth(Compile *c, const char *path, const xmlNode *root) {
  int32_t depth = 0;
  for (const xmlNode *at = root; at;) {
    if (at->type == XML_ENTITY_REF_NODE)
      return refuse_bytes(c, xml_span(path, at), "the file uses an entity");
    if (depth > DEPTH_MOST) return refuse_bytes(c, xml_span(path, at), "more than 64 tags deep");
    if (at->children) {
      at = at->children, depth++;
      continue;
    }
    while (at != root && !at->next)
      at = at->parent, depth--;
    at = at == root ? NULL : at->next;
  }
  return true;
}

/* Reports libxml2's own message, without its line break. */
static void refuse_malformed(Compile *c, const char *path, const xmlError *error) {
  Span span = {.file = path, .line = error->line > 0 ? error->line : 1};
  char why[160];
  snprintf(why, sizeof why, "%s", error->message ? error->message : "it ends too early");
  why[strcspn(why, "\n")] = 0;
  if (strstr(why, "depth"))
    refuse_bytes(c, span, "more than 64 tags deep");
  else
    error_at(c, span, "topology-xml", "this is not XML: %s", why);
}

static void stay_silent(void *context, xmlErrorPtr error) {
  (void)context, (void)error; /* the parser keeps its last error; we say that one */
}

xmlDoc *xml_read(Compile *c, const char *path, const char *bytes, size_t size_bytes) {
  if (!screen_bytes(c, path, bytes, bytes + size_bytes)) return NULL;
  if (!need_library(c, (Span){.file = path})) return NULL;
  xmlParserCtxt *parser = xml.xmlNewParserCtxt();
  if (!parser) abort();
  xml.xmlSetStructuredErrorFunc(NULL, stay_silent);
  /* The encoding is ours to say: a file that declares another one could hide from the screening
   * above. */
  xmlDoc *document =
      xml.xmlCtxtReadMemory(parser, bytes, (int)size_bytes, NULL, "UTF-8",
                            XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                XML_PARSE_BIG_LINES | XML_PARSE_NOCDATA | XML_PARSE_NOBLANKS);
  xmlNode *root = document ? xml.xmlDocGetRootElement(document) : NULL;
  bool is_good = root != NULL;
  if (!is_good) refuse_malformed(c, path, &parser->lastError);
  xml.xmlSetStructuredErrorFunc(NULL, NULL);
  if (is_good && document->intSubset && document->intSubset->children)
    is_good = refuse_bytes(c, (Span){.file = path, .line = 1}, "declarations in the DOCTYPE");
  is_good = is_good && screen_depth(c, path, root);
  xml.xmlFreeParserCtxt(parser);
  if (is_good) return document;
  if (document) xml.xmlFreeDoc(document);
  return NULL;
}

void xml_free(xmlDoc *document) {
  xml.xmlFreeDoc(document);
}

xmlNode *xml_root(xmlDoc *document) {
  return xml.xmlDocGetRootElement(document);
}

char *xml_text(xmlDoc *document, int *size_bytes) {
  xmlDtd *dtd = xml.xmlGetIntSubset(document);
  if (dtd) {
    xml.xmlUnlinkNode((xmlNode *)dtd);
    xml.xmlFreeDtd(dtd);
  }
  xmlChar *text = NULL;
  xml.xmlDocDumpMemory(document, &text, size_bytes);
  char *copy = text ? strdup((const char *)text) : NULL;
  if (text && !copy) abort();
  if (text) (*xml.free)(text);
  return copy;
}
