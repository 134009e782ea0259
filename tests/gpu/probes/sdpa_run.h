/* sdpa_run.h -- device buffers of one attention shape and the execution of its plans on them. */
#ifndef GPU_SDPA_RUN_H
#define GPU_SDPA_RUN_H

#include "tests/gpu/common/device.h"
#include "tests/gpu/probes/cudnn_plan.h"
#include "tests/gpu/probes/sdpa.h"

typedef struct {
  uint16_t *qkv, *o, *d_o, *d_qkv;
  float *stats, *row_sum, *d_q_sum;
  void *workspace;
  size_t d_q_sum_bytes;
} SdpaBuffers;

/* The inputs: q, k, v wide enough that softmax is neither flat nor one-hot. */
Pattern sdpa_qkv_pattern(void);
Pattern sdpa_d_o_pattern(void);

/* Takes all buffers and fills the inputs. `workspace_bytes` is the larger of the two plans'. */
bool sdpa_take_buffers(Device *device, const SdpaShape *shape, int64_t workspace_bytes,
                       SdpaBuffers *buffers);

/* One pass, ready to be enqueued any number of times. */
typedef struct {
  cudnnHandle_t handle;
  cudaStream_t stream;
  const SdpaShape *shape;
  const SdpaBuffers *buffers;
  const CudnnPlan *plan;
} SdpaRun;

/* Shaped for device_time: `context` is an SdpaRun. The backward pass includes clearing its
 * scratch, which belongs to every call. */
bool sdpa_run_forward(void *context);
bool sdpa_run_backward(void *context);

#endif
