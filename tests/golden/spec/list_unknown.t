-- RUN: list lamps
-- >>> exit 1
lockstep: nothing of the kind 'lamps' is listed; kinds are: models clusters
    sites devices ops optimizers schedules
