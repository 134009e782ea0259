/* matmul_probe -- cuBLASLt on the linear layers of GPT-2 124M and Llama-3 8B.
 *
 * For every case: up to 16 algorithms are timed, the best one is run once more on fresh buffers and
 * checked against fp64, and its rate is put beside the best 8192^3 bf16 matmul of this run, which
 * is the ceiling for all of them. Two questions are asked apart: whether the fused GELU is the tanh
 * or the erf one, and what an epilogue costs (the cases with and without it; the page compares).
 * All algorithms of every kind run once on small sizes, and what each reports of itself is kept
 * beside its error: some round a product to bf16 before its epilogue, and which is not known.
 */
#include <stdio.h>
#include <string.h>

#include "tests/gpu/common/device.h"
#include "tests/gpu/common/record.h"
#include "tests/gpu/probes/lt_matmul.h"
#include "tests/gpu/probes/matmul_check.h"

enum { WORKSPACE_BYTES = 64 << 20 };
static const size_t ARENA_BYTES = (size_t)8 << 30; /* the largest head needs 3.2 GB */

typedef struct {
  Device device;
  cublasLtHandle_t handle;
  Results *results;
  double peak_tflops; /* of the ceiling case; 0 until it has run */
} Probe;

static bool needs_bias(const MatmulCase *matmul) {
  return matmul->epilogue != EPILOGUE_NONE && matmul->epilogue != EPILOGUE_DGELU;
}

static bool needs_aux(const MatmulCase *matmul) {
  return matmul->epilogue == EPILOGUE_GELU_AUX_BIAS || matmul->epilogue == EPILOGUE_DGELU ||
         matmul->epilogue == EPILOGUE_DGELU_BGRAD;
}

static int64_t result_count(const MatmulCase *matmul) {
  MatmulProblem problem = matmul_problem(matmul);
  return problem.m * problem.n;
}

static bool take_buffers(Device *device, const MatmulCase *matmul, LtBuffers *buffers) {
  MatmulData data = matmul_data(matmul);
  int64_t tokens = matmul->tokens, in = matmul->in, out = matmul->out;
  *buffers = (LtBuffers){.workspace_bytes = WORKSPACE_BYTES};
  if (matmul->pass != PASS_INPUT_GRADIENT)
    TRY(buffers->x = device_take_pattern(device, &data.x, tokens * in));
  if (matmul->pass != PASS_WEIGHT_GRADIENT)
    TRY(buffers->weight = device_take_pattern(device, &data.weight, out * in));
  if (matmul->pass != PASS_FORWARD)
    TRY(buffers->d_y = device_take_pattern(device, &data.d_y, tokens * out));
  if (needs_bias(matmul))
    TRY(buffers->bias = device_take_pattern(device, &data.bias, in > out ? in : out));
  if (needs_aux(matmul))
    TRY(buffers->aux = device_take_pattern(device, &data.aux, result_count(matmul)));
  TRY(buffers->result = device_take_pattern(device, &data.initial, result_count(matmul)));
  TRY(buffers->workspace = device_take(device, WORKSPACE_BYTES));
  return true;
}

static bool read_device(const void *array, NumberType type, int64_t index, double *value) {
  float bits = 0.0f; /* room for either type */
  size_t each_bytes = number_size_bytes(type);
  TRY_CUDA(cudaMemcpy(&bits, (const char *)array + (size_t)index * each_bytes, each_bytes,
                      cudaMemcpyDeviceToHost));
  *value = number_at(type, &bits, 0);
  return true;
}

/* Times the candidates and leaves the fastest one chosen. An algorithm that fails is passed over:
 * the heuristics may offer what this driver or workspace cannot run. */
static bool choose(Probe *probe, LtMatmul *lt, double *best_us, double *first_us) {
  int best = -1;
  for (int i = 0; i < lt->candidate_count; i++) {
    double time_us = 0.0;
    lt->chosen = i;
    if (!device_time(&probe->device, lt_run, lt, &time_us)) continue;
    if (i == 0) *first_us = time_us;
    if (best < 0 || time_us < *best_us) {
      best = i;
      *best_us = time_us;
    }
  }
  if (best < 0) return false; /* the failure of the last candidate is kept */
  lt->chosen = best;
  return true;
}

/* Runs the chosen algorithm once on fresh inputs and compares. */
static bool check_once(Probe *probe, LtMatmul *lt, Difference *difference, int64_t *rounded_twice) {
  device_reset(&probe->device);
  int chosen = lt->chosen;
  MatmulCase matmul = lt->matmul;
  LtBuffers buffers;
  TRY(take_buffers(&probe->device, &matmul, &buffers));
  lt->buffers = buffers;
  lt->chosen = chosen;
  TRY(lt_run(lt)); /* same sizes in the same order: the arena gives the same addresses again */
  TRY_CUDA(cudaStreamSynchronize(probe->device.stream));
  MatmulOutput output = {read_device, buffers.result, buffers.aux, buffers.bias};
  return matmul_check(&matmul, &output, difference, rounded_twice);
}

