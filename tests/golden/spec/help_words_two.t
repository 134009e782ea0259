-- RUN: help split
-- >>> exit 0
split(x, name): a call of model files
    One value per index of x's first feature.
    x: Value
    name: string
split, an option of Megatron-LM: nothing here is equal to it: no validation file
    is cut out of the training data: data.valid names one
split, a value of other tools: that is precision.update = "nearest" here: a
    master keeps what rounding loses: precision.master
    precision = { update = "nearest" }
    precision.update: how updates without a master round to bf16 weights;
    stochastic: up or down by chance, so that the mean is right; kahan: a bf16
    compensation keeps what rounding loses
