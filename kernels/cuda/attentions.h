/* attentions.h -- attention through cuDNN.
 *
 * A record is given to cuDNN when it is bound, if its graph can say it: values in bf16 or fp16, no
 * dropout, window or soft cap, a causal mask whose queries and keys have the same positions, or
 * that hides halves of a ring's block whole, or none, heads and strides of whole 16 bytes, and an
 * engine that needs no more scratch than the plan gives. All others run the kernels of our own. */
#ifndef LOCKSTEP_CUDA_ATTENTIONS_H
#define LOCKSTEP_CUDA_ATTENTIONS_H

#include "kernels/cuda/attention_graph.h"
#include "kernels/cuda/attention_told.h"
#include "kernels/cuda/products.h"

enum { ATTENTIONS_TEXT_BYTES = 512 };

/* `base` with attention and attention_backward through the library. One library a process; where
 * there is none, `api` is NULL, `missing` says why and stays valid, and all records run our own
 * kernels. */
const Kernel *kernels_cuda_attending(const Kernel *base, const DnnApi *api, const char *missing,
                                     ProductGpu *gpu);

/* A record's attention, as a shape of cuDNN's graph; `why`: what the graph cannot express, NULL
 * where it can. */
AttentionShape attention_shape_of(KernelId id, const KernelUse *use, const char **why);

/* How many records were bound to the library and how many not, and why the first was not; "" where
 * none was bound. Counted anew after each call. */
void attentions_tell(char text[ATTENTIONS_TEXT_BYTES]);

/* The same op by op, in the order in which they were bound: the first of them, at most so many and
 * 64. Returns how many. attentions_tell, called after it, begins anew. */
int32_t attentions_list(AttentionTold *told, int32_t most);

/* All bound records take the plans that choices.h has now. False: the library does not offer one of
 * them. */
bool attentions_settle(void);

#endif