static bool measure(Probe *probe, LtMatmul *lt, const MatmulCase *matmul, bool is_ceiling) {
  LtBuffers buffers;
  TRY(take_buffers(&probe->device, matmul, &buffers));
  TRY(lt_describe(lt, matmul, &buffers));
  lt->stream = probe->device.stream;
  TRY(lt_find_candidates(lt, probe->handle));
  double best_us = 0.0, first_us = 0.0;
  TRY(choose(probe, lt, &best_us, &first_us));
  double tflops = matmul_flops(matmul) / best_us * 1e-6;
  record_number(probe->results, "time_us", best_us);
  record_number(probe->results, "first_algorithm_time_us", first_us);
  record_integer(probe->results, "algorithms", lt->candidate_count);
  record_integer(probe->results, "best_algorithm", lt->chosen);
  record_number(probe->results, "tflops", tflops);
  if (is_ceiling) probe->peak_tflops = tflops;
  if (probe->peak_tflops > 0.0)
    record_number(probe->results, "share_of_bf16_peak", tflops / probe->peak_tflops);
  Difference difference;
  int64_t rounded_twice = 0;
  bool ok = check_once(probe, lt, &difference, &rounded_twice);
  record_integer(probe->results, "rounded_twice", rounded_twice);
  record_number(probe->results, "max_error", difference.max_error);
  record_number(probe->results, "relative_rms_error", difference_relative_rms(&difference));
  return ok;
}

static void run_case(Probe *probe, const char *kind, const MatmulCase *matmul) {
  char name[160];
  matmul_name(matmul, name, sizeof name);
  record_begin(probe->results, "matmul", name);
  record_text(probe->results, "kind", kind);
  record_integer(probe->results, "tokens", matmul->tokens);
  record_integer(probe->results, "in", matmul->in);
  record_integer(probe->results, "out", matmul->out);
  LtMatmul lt = {0};
  bool ok = measure(probe, &lt, matmul, strcmp(kind, "ceiling") == 0);
  lt_forget(&lt);
  device_reset(&probe->device);
  record_end(probe->results, ok);
}

