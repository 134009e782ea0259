#include "tests/gpu/probes/matmul_case.h"

#include <math.h>
#include <stdio.h>

/* clang-format off */
#define CASE(layer, tokens, in, out, pass, epilogue, compute, result, accumulate)                  \
  {layer, tokens, in, out, PASS_##pass, EPILOGUE_##epilogue, COMPUTE_##compute, TYPE_##result,     \
   accumulate}
/* The passes of a layer; the weight gradient once in bf16 and once added to an fp32 gradient. */
#define LINEAR(layer, tokens, in, out, forward, input_gradient, weight_gradient)                   \
  CASE(layer, tokens, in, out, FORWARD, forward, BF16, BF16, false),                               \
  CASE(layer, tokens, in, out, INPUT_GRADIENT, input_gradient, BF16, BF16, false),                 \
  CASE(layer, tokens, in, out, WEIGHT_GRADIENT, weight_gradient, BF16, BF16, false),               \
  CASE(layer, tokens, in, out, WEIGHT_GRADIENT, NONE, BF16, FP32, true)

/* GPT-2 124M: C 768, 65536 tokens (B 64, T 1024). The head runs in chunks of 8192 tokens, its
 * vocabulary padded from 50257 to a multiple of 128. Llama-3 8B: C 4096, 32 query and 8 key heads
 * of 128, hidden 14336 (gate and up in one matmul), 8192 tokens. */
const MatmulCase MATMUL_CASES[] = {
  LINEAR("gpt2 qkv", 65536, 768, 2304, BIAS, NONE, BGRAD),
  LINEAR("gpt2 proj", 65536, 768, 768, BIAS, NONE, BGRAD),
  LINEAR("gpt2 fc1", 65536, 768, 3072, GELU_AUX_BIAS, NONE, BGRAD),
  LINEAR("gpt2 fc2", 65536, 3072, 768, BIAS, DGELU_BGRAD, BGRAD),
  LINEAR("gpt2 head", 8192, 768, 50304, NONE, NONE, NONE),
  LINEAR("llama3 qkv", 8192, 4096, 6144, NONE, NONE, NONE),
  LINEAR("llama3 o", 8192, 4096, 4096, NONE, NONE, NONE),
  LINEAR("llama3 gate_up", 8192, 4096, 28672, NONE, NONE, NONE),
  LINEAR("llama3 down", 8192, 14336, 4096, NONE, NONE, NONE),
  LINEAR("llama3 head", 8192, 4096, 128256, NONE, NONE, NONE),
  /* For the cost of an epilogue: the same matmuls without it, or with less of it. */
  CASE("gpt2 fc1", 65536, 768, 3072, FORWARD, NONE, BF16, BF16, false),
  CASE("gpt2 fc1", 65536, 768, 3072, FORWARD, BIAS, BF16, BF16, false),
  CASE("gpt2 fc2", 65536, 3072, 768, INPUT_GRADIENT, NONE, BF16, BF16, false),
  CASE("gpt2 fc2", 65536, 3072, 768, INPUT_GRADIENT, DGELU, BF16, BF16, false),
  CASE("gpt2 fc1", 65536, 768, 3072, WEIGHT_GRADIENT, NONE, BF16, BF16, false),
  CASE("gpt2 fc1", 65536, 768, 3072, WEIGHT_GRADIENT, BGRAD, BF16, FP32, true),
  CASE("gpt2 fc1", 8192, 768, 3072, FORWARD, GELU_AUX_BIAS, FP32, FP32, false),
  CASE("gpt2 fc1", 8192, 768, 3072, FORWARD, NONE, FP32, FP32, false),
  CASE("gpt2 fc1", 8192, 768, 3072, FORWARD, NONE, TF32, FP32, false),
  CASE("gpt2 fc1", 8192, 768, 3072, WEIGHT_GRADIENT, NONE, FP32, FP32, true),
};
/* clang-format on */
const int MATMUL_CASE_COUNT = sizeof MATMUL_CASES / sizeof *MATMUL_CASES;

