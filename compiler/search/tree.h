/* tree.h -- the decision tree that people use to choose a strategy by hand, from four sizes. tune
 * prints its answer beside its own. */
#ifndef LOCKSTEP_TREE_H
#define LOCKSTEP_TREE_H

#include <stdint.h>

/* Bytes of the whole model, and the memory of the devices. */
typedef struct TreeSizes {
  int64_t param_bytes, grad_bytes, state_bytes; /* state: of the optimizer, with masters */
  int64_t budget_bytes;                         /* of one device */
  int64_t replicas;          /* devices that may share states, if each has all layers */
  int64_t devices_of_domain; /* that NVLink joins */
} TreeSizes;

typedef enum TreeLeaf {
  TREE_DDP,     /* all fits on one device */
  TREE_ZERO_1,  /* with states shared */
  TREE_ZERO_2,  /* with gradients shared, too */
  TREE_ZERO_3,  /* with weights shared, too */
  TREE_TP_PP,   /* a domain or several hold one replica */
  TREE_OFFLOAD, /* all devices together do not hold one */
  TREE_LEAVES
} TreeLeaf;
extern const char *const tree_texts[TREE_LEAVES];

/* A share of the budget is left for activations. */
TreeLeaf tree_leaf(const TreeSizes *sizes);

#endif
