-- RUN: help schedule
-- >>> exit 0
schedule: learning rate over steps
    schedule = "WORD" or { "WORD", ... }
    WORD: constant linear cosine wsd polynomial inverse_sqrt   default: constant

  warmup          0             steps, linear from warmup_floor to lr; "10%": a
                                share of schedule.over, rounded up
  warmup_floor    0             where warm-up starts, as a fraction of lr
  floor           0             where decay ends, as a fraction of lr: 0.1 is a
                                tenth of it
  over            derived       last step of the schedule, warm-up included:
                                step over + 1 would reach floor, so step over
                                still trains; docs/training.md has the formulas;
                                derived: train.steps
  decay           derived       wsd: steps of the decay, which ends with step
                                over; "20%": a share of over, rounded up;
                                derived: a tenth of over
  shape           derived       wsd: curve of the decay; sqrt: 1 - sqrt(p), p
                                from 0 to 1; derived: linear
  power           derived       polynomial: the share of lr is (1 - p)^power;
                                derived: 1, a straight line
