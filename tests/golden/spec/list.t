-- RUN: list
-- >>> exit 0
  models          39 names
  clusters        13 names
  sites           6 names
  software        12 names
  devices         22 names
  ops             19 names
  optimizers      3 names
  schedules       6 names

lockstep list KIND lists them
