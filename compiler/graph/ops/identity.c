/* identity.c -- whether two model files say the same model. */
#include <string.h>

#include "compiler/graph/ops/op.h"

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
  return mix(hash, hash_text(text == NULL ? "" : text));
}

static uint64_t mix_real(uint64_t hash, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return mix(hash, bits);
}

static uint64_t mix_node(const Graph *g, uint64_t hash, NodeId n) {
  const Node *node = graph_node(g, n);
  hash = mix_text(hash, op_def(node->op)->name);
  hash = mix_text(hash, node->path); /* dropout draws by it */
  for (int32_t i = 0; i < node->input_count; i++)
    hash = mix(hash, (uint64_t)node->inputs[i]);
  for (int32_t i = 0; i < node->output_count; i++)
    hash = mix(hash, (uint64_t)node->outputs[i]);
  for (int32_t i = 0; i < NODE_ATTRS_MAX; i++)
    hash = mix_real(hash, node->attrs[i]);
  return hash;
}

static uint64_t mix_param(const Graph *g, uint64_t hash, const Param *param) {
  hash = mix_text(hash, param->name); /* initial values are drawn by it */
  for (int32_t i = 0; i < param->dim_count; i++) {
    const Dim *dim = &g->dims.at[param->dims[i]];
    hash = mix(mix_text(hash, dim->name), (uint64_t)dim->size);
  }
  hash = mix(hash, (uint64_t)param->init);
  hash = mix_real(mix_real(hash, param->init_a), param->init_b);
  return mix(hash, param->decay);
}

uint64_t op_graph_identity(const Graph *g) {
  uint64_t hash = mix_text(0, g->loss_name);
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    hash = mix(hash, (uint64_t)region->repeat);
    for (int32_t i = 0; i < region->forward.count; i++)
      hash = mix_node(g, hash, region->forward.at[i]);
  }
  for (ParamId p = 0; p < g->params.count; p++)
    hash = mix_param(g, hash, &g->params.at[p]);
  return hash;
}
