/* links_test.c -- the rates between ranks on every cluster of specs/clusters, against published
 * numbers, and that plans are chosen by them. */
#include <dirent.h>
#include <string.h>

#include "compiler/draft/cost/link.h"
#include "compiler/show/explain/explain.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

/* GB/s one way, of a ring of all ranks on one node, or of the NVLink domain where that is larger,
 * and on two of them:
 *   DGX A100, ND A100 v4   600 GB/s of NVLink both ways; 8 x 200 Gb/s. NCCL reports 192 GB/s of bus
 *                          bandwidth for an all-reduce: github.com/NVIDIA/nccl/issues/812
 *   p4d                    the same NVLink; 4 x 100 Gb/s
 *   DGX H100, ND H100 v5   900 GB/s both ways; 8 x 400 Gb/s. p5: 3,200 Gb/s
 *   DGX B200               1.8 TB/s both ways; 8 x 400 Gb/s
 *   GB200 NVL72            1.8 TB/s both ways over 18 nodes of 4 x 400 Gb/s; GB300: 4 x 800 Gb/s
 *   Frontier               four Slingshot ports of 25 GB/s; inside, the weakest cut of its dies,
 * the one around two of a MI250X: 2 + 1 + 1 + 1 links of 36 GB/s */
static const struct {
  const char *name;
  int64_t devices, nodes; /* nodes of a domain */
  double inside, across;
} clusters[] = {
    {"dgx-a100", 8, 1, 300, 200},
    {"dgx-h100", 8, 1, 450, 400},
    {"dgx-h200", 8, 1, 450, 400},
    {"dgx-b200", 8, 1, 900, 400},
    {"p4d", 8, 1, 300, 50},
    {"p5", 8, 1, 450, 400},
    {"ndv4", 8, 1, 300, 200},
    {"ndv5", 8, 1, 450, 400},
    {"gb200-nvl72", 4, 18, 900, 200},
    {"gb300-nvl72", 4, 18, 900, 400},
    {"frontier-like", 8, 1, 180, 100},
    {"cpu-node", 1, 1, 0, 12.5},
};
enum { CLUSTER_COUNT = sizeof clusters / sizeof *clusters };

/* GB/s of the ring of all ranks, of the data sheet; 0 where there is one rank. */
static double ring_of(const char *name, int64_t nodes, int64_t devices, bool is_inside) {
  Golden g;
  golden_open(
      &g,
      "model = { \"gpt2\", layers = 1, width = 32, heads = 2, vocab = 64, positions = 32 }, "
      "train = { batch = \"288 sequences\", context = 32, microbatch = 1, steps = 1 }, "
      "parallel = { zero = 0 }, cluster = { \"%s\", nodes = %d },",
      name, (int)nodes);
  CHECK(g.is_compiled);
  CHECK_INT(g.compiled.cluster.devices, devices);
  double rate = g.is_compiled && g.plan->links_count > 0 ? g.plan->links[0].bytes_per_s * 1e-9 : 0;
  if (g.is_compiled) rate /= link_share(&g.compiled.cluster, is_inside);
  golden_close(&g);
  return rate;
}

static bool is_listed(const char *file) {
  for (int32_t i = 0; i < CLUSTER_COUNT; i++)
    if (strncmp(file, clusters[i].name, strlen(clusters[i].name)) == 0 &&
        strcmp(file + strlen(clusters[i].name), ".lua") == 0)
      return true;
  return false;
}

static void test_clusters(void) {
  for (int32_t i = 0; i < CLUSTER_COUNT; i++)
    TEST(clusters[i].name) {
      int64_t nodes = clusters[i].nodes, devices = clusters[i].devices;
      CHECK_NEAR(ring_of(clusters[i].name, nodes, devices, true), clusters[i].inside, 1e-6);
      CHECK_NEAR(ring_of(clusters[i].name, 2 * nodes, devices, false), clusters[i].across, 1e-6);
    }
  TEST("no cluster is without published numbers") {
    DIR *folder = opendir(SPECS_FOLDER "/clusters");
    CHECK(folder);
    for (struct dirent *file; folder && (file = readdir(folder));)
      if (strstr(file->d_name, ".lua") && !is_listed(file->d_name))
        CHECK_TEXT(file->d_name, "a cluster of the table");
    if (folder) (void)closedir(folder);
  }
  TEST("a DGX A100 has what NCCL reports for it across nodes, within 5 %")
  CHECK_NEAR(ring_of("dgx-a100", 4, 8, false), 192, 0.05 * 192);
}

/* ---- two plans for one job */

static double step_of(const char *parallel, const char *inter) {
  Golden g;
  golden_open(&g,
              "model = { \"gpt2\", layers = 24, width = 512, heads = 16, vocab = 2048, "
              "positions = 1024 }, train = { batch = \"32 sequences\", context = 1024, "
              "microbatch = 2, steps = 1 }, precision = \"bf16\", parallel = { %s }, "
              "cluster = { \"dgx-a100\", nodes = 2, inter = \"%s\" },",
              parallel, inter);
  CHECK(g.is_compiled);
  double seconds = g.is_compiled ? step_seconds(&g.compiled) : 0;
  golden_close(&g);
  return seconds;
}

/* The gradients of 16 replicas pass all NICs of a node; two stages send activations by one each. */
static void test_rails(void) {
  TEST("with eight rails replicas are faster than stages, with one for all eight they are slower") {
    const char *replicas = "zero = 1", *stages = "pp = 2";
    CHECK(step_of(replicas, "200Gb/s") < step_of(stages, "200Gb/s"));
    CHECK(step_of(replicas, "25Gb/s") > step_of(stages, "25Gb/s"));
  }
}

int main(void) {
  test_clusters();
  test_rails();
  CHECK_DONE();
}
