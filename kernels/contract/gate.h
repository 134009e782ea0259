/* gate.h -- the activations of a gate, as attr `form` of its kernels numbers them. */
#ifndef LOCKSTEP_KERNELS_GATE_H
#define LOCKSTEP_KERNELS_GATE_H

typedef enum GateForm {
  GATE_GELU,
  GATE_GELU_ERF,
  GATE_SILU,
  GATE_RELU,
  GATE_TANH,
  GATE_COUNT
} GateForm;

#endif
