-- RUN: estimate --csv table.csv --template job.lua
return job {}
-- FILE: table.csv
parallel.tp,parallel.pp
1,2

1
-- >>> exit 1
lockstep: table.csv:4: 1 value, and 2 keys in the first line
