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

/* dims: rows in out transposed, blocks of the first and of the second factor */
#define FP8(name, ...)                                                                             \
  {name, {1, 1, 1, 0, __VA_ARGS__}, {0}, 0}, {name, {16, 32, 48, 0, __VA_ARGS__}, {0}, 0},         \
      {name, {33, 17, 70, 1, __VA_ARGS__}, {0}, 0}, {                                              \
    name, {64, 515, 130, 0, __VA_ARGS__}, {0}, 0                                                   \
  }

/* `...`: eps and offset; backward, the offset. */
#define NORM(name, ...)                                                                            \
  {name, {1, 1}, {__VA_ARGS__}, 0}, {name, {1, 16}, {__VA_ARGS__}, 0},                             \
      {name, {3, 7}, {__VA_ARGS__}, 0}, {name, {5, 33}, {__VA_ARGS__}, 0},                         \
      {name, {37, 129}, {__VA_ARGS__}, 0}, {                                                       \
    name, {130, 768}, {__VA_ARGS__}, 0                                                             \
  }

/* Rows as wide as kernels for GPUs share out in other ways; at the list's end, for the numbers of a
 * case depend on its place. */
#define WIDE_NORM(name, eps)                                                                       \
  {name, {3, 2050}, {eps}, 0}, {                                                                   \
    name, {2, 5000}, {eps}, 0                                                                      \
  }

/* `y` is the operand that may be the first one's memory. */
#define UNARY(name, y)                                                                             \
  {name, {1}, {0}, 0}, {name, {7}, {0}, 0}, {name, {16}, {0}, 0}, {name, {33}, {0}, 0},            \
      {name, {10007}, {0}, 0}, {                                                                   \
    name, {1003}, {0}, y                                                                           \
  }

/* Every form; y over a, or d_a over d_y, in the last. */
#define GATES(name, y)                                                                             \
  {name, {1}, {2}, 0}, {name, {10007}, {2}, 0}, {name, {7}, {0}, 0}, {name, {77}, {0}, 0},         \
      {name, {77}, {1}, 0}, {name, {33}, {3}, 0}, {name, {77}, {4}, 0}, {                          \
    name, {1003}, {2}, y                                                                           \
  }

/* dims: axes, sizes, strides of b. Equal shapes; a bias; one number; a column; a middle axis. */
#define BROADCAST(name)                                                                            \
  {name, {1, 1, 1}, {0}, 0}, {name, {1, 10007, 1}, {0}, 0},                                        \
      {name, {3, 4, 5, 33, 165, 33, 1}, {0}, 0}, {name, {2, 37, 129, 0, 1}, {0}, 0},               \
      {name, {2, 5, 7, 0, 0}, {0}, 0}, {name, {2, 37, 65, 1, 0}, {0}, 0},                          \
      {name, {3, 3, 5, 17, 17, 0, 1}, {0}, 0}, {                                                   \
    name, {4, 2, 3, 4, 5, 0, 5, 0, 1}, {0}, 0                                                      \
  }

/* attrs of attention over whole sequences, with all heads */
#define WHOLE(causal, scale, dropout, heads, seq)                                                  \
  { causal, scale, dropout, 0, (seq) >> 1, 0, (seq) >> 1, 0, heads, seq, 0, 0 }

/* dims: batch seq heads kv_heads head, strides of q, k, v. The last ones have parts of longer
 * sequences, every query with keys to see: of members 2 and 1 of 4; of 1 and 0 of 2; of neither. */
