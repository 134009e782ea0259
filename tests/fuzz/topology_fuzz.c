/* topology_fuzz.c -- LINK: place topology base
 * Bytes as a description of a machine or a network: reading ends, with a picture or with
 * diagnostics. The first byte chooses between the readers of text. hwloc itself runs in a child
 * first, where it may stop. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/machine/place/describe.h"
#include "compiler/machine/place/place.h"
#include "compiler/machine/place/rate.h"
#include "compiler/machine/topology/picture.h"
#include "compiler/machine/topology/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* Four nodes like it take two stages and as many replicas as there is room for. */
static void place_on(Compile *c, const HostNode *node) {
  enum { SEATS_TRIED = 16 };
  NodeKind kind = {.name = "node"};
  if (node->gpus.count == 0) return;
  if (node->gpus.count > SEATS_TRIED) kind.seat_count = SEATS_TRIED;
  (void)describe_seats(c, node, node, &kind);
  int32_t seats = kind.seat_count, tp = seats % 2 == 0 ? 2 : 1;
  RateMemo *memo = rate_memo(c->arena);
  Fabric fabric = {.arena = c->arena,
                   .node_count = 4,
                   .slot_count = 4 * (int64_t)seats,
                   .kinds = &kind,
                   .memos = &memo,
                   .kind_count = 1,
                   .run_count = 1,
                   .runs = &(NodeRun){0},
                   .is_fast = true};
  JobMesh mesh = {{1, 2 * seats / tp, 2, 1, tp, 1}};
  const Demand asked[] = {{MESH_BIT(MESH_TP), 0, 4e9, 9, 0, 0},
                          {MESH_BIT(MESH_DP), 0, 1e9, 9, 0, 0},
                          {MESH_BIT(MESH_PP), 1, 0, 0, 1e8, 9},
                          {MESH_BIT(MESH_DP), 1, 1e9, 9, 0, 0}};
  Demands demands = {asked, 4, 2};
  Choice choice = place_choose(&fabric, &mesh, &demands, (Wish){NULL, false});
  if (choice.taken_s > choice.usual_s * (1 + 1e-9)) abort(); /* worse than no search at all */
}

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
      place_on(c, topology.node);
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
