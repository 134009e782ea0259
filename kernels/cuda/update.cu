/* update.cu -- AdamW, SGD and Lion, and the gradient's norm. */
#include "kernels/cuda/cuda.h"

/* ---- updates ---- */

/* Control slots, on the device. */
struct AdamWControl {
  const double *lr;
  const int64_t *updates;
  const double *clip_scale, *found_inf;
};

static AdamWControl adamw_control(const KernelArgs *args) {
  void *const *at = args->control;
  return {(const double *)at[0], (const int64_t *)at[1], (const double *)at[2],
          (const double *)at[3]};
}

/* The numbers of one step, the same for every element. */
struct AdamWStep {
  float beta1, beta2, eps, shrink, step_size, root_correction, clip_scale;
};

static __device__ AdamWStep adamw_step(AdamWControl control, double beta1, double beta2, double eps,
                                       double decay) {
  double updates = (double)*control.updates;
  AdamWStep step;
  step.beta1 = (float)beta1;
  step.beta2 = (float)beta2;
  step.eps = (float)eps;
  step.shrink = (float)(1 - *control.lr * decay);
  step.step_size = (float)(*control.lr / (1 - pow(beta1, updates)));
  step.root_correction = (float)sqrt(1 - pow(beta2, updates));
  step.clip_scale = (float)*control.clip_scale;
  return step;
}

/* `master` is the truth where there is one, and `param` its rounding. */
template <class G, class T>
__global__ void adamw(const G *grad, T *param, float *m, float *v, float *master, int64_t n,
                      AdamWControl control, double beta1, double beta2, double eps, double decay) {
  if (*control.found_inf > 0) return;
  AdamWStep step = adamw_step(control, beta1, beta2, eps, decay);
  float beta1_rest = (float)(1 - beta1), beta2_rest = (float)(1 - beta2);
  for (EACH_ELEMENT(i, n)) {
    float g = to_float(grad[i]) * step.clip_scale;
    float new_m = step.beta1 * m[i] + beta1_rest * g;
    float new_v = step.beta2 * v[i] + beta2_rest * g * g;
    float p = (master != nullptr ? master[i] : to_float(param[i])) * step.shrink;
    p -= step.step_size * new_m / (sqrtf(new_v) / step.root_correction + step.eps);
    m[i] = new_m;
    v[i] = new_v;
    if (master != nullptr) master[i] = p;
    put(param + i, p);
  }
}

static KernelStatus run_adamw(const KernelArgs *args, const char **why, const char *name,
                              float *master) {
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto gradient, auto value) {
    typedef decltype(gradient) G;
    typedef decltype(value) T;
    void *const *at = args->operand;
    const double *attr = args->attr;
    Launch run(args, why, name);
    run.flat(args->dim[0], adamw<G, T>, (const G *)at[0], (T *)at[1], (float *)at[2],
             (float *)at[3], master, args->dim[0], adamw_control(args), attr[0], attr[1], attr[2],
             attr[3]);
    return run.status;
  });
}

CUDA_KERNEL(adamw) {
  return run_adamw(args, why, "adamw", nullptr);
}
CUDA_KERNEL(adamw_master) {
  return run_adamw(args, why, "adamw_master", (float *)args->operand[4]);
}

/* The numbers of one step of SGD or Lion. */
struct MomentStep {
  float lr, shrink, clip_scale;
};

/* What the two have in common: one moment, and these control slots. */
struct MomentControl {
  const double *lr, *clip_scale, *found_inf;
};

static __device__ MomentStep moment_step(MomentControl control, double decay) {
  double lr = *control.lr;
  return {(float)lr, (float)(1 - lr * decay), (float)*control.clip_scale};
}

template <class G, class T>
__global__ void sgd(const G *grad, T *param, float *momentum, float *master, int64_t n,
                    MomentControl control, float kept, float unused, double decay) {
  (void)unused;
  if (*control.found_inf > 0) return;
  MomentStep step = moment_step(control, decay);
  for (EACH_ELEMENT(i, n)) {
    float m = kept * momentum[i] + to_float(grad[i]) * step.clip_scale;
    float p = (master != nullptr ? master[i] : to_float(param[i])) * step.shrink - step.lr * m;
    momentum[i] = m;
    if (master != nullptr) master[i] = p;
    put(param + i, p);
  }
}

template <class G, class T>
__global__ void lion(const G *grad, T *param, float *moment, float *master, int64_t n,
                     MomentControl control, float beta1, float beta2, double decay) {
  if (*control.found_inf > 0) return;
  MomentStep step = moment_step(control, decay);
  for (EACH_ELEMENT(i, n)) {
    float g = to_float(grad[i]) * step.clip_scale, m = moment[i];
    float mixed = beta1 * m + (1 - beta1) * g;
    float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : mixed; /* a NaN stays one */
    float p = (master != nullptr ? master[i] : to_float(param[i])) * step.shrink - step.lr * sign;
    moment[i] = beta2 * m + (1 - beta2) * g;
    if (master != nullptr) master[i] = p;
    put(param + i, p);
  }
}

