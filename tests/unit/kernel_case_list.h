/* kernel_case_list.h -- the sizes: 1, odd, just around vector and block lengths, and one of each
 * larger kind. */
#ifndef LOCKSTEP_TESTS_KERNEL_CASE_LIST_H
#define LOCKSTEP_TESTS_KERNEL_CASE_LIST_H

#include "tests/unit/kernel_cases.h"

#define LINEAR(name)                                                                               \
  {name, {1, 1, 1, 0}, {0}, 0}, {name, {3, 5, 7, 0}, {0}, 0}, {name, {3, 5, 7, 1}, {0}, 0},        \
      {name, {17, 31, 33, 0}, {0}, 0}, {name, {17, 31, 33, 1}, {0}, 0},                            \
      {name, {64, 64, 64, 0}, {0}, 0}, {name, {1, 300, 70, 0}, {0}, 0},                            \
      {name, {129, 48, 97, 1}, {0}, 0}, {name, {33, 515, 130, 0}, {0}, 0},                         \
      {name, {70, 130, 515, 1}, {0}, 0}, {                                                         \
    name, {515, 33, 18, 0}, {0}, 0                                                                 \
  }

#define NORM(name, eps)                                                                            \
  {name, {1, 1}, {eps}, 0}, {name, {1, 16}, {eps}, 0}, {name, {3, 7}, {eps}, 0},                   \
      {name, {5, 33}, {eps}, 0}, {name, {37, 129}, {eps}, 0}, {                                    \
    name, {130, 768}, {eps}, 0                                                                     \
  }

/* `y` is the operand that may be the first one's memory. */
#define UNARY(name, y)                                                                             \
  {name, {1}, {0}, 0}, {name, {7}, {0}, 0}, {name, {16}, {0}, 0}, {name, {33}, {0}, 0},            \
      {name, {10007}, {0}, 0}, {                                                                   \
    name, {1003}, {0}, y                                                                           \
  }

/* dims: axes, sizes, strides of b. Equal shapes; a bias; one number; a column; a middle axis. */
#define BROADCAST(name)                                                                            \
  {name, {1, 1, 1}, {0}, 0}, {name, {1, 10007, 1}, {0}, 0},                                        \
      {name, {3, 4, 5, 33, 165, 33, 1}, {0}, 0}, {name, {2, 37, 129, 0, 1}, {0}, 0},               \
      {name, {2, 5, 7, 0, 0}, {0}, 0}, {name, {2, 37, 65, 1, 0}, {0}, 0},                          \
      {name, {3, 3, 5, 17, 17, 0, 1}, {0}, 0}, {                                                   \
    name, {4, 2, 3, 4, 5, 0, 5, 0, 1}, {0}, 0                                                      \
  }

/* dims: batch seq heads kv_heads head, strides of q, k, v; attrs: causal, scale, dropout. */
#define ATTENTION(name)                                                                            \
  {name, {1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4}, {1, 0.5, 0}, 0},                                       \
      {name, {2, 5, 2, 2, 3, 6, 6, 6, 6, 6, 6}, {0, 0.6, 0}, 0},                                   \
      {name, {2, 7, 4, 2, 8, 64, 64, 64, 64, 64, 64}, {1, 0.35, 0}, 0},                            \
      {name, {1, 33, 6, 2, 16, 161, 170, 180, 161, 96, 33}, {1, 0.25, 0}, 0},                      \
      {name, {1, 70, 2, 1, 64, 256, 256, 256, 256, 256, 256}, {1, 0.125, 0}, 0},                   \
      {name, {1, 67, 2, 2, 32, 64, 64, 64, 64, 64, 64}, {0, 0.17, 0}, 0},                          \
      {name, {2, 19, 2, 1, 20, 80, 80, 80, 80, 80, 80}, {1, 0.2, 0.25}, 0},                        \
      {name, {1, 40, 4, 4, 16, 64, 64, 64, 64, 64, 64}, {0, 0.25, 0.1}, 0},                        \
      {name, {1, 130, 1, 1, 48, 48, 48, 48, 48, 48, 48}, {1, 0.14, 0}, 0}, {                       \
    name, {1, 3, 1, 1, 288, 288, 288, 288, 288, 288, 288}, {1, 0.06, 0}, 0                         \
  }

#define LOSS(name, scale)                                                                          \
  {name, {1, 1}, {scale}, 0}, {name, {3, 5}, {scale}, 0}, {name, {17, 33}, {scale}, 0},            \
      {name, {9, 1025}, {scale}, 0}, {                                                             \
    name, {67, 500}, {scale}, 0                                                                    \
  }

