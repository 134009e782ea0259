-- RUN: estimate --csv table.csv --template job.lua
return job {}
-- FILE: table.csv
parallel.tp,parallel.pp,parallel.tp
1,2,4
-- >>> exit 1
lockstep: table.csv: two columns are named 'parallel.tp'
