-- RUN: help linear
-- >>> exit 0
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
