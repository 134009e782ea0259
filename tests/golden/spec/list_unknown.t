-- RUN: list lamps
-- >>> exit 1
lockstep: there is no list of 'lamps'; there are: models clusters sites devices
    ops optimizers schedules
