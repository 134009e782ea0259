/* lt_api.h -- the calls of cublasLt that products of matrices make, by address: the library is
 * loaded when a job needs it, and tests put another in its place. Types and numbers are those of
 * cublasLt.h (12 and later); tests/unit/lt_library_test.c holds them to the header where there is
 * one. */
#ifndef LOCKSTEP_LT_API_H
#define LOCKSTEP_LT_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct LtHandle LtHandle;         /* cublasLtHandle_t: of one GPU, for all threads */
typedef struct LtOperation LtOperation;   /* cublasLtMatmulDesc_t */
typedef struct LtLayout LtLayout;         /* cublasLtMatrixLayout_t */
typedef struct LtPreference LtPreference; /* cublasLtMatmulPreference_t */

typedef struct LtAlgorithm {
  uint64_t data[8];
} LtAlgorithm;

typedef struct LtCandidate {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  int status; /* the rest holds when it is LT_DONE */
  float waves;
  int reserved[4];
} LtCandidate;

enum { LT_DONE = 0, LT_INVALID = 7, LT_NOT_SUPPORTED = 15 };
enum { LT_F32 = 0, LT_F16 = 2, LT_BF16 = 14, LT_COMPUTE_F32 = 68, LT_COMPUTE_TF32 = 77 };
enum { LT_E4M3 = 28, LT_E5M2 = 29 };
enum { LT_CODES_UNIT = 16 }; /* sizes of matrices of codes are multiples of it */
/* Not the library's, of two factors: LT_F32, computed by LT_COMPUTE_TF32; of codes, by a and b; of
 * E4M3 with scales of blocks, by a and b. */
enum {
  LT_TF32 = -1,
  LT_E4M3_E4M3 = -2,
  LT_E4M3_E5M2 = -3,
  LT_E5M2_E4M3 = -4,
  LT_SQUARES_VECTORS = -5,
  LT_VECTORS_VECTORS = -6
};
/* The codes that share a scale: all; 128 along k, whose scales lie line by line for each 128 of k;
 * 128 x 128, with those along k together in rows of whole fours. The last two: Hopper, CUDA 12.9.
 */
enum { LT_SCALE_ONE = 0, LT_SCALE_VECTORS = 4, LT_SCALE_SQUARES = 5, LT_SCALE_SIDE = 128 };
enum { LT_PLAIN = 0, LT_TRANSPOSED = 1 };
/* The epilogue of a product: adds a bias; GELU (the tanh form), whose argument AUX
 * keeps; multiplies by GELU's slope at what AUX has. */
enum {
  LT_EPILOGUE_NONE = 1,
  LT_EPILOGUE_BIAS = 4,
  LT_EPILOGUE_GELU = 32,
  LT_EPILOGUE_GELU_BIAS = 36,
  LT_EPILOGUE_GELU_AUX = 160,
  LT_EPILOGUE_GELU_AUX_BIAS = 164,
  LT_EPILOGUE_DGELU = 192
};
enum { LT_EPILOGUE_AUX = 128 }; /* the bit of epilogues that have an AUX matrix */
/* Not the library's: a matrix of the result's shape and type is added (c, with beta 1). */
enum { LT_EPILOGUE_ADDS = 1 << 16, LT_EPILOGUES_OWN = LT_EPILOGUE_ADDS - 1 };
enum { LT_AUX_LEAD_UNIT = 8 }; /* AUX's leading dimension is a multiple of it */
/* How the parts of a sum over k are kept until they are added up: in f32, or each rounded to the
 * type of the result. 0: there are none. */
enum { LT_REDUCE_IN_F32 = 2, LT_REDUCE_IN_RESULT = 4 };

/* Attributes. */
enum {
  LT_TRANSPOSE_A = 3,
  LT_TRANSPOSE_B = 4,
  LT_EPILOGUE = 7,
  LT_BIAS = 8,
  LT_AUX = 11,
  LT_AUX_LEAD = 12,
  LT_SCALE_A = 17, /* addresses of one f32: what codes are multiplied by */
  LT_SCALE_B = 18,
  LT_FAST_SUMS = 25, /* int8: sums of codes with fewer bits */
  LT_SCALE_MODE_A = 31,
  LT_SCALE_MODE_B = 32
};
enum {
  LT_WORKSPACE_MOST = 1,
  LT_REDUCTIONS = 3,
  LT_ALIGN_A = 5,
  LT_ALIGN_B = 6,
  LT_ALIGN_C = 7,
  LT_ALIGN_D = 8
};
enum {
  LT_ALGORITHM_ID = 0,
  LT_ALGORITHM_TILE = 1,
  LT_ALGORITHM_SPLIT_K = 2,
  LT_ALGORITHM_REDUCTION = 3,
  LT_ALGORITHM_STAGES = 6
};

/* Matrices are column-major; d = alpha op(a) op(b) + beta c. `stream` is a cudaStream_t.
 * As in cublasLt.h. */
typedef struct LtApi {
  size_t (*get_version)(void);
  const char *(*status_string)(int status);
  int (*create)(LtHandle **handle);
  int (*operation_create)(LtOperation **operation, int compute, int scale);
  int (*operation_set)(LtOperation *operation, int attribute, const void *value, size_t size_bytes);
  int (*operation_destroy)(LtOperation *operation);
  int (*layout_create)(LtLayout **layout, int type, uint64_t rows, uint64_t columns,
                       int64_t leading);
  int (*layout_destroy)(LtLayout *layout);
  int (*preference_create)(LtPreference **preference);
  int (*preference_set)(LtPreference *preference, int attribute, const void *value,
                        size_t size_bytes);
  int (*preference_destroy)(LtPreference *preference);
  int (*heuristic)(LtHandle *handle, LtOperation *operation, LtLayout *a, LtLayout *b, LtLayout *c,
                   LtLayout *d, LtPreference *preference, int wanted, LtCandidate *candidates,
                   int *found);
  int (*check)(LtHandle *handle, LtOperation *operation, LtLayout *a, LtLayout *b, LtLayout *c,
               LtLayout *d, const LtAlgorithm *algorithm, LtCandidate *candidate);
  int (*algorithm_get)(const LtAlgorithm *algorithm, int attribute, void *value, size_t size_bytes,
                       size_t *written);
  int (*multiply)(LtHandle *handle, LtOperation *operation, const void *alpha, const void *a,
                  LtLayout *a_layout, const void *b, LtLayout *b_layout, const void *beta,
                  const void *c, LtLayout *c_layout, void *d, LtLayout *d_layout,
                  const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes,
                  void *stream);
} LtApi;

#endif
