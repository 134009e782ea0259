-- RUN: list lamps
-- >>> exit 1
lockstep: there is no list of 'lamps'; there are: models clusters sites software
    devices ops optimizers schedules
