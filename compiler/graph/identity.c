/* identity.c -- whether two model files say the same model. */
#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
  return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
  return text == NULL ? mix(hash, "", 1) : mix(hash, text, strlen(text) + 1);
}

static uint64_t mix_node(const Graph *g, uint64_t hash, NodeId n) {
  const Node *node = graph_node(g, n);
  hash = mix_text(hash, op_def(node->op)->name);
  hash = mix_text(hash, node->path); /* dropout draws by it */
  hash = mix(hash, node->inputs, (size_t)node->input_count * sizeof *node->inputs);
  hash = mix(hash, node->outputs, (size_t)node->output_count * sizeof *node->outputs);
  return mix(hash, node->attrs, sizeof node->attrs);
}

static uint64_t mix_param(const Graph *g, uint64_t hash, const Param *param) {
  hash = mix_text(hash, param->name); /* initial values are drawn by it */
  for (int32_t i = 0; i < param->dim_count; i++) {
    const Dim *dim = &g->dims.at[param->dims[i]];
    hash = mix(mix_text(hash, dim->name), &dim->size, sizeof dim->size);
  }
  const double init[] = {(double)param->init, param->init_a, param->init_b, param->decay};
  return mix(hash, init, sizeof init);
}

uint64_t graph_identity(const Graph *g) {
  uint64_t hash = mix_text(0xcbf29ce484222325u, g->loss_name);
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    hash = mix(hash, &region->repeat, sizeof region->repeat);
    for (int32_t i = 0; i < region->forward.count; i++)
      hash = mix_node(g, hash, region->forward.at[i]);
  }
  for (ParamId p = 0; p < g->params.count; p++)
    hash = mix_param(g, hash, &g->params.at[p]);
  return hash;
}
