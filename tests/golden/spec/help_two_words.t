-- RUN: help adamw sgd
-- >>> exit 1
lockstep: help wants [WORD] and no more, not 'sgd'
