/* One test for each leaf of the decision tree.   LINK: search */
#include "compiler/search/tree.h"
#include "tests/unit/check.h"

#define GB ((int64_t)1000000000)

/* A model of so many billions of parameters in bf16 with gradients in fp32 and AdamW: 2 + 4 + 12
 * bytes each, on `replicas` GPUs with 80 GB. */
static TreeLeaf leaf_of(int64_t billions, int64_t replicas) {
  const TreeSizes sizes = {.param_bytes = 2 * billions * GB,
                           .grad_bytes = 4 * billions * GB,
                           .state_bytes = 12 * billions * GB,
                           .budget_bytes = 80 * GB,
                           .replicas = replicas,
                           .devices_of_domain = 8};
  return tree_leaf(&sizes);
}

int main(void) {
  TEST("what fits on one device is replicated") {
    CHECK_INT(leaf_of(1, 1), TREE_DDP);
    CHECK_INT(leaf_of(3, 64), TREE_DDP);
  }
  TEST("states are shared first, then gradients") {
    CHECK_INT(leaf_of(7, 8), TREE_ZERO_1);
    CHECK_INT(leaf_of(13, 8), TREE_ZERO_2);
  }
  TEST("then weights; on few devices nothing helps") {
    CHECK_INT(leaf_of(70, 64), TREE_ZERO_3);
    CHECK_INT(leaf_of(70, 8), TREE_OFFLOAD);
  }
  TEST("weights beyond a domain are divided by tp and pp") {
    CHECK_INT(leaf_of(405, 4096), TREE_TP_PP);
  }
  return check_failures > 0;
}
