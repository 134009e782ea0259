-- RUN: help zzzz
-- >>> exit 1
lockstep: nothing is named 'zzzz'; lockstep help lists verbs and keys
