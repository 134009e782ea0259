/* flops_test.c -- the two numbers of MFU: what a token costs, and what a device could do. Both are
 * worked out or looked up outside this program. */
#include <dirent.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

/* N = L (2 h^2 + 2 h k + f h n) + V h for L layers of width h, k the width of all keys, n matrices
 * between h and f. A token of a context of T has 6 N + 6 L h T FLOPs: two for each multiply-add,
 * forward once and backward twice; of attention, two products of T h multiply-adds a layer,
 * of which the mask leaves half.
 *
 * GPT-2 124M: N = 12 (4 768^2 + 2 4*768 768) + 50257 768 = 123,532,032
 *             6 N = 741,192,192; 6 12 768 1024 = 56,623,104
 * Llama 3 8B: N = 32 (2 4096^2 + 2 4096 1024 + 3 14336 4096) + 128256 4096 = 7,504,658,432
 *             6 N = 45,027,950,592; 6 32 4096 8192 = 6,442,450,944 */
static const struct {
  const char *model, *recompute;
  int context;
  int64_t flops_per_token;
} models[] = {
    {"gpt2-124m", "none", 1024, 741192192 + 56623104},
    {"llama3-8b", "none", 8192, 45027950592 + 6442450944},
    {"llama3-8b", "block", 8192, 45027950592 + 6442450944},
};

static void test_models(void) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    TEST(models[i].model) {
      Golden g;
      golden_open(&g,
                  "model = \"%s\", train = { batch = \"8 sequences\", microbatch = 1, "
                  "context = %d, steps = 1 }, memory = { recompute = \"%s\" }, "
                  "parallel = { zero = 3 }, cluster = \"dgx-h200\",",
                  models[i].model, models[i].context, models[i].recompute);
      CHECK(g.is_compiled);
      if (g.is_compiled) CHECK_INT(job_flops_per_token(g.plan), models[i].flops_per_token);
      golden_close(&g);
    }
}

/* NVIDIA's data sheets, dense rates without structured sparsity:
 *   A100  "NVIDIA A100 Tensor Core GPU", 2021: FP32 19.5, BF16 312 TFLOP/s, 1,555 and 2,039 GB/s
 *   H100  "NVIDIA H100 Tensor Core GPU", SXM:  FP32 67, BF16 1,979 with sparsity, half of it
 *         dense, which other sheets round to 989.4; 3.35 TB/s
 *   H200  "NVIDIA H200 Tensor Core GPU", SXM:  the H100's rates, 4.8 TB/s
 *         PCIe FP32 51, BF16 1,513 with sparsity, 2 TB/s; NVL 60, 1,671 with sparsity, 3.9 TB/s
 *   V100  "NVIDIA V100", SXM2 16 and 32 GB:    FP32 15.7 TFLOP/s, no BF16, 900 GB/s
 *         FP16 125 of the tensor cores. FP16 of the later ones is as BF16; FP8 is twice that, of
 *         the H100 3,958, PCIe 3,026 and NVL 3,341 with sparsity
 *   P100  "NVIDIA Tesla P100", SXM2: FP32 10.6, FP16 21.2 of multiply-adds, 732 GB/s
 *   T4    "NVIDIA T4": FP16 65
 *   B200  Blackwell architecture, 1,000 W: FP32 80, BF16 2,250; DGX B200: 64 TB/s for eight
 *   GB200 the same, 1,200 W: FP32 80, BF16 2,500; GB200 NVL72: 576 TB/s for 72. GB300: the same
 *   L40S  "NVIDIA L40S": FP32 91.6, BF16 362.05 dense, 864 GB/s
 * AMD's, matrix rates:
 *   MI250X  "AMD Instinct MI250X", both dies: FP32 95.7, BF16 383, 3,276.8 GB/s; a rank has one
 *   MI300X  "AMD Instinct MI300X": FP32 163.4, BF16 1,307.4, 5.3 TB/s */
