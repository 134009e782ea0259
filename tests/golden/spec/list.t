-- RUN: list
-- >>> exit 0
  models          21 names
  clusters        5 names
  sites           6 names
  devices         6 names
  ops             19 names
  optimizers      2 names
  schedules       3 names

lockstep list KIND lists them
