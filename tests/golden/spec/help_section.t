-- RUN: help schedule
-- >>> exit 0
schedule: learning rate over steps
    schedule = "WORD" or { "WORD", ... }   WORD: constant linear cosine
    default: constant

  warmup          0             linear from warmup_floor to lr
  warmup_floor    0             where warm-up starts, as a fraction of lr
  floor           0             where decay ends, as a fraction of lr: 0.1 is a
                                tenth of it
  over            derived       length of the decay, warm-up included: with P =
                                max(warmup, 1), step s from P on has the share 1
                                - p (linear) or (1 + cos(pi p)) / 2 (cosine) of
                                lr, p = (s - P) / (over - P + 1), so the last
                                step still trains; derived: train.steps
