-- RUN: list lamps
-- >>> exit 1
lockstep: nothing of the kind 'lamps' is listed; kinds are: models clusters
    devices ops optimizers schedules
