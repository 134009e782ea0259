/* topology_fuzz.c -- LINK: topology base
 * Bytes as a description of a machine or a network: reading ends, with a picture or with
 * diagnostics. The first byte chooses between the readers of text. hwloc itself runs in a child
 * first, where it may stop. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/topology/picture.h"
#include "compiler/topology/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static FILE *ignored;
  if (!ignored) ignored = fopen("/dev/null", "w");
  if (!ignored) abort();
  if (size_bytes == 0) return 0;
  Compile *c = compile_new("");
  char *text = arena_copy_n(c->arena, (const char *)bytes + 1, size_bytes - 1);
  Topology topology;
  const char *path = bytes[0] == 'y' ? "network.yaml" : "description";
  if (topology_read_bytes(c, path, text, size_bytes - 1, &topology)) {
    if (topology.node) {
      node_print(c->arena, topology.node, ignored);
      node_json(c->arena, topology.node, ignored);
      node_svg(c->arena, topology.node, ignored);
      node_compare(c->arena, topology.node, topology.node);
    }
    for (int32_t i = 0; i < topology.networks.count; i++) {
      switches_print(c->arena, &topology.networks.at[i], ignored);
      switches_json(&topology.networks.at[i], ignored);
    }
  }
  diags_print(&c->diags, ignored, false);
  compile_free(c);
  return 0;
}
