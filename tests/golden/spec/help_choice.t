-- RUN: help bf16
-- >>> exit 0
bf16: a word of precision, precision.param, precision.compute, precision.grad,
    precision.reduce, precision.moments, sample.cache
    precision = "bf16"
    precision: one word sets the row; keys change one cell
bf16, a key of DeepSpeed, Accelerate, Hugging Face Trainer: that is precision
    here, "bf16"
    precision = "bf16"
    precision: one word sets the row; keys change one cell
bf16, an option of Megatron-LM: that is precision here, "bf16"
    precision = "bf16"
    precision: one word sets the row; keys change one cell
bf16, a value of other tools: that is precision.linear = "compute" here
    precision = { linear = "compute" }
    precision.linear: what linear layers inside stacks multiply; fp8: codes of
    eight bits, E4M3 and for gradients E5M2, with scales that are powers of two,
    of the tensor's own maximum; {"fp8", scaling = "block"}: of each block of
    128 numbers
bf16, a value of other tools: that is precision.master = "fp32" here: it would
    have no bit more than the weight; split keeps fp32 in 2 bytes more
    precision = { master = "fp32" }
    precision.master: the optimizer's copy of the weights; split: of a bf16
    weight only the lower half of its fp32; derived: fp32 when param is narrower
    and update is nearest