static void report_chosen(Results *results, const LtMatmul *lt) {
  record_integer(results, "algorithm", lt_reports(lt, CUBLASLT_ALGO_CONFIG_ID));
  record_integer(results, "tile", lt_reports(lt, CUBLASLT_ALGO_CONFIG_TILE_ID));
  record_integer(results, "stages", lt_reports(lt, CUBLASLT_ALGO_CONFIG_STAGES_ID));
  record_integer(results, "split_k", lt_reports(lt, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
  record_integer(results, "reduction", lt_reports(lt, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
  record_integer(results, "custom", lt_reports(lt, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
  record_integer(results, "arithmetic_flags", lt_arithmetic(lt));
}

/* Each algorithm's own error: a record for each, also of those that fail. */
static void run_algorithms(Probe *probe, const MatmulCase *matmul) {
  LtBuffers buffers;
  LtMatmul lt = {0};
  char name[200], kind[160];
  matmul_name(matmul, kind, sizeof kind);
  bool found = take_buffers(&probe->device, matmul, &buffers) &&
               lt_describe(&lt, matmul, &buffers) && lt_find_candidates(&lt, probe->handle);
  lt.stream = probe->device.stream;
  for (lt.chosen = 0; found && lt.chosen < lt.candidate_count; lt.chosen++) {
    Difference difference = {0};
    int64_t rounded_twice = 0;
    (void)snprintf(name, sizeof name, "%s %lld x %lld x %lld, suggestion %d", kind,
                   (long long)matmul->tokens, (long long)matmul->in, (long long)matmul->out,
                   lt.chosen);
    record_begin(probe->results, "matmul", name);
    record_text(probe->results, "kind", "algorithm");
    report_chosen(probe->results, &lt);
    bool ok = check_once(probe, &lt, &difference, &rounded_twice);
    record_integer(probe->results, "rounded_twice", rounded_twice);
    record_number(probe->results, "max_error", difference.max_error);
    record_end(probe->results, ok);
  }
  lt_forget(&lt);
  device_reset(&probe->device);
}

/* Also with leading dimensions that are no multiple of 16 bytes, where epilogues allow them. */
static void run_small_kind(Probe *probe, const MatmulCase *small) {
  MatmulCase odd = *small;
  run_case(probe, "check", small);
  if (small->result != TYPE_BF16) return;
  run_algorithms(probe, small);
  odd.tokens = 33, odd.in = 515, odd.out = 130;
  if (small->epilogue == EPILOGUE_BIAS || small->epilogue == EPILOGUE_NONE)
    run_algorithms(probe, &odd);
}

/* Every kind of matmul once on a size where the whole result can be checked. */
static void run_small(Probe *probe) {
  for (int i = 0; i < MATMUL_CASE_COUNT; i++) {
    MatmulCase small = MATMUL_CASES[i];
    bool seen = false;
    for (int j = 0; j < i && !seen; j++) {
      const MatmulCase *before = &MATMUL_CASES[j];
      seen = before->pass == small.pass && before->epilogue == small.epilogue &&
             before->compute == small.compute && before->result == small.result &&
             before->accumulate == small.accumulate;
    }
    if (seen) continue;
    small.layer = "small";
    small.tokens = 96;
    small.in = 64;
    small.out = 128;
    run_small_kind(probe, &small);
  }
}

/* The inputs of the GELU question: x sweeps [-6, 6), the weight is the identity, the bias zero. */
enum { SWEEP = 256 };

typedef struct {
  float x[SWEEP * SWEEP], identity[SWEEP * SWEEP], zero[SWEEP], y[SWEEP * SWEEP];
} Sweep; /* the arrays hold bf16 where the case does; then half of each stays unused */

static bool run_sweep(Probe *probe, const MatmulCase *matmul, Sweep *sweep) {
  size_t each_bytes = number_size_bytes(matmul->result);
  size_t square_bytes = SWEEP * SWEEP * each_bytes;
  LtBuffers buffers;
  TRY(take_buffers(&probe->device, matmul, &buffers));
  TRY_CUDA(cudaMemcpy(buffers.x, sweep->x, square_bytes, cudaMemcpyHostToDevice));
  TRY_CUDA(cudaMemcpy(buffers.weight, sweep->identity, square_bytes, cudaMemcpyHostToDevice));
  TRY_CUDA(cudaMemcpy(buffers.bias, sweep->zero, SWEEP * each_bytes, cudaMemcpyHostToDevice));
  TRY_CUDA(cudaDeviceSynchronize());
  LtMatmul lt;
  bool ok = lt_describe(&lt, matmul, &buffers) && lt_find_candidates(&lt, probe->handle);
  lt.stream = probe->device.stream;
  ok = ok && lt_run(&lt);
  lt_forget(&lt);
  TRY(ok);
  TRY_CUDA(cudaStreamSynchronize(probe->device.stream));
  TRY_CUDA(cudaMemcpy(sweep->y, buffers.result, square_bytes, cudaMemcpyDeviceToHost));
  return true;
}

/* x . I^T + 0 = x exactly, so the epilogue's own function is seen alone. The two GELUs differ most
 * in the tails, where bf16 is fine enough to tell them apart. */
static void run_gelu(Probe *probe, MatmulCompute compute, NumberType type) {
  static Sweep sweep;
  for (int64_t i = 0; i < SWEEP * SWEEP; i++) {
    number_put(type, sweep.x, i, 12.0 * (double)i / (SWEEP * SWEEP) - 6.0);
    number_put(type, sweep.identity, i, i / SWEEP == i % SWEEP ? 1.0 : 0.0);
    if (i < SWEEP) number_put(type, sweep.zero, i, 0.0);
  }
  MatmulCase matmul = {"gelu",  SWEEP, SWEEP, SWEEP, PASS_FORWARD, EPILOGUE_GELU_AUX_BIAS,
                       compute, type,  false};
  record_begin(probe->results, "matmul", type == TYPE_BF16 ? "which GELU bf16" : "which GELU fp32");
  record_text(probe->results, "kind", "gelu");
  bool ok = run_sweep(probe, &matmul, &sweep);
  device_reset(&probe->device);
  Difference to_tanh = {0}, to_erf = {0};
  for (int64_t i = 0; ok && i < SWEEP * SWEEP; i++) {
    double x = number_at(type, sweep.x, i), y = number_at(type, sweep.y, i);
    if (x > -2.0) continue;
    difference_add(&to_tanh, y, gelu_tanh(x), 1.0);
    difference_add(&to_erf, y, gelu_erf(x), 1.0);
  }
  if (ok) {
    double tanh_rms = difference_relative_rms(&to_tanh), erf_rms = difference_relative_rms(&to_erf);
    record_text(probe->results, "gelu", tanh_rms < erf_rms ? "tanh" : "erf");
    record_number(probe->results, "relative_rms_to_tanh", tanh_rms);
    record_number(probe->results, "relative_rms_to_erf", erf_rms);
  }
  record_end(probe->results, ok);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: matmul_probe RESULTS.jsonl\n");
    return PROBE_USAGE;
  }
  Probe probe = {0};
  device_open(&probe.device, ARENA_BYTES);
  cublasStatus_t status = cublasLtCreate(&probe.handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    fprintf(stderr, "cublasLtCreate -> %s\n", cublasLtGetStatusString(status));
    return PROBE_FAILED;
  }
  probe.results = results_open(argv[1]);
  if (!probe.results) return PROBE_FAILED;
  MatmulCase ceiling = {"ceiling 8192^3", 8192,         8192,      8192, PASS_FORWARD,
                        EPILOGUE_NONE,    COMPUTE_BF16, TYPE_BF16, false};
  run_case(&probe, "ceiling", &ceiling);
  run_small(&probe);
  run_gelu(&probe, COMPUTE_BF16, TYPE_BF16);
  run_gelu(&probe, COMPUTE_FP32, TYPE_FP32);
  for (int i = 0; i < MATMUL_CASE_COUNT; i++)
    run_case(&probe, "layer", &MATMUL_CASES[i]);
  (void)cublasLtDestroy(probe.handle);
  return results_close(probe.results) ? PROBE_PASSED : PROBE_FAILED;
}