static const struct {
  const char *name, *param;
  double fp32_tflops, bf16_tflops, fp16_tflops, fp8_tflops, memory_gb_per_s;
} devices[] = {
    {"a100-sxm-40", "bf16", 19.5, 312, 312, 0, 1555},
    {"a100-sxm-80", "bf16", 19.5, 312, 312, 0, 2039},
    {"h100-sxm", "bf16", 67, 989.5, 989.5, 1979, 3350},
    {"h100-sxm-96", "bf16", 67, 989.5, 989.5, 1979, 2400},
    {"h200-sxm", "bf16", 67, 989.5, 989.5, 1979, 4800},
    {"h100-pcie", "bf16", 51, 756.5, 756.5, 1513, 2000},
    {"h100-nvl", "bf16", 60, 835.5, 835.5, 1670, 3900},
    {"v100-16", "fp32", 15.7, 0, 125, 0, 900},
    {"v100-32", "fp32", 15.7, 0, 125, 0, 900},
    {"b200", "bf16", 80, 2250, 2250, 4500, 8000},
    {"gb200", "bf16", 80, 2500, 2500, 5000, 8000},
    {"gb300", "bf16", 80, 2500, 2500, 5000, 8000},
    {"l40s", "bf16", 91.6, 362.05, 362.05, 733, 864},
    /* These five are of secondary sources: nobody has compared them with NVIDIA's data sheets. */
    {"p100", "fp32", 10.6, 0, 21.2, 0, 732},
    {"t4", "fp32", 8.1, 0, 65, 0, 320},
    {"a10g", "bf16", 31.5, 70, 70, 0, 600},
    {"rtx-4090", "bf16", 82.6, 165.2, 165.2, 330.3, 1008},
    {"rtx-5090", "bf16", 104.8, 209.5, 209.5, 419, 1792},
    {"mi250x", "bf16", 47.85, 191.5, 191.5, 0, 1638.4},
    {"mi300x", "bf16", 163.4, 1307.4, 1307.4, 2614.9, 5300},
};
enum { DEVICE_COUNT = sizeof devices / sizeof *devices };

static void check_device(int32_t i) {
  Golden g;
  golden_open(
      &g,
      "model = { \"gpt2\", layers = 1, width = 32, heads = 2, vocab = 64, positions = 32 }, "
      "train = { batch = \"8 sequences\", context = 32, steps = 1 }, "
      "precision = \"%s\", cluster = { \"dgx-a100\", device = \"%s\" },",
      devices[i].param, devices[i].name);
  CHECK(g.is_compiled);
  if (g.is_compiled) {
    const Cluster *cluster = &g.compiled.cluster;
    CHECK_NEAR(cluster->flops[RATE_FP32] * 1e-12, devices[i].fp32_tflops,
               0.001 * devices[i].fp32_tflops);
    CHECK_NEAR(cluster->flops[RATE_BF16] * 1e-12, devices[i].bf16_tflops,
               0.001 * devices[i].bf16_tflops);
    CHECK_NEAR(cluster->flops[RATE_FP16] * 1e-12, devices[i].fp16_tflops,
               0.001 * devices[i].fp16_tflops);
    CHECK_NEAR(cluster->flops[RATE_FP8] * 1e-12, devices[i].fp8_tflops,
               0.001 * devices[i].fp8_tflops);
    CHECK_NEAR(cluster->memory_bytes_per_s * 1e-9, devices[i].memory_gb_per_s,
               0.001 * devices[i].memory_gb_per_s);
  }
  golden_close(&g);
}

static bool is_listed(const char *file) {
  for (int32_t i = 0; i < DEVICE_COUNT; i++)
    if (strncmp(file, devices[i].name, strlen(devices[i].name)) == 0 &&
        strcmp(file + strlen(devices[i].name), ".lua") == 0)
      return true;
  return false;
}

static void test_devices(void) {
  for (int32_t i = 0; i < DEVICE_COUNT; i++)
    TEST(devices[i].name) check_device(i);
  /* The rates of processors, "cpu-...", are measured: the file says where and when. */
  TEST("no device is without published numbers") {
    DIR *folder = opendir(SPECS_FOLDER "/devices");
    CHECK(folder);
    for (struct dirent *file; folder && (file = readdir(folder));)
      if (strstr(file->d_name, ".lua") && strncmp(file->d_name, "cpu-", 4) != 0 &&
          !is_listed(file->d_name))
        CHECK_TEXT(file->d_name, "a device of the table");
    if (folder) (void)closedir(folder);
  }
}

int main(void) {
  test_models();
  test_devices();
  CHECK_DONE();
}