MatmulProblem matmul_problem(const MatmulCase *matmul) {
  int64_t tokens = matmul->tokens, in = matmul->in, out = matmul->out;
  switch (matmul->pass) {
  case PASS_FORWARD:
    return (MatmulProblem){.m = out,
                           .n = tokens,
                           .k = in,
                           .transpose_a = true,
                           .weight_is_a = true,
                           .a_rows = in,
                           .a_columns = out,
                           .b_rows = in,
                           .b_columns = tokens};
  case PASS_INPUT_GRADIENT:
    return (MatmulProblem){.m = in,
                           .n = tokens,
                           .k = out,
                           .weight_is_a = true,
                           .a_rows = in,
                           .a_columns = out,
                           .b_rows = out,
                           .b_columns = tokens};
  case PASS_WEIGHT_GRADIENT: break;
  }
  return (MatmulProblem){.m = in,
                         .n = out,
                         .k = tokens,
                         .transpose_b = true,
                         .a_rows = in,
                         .a_columns = tokens,
                         .b_rows = out,
                         .b_columns = tokens};
}

double matmul_flops(const MatmulCase *matmul) {
  return 2.0 * (double)matmul->tokens * (double)matmul->in * (double)matmul->out;
}

NumberType matmul_input_type(const MatmulCase *matmul) {
  return matmul->compute == COMPUTE_BF16 ? TYPE_BF16 : TYPE_FP32;
}

void matmul_name(const MatmulCase *matmul, char *name, size_t size_bytes) {
  static const char *const passes[] = {"forward", "input_gradient", "weight_gradient"};
  static const char *const computes[] = {"bf16", "fp32", "tf32"};
  static const char *const epilogues[] = {"plain", "bias",        "gelu_aux_bias",
                                          "dgelu", "dgelu_bgrad", "bgrad"};
  bool wider = matmul->compute == COMPUTE_BF16 && matmul->result == TYPE_FP32;
  snprintf(name, size_bytes, "%s %s %s%s %s%s", matmul->layer, passes[matmul->pass],
           computes[matmul->compute], wider ? "->fp32" : "", epilogues[matmul->epilogue],
           matmul->accumulate ? " accumulate" : "");
}

MatmulData matmul_data(const MatmulCase *matmul) {
  NumberType type = matmul_input_type(matmul);
  float weight_scale = 3.0f / sqrtf((float)matmul->in); /* var(x) = 1/3, var(w) = scale^2 / 3 */
  return (MatmulData){
      .x = {type, 1, 1.0f},
      .weight = {type, 2, weight_scale},
      .d_y = {type, 3, 1.0f},
      .bias = {matmul->result, 4, 1.0f},
      .aux = {matmul->result, 5, 3.0f},
      .initial = {matmul->result, 6, 1.0f},
  };
}

/* The operands of output element [row, column] are two strided vectors. */
typedef struct {
  const Pattern *pattern;
  int64_t start, stride;
} Strided;

double matmul_reference(const MatmulCase *matmul, const MatmulData *data, int64_t row,
                        int64_t column, double *magnitude) {
  int64_t in = matmul->in, out = matmul->out;
  Strided left = {&data->x, row * in, 1};
  Strided right = {&data->weight, column * in, 1};
  int64_t count = in;
  if (matmul->pass == PASS_INPUT_GRADIENT) {
    left = (Strided){&data->d_y, row * out, 1};
    right = (Strided){&data->weight, column, in};
    count = out;
  } else if (matmul->pass == PASS_WEIGHT_GRADIENT) {
    left = (Strided){&data->d_y, row, out};
    right = (Strided){&data->x, column, in};
    count = matmul->tokens;
  }
  double sum = 0.0;
  *magnitude = 0.0;
  for (int64_t i = 0; i < count; i++) {
    double product = pattern_at(left.pattern, left.start + i * left.stride) *
                     pattern_at(right.pattern, right.start + i * right.stride);
    sum += product;
    *magnitude += fabs(product);
  }
  return sum;
}