#define ATTENTION(name)                                                                            \
  {name, {1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4}, WHOLE(1, 0.5, 0, 1, 1), 0},                            \
      {name, {2, 5, 2, 2, 3, 6, 6, 6, 6, 6, 6}, WHOLE(0, 0.6, 0, 2, 5), 0},                        \
      {name, {2, 7, 4, 2, 8, 64, 64, 64, 64, 64, 64}, WHOLE(1, 0.35, 0, 4, 7), 0},                 \
      {name, {1, 33, 6, 2, 16, 161, 170, 180, 161, 96, 33}, WHOLE(1, 0.25, 0, 6, 33), 0},          \
      {name, {1, 70, 2, 1, 64, 256, 256, 256, 256, 256, 256}, WHOLE(1, 0.125, 0, 2, 70), 0},       \
      {name, {1, 67, 2, 2, 32, 64, 64, 64, 64, 64, 64}, WHOLE(0, 0.17, 0, 2, 67), 0},              \
      {name, {2, 19, 2, 1, 20, 80, 80, 80, 80, 80, 80}, WHOLE(1, 0.2, 0.25, 2, 19), 0},            \
      {name, {1, 40, 4, 4, 16, 64, 64, 64, 64, 64, 64}, WHOLE(0, 0.25, 0.1, 4, 40), 0},            \
      {name, {1, 130, 1, 1, 48, 48, 48, 48, 48, 48, 48}, WHOLE(1, 0.14, 0, 1, 130), 0},            \
      {name, {1, 3, 1, 1, 288, 288, 288, 288, 288, 288, 288}, WHOLE(1, 0.06, 0, 1, 3), 0},         \
      {name, {1, 39, 2, 1, 113, 226, 113, 113, 226, 113, 113}, WHOLE(1, 0.1, 0, 2, 39), 0},        \
      {name,                                                                                       \
       {1, 150, 3, 3, 16, 48, 48, 48, 48, 48, 48},                                                 \
       {1, 0.25, 0.2, 150, 375, 75, 450, 3, 9, 600},                                               \
       0},                                                                                         \
      {name,                                                                                       \
       {2, 136, 2, 1, 24, 48, 24, 24, 48, 24, 24},                                                 \
       {1, 0.2, 0.25, 68, 136, 0, 204, 0, 2, 272},                                                 \
       0},                                                                                         \
  {                                                                                                \
    name, {1, 61, 3, 1, 20, 60, 20, 20, 60, 20, 20}, {1, 0.2, 0.3, 55, 90, 50, 100, 1, 5, 203}, 0  \
  }

/* With a window, a soft cap, both; windows that end within blocks of keys and of queries, one of a
 * single token; parts of a longer sequence, of which some queries see nothing. */
#define WINDOW(heads, seq, window, softcap)                                                        \
  { 1, 0.2, 0, 0, (seq) >> 1, 0, (seq) >> 1, 0, heads, seq, window, softcap }
#define WINDOWED(name)                                                                             \
  {name, {2, 19, 2, 1, 20, 40, 20, 20, 40, 20, 20}, WINDOW(2, 19, 5, 0), 0},                       \
      {name, {1, 300, 2, 1, 24, 48, 24, 24, 48, 24, 24}, WINDOW(2, 300, 37, 1.5), 0},              \
      {name, {1, 400, 1, 1, 16, 16, 16, 16, 16, 16, 16}, WINDOW(1, 400, 130, 0), 0},               \
      {name, {1, 66, 2, 2, 16, 32, 32, 32, 32, 32, 32}, WINDOW(2, 66, 1, 0), 0},                   \
      {name, {1, 70, 2, 2, 64, 128, 128, 128, 128, 128, 128}, WINDOW(2, 70, 0, 0.7), 0}, {         \
    name, {1, 150, 3, 3, 16, 48, 48, 48, 48, 48, 48},                                              \
        {1, 0.25, 0.2, 150, 375, 75, 450, 3, 9, 600, 100, 3}, 0                                    \
  }

/* Heads above 128 wide: rows in vectors and not, a window with a soft cap, dropout. */
#define WIDE_ATTENTION(name)                                                                       \
  {name, {1, 39, 2, 1, 201, 402, 201, 201, 402, 201, 201}, WHOLE(1, 0.07, 0, 2, 39), 0},           \
      {name, {1, 66, 2, 1, 132, 264, 132, 132, 264, 132, 132}, WINDOW(2, 66, 19, 0.7), 0}, {       \
    name, {2, 20, 1, 1, 256, 256, 256, 256, 256, 256, 256}, WHOLE(0, 0.0625, 0.2, 1, 20), 0        \
  }

