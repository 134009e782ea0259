/* The attention graphs have the operations they should, and the fp64 reference has the gradients it
 * claims. No GPU. That cuDNN supports the graphs is asked by attention_plan. */
#include <stdlib.h>

#include "tests/gpu/common/numeric.h"
#include "tests/gpu/probes/sdpa.h"
#include "tests/gpu/probes/sdpa_reference.h"
#include "tests/unit/check.h"

static int count_operations(const SdpaShape *shape,
                            void (*build)(CudnnGraph *, const SdpaShape *)) {
  CudnnGraph graph;
  graph_init(&graph);
  build(&graph, shape);
  bool ok = graph_finish(&graph, NULL);
  CHECK(ok);
  if (!ok) printf("%s\n", probe_failure());
  int count = graph.op_count;
  graph_free(&graph);
  return count;
}

static void test_graphs(void) {
  SdpaShape shape = {2, 4, 4, 128, 64, true};
  TEST("multi-head: 14 operations forward, 22 backward; 4 fewer without a mask") {
    CHECK_INT(count_operations(&shape, sdpa_forward), 14);
    CHECK_INT(count_operations(&shape, sdpa_backward), 22);
    shape.causal = false;
    CHECK_INT(count_operations(&shape, sdpa_forward), 10);
    CHECK_INT(count_operations(&shape, sdpa_backward), 18);
  }
  TEST("shared key heads add two sums to the backward pass") {
    shape = (SdpaShape){2, 4, 2, 128, 64, true};
    CHECK_INT(count_operations(&shape, sdpa_forward), 14);
    CHECK_INT(count_operations(&shape, sdpa_backward), 24);
  }
  TEST("a graph that cannot be built fails with cuDNN's own words") {
    CudnnGraph graph;
    graph_init(&graph);
    shape = (SdpaShape){1, 32, 3, 128, 64, true};
    sdpa_forward(&graph, &shape);
    CHECK(!graph_finish(&graph, NULL));
    CHECK(strstr(probe_failure(), "CUDNN_STATUS_BAD_PARAM") != NULL);
    graph_free(&graph);
  }
}

enum { QKV_MAX = 2 * 5 * 8 * 3, O_MAX = 2 * 5 * 4 * 3 };

typedef struct {
  double qkv[QKV_MAX], d_o[O_MAX], o[O_MAX], stats[O_MAX], d_qkv[QKV_MAX];
} Arrays;

/* sum(o * d_o): its gradient with respect to qkv is d_qkv. */
static double loss(const SdpaShape *shape, Arrays *arrays) {
  SdpaArrays view = {arrays->qkv, arrays->d_o, arrays->o, arrays->stats, arrays->d_qkv};
  CHECK(sdpa_reference(shape, &view));
  double sum = 0.0;
  for (int64_t i = 0; i < sdpa_o_count(shape); i++)
    sum += arrays->o[i] * arrays->d_o[i];
  return sum;
}

static void test_reference(bool causal) {
  static Arrays arrays, moved;
  const SdpaShape shape = {2, 4, 2, 5, 3, causal};
  Pattern pattern = {TYPE_FP32, 1, 1.0f};
  for (int64_t i = 0; i < sdpa_qkv_count(&shape); i++)
    arrays.qkv[i] = pattern_at(&pattern, i);
  for (int64_t i = 0; i < sdpa_o_count(&shape); i++)
    arrays.d_o[i] = pattern_at(&pattern, 1000 + i);
  moved = arrays;
  (void)loss(&shape, &arrays);
  TEST(causal ? "causal gradients are finite differences" : "unmasked gradients are too") {
    for (int64_t i = 0; i < sdpa_qkv_count(&shape); i++) {
      double step = 1e-5, here = moved.qkv[i];
      moved.qkv[i] = here + step;
      double above = loss(&shape, &moved);
      moved.qkv[i] = here - step;
      double below = loss(&shape, &moved);
      moved.qkv[i] = here;
      CHECK_NEAR(arrays.d_qkv[i], (above - below) / (2 * step), 1e-8);
    }
  }
  TEST("the first token of a causal row sees itself alone") {
    const double *v = arrays.qkv + (shape.heads + shape.kv_heads) * shape.head_size;
    if (causal) CHECK_NEAR(arrays.o[0], v[0], 1e-12);
  }
}

int main(void) {
  test_graphs();
  test_reference(true);
  test_reference(false);
  TEST("flops of causal attention") {
    const SdpaShape shape = {1, 1, 1, 1024, 64, true};
    CHECK_NEAR(sdpa_forward_flops(&shape), 4.0 * 1024 * 1024 * 64 / 2, 0.0);
    CHECK_NEAR(sdpa_backward_flops(&shape), 10.0 * 1024 * 1024 * 64 / 2, 0.0);
  }
  TEST("plan files are named after their shape") {
    char path[64];
    sdpa_plan_path("/tmp/a b", "causal H4/2 forward", path, sizeof path);
    CHECK_TEXT(path, "/tmp/a b/causal_H4_2_forward.json");
  }
  CHECK_DONE();
}
