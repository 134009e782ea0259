-- RUN: list optimizers
-- >>> exit 0
  adamw           AdamW: two moments of each gradient, weight decay apart from
                  them (Loshchilov and Hutter 2017)
  sgd             gradient descent with momentum, or without: momentum = 0

lockstep help NAME tells more
