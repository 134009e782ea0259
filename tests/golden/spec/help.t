-- RUN: help
-- >>> exit 0
usage: lockstep VERB ... [-D section.key=value]...

  check JOB.lua                                            is it right?
  compile JOB.lua [-o FILE]                                what will run? writes NAME.plan
  explain JOB.lua [KEY | --layouts | --schedule | --map]   why? memory, layouts, or a key's origin
  show PLAN [--segment NAME]                               the plan as text that parses back
  prove PLAN                                               does the plan keep its promises?
  run JOB.lua [--steps N] [--resume auto|never|FILE]       train here
  tokenize TEXT -o FOLDER [--hold-out 5%]                  bytes of a text as tokens
  help [VERB | KEY | DIAGNOSTIC]                           what does this word mean?
  version                                                  which lockstep is this?

  -D section.key=value   one key; -D section=NAME a section; later wins
                         tables as in a file: -D 'parallel.pipeline={"interleaved", chunks=4}'
                         or by key: -D parallel.pipeline.chunks=4
  --against key=value    explain: beside this job, the one that -D key=value makes
  --json  --quiet  --color auto|always|never
  --no-data              check, compile, explain: do not look for the data files

exit: 0 done, 1 the job or the command must change, 2 a file or the machine failed,
      3 a defect of lockstep

job.lua: return job { ... } with these sections; lockstep help SECTION shows keys

  model        what is trained: a preset, a family, or ./file.lua
  data         where samples come from
  train        the science: what a step is, and how many
  optimizer    the update
  schedule     learning rate over steps
  precision    one word sets the row
  parallel     how ranks divide the work
  memory       device memory
  checkpoint   state on disk
  log          what is written while it runs
  cluster      the machine: a library name or ./file.lua
