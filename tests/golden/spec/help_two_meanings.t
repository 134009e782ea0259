-- RUN: help linear
-- >>> exit 0
precision.linear
    what linear layers inside stacks multiply; fp8: codes of eight bits, E4M3
    and for gradients E5M2, with scales that are powers of two, of the tensor's
    own maximum; {"fp8", scaling = "block"}: of each block of 128 numbers
    takes    "compute" or "fp8"
    default  compute
linear(weight, x, out, options): a call of model files
    Maps all features of a token to `out`. Makes NAME.weight [out..., in...] and
    NAME.bias [out...].
    weight: string|Weight
    x: Value
    out?: Dims of a name
    options?: { bias?: boolean, init?: Init }

linear: a schedule
    in a straight line from lr, after warm-up, to floor
    schedule = { "linear", ... }