/* dims: rows, classes held, classes that are no padding. */
#define LOSS(name, scale)                                                                          \
  {name, {1, 1, 1}, {scale}, 0}, {name, {3, 5, 5}, {scale}, 0}, {name, {17, 33, 33}, {scale}, 0},  \
      {name, {9, 1025, 1025}, {scale}, 0}, {name, {5, 64, 33}, {scale}, 0}, {                      \
    name, {67, 500, 499}, {scale}, 0                                                               \
  }

/* One part of the classes; dims end with the number of ranks. */
#define LOSS_PARTS(name)                                                                           \
  {name, {1, 1, 2, 2}, {1, 1}, 0}, {name, {17, 33, 90, 3}, {0.125, 33}, 0},                        \
      {name, {9, 1025, 2049, 2}, {0.5, 1025}, 0}, {name, {5, 16, 37, 4}, {1, 48}, 0}, {            \
    name, {67, 500, 1500, 4}, {0.25, 0}, 0                                                         \
  }

/* dims: n elements inner stride all_elements; attrs: a b flat_first first. Whole; a cut of columns,
 * from within one on; the padding of a shard; rows that are padding; both. */
#define INIT(name, a, b)                                                                           \
  {name, {1, 1, 1, 1, 1}, {a, b, 0, 0}, 0}, {name, {33, 33, 33, 33, 33}, {a, b, 0, 0}, 0},         \
      {name, {40001, 40001, 40001, 40001, 40001}, {a, b, 0, 0}, 0},                                \
      {name, {407, 1000, 50, 201, 4020}, {a, b, 131, 50}, 0},                                      \
      {name, {96, 170, 170, 170, 170}, {a, b, 96, 0}, 0},                                          \
      {name, {300, 300, 300, 1200, 1023}, {a, b, 0, 900}, 0}, {                                    \
    name, {40000, 50007, 7, 13, 70001}, {a, b, 20001, 6}, 0                                        \
  }

#define BLOCKS(name, a0, a1, a2, a3)                                                               \
  {name, {1}, {a0, a1, a2, a3}, 0}, {name, {33}, {a0, a1, a2, a3}, 0},                             \
      {name, {4096}, {a0, a1, a2, a3}, 0}, {                                                       \
    name, {12301}, {a0, a1, a2, a3}, 0                                                             \
  }

/* A whole tensor, a piece of a row, and a part of columns; `...` are the attrs before flat_first.
 */
#define DRAWN(name, ...)                                                                           \
  {name, {1, 1, 1, 1, 1}, {__VA_ARGS__, 0, 0}, 0},                                                 \
      {name, {333, 333, 333, 333, 333}, {__VA_ARGS__, 0, 0}, 0},                                   \
      {name, {407, 1000, 50, 201, 4020}, {__VA_ARGS__, 131, 50}, 0}, {                             \
    name, {4000, 5007, 7, 13, 9001}, {__VA_ARGS__, 2001, 6}, 0                                     \
  }

/* The same with moments in codes: the last dim is the number of their blocks. */
#define CODED(name, ...)                                                                           \
  {name, {1, 1, 1, 1, 1, 1}, {__VA_ARGS__, 0, 0}, 0},                                              \
      {name, {512, 512, 512, 512, 512, 2}, {__VA_ARGS__, 0, 0}, 0},                                \
      {name, {407, 1000, 50, 201, 4020, 2}, {__VA_ARGS__, 131, 50}, 0}, {                          \
    name, {4000, 5007, 7, 13, 9001, 16}, {__VA_ARGS__, 2001, 6}, 0                                 \
  }