#define BLOCKS(name, a0, a1, a2, a3)                                                               \
  {name, {1}, {a0, a1, a2, a3}, 0}, {name, {33}, {a0, a1, a2, a3}, 0},                             \
      {name, {4096}, {a0, a1, a2, a3}, 0}, {                                                       \
    name, {12301}, {a0, a1, a2, a3}, 0                                                             \
  }

static const KernelCase kernel_cases[] = {
    {"embedding", {1, 1, 1}, {0}, 0},
    {"embedding", {17, 33, 5}, {0}, 0},
    {"embedding", {130, 768, 300}, {0}, 0},
    {"embedding_backward", {1, 1, 1}, {0}, 0},
    {"embedding_backward", {17, 33, 5}, {0}, 0},
    {"embedding_backward", {130, 96, 300}, {0}, 0},
    {"embedding_backward", {300, 65, 3}, {0}, 0},
    {"positions", {19}, {5}, 0},
    LINEAR("linear"),
    LINEAR("linear_bias"),
    LINEAR("linear_dx"),
    LINEAR("linear_dw"),
    {"linear_db", {1, 1}, {0}, 0},
    {"linear_db", {17, 33}, {0}, 0},
    {"linear_db", {515, 130}, {0}, 0},
    NORM("layernorm", 1e-5),
    NORM("layernorm_backward", 0),
    NORM("rmsnorm", 1e-6),
    NORM("rmsnorm_backward", 0),
    {"rope", {1, 1, 1, 2, 2, 2}, {10000, 0, 1}, 0},
    {"rope", {2, 7, 3, 6, 40, 18}, {10000, 5, 1}, 0},
    {"rope", {2, 17, 4, 64, 300, 256}, {500000, 0, -1}, 0},
    {"rope", {2, 17, 2, 16, 96, 96}, {10000, 3, 1}, 1},
    {"rope", {1, 4, 1, 34, 34, 40}, {10000, 4000, 1}, 0},
    ATTENTION("attention"),
    ATTENTION("attention_backward"),
    UNARY("gelu", 1),
    UNARY("silu", 1),
    UNARY("relu", 1),
    UNARY("tanh", 1),
    UNARY("gelu_backward", 2),
    UNARY("silu_backward", 2),
    UNARY("relu_backward", 2),
    UNARY("tanh_backward", 2),
    BROADCAST("add"),
    BROADCAST("subtract"),
    BROADCAST("multiply"),
    BROADCAST("sum_to"),
    {"add", {2, 37, 129, 0, 1}, {0}, 2},
    {"subtract", {1, 1003, 1}, {0}, 2},
    {"multiply", {2, 37, 65, 1, 0}, {0}, 2},
    {"affine", {1003}, {3, 0.25}, 1},
    {"dropout", {1003, 5}, {0.25}, 1},
    {"affine", {33}, {0.5, -2}, 0},
    {"affine", {10007}, {3, 0.25}, 0},
    {"dropout", {1, 1}, {0.5}, 0},
    {"dropout", {33, 11}, {0.1}, 0},
    {"dropout", {10007, 5}, {0.25}, 0},
    {"dropout", {64, 64}, {0}, 0},
    LOSS("cross_entropy", 0),
    LOSS("cross_entropy_train", 0.125),
    BLOCKS("mse", 0, 0, 0, 0),
    BLOCKS("mse_train", 0.25, 0, 0, 0),
    BLOCKS("adamw", 0.9, 0.95, 1e-8, 0.1),
    BLOCKS("adamw_master", 0.9, 0.999, 1e-8, 0.01),
    BLOCKS("sgd", 0.9, 0.1, 0, 0),
    BLOCKS("sgd_master", 0, 0, 0, 0),
    BLOCKS("square_sum", 0, 0, 0, 0),
    {"grad_norm", {1}, {0}, 0},
    {"grad_norm", {37}, {1}, 0},
    BLOCKS("init_normal", 0.5, 0.02, 0, 0),
    BLOCKS("init_uniform", -0.1, 0.3, 0, 0),
    BLOCKS("init_constant", 1, 0, 0, 0),
    BLOCKS("cast", 0, 0, 0, 0),
    {"copy", {1, 1, 1, 1}, {0}, 0},
    {"copy", {17, 33, 40, 33}, {0}, 0},
    {"copy", {130, 96, 96, 200}, {0}, 0},
};

enum { KERNEL_CASES = sizeof kernel_cases / sizeof *kernel_cases };

#endif
