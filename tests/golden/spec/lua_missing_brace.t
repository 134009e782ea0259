return job {
  train = { steps = 5,
-- >>> exit 1
job.lua:3:1: error[syntax]: unexpected symbol near <eof>
    note: the file ends before a text, a { or a function is closed
