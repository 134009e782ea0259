-- RUN: help split
-- >>> exit 0
split(x, name): a call of model files
    One value per index of x's first feature.
    x: Value
    name: string
split, an option of Megatron-LM: nothing here is equal to it: no validation file
    is cut out of the training data: data.valid names one
