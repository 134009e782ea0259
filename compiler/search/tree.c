#include "compiler/search/tree.h"

const char *const tree_texts[TREE_LEAVES] = {
    [TREE_DDP] = "all of it fits on one device: replicas alone (DDP)",
    [TREE_ZERO_1] = "it fits where replicas share the optimizer's states: zero 1",
    [TREE_ZERO_2] = "it fits where replicas share states and gradients: zero 2",
    [TREE_ZERO_3] = "it fits where replicas share weights, too: zero 3 (FSDP)",
    [TREE_TP_PP] = "shared by all ranks it leaves no room for activations: tp and pp divide layers",
    [TREE_OFFLOAD] = "all devices together do not hold it: offload, or more devices"};

/* Activations, workspaces and what is gathered take at least this part of a device. */
static const double LEFT_FOR_ACTIVATIONS = 0.25;

TreeLeaf tree_leaf(const TreeSizes *s) {
  const double room = (double)s->budget_bytes * (1 - LEFT_FOR_ACTIVATIONS);
  const double ranks = (double)s->replicas;
  const double params = (double)s->param_bytes, grads = (double)s->grad_bytes;
  const double states = (double)s->state_bytes, all = params + grads + states;
  if (all <= room) return TREE_DDP;
  if (params + grads + states / ranks <= room) return TREE_ZERO_1;
  if (params + (grads + states) / ranks <= room) return TREE_ZERO_2;
  if (all > room * ranks) return TREE_OFFLOAD;
  /* Zero 3 gathers every layer from all ranks: inside a domain that is quick. Beyond, where whole
   * weights are more than a domain's devices hold, layers are better divided. */
  return params <= room * (double)s->devices_of_domain ? TREE_ZERO_3 : TREE_TP_PP;
}
