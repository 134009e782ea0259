-- RUN: list optimizers
-- >>> exit 0
  adamw           AdamW: two moments of each gradient, weight decay apart from
                  them (Loshchilov and Hutter 2017)
  sgd             gradient descent with momentum, or without: momentum = 0
  lion            Lion: steps of one size, by the sign of a moment and the
                  gradient; weight decay apart (Chen et al. 2023)

lockstep help NAME says more
