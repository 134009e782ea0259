-- RUN: help zero_optimisation.stag
-- >>> exit 1
lockstep: nothing is named 'zero_optimisation.stag'; did you mean
    'zero_optimization.stage' (DeepSpeed)?