/* Operands: the gradient, the parameter, one moment, and the master copy where there is one. */
enum Moment { MOMENT_SGD, MOMENT_LION };

static KernelStatus run_moment(const KernelArgs *args, const char **why, const char *name,
                               Moment kind, bool has_master) {
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto gradient, auto value) {
    typedef decltype(gradient) G;
    typedef decltype(value) T;
    void *const *at = args->operand;
    const double *attr = args->attr;
    MomentControl control = {(const double *)args->control[0], (const double *)args->control[1],
                             (const double *)args->control[2]};
    bool is_sgd = kind == MOMENT_SGD;
    Launch run(args, why, name);
    run.flat(args->dim[0], is_sgd ? sgd<G, T> : lion<G, T>, (const G *)at[0], (T *)at[1],
             (float *)at[2], has_master ? (float *)at[3] : nullptr, args->dim[0], control, attr[0],
             is_sgd ? 0 : attr[1], is_sgd ? attr[1] : attr[2]);
    return run.status;
  });
}

CUDA_KERNEL(sgd) {
  return run_moment(args, why, "sgd", MOMENT_SGD, false);
}
CUDA_KERNEL(sgd_master) {
  return run_moment(args, why, "sgd_master", MOMENT_SGD, true);
}
CUDA_KERNEL(lion) {
  return run_moment(args, why, "lion", MOMENT_LION, false);
}
CUDA_KERNEL(lion_master) {
  return run_moment(args, why, "lion_master", MOMENT_LION, true);
}

/* ---- the norm ---- */

template <class T> __global__ void square_blocks(const T *x, double *block_sums, int64_t n) {
  int64_t first = (int64_t)blockIdx.x * WORK_SUM_BLOCK, end = first + WORK_SUM_BLOCK;
  double sum = 0;
  for (int64_t i = first + threadIdx.x; i < end && i < n; i += blockDim.x)
    sum += (double)to_float(x[i]) * (double)to_float(x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

/* Each thread adds neighbours, then the threads' sums are added in order: one block. */
__global__ void add_block_sums(const double *x, double *y, int64_t n) {
  int64_t each = (n + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
  double sum = 0;
  for (int64_t i = first; i < first + each && i < n; i++)
    sum += x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[0] = sum;
}

CUDA_KERNEL(square_sum) {
  int64_t n = args->dim[0], blocks = (n + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    double *out = (double *)args->operand[1], *block_sums = (double *)args->operand[2];
    Launch run(args, why, "square_sum");
    run.blocks(dim3((unsigned)blocks), ROW_THREADS, square_blocks<T>, (const T *)args->operand[0],
               block_sums, n);
    run.blocks(dim3(1), ROW_THREADS, add_block_sums, block_sums, out, blocks);
    return run.status;
  });
}

/* One after another, as on a processor: there are few. Thread 0 of the one block has the sum. */
static __device__ double ordered_sum(const double *x, int64_t n) {
  SHARED(double, next, ROW_THREADS);
  double sum = 0;
  for (int64_t first = 0; first < n; first += ROW_THREADS) {
    int64_t i = first + threadIdx.x;
    __syncthreads();
    next[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 0; threadIdx.x == 0 && k < ROW_THREADS && first + k < n; k++)
      sum += next[k];
  }
  return sum;
}

__global__ void sum_all(const double *x, double *y, int64_t n) {
  double sum = ordered_sum(x, n);
  if (threadIdx.x == 0) y[0] = sum;
}

CUDA_KERNEL(sum) {
  Launch run(args, why, "sum");
  run.blocks(dim3(1), ROW_THREADS, sum_all, (const double *)args->operand[0],
             (double *)args->operand[1], args->dim[0]);
  return run.status;
}

__global__ void take_norm(const double *partial, double *grad_norm, double *clip_scale,
                          double *found_inf, int64_t *updates, int64_t n, double clip) {
  double sum = ordered_sum(partial, n);
  if (threadIdx.x > 0) return;
  double norm = sqrt(sum);
  bool is_number = norm - norm == 0;
  *grad_norm = norm;
  *clip_scale = is_number && clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1;
  *updates += is_number;
  if (!is_number) *found_inf = 1;
}

CUDA_KERNEL(grad_norm) {
  Launch run(args, why, "grad_norm");
  run.blocks(dim3(1), ROW_THREADS, take_norm, (const double *)args->operand[0],
             (double *)args->control[0], (double *)args->control[1], (double *)args->control[2],
             (int64_t *)args->control[3], args->dim[0], args->attr[0]);
  return run.status;
}