static const KernelCase kernel_cases[] = {
    {"embedding", {1, 1, 1}, {0}, 0},
    {"embedding", {17, 33, 5}, {0}, 0},
    {"embedding", {130, 768, 300}, {0}, 0},
    {"embedding", {130, 33, 50}, {25}, 0},
    {"embedding_backward", {1, 1, 1}, {0}, 0},
    {"embedding_backward", {17, 33, 5}, {0}, 0},
    {"embedding_backward", {130, 96, 300}, {0}, 0},
    {"embedding_backward", {300, 65, 3}, {0}, 0},
    {"embedding_backward", {130, 33, 50}, {25}, 0},
    {"positions", {19}, {5, 31}, 0},
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
    {"rope", {1, 1, 1, 2, 2, 2}, {10000, 1, 0, 0, 1}, 0},
    {"rope", {2, 7, 3, 6, 40, 18}, {10000, 1, 5, 8}, 0},
    {"rope", {2, 17, 4, 64, 300, 256}, {500000, -1, 0, 8}, 0},
    {"rope", {2, 17, 2, 16, 96, 96}, {10000, 1, 3, 100}, 1},
    {"rope", {1, 4, 1, 34, 34, 40}, {10000, 1, 4000, 4900}, 0},
    {"rope", {2, 9, 2, 64, 128, 128}, {500000, 1, 4000, 9000, 8, 1, 4, 8192}, 0},
    ATTENTION("attention"),
    ATTENTION("attention_backward"),
    /* of members 1 and 3 of 4: the first 75 queries see no key */
    {"attention_backward",
     {1, 150, 2, 1, 32, 64, 32, 32, 64, 32, 32},
     {1, 0.2, 0.1, 75, 450, 225, 300, 2, 4, 600},
     0},
    {"attention_merge", {1, 1, 1, 1}, {0}, 0},
    {"attention_merge", {2, 5, 3, 33}, {0}, 0},
    {"attention_merge", {3, 67, 4, 64}, {0}, 0},
    UNARY("gelu", 1),
    UNARY("silu", 1),
    UNARY("relu", 1),
    UNARY("tanh", 1),
    UNARY("gelu_backward", 2),
    UNARY("silu_backward", 2),
    UNARY("relu_backward", 2),
    UNARY("tanh_backward", 2),
    GATES("gate", 2),
    GATES("gate_backward", 3),
    BROADCAST("add"),
    BROADCAST("subtract"),
    BROADCAST("multiply"),
    BROADCAST("sum_to"),
    {"add", {2, 37, 129, 0, 1}, {0}, 2},
    {"subtract", {1, 1003, 1}, {0}, 2},
    {"multiply", {2, 37, 65, 1, 0}, {0}, 2},
    {"affine", {1003}, {3, 0.25}, 1},
    {"affine", {33}, {0.5, -2}, 0},
    {"affine", {10007}, {3, 0.25}, 0},
    /* batch seq outer part inner has_batch run_seq all_seq all_parts; whole ones first */
    {"dropout", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {0.5}, 0},
    {"dropout", {3, 1, 1, 1, 11, 1, 1, 1, 1}, {0.1}, 0},
    {"dropout", {1, 1, 1, 1, 10007, 0, 1, 1, 1}, {0.25}, 0},
    {"dropout", {3, 51, 1, 1, 117, 1, 51, 51, 1}, {0.25, 0, 0, 25, 0}, 0},
    {"dropout", {4, 4, 1, 1, 4, 1, 4, 4, 1}, {0, 0, 0, 2, 0}, 0},
    {"dropout", {1, 59, 1, 1, 17, 0, 59, 59, 1}, {0.25, 0, 0, 29, 0}, 1},
    {"dropout", {2, 8, 1, 1, 33, 1, 8, 24, 1}, {0.25, 0, 8, 12, 0}, 0},
    {"dropout", {2, 8, 1, 1, 33, 1, 8, 24, 1}, {0.25, 0, 4, 16, 0}, 1},
    {"dropout", {3, 3, 1, 1, 129, 1, 12, 36, 1}, {0.1, 6, 6, 24, 0}, 0},
    {"dropout", {2, 5, 3, 2, 7, 1, 5, 5, 8}, {0.4, 0, 0, 2, 4}, 0},
    {"dropout", {2, 7, 1, 65, 1, 0, 7, 28, 130}, {0.4, 0, 7, 10, 65}, 0},
    LOSS("cross_entropy", 0),
    LOSS("cross_entropy_train", 0.125),
    {"cross_entropy_train", {4, 2064, 2061}, {0.125}, 0},
    {"cross_entropy_stats", {1, 1, 2}, {1}, 0},
    {"cross_entropy_stats", {4, 2064, 4000}, {2064}, 0},
    {"cross_entropy_stats", {17, 33, 90}, {33}, 0},
    {"cross_entropy_stats", {9, 1025, 2049}, {1025}, 0},
    {"cross_entropy_stats", {5, 16, 37}, {32}, 0},
    {"cross_entropy_stats", {5, 16, 37}, {48}, 0},
    LOSS_PARTS("cross_entropy_parts"),
    LOSS_PARTS("cross_entropy_parts_train"),
    {"pick", {1}, {0}, 0},
    {"pick", {40}, {0}, 0},
    {"last_token", {1, 1, 1}, {0}, 0},
    {"last_token", {3, 5, 40}, {0}, 0},
    {"draw", {1, 1, 1, 1}, {1, 0, 1}, 0},
    {"draw", {1, 5, 64, 33}, {0, 0, 1}, 0},
    {"draw", {3, 3, 500, 499}, {0.7, 40, 1}, 0},
    {"draw", {1, 3, 1025, 1025}, {1.3, 0, 0.8}, 0},
    {"draw", {3, 1, 33, 33}, {1, 5, 0.5}, 0},
    BLOCKS("mse", 0, 0, 0, 0),
    BLOCKS("mse_train", 0.25, 0, 0, 0),
    BLOCKS("adamw", 0.9, 0.95, 1e-8, 0.1),
    BLOCKS("adamw_master", 0.9, 0.999, 1e-8, 0.01),
    BLOCKS("sgd", 0.9, 0.1, 0, 0),
    BLOCKS("sgd_master", 0, 0, 0, 0),
    BLOCKS("square_sum", 0, 0, 0, 0),
    {"sum", {1}, {0}, 0},
    {"sum", {37}, {0}, 0},
    {"grad_norm", {1}, {0}, 0},
    {"grad_norm", {37}, {1}, 0},
    {"loss_scale", {0}, {1, 2, 0.5, 2, 1, 1, 1}, 0},
    {"loss_scale", {0}, {3, 2, 0.5, 1, 0, 0, 0}, 0},
    INIT("init_normal", 0.5, 0.02),
    INIT("init_uniform", -0.1, 0.3),
    INIT("init_constant", 1, 0),
    BLOCKS("cast", 0, 0, 0, 0),
    {"copy", {1, 1, 1, 1}, {0}, 0},
    {"copy", {17, 33, 40, 33}, {0}, 0},
    {"copy", {130, 96, 96, 200}, {0}, 0},
    {"gather_pieces", {1, 1, 1, 1}, {0}, 0},
    {"gather_pieces", {3, 2, 4, 5, 1, 33}, {0}, 0},
    {"gather_pieces", {2, 3, 1, 40000, 64, 7, 2, 30001}, {0}, 0},
    {"gather_pieces", {3, 2, 4, 16, 2, 64}, {0}, 0},
    {"scatter_pieces", {1, 1, 1, 1}, {0}, 0},
    {"scatter_pieces", {3, 2, 4, 16, 2, 64}, {0}, 0},
    {"scatter_pieces", {3, 2, 4, 5, 1, 33}, {0}, 0},
    {"scatter_pieces", {2, 3, 1, 40000, 64, 7, 2, 30001}, {0}, 0},
    {"slice", {1, 1, 1, 1}, {0, 0}, 0},
    {"slice", {3, 12, 4, 33}, {2, 8}, 0},
    {"slice", {3, 12, 4, 32}, {2, 8}, 0},
    {"slice", {2, 20, 5, 7}, {3, 5}, 0},
    {"slice", {2, 3000, 1001, 17}, {200, 700}, 0},
    WIDE_NORM("layernorm", 1e-5),
    WIDE_NORM("layernorm_backward", 0),
    WIDE_NORM("rmsnorm", 1e-6),
    WIDE_NORM("rmsnorm_backward", 0),
    UNARY("gelu_erf", 1),
    UNARY("gelu_erf_backward", 2),
    BLOCKS("lion", 0.875, 0.99, 0.1, 0),
    BLOCKS("lion_master", 0.875, 0.98, 0, 0),
    BLOCKS("adamw_split", 0.9, 0.95, 1e-8, 0.1),
    BLOCKS("adamw_kahan", 0.9, 0.999, 1e-8, 0.01),
    BLOCKS("sgd_split", 0.9, 0.1, 0, 0),
    BLOCKS("sgd_kahan", 0, 0, 0, 0),
    BLOCKS("lion_split", 0.875, 0.99, 0.1, 0),
    BLOCKS("lion_kahan", 0.875, 0.98, 0, 0),
    DRAWN("adamw_stochastic", 0.9, 0.95, 1e-8, 0.1),
    DRAWN("sgd_stochastic", 0.9, 0.1),
    DRAWN("lion_stochastic", 0.875, 0.99, 0.1),
    CODED("adamw", 0.9, 0.95, 1e-8, 0.1),
    CODED("sgd_master", 0.9, 0.1),
    CODED("lion_split", 0.9, 0.99, 0.1),
    CODED("adamw_kahan", 0.9, 0.999, 1e-8, 0.01),
    CODED("adamw_stochastic", 0.9, 0.95, 1e-8, 0.1),
    DRAWN("adamw", 0.9, 0.999, 1e-8, 0.1),
    DRAWN("lion_master", 0.875, 0.98, 0.1),
    {"linear", {21, 2100, 50, 0}, {0}, 0},    /* several blocks along what is summed over */
    {"linear_dx", {21, 50, 2100, 0}, {0}, 0}, /* and rows that are no whole panels */
    {"linear", {1027, 17, 20, 0}, {0}, 0},    /* rows of a block that are no panel */
    /* ids in more parts than one launch has, and more rows of an id than a part notes */
    {"embedding_backward", {700, 16, 1500}, {0}, 0},
    {"embedding_backward", {16001, 9, 2}, {0}, 0},
    {"embedding_backward", {600, 136, 40}, {3}, 0},
    {"embedding", {19, 40, 7}, {3}, 0},
    /* more rows than a GPU's blocks have at once, and the next width */
    {"layernorm_backward", {1063, 24}, {0}, 0},
    {"rmsnorm_backward", {1063, 24}, {0}, 0},
    {"layernorm_backward", {5, 1032}, {0}, 0},
    {"rmsnorm", {5, 1032}, {1e-6}, 0},
    /* rows of more than 32 kB */
    {"cross_entropy", {2, 16640, 16633}, {0}, 0},
    {"cross_entropy_train", {3, 16640, 16633}, {0.125}, 0},
    {"cross_entropy_stats", {2, 16640, 40000}, {16640}, 0},
    {"cross_entropy_parts_train", {2, 16640, 40000, 3}, {0.5, 16640}, 0},
    /* vectors of masks */
    {"dropout", {2, 8, 1, 1, 64, 1, 8, 24, 1}, {0.25, 0, 4, 16, 0}, 0},
    {"dropout", {2, 5, 3, 8, 8, 1, 5, 5, 16}, {0.4, 0, 0, 2, 8}, 1},
    {"dropout", {2, 5, 3, 8, 8, 1, 5, 5, 17}, {0.4, 0, 0, 2, 1}, 0},
    {"dropout", {2, 5, 3, 8, 1, 1, 5, 5, 18}, {0.4, 0, 0, 2, 2}, 0},
    /* repeated rarely and often */
    {"sum_to", {3, 9, 5, 32, 0, 32, 1}, {0}, 0},
    {"sum_to", {2, 300, 40, 0, 1}, {0}, 0},
    {"sum_to", {2, 300, 4, 0, 1}, {0}, 0},
    {"rope", {1, 3, 5, 8, 40, 48}, {10000, 1, 0, 1, 1}, 0},
    {"quantise", {1, 1, 1, 1}, {0}, 0},
    {"quantise", {37, 259, 1, 1}, {0}, 0},
    {"quantise", {5, 256, 5, 2}, {0}, 0},
    {"quantise", {256, 384, 2, 3}, {0}, 0},
    {"quantise", {256, 33, 2, 33}, {0}, 0},
    FP8("linear_fp8", 1, 1, 1, 1),
    FP8("linear_fp8_bias", 1, 1, 1, 1),
    FP8("linear_fp8_dx", 1, 1, 1, 1),
    FP8("linear_fp8_dw", 1, 1, 1, 1),
    {"linear_fp8", {256, 384, 128, 0, 256, 3, 1, 3}, {0}, 0}, /* by block */
    {"linear_fp8_bias", {128, 128, 256, 1, 128, 1, 1, 2}, {0}, 0},
    {"linear_fp8_dx", {128, 256, 128, 0, 128, 1, 1, 2}, {0}, 0},
    {"linear_fp8_dw", {256, 128, 256, 1, 2, 128, 2, 256}, {0}, 0},
    /* weights as differences from 1 */
    {"layernorm", {37, 129}, {1e-5, 1}, 0},
    {"layernorm_backward", {37, 129}, {1}, 0},
    {"rmsnorm", {5, 1032}, {1e-6, 1}, 0},
    {"rmsnorm_backward", {37, 33}, {1}, 0},
    WINDOWED("attention"),
    WINDOWED("attention_backward"),
    ATTENTION("attention_apart"),
    ATTENTION("attention_apart_backward"),
    WINDOWED("attention_apart"),
    WINDOWED("attention_apart_backward"),
    /* smoothing and z */
    {"cross_entropy", {17, 500, 499}, {0.1, 1e-3}, 0},
    {"cross_entropy_train", {17, 500, 499}, {0.125, 0.1, 1e-3}, 0},
    {"cross_entropy_train", {4, 2064, 2061}, {0.125, 0.3, 0}, 0},
    {"cross_entropy_stats", {17, 33, 90}, {33, 0.1}, 0},
    {"cross_entropy_parts", {17, 33, 90, 3}, {0.125, 33, 0.1, 1e-3}, 0},
    {"cross_entropy_parts_train", {17, 33, 90, 3}, {0.125, 66, 0.1, 1e-3}, 0},
    /* few rows of a large weight */
    {"linear", {1, 517, 610, 0}, {0}, 0},
    {"linear", {4, 512, 601, 0}, {0}, 0},
    {"linear_bias", {3, 517, 610, 0}, {0}, 0},
    {"rope_at", {1, 1, 1, 2, 2, 2}, {10000, 1, 1}, 0},
    {"rope_at", {2, 7, 3, 6, 40, 18}, {10000, 1, 1}, 0},
    {"rope_at", {2, 9, 2, 64, 128, 128}, {500000, 1, 8, 1, 4, 8192}, 2},
    {"cache_append", {1, 1, 1, 1, 1, 1}, {0}, 0},
    {"cache_append", {2, 5, 2, 8, 40, 20}, {0}, 0},
    {"cache_append", {3, 33, 4, 16, 64, 50}, {0}, 0},
    /* one block of positions and several, groups of heads, a window, a cap */
    {"attention_cached", {1, 1, 1, 1, 2, 2, 1}, {1, 0, 0}, 0},
    {"attention_cached", {2, 5, 4, 2, 8, 50, 17}, {0.4, 0, 0}, 0},
    {"attention_cached", {1, 1, 6, 2, 64, 384, 300}, {0.125, 0, 0}, 0},
    {"attention_cached", {3, 7, 4, 4, 33, 140, 40}, {0.2, 6, 0}, 0},
    {"attention_cached", {2, 3, 2, 1, 128, 256, 150}, {0.1, 0, 20}, 0},
    {"attention_cached", {1, 1, 2, 1, 8, 16, 400}, {0.1, 300, 0}, 0},
    /* many tokens: several panels of them, groups of more heads than a task has */
    {"attention_cached", {2, 40, 5, 1, 16, 80, 150}, {0.2, 0, 0}, 0},
    {"attention_cached", {1, 100, 2, 2, 16, 40, 140}, {0.25, 0, 9}, 0},
    {"attention_cached", {2, 18, 4, 2, 33, 132, 290}, {0.2, 140, 0}, 0},
    /* columns in vectors: rows in several parts, the last one shorter; in one; few of each */
    {"linear_db", {1063, 24}, {0}, 0},
    {"linear_db", {700, 136}, {0}, 0},
    {"linear_db", {40, 264}, {0}, 0},
    WIDE_ATTENTION("attention"),
    WIDE_ATTENTION("attention_backward"),
};

enum { KERNEL_CASES = sizeof kernel_cases / sizeof *kernel_cases };

#endif
