/* attentions.h -- attention through cuDNN.
 *
 * A record is given to cuDNN when it is bound, if its graph can express it (attention_shape.h) and
 * an engine needs no more scratch than the plan gives. All others run the kernels of our own. */
#ifndef LOCKSTEP_CUDA_ATTENTIONS_H
#define LOCKSTEP_CUDA_ATTENTIONS_H

#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/attention_told.h"
#include "kernels/cuda/products.h"

/* `base` with attention and attention_backward through the library. One library a process; where
 * there is none, `api` is NULL, `missing` says why and stays valid, and all records run our own
 * kernels. */
const Kernel *kernels_cuda_attending(const Kernel *base, const DnnApi *api, const char *missing,
                                     ProductGpu *gpu);

/* All bound records take the plans that choices.h has now. False: the library does not offer one of
 * them. */
bool attentions_settle(void);

#endif
